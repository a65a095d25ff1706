"""Runs in folders: kept so that they can be continued bit for bit, whatever ended them."""

from zolal.checkpoint.folder import RunFolder

__all__ = ["RunFolder"]
