"""The common form of the data of fairness problems, and the encodings that the loaders share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse

from zolal.errors import InvalidArgumentError


@final
@dataclass(frozen=True, eq=False)
class FairnessData:
    """A labelled training set and the samples on which fairness is measured.

    features: a_i^T as rows, CSR, shape (N, d); most entries of one-hot data are zeros. labels: b_i in {-1, 1}, shape (N,).
    fairness: the samples S as rows, CSR, shape (|S|, d). minority: which of them are in S_min, boolean, shape (|S|,).
    feature_names: d names.

    >>> data = FairnessData("tiny", [[1.0, 0.0]], [1.0], [[0.0, 1.0], [1.0, 1.0]], [True, False], ("first", "second"))
    >>> data.sizes
    (2, 1, 2, 1)
    """

    name: str
    features: scipy.sparse.csr_array
    labels: np.ndarray
    fairness: scipy.sparse.csr_array
    minority: np.ndarray
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, kind in (("features", scipy.sparse.csr_array), ("fairness", scipy.sparse.csr_array)):
            object.__setattr__(self, name, kind(getattr(self, name), dtype=float))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=float))
        object.__setattr__(self, "minority", np.asarray(self.minority))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        n, d = self.features.shape
        rows = self.fairness.shape[0]
        for name, got, want in (
            ("labels", self.labels.shape, (n,)),
            ("fairness", self.fairness.shape, (rows, d)),
            ("minority", self.minority.shape, (rows,)),
            ("feature_names", (len(self.feature_names),), (d,)),
        ):
            if got != want:
                raise InvalidArgumentError(f"`FairnessData({name}=...)` must have the shape {want}, got {got}.")
        if not n or not rows:
            raise InvalidArgumentError(f"`FairnessData` must have rows to train on and to be fair on, got {n} and {rows}.")
        if self.minority.dtype != bool:
            raise InvalidArgumentError(f"`FairnessData(minority=...)` must be boolean, got dtype {self.minority.dtype}.")
        wrong = self.labels[np.abs(self.labels) != 1.0]
        if wrong.size:
            raise InvalidArgumentError(f"`FairnessData(labels=...)` must be -1 or 1, got {wrong[0]}.")

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(d, N, |S|, |S_min|), the row of the paper's table."""
        n, d = self.features.shape
        return d, n, self.fairness.shape[0], int(np.count_nonzero(self.minority))

    @property
    def minority_share(self) -> float:
        """|S_min| / |S|."""
        return float(np.mean(self.minority))


def split_in_halves(
    name: str, rows: scipy.sparse.csr_array, labels: np.ndarray, minority: np.ndarray, names: Sequence[str], seed: int
) -> FairnessData:
    """The first half of a random order to train on, the second to be fair on; the last row of an odd number is left out."""
    order = np.random.default_rng(seed).permutation(rows.shape[0])
    half = rows.shape[0] // 2
    train, test = order[:half], order[half : 2 * half]
    return FairnessData(name, rows[train], labels[train], rows[test], minority[test], tuple(names))


def one_hot(name: str, values: Sequence[str], levels: Sequence[str] | None = None) -> tuple[scipy.sparse.csr_array, list[str]]:
    """One column per level, and the names "name=level"; the levels that occur, sorted, unless given."""
    array = np.asarray(values)
    known = np.unique(array) if levels is None else np.asarray(levels)
    order = np.argsort(known)
    columns = order[np.searchsorted(known, array, sorter=order)]
    n = array.size
    return scipy.sparse.csr_array((np.ones(n), columns, np.arange(n + 1)), shape=(n, known.size)), [f"{name}={level}" for level in known]


def scaled(values: np.ndarray) -> np.ndarray:
    """The values moved and scaled to [0, 1]; NaN, for what is missing, stays."""
    low, high = np.nanmin(values), np.nanmax(values)
    return (values - low) / (high - low)
