import functools

import numpy as np
import scipy.sparse

from zolal.problems.datasets._fairness_data import FairnessData
from zolal.problems.datasets._fetch import DataFile, Source

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
FILES = (
    DataFile("a9a/a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906", (Source(f"{LIBSVM}/a9a"),)),
    DataFile("a9a/a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9", (Source(f"{LIBSVM}/a9a.t"),)),
)
NUM_FEATURES = 123
MINORITY = 71  # race = Black, counted from 1: the only column with the paper's 1,561 active rows in a9a.t


@functools.cache
def a9a() -> FairnessData:
    """LIBSVM's coding of UCI Adult: 123 binary features, +1 for an income above 50,000 dollars.

    Trained on a9a (32,561 rows), fair on a9a.t (16,281 rows); the minority group is feature 71 (race = Black), 1,561 rows. These are the
    paper's numbers.
    """
    (rows, labels), (fairness, _) = (parse_libsvm(file.read().decode("ascii")) for file in FILES)
    minority = fairness[:, [MINORITY - 1]].toarray().ravel() > 0
    return FairnessData("a9a", rows, labels, fairness, minority, tuple(f"a9a_{i}" for i in range(1, NUM_FEATURES + 1)))


def parse_libsvm(text: str) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Rows "label index:1 index:1 ..." with indices from 1. a9a.t has no row with the last feature, hence the fixed number."""
    lines = [line.replace(":1", "").split() for line in text.splitlines()]
    indices = np.array([int(index) - 1 for line in lines for index in line[1:]])
    ends = np.cumsum([0, *(len(line) - 1 for line in lines)])
    rows = scipy.sparse.csr_array((np.ones(indices.size), indices, ends), shape=(len(lines), NUM_FEATURES))
    return rows, np.array([float(line[0]) for line in lines])
