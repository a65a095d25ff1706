"""Public data of the paper's experiments: read from ZOLAL_DATA or the cache, or downloaded, always with their checksum."""

from zolal.problems.datasets._a9a import a9a
from zolal.problems.datasets._bank import bank
from zolal.problems.datasets._fairness_data import FairnessData
from zolal.problems.datasets._lendingclub import lendingclub
from zolal.problems.datasets._mnist import Mnist, mnist

__all__ = ["FairnessData", "Mnist", "a9a", "bank", "lendingclub", "mnist"]
