"""Lending Club's loans: which columns were known when the loan was applied for, and how they become features."""

import csv
import functools
import io
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from zolal.errors import DataError
from zolal.problems.datasets._fairness_data import FairnessData, one_hot, scaled, split_in_halves
from zolal.problems.datasets._fetch import UNREADABLE, DataFile, unpack

FILE = DataFile(
    "lendingclub/lendingclub_2007_2011.csv",
    "970d3639dd9c4c4772f768f564e1b3a8455eb9bcc9ed1d19dd89cbd1554eb21e",
    origin="the R package LendingClubData (https://github.com/kuhnrl30/LendingClubData, its years 2007 to 2011 joined and saved as CSV; "
    "lendingclub(path=...) reads any such file)",
)
SPLIT_SEED = 2011  # the last year of the file

# What the applicant asks for and states, and what the lender offers before the loan is granted.
APPLICATION = ("loan_amnt", "int_rate", "installment", "annual_inc", "dti")
CATEGORIES = (
    *("term", "grade", "sub_grade", "emp_length", "home_ownership", "verification_status"),
    *("purpose", "addr_state", "application_type"),
)
# What the credit bureau says on the day of the application; later files have more of these columns than earlier ones.
BUREAU = (
    *("delinq_2yrs", "inq_last_6mths", "mths_since_last_delinq", "mths_since_last_record", "open_acc", "pub_rec", "revol_bal", "total_acc"),
    *("collections_12_mths_ex_med", "mths_since_last_major_derog", "acc_now_delinq", "tot_coll_amt", "tot_cur_bal", "open_acc_6m"),
    *("open_act_il", "open_il_12m", "open_il_24m", "mths_since_rcnt_il", "total_bal_il", "il_util", "open_rv_12m", "open_rv_24m"),
    *("max_bal_bc", "all_util", "total_rev_hi_lim", "inq_fi", "total_cu_tl", "inq_last_12m", "acc_open_past_24mths", "avg_cur_bal"),
    *("bc_open_to_buy", "bc_util", "chargeoff_within_12_mths", "delinq_amnt", "mo_sin_old_il_acct", "mo_sin_old_rev_tl_op"),
    *("mo_sin_rcnt_rev_tl_op", "mo_sin_rcnt_tl", "mort_acc", "mths_since_recent_bc", "mths_since_recent_bc_dlq", "mths_since_recent_inq"),
    *("mths_since_recent_revol_delinq", "num_accts_ever_120_pd", "num_actv_bc_tl", "num_actv_rev_tl", "num_bc_sats", "num_bc_tl"),
    *("num_il_tl", "num_op_rev_tl", "num_rev_accts", "num_rev_tl_bal_gt_0", "num_sats", "num_tl_120dpd_2m", "num_tl_30dpd"),
    *("num_tl_90g_dpd_24m", "num_tl_op_past_12m", "pct_tl_nvr_dlq", "percent_bc_gt_75", "pub_rec_bankruptcies", "tax_liens"),
    *("tot_hi_cred_lim", "total_bal_ex_mort", "total_bc_limit", "total_il_high_credit_limit", "revol_util"),
)
MONEY = (  # spread over orders of magnitude, so their logarithm is scaled
    *("loan_amnt", "installment", "annual_inc", "revol_bal", "tot_coll_amt", "tot_cur_bal", "total_bal_il", "max_bal_bc", "delinq_amnt"),
    *("total_rev_hi_lim", "avg_cur_bal", "bc_open_to_buy", "tot_hi_cred_lim", "total_bal_ex_mort", "total_bc_limit"),
    "total_il_high_credit_limit",
)
NEEDED = ("loan_status", "home_ownership", "loan_amnt")
MISSING = ("", "n/a", "NA", "N/A", "NaN")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
EPOCH = date(1970, 1, 1)


def lendingclub(path: str | Path | None = None) -> FairnessData:
    """Lending Club's loans of 2007 to 2011, +1 for a loan that was charged off (or is in default); not the paper's `loan` data.

    The features were all known when the loan was granted: what the applicant asked for and stated (amount, term, income, employment, home,
    purpose, state), the lender's offer (rate, instalment, grade) and the credit bureau's report of that day (`APPLICATION`,
    `CATEGORIES` and `BUREAU` in this module), with the length of the credit history from earliest_cr_line to issue_d. Left out is what came
    later (funded amounts, payments, recoveries, balances, last credit pull, hardship, settlement), what names a borrower (id, zip_code,
    texts) and what has one value only.

    Numbers, amounts of money as log(1 + amount), are scaled to [0, 1] over all rows; a missing one is 0 and sets a column "name missing".
    Other columns get one feature per level. Two halves in the order of `numpy.random.default_rng(2011).permutation(rows)`; the minority
    group is home_ownership = RENT.

    path: another CSV file of Lending Club's layout, such as LoanStats_2018Q4.csv, plain, as .gz or as .zip; its title line, percent
        signs and summary lines at the end are understood. Loans that still run count as -1.
    """
    if path is None:
        return _published()
    try:
        text = unpack(Path(path).read_bytes()).decode("utf-8-sig", errors="replace")
    except UNREADABLE as error:
        raise DataError(f"{path} could not be read ({type(error).__name__}: {error}).") from error
    try:
        loans = read_loans(text, str(path))
    except csv.Error as error:
        raise DataError(f"{path} could not be read ({type(error).__name__}: {error}).") from error
    return encode(loans)


@functools.cache
def _published() -> FairnessData:
    return encode(read_loans(FILE.read().decode("utf-8"), FILE.name))


def read_loans(text: str, source: str) -> dict[str, list[str]]:
    """The columns of the rows that have a loan status, past any title before the header."""
    rows = csv.reader(io.StringIO(text, newline=""))
    header = next((row for row in rows if "loan_status" in row), [])
    absent = [name for name in NEEDED if name not in header]
    if absent:
        raise DataError(f"{source} is not a file of Lending Club's layout: it has no column {' and no column '.join(absent)}.")
    status = header.index("loan_status")
    loans = [row for row in rows if len(row) == len(header) and row[status].strip()]  # the summary lines at the end are shorter or empty
    if not loans:
        raise DataError(f"{source} has no loans.")
    return {name: [cell.strip() for cell in column] for name, column in zip(header, zip(*loans, strict=True), strict=True)}


def encode(loans: dict[str, list[str]]) -> FairnessData:
    """The features, labels and groups of the loans."""
    blocks, names = [], []
    for name, values in _numbers(loans).items():
        block, block_names = _number_block(name, values)
        blocks.append(block)
        names += block_names
    for name in CATEGORIES:
        if len(set(loans.get(name, ()))) > 1:
            block, block_names = one_hot(name, loans[name])
            blocks.append(block)
            names += block_names
    charged_off = np.array([status.endswith(("Charged Off", "Default")) for status in loans["loan_status"]])
    rented = np.array(loans["home_ownership"]) == "RENT"
    rows = scipy.sparse.hstack(blocks, format="csr")
    return split_in_halves("lendingclub", rows, np.where(charged_off, 1.0, -1.0), rented, names, SPLIT_SEED)


def _numbers(loans: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """The numeric columns that the file has, NaN for what is missing, amounts of money as logarithms."""
    numbers = {name: _parsed(loans, name, _number) for name in (*APPLICATION, *BUREAU) if name in loans}
    if "earliest_cr_line" in loans and "issue_d" in loans:
        numbers["credit_history"] = _parsed(loans, "issue_d", _day) - _parsed(loans, "earliest_cr_line", _day)
    return {name: np.log1p(np.maximum(values, 0.0)) if name in MONEY else values for name, values in numbers.items()}


def _number_block(name: str, values: np.ndarray) -> tuple[Any, list[str]]:
    """The scaled column and, where values are missing, the column that says so; nothing where there is one value only."""
    missing = np.isnan(values)
    if missing.all() or np.nanmin(values) == np.nanmax(values):
        return scipy.sparse.csr_array((values.size, 0)), []
    columns = [np.where(missing, 0.0, scaled(values)), missing.astype(float)][: 1 + int(missing.any())]
    return scipy.sparse.csr_array(np.stack(columns, axis=1)), [name, f"{name} missing"][: len(columns)]


def _parsed(loans: dict[str, list[str]], name: str, parse: Callable[[str], float]) -> np.ndarray:
    try:
        return np.array([np.nan if cell in MISSING else parse(cell) for cell in loans[name]])
    except ValueError as error:
        raise DataError(f"The column {name} of the loans has a cell that cannot be read: {error}.") from error


def _number(cell: str) -> float:
    """A number, also one with thousands separators or as a percentage."""
    return float(cell[:-1].replace(",", "")) / 100.0 if cell.endswith("%") else float(cell.replace(",", ""))


def _day(cell: str) -> float:
    """Days since 1970: from "Dec-2018", "2018-12-01", or that number itself."""
    if match := re.fullmatch(r"([A-Z][a-z]{2})-(\d{4})", cell):
        return float((date(int(match[2]), MONTHS.index(match[1]) + 1, 1) - EPOCH).days)
    return float((date.fromisoformat(cell) - EPOCH).days) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", cell) else float(cell)
