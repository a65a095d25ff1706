"""The command `zolal repair`, from outside."""

from command import called
from kept_runs import check_same, solve


def test_a_damaged_folder_is_repaired_and_says_so(tmp_path):
    reference = solve(checkpoint=tmp_path)
    (tmp_path / "result.json").write_text("{")
    told = called("report", tmp_path)
    assert told.returncode == 2
    assert "'result.json' is no JSON" in told.stderr
    assert "zolal repair" in told.stderr
    done = called("repair", tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["'result.json' is left out; `resume=True` makes it again.", "The run can be resumed."],
    )
    check_same(solve(checkpoint=tmp_path, resume=True), reference)
    assert called("repair", tmp_path).stdout == "Nothing is damaged.\n"


def test_a_folder_without_a_run_is_refused(tmp_path):
    done = called("repair", tmp_path)
    assert (done.returncode, done.stderr) == (2, f"zolal: {str(tmp_path)!r} is no folder of a run.\n")
