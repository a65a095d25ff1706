"""The public data as the loaders read them, against what is known of them; small files of the same layouts where they are not at hand."""

import csv
import gzip
import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from zolal.errors import DataError, InvalidArgumentError
from zolal.problems.datasets import FairnessData, _lendingclub, _mnist, a9a, bank, lendingclub, mnist
from zolal.problems.datasets._a9a import parse_libsvm
from zolal.problems.datasets._fairness_data import one_hot, scaled, split_in_halves

MD5 = {  # as published with the original files
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
HEADER = ["id", "loan_amnt", "funded_amnt", "term", "int_rate", "emp_length", "home_ownership", "annual_inc", "issue_d", "loan_status"]
HEADER += ["earliest_cr_line", "mths_since_last_delinq", "revol_util", "total_pymnt", "policy_code"]
LOANS = [
    ["", "1000", "1000", " 36 months", " 10.00%", "n/a", "RENT", "0", "Dec-2018", "Current", "Dec-2008", "", "50%", "7", "1"],
    ["", "3000", "3000", " 60 months", " 20.00%", "2 years", "OWN", "99", "Dec-2018", "Charged Off", "Dec-1998", "12", "", "8", "1"],
    ["", "2000", "2000", " 36 months", " 15.00%", "2 years", "RENT", "9", "Nov-2018", "Fully Paid", "Nov-2017", "", "100%", "9", "1"],
    ["", "3000", "2999", " 36 months", " 10.00%", "2 years", "RENT", "9", "Nov-2018", "Late", "Nov-2017", "6", "0%", "9", "1"],
]
PROSPECTUS = "Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)\n"
FOOTER = '\n\n"Total amount funded in policy code 1: 9000",,,,\n"Total amount funded in policy code 2: 0",,,,\n'


def written(path, title=PROSPECTUS, footer=FOOTER, loans=LOANS):
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(title)
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([HEADER, *loans])
        file.write(footer)
    return path


def locked(path):
    """A zip file whose member is said to be encrypted: bit 0 of the flags, in its own header and in the directory."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("loans.csv", "loan_status\n")
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    return path


def whole(data):
    """All rows of a data set that was split in halves, in some order."""
    return np.vstack([data.features.toarray(), data.fairness.toarray()])


def test_mnist_files_are_the_original_ones(public_data):
    if not (public_data / "mnist" / "t10k-labels-idx1-ubyte.gz").is_file():
        pytest.skip("the published sums are those of the compressed files")
    for name, md5 in MD5.items():
        assert hashlib.md5((public_data / "mnist" / name).read_bytes()).hexdigest() == md5


def test_mnist_images_lie_in_the_unit_interval_and_their_counts_are_known(public_data):
    data = mnist(num_train=200)
    assert data.train_images.shape == (200, 784)
    assert data.test_images.shape == (10_000, 784)
    assert data.test_images.min() == 0.0
    assert data.test_images.max() == 1.0
    assert np.bincount(data.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    raw = _mnist.FILES["train-images-idx3-ubyte"].read()
    assert data.train_images[7, 300] == raw[16 + 784 * 7 + 300] / 255


def test_a9a_has_the_four_numbers_of_the_paper(public_data):
    data = a9a()
    assert data.sizes == (123, 32561, 16281, 1561)
    assert np.count_nonzero(data.labels > 0) == 7841
    assert set(np.unique(data.features.data)) == {1.0}


def test_bank_has_the_numbers_of_the_paper_where_they_can_be_had(public_data):
    data = bank()
    d, n, rows, minority = data.sizes
    assert (d, n, rows) == (81, 22605, 22605)
    assert abs(minority - 6395) < 3 * 48  # a random half of all who are single; the paper's own half has 6320
    table = whole(data)
    assert table.min() == 0.0
    assert table.max() == 1.0
    blocks = [name.split("=")[0] for name in data.feature_names]
    for block in set(blocks[6:]):
        assert (table[:, [name == block for name in blocks]].sum(1) == 1.0).all()
    assert (data.fairness.toarray()[:, data.feature_names.index("marital=single")] == data.minority).all()


def test_lendingclub_knows_nothing_that_came_after_the_loan(public_data):
    data = lendingclub()
    d, n, rows, _ = data.sizes
    assert (n, rows) == (21267, 21267)
    known = {*_lendingclub.APPLICATION, *_lendingclub.CATEGORIES, *_lendingclub.BUREAU}
    assert {name.split("=")[0].removesuffix(" missing") for name in data.feature_names} <= {*known, "credit_history"}
    later = ("pymnt", "funded", "recover", "prncp", "rec_", "last_credit", "settle", "hardship", "issue", "status=Full")
    assert not [name for name in data.feature_names if any(part in name for part in later if not name.startswith("pub_rec"))]
    table = whole(data)[: data.labels.size]
    correlations = [np.corrcoef(column, data.labels)[0, 1] for column in table.T if np.ptp(column) > 0]
    assert np.max(np.abs(correlations)) < 0.3  # anything known afterwards tells far more; int_rate tells most, 0.2
    assert len(data.feature_names) == d


def test_lendingclub_labels_and_groups_are_counted_right(public_data):
    """Before the split: from the file itself, by hand."""
    text = _lendingclub.FILE.read().decode()
    rows, loans = list(csv.DictReader(text.splitlines())), _lendingclub.read_loans(text, "file")
    assert len(loans["loan_status"]) == len(rows) == 42535
    data = _lendingclub.encode({name: values[:2000] for name, values in loans.items()})
    rented = sum(row["home_ownership"] == "RENT" for row in rows[:2000])
    column = data.feature_names.index("home_ownership=RENT")
    assert whole(data)[:, column].sum() == rented
    assert (data.fairness.toarray()[:, column] == data.minority).all()


@pytest.mark.parametrize("title", ["", PROSPECTUS, "\ufeff" + PROSPECTUS])
@pytest.mark.parametrize("footer", ["", FOOTER])
def test_a_file_of_lending_clubs_layout_is_read(tmp_path, title, footer):
    data = lendingclub(written(tmp_path / "LoanStats_2018Q4.csv", title, footer))
    assert data.feature_names == (
        *("loan_amnt", "int_rate", "annual_inc", "mths_since_last_delinq", "mths_since_last_delinq missing"),
        *("revol_util", "revol_util missing", "credit_history", "term=36 months", "term=60 months"),
        *("emp_length=2 years", "emp_length=n/a", "home_ownership=OWN", "home_ownership=RENT"),
    )
    table = whole(data)
    first = table[np.flatnonzero(table[:, data.feature_names.index("emp_length=n/a")])[0]]
    history = (3652 - 365) / (7305 - 365)  # days from Dec-2008, Nov-2017 and Dec-1998 to the issue
    np.testing.assert_allclose(first, [0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, history, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(sorted(table[:, 2]), [0.0, 0.5, 0.5, 1.0], atol=1e-15)  # log(1 + 0), log(1 + 9), log(1 + 99)


def test_only_charged_off_loans_are_plus_one():
    loans = dict(zip(HEADER, zip(*(LOANS * 4), strict=True), strict=True))
    data = _lendingclub.encode({name: [cell.strip() for cell in cells] for name, cells in loans.items()})
    owned = data.features.toarray()[:, data.feature_names.index("home_ownership=OWN")]
    np.testing.assert_array_equal(data.labels, 2.0 * owned - 1.0)  # the one who owns is the one charged off


def test_a_compressed_file_is_read_too(tmp_path):
    plain = written(tmp_path / "loans.csv")
    (tmp_path / "loans.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with zipfile.ZipFile(tmp_path / "loans.csv.zip", "w") as archive:
        archive.write(plain, "loans.csv")
    for name in ("loans.csv.gz", "loans.csv.zip"):
        np.testing.assert_array_equal(whole(lendingclub(tmp_path / name)), whole(lendingclub(plain)))


def test_dates_of_all_three_forms_agree():
    assert _lendingclub._day("Dec-2007") == _lendingclub._day("2007-12-01") == _lendingclub._day("13848.0") == 13848.0


def test_a_file_of_another_layout_is_told(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"other.csv is not a file of Lending Club's layout: it has no column loan_status and"):
        lendingclub(tmp_path / "other.csv")
    with pytest.raises(DataError, match=r"empty.csv has no loans"):
        lendingclub(written(tmp_path / "empty.csv", loans=[]))
    with pytest.raises(DataError, match=r"absent.csv could not be read \(FileNotFoundError"):
        lendingclub(tmp_path / "absent.csv")
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(b"loan_status")[:-4])
    with pytest.raises(DataError, match=r"half.csv.gz could not be read \(EOFError"):
        lendingclub(tmp_path / "half.csv.gz")
    with pytest.raises(DataError, match=r"wide.csv could not be read \(Error: field larger than field limit"):
        lendingclub(written(tmp_path / "wide.csv", title=f'"{"x" * (csv.field_size_limit() + 1)}"\n'))
    with pytest.raises(DataError, match=r"locked.zip could not be read \(RuntimeError: .*encrypted"):
        lendingclub(locked(tmp_path / "locked.zip"))
    with pytest.raises(DataError, match=r"column loan_amnt of the loans has a cell that cannot be read: .*'many'"):
        lendingclub(written(tmp_path / "words.csv", loans=[[*LOANS[0][:1], "many", *LOANS[0][2:]]] * 2))


@pytest.mark.parametrize("name", sorted({*_lendingclub.APPLICATION, *_lendingclub.CATEGORIES, "revol_util"}))
def test_the_data_page_names_every_column_of_the_application(name):
    assert f"`{name}`" in (Path(__file__).parents[4] / "docs" / "data.md").read_text()


def test_libsvm_rows_are_read():
    rows, labels = parse_libsvm("-1 3:1 11:1 \n+1 1:1 123:1 \n")
    assert labels.tolist() == [-1.0, 1.0]
    assert [np.flatnonzero(row).tolist() for row in rows.toarray()] == [[2, 10], [0, 122]]


def test_one_hot_columns_follow_their_levels():
    block, names = one_hot("day", ["10", "2", "10"], ["2", "10"])
    assert names == ["day=2", "day=10"]
    assert block.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


def test_scaling_keeps_what_is_missing():
    np.testing.assert_array_equal(scaled(np.array([2.0, np.nan, 6.0, 3.0])), [0.0, np.nan, 1.0, 0.25])


def test_halves_share_no_row_and_leave_one_out_of_an_odd_number():
    rows = np.arange(1.0, 8.0)[:, None]
    data = split_in_halves("seven", rows, np.ones(7), rows[:, 0] > 4, ["value"], 0)
    used = whole(data).ravel()
    assert data.sizes[1:3] == (3, 3)
    assert len(set(used)) == 6
    np.testing.assert_array_equal(data.minority, data.fairness.toarray().ravel() > 4)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(labels=[1.0]), r"labels=...\)` must have the shape \(2,\), got \(1,\)"),
        (dict(labels=[1.0, 0.0]), r"labels=...\)` must be -1 or 1, got 0.0"),
        (dict(fairness=[[1.0]]), r"fairness=...\)` must have the shape \(1, 2\), got \(1, 1\)"),
        (dict(minority=[1]), r"minority=...\)` must be boolean"),
        (dict(feature_names=("a",)), r"feature_names=...\)` must have the shape \(2,\)"),
        (dict(features=np.zeros((0, 2)), labels=[]), "must have rows"),
    ],
)
def test_data_that_do_not_fit_together_are_told(change, sentence):
    right = dict(features=[[1.0, 0.0], [0.0, 1.0]], labels=[1.0, -1.0], fairness=[[1.0, 1.0]], minority=[True], feature_names=("a", "b"))
    with pytest.raises(InvalidArgumentError, match=sentence):
        FairnessData("x", **{**right, **change})
