"""Folders that others can write to: links lead nowhere, pipes do not hold us up, and what is not ours stays as it is."""

import os
import shutil

import pytest

from kept_runs import check_same, solve
from zolal._safe import replace_file
from zolal.errors import CheckpointError
from zolal.report.run_page import write_run_page
from zolal.runs.checkpoint import read_run, repair
from zolal.runs.checkpoint._files import locked
from zolal.runs.checkpoint._reading import STATE, numbered


@pytest.fixture
def kept(tmp_path):
    """The folder of a run that may go on, and a file of somebody's outside of it."""
    solve(checkpoint=tmp_path / "run", maxfev=60)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    return tmp_path / "run", victim


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "result.json")  # which is replaced and not opened


def linked(path, content, link):
    """In place of the file a link to one with the same content, so that a checksum does not tell."""
    content.write_bytes(path.read_bytes())
    path.unlink()
    link(path, content)
    return content.read_bytes()


@pytest.mark.parametrize("link", [lambda path, to: path.symlink_to(to), lambda path, to: path.hardlink_to(to)], ids=["symbolic", "hard"])
def test_a_link_in_the_place_of_a_file_is_not_followed(kept, link, tmp_path):
    folder, victim = kept
    refused = []
    for name in names(folder):
        place = tmp_path / f"with {name}"
        shutil.copytree(folder, place)
        before = linked(place / name, victim, link)
        told = ""
        try:
            solve(checkpoint=place, maxfev=80, resume=True)
        except CheckpointError as error:
            refused.append(name)
            told = str(error)
        assert not told or (name in told and "\n" not in told)
        assert victim.read_bytes() == before
        victim.unlink()
    states = list(numbered(folder, STATE).values())
    assert set(names(folder)) - set(refused) == {path.name for path in states[:-1]}  # the last state is read, and no other


def test_a_page_goes_into_the_place_of_a_link_and_not_through_it(kept):
    folder, victim = kept
    for name in ("report.html", ".report.html.new", "result.json.new"):
        (folder / name).symlink_to(victim)
    write_run_page(folder, folder / "report.html")
    assert victim.read_bytes() == b"precious\n"
    assert not (folder / "report.html").is_symlink()
    (folder / "trace.jsonl").unlink()
    (folder / "trace.jsonl").symlink_to(victim)
    for action in (read_run, lambda path: write_run_page(path, path / "report.html"), repair):
        with pytest.raises(CheckpointError, match=r"trace.jsonl' is a symbolic link, which is not followed"):
            action(folder)
    assert victim.read_bytes() == b"precious\n"


@pytest.mark.parametrize("name", [".state.npz.new", ".run.json.new", ".result.json.new", ".report.html.new", "trace.jsonl", "lock"])
def test_a_new_run_does_not_go_through_a_link(tmp_path, name):
    victim, folder = tmp_path / "victim", tmp_path / "run"
    victim.write_bytes(b"precious\n")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with pytest.raises(CheckpointError):
        solve(checkpoint=folder)
    assert victim.read_bytes() == b"precious\n"
    assert os.listdir(folder) == [name]


@pytest.mark.parametrize("name", ["trace.jsonl", "values-0.jsonl", "run.json", "lock"])
def test_a_pipe_in_the_place_of_a_file_does_not_hold_us_up(kept, name):
    folder, _ = kept
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError, match=r"is no plain file|cannot be used"):
        solve(checkpoint=folder, maxfev=80, resume=True)


FOREIGN = [["result.json"], ["values-mine.jsonl"], ["lock", "trace.jsonl"], ["notes.txt"], [".hidden"], ["values-3.jsonl"], ["state-1.npz"]]


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("files", FOREIGN, ids="-".join)
def test_a_folder_with_files_and_no_run_is_left_alone(tmp_path, files, resume):
    for name in files:
        (tmp_path / name).write_text("mine")
    with pytest.raises(CheckpointError, match=r"holds '.*' and no run; name a folder that is empty|'run.json' is missing"):
        solve(checkpoint=tmp_path, resume=resume)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(files, "mine")


def test_files_of_yours_in_the_folder_of_a_run_stay(kept):
    folder, _ = kept
    mine = ["values-mine.jsonl", "values-1.jsonl.bak", "state-x.npz", ".state.npz.new", ".state-1.npz.mine.new", "notes.txt"]
    for name in mine:
        (folder / name).write_text("mine")
    solve(checkpoint=folder, maxfev=200, resume=True)
    assert all((folder / name).read_text() == "mine" for name in mine)


def test_a_folder_that_is_reached_through_a_link_is_the_users_own_choice(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to(tmp_path / "real")
    check_same(solve(checkpoint=tmp_path / "latest"), solve())
    assert (tmp_path / "real" / "run.json").exists()


def test_what_a_kill_left_half_written_is_swept_up(kept):
    folder, _ = kept
    left = folder / ".state-5.npz.0123456789abcdef.new"
    left.write_bytes(b"half")
    solve(checkpoint=folder, maxfev=80, resume=True)
    assert not left.exists()


def test_a_new_run_may_begin_where_a_kill_left_nothing_but_a_lock(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / ".run.json.0123456789abcdef.new").write_bytes(b"half")
    check_same(solve(checkpoint=tmp_path), solve())


def test_a_file_that_could_not_be_finished_leaves_nothing_behind(tmp_path):
    def interrupted(file):
        file.write(b"half")
        raise KeyboardInterrupt

    (tmp_path / "page.html").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "page.html", interrupted)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_lock_is_had_by_one_at_a_time(tmp_path):
    with locked(tmp_path / "lock") as first, locked(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with locked(tmp_path / "lock") as again:
        assert again
