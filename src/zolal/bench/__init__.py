"""What the automatic method has to show: benchmarks with a target each, and the same problems given to others."""

from zolal.bench.base import Claim, Finding

__all__ = ["Claim", "Finding"]
