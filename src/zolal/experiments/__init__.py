"""The paper's three experiments: grids of runs with paired seeds, kept in an append-only store."""

from zolal.experiments._store import Store
from zolal.experiments.base import Campaign, Task

__all__ = ["Campaign", "Store", "Task"]
