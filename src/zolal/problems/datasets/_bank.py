import csv
import functools

import numpy as np
import scipy.sparse

from zolal.problems.datasets._fairness_data import FairnessData, one_hot, scaled, split_in_halves
from zolal.problems.datasets._fetch import DataFile, Source

FILE = DataFile(
    "bank/bank-full.csv",
    "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
    (
        Source("https://archive.ics.uci.edu/static/public/222/bank+marketing.zip", ("bank.zip", "bank-full.csv")),
        Source("https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank.zip", ("bank-full.csv",)),
    ),
)
NUMERIC = ("age", "balance", "duration", "campaign", "pdays", "previous")
CATEGORICAL = ("job", "marital", "education", "default", "housing", "loan", "contact", "day", "month", "poutcome")
SPLIT_SEED = 222  # the number of the data set at UCI; the paper's split is not known


@functools.cache
def bank() -> FairnessData:
    """UCI Bank Marketing: 81 features, +1 for a client who subscribed a deposit.

    Six numeric columns scaled to [0, 1] over all rows, and one column per level of the ten others; no column of ones. Two halves of 22,605
    rows, in the order of `numpy.random.default_rng(222).permutation(45211)`, one row left out. The minority group is marital = single.
    The paper has the same d, N and |S|; its split, scaling and group are not known.
    """
    table = list(csv.DictReader(FILE.read().decode("ascii").splitlines(), delimiter=";"))
    columns = {name: [row[name] for row in table] for name in table[0]}
    numeric = np.stack([scaled(np.array(columns[name], dtype=float)) for name in NUMERIC], axis=1)
    blocks = [one_hot(name, columns[name], sorted(set(columns[name]), key=_in_order)) for name in CATEGORICAL]
    rows = scipy.sparse.hstack([scipy.sparse.csr_array(numeric), *(block for block, _ in blocks)], format="csr")
    names = [*NUMERIC, *(name for _, names in blocks for name in names)]
    labels = np.where(np.array(columns["y"]) == "yes", 1.0, -1.0)
    return split_in_halves("bank", rows, labels, np.array(columns["marital"]) == "single", names, SPLIT_SEED)


def _in_order(level: str) -> tuple[int, str]:
    """Days as numbers, words as words."""
    return (int(level), "") if level.isdigit() else (0, level)
