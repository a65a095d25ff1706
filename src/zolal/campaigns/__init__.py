"""Grids of runs on several processes, each kept in an append-only store as soon as it ends."""

from zolal.campaigns.campaign import Campaign, Task, one_thread_each
from zolal.campaigns.outcomes import MisfitError, restored
from zolal.campaigns.store import Store

__all__ = ["Campaign", "MisfitError", "Store", "Task", "one_thread_each", "restored"]
