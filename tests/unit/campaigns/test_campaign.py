"""The store keeps every run, whatever happens to the process; the campaign runs what is missing."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import pytest

from zolal.bench import _field, probe
from zolal.campaigns import Campaign, Store, Task
from zolal.errors import InvalidArgumentError, WorkerError
from zolal.experiments import qcqp

CHOICE = dict(step_size=0.08, dual_step=1.0, momentum=0.5, delta=1e-2)


def task(seed, limit=800):
    arguments = dict(problem="dense", target=1e-2, method="euc-matched", d=64, seed=seed, choice=CHOICE, limit=limit)
    return Task(qcqp.measure, arguments, f"seed {seed}")


def silent(*_):
    return None


def test_records_come_back_in_order(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    assert list(store.records()) == []
    for number in range(3):
        store.append(dict(number=number))
    assert list(store.records()) == [dict(number=number) for number in range(3)]


def test_a_torn_line_is_ignored_and_left_behind(tmp_path):
    store = Store(tmp_path)
    store.append(dict(number=1))
    with store.path.open("ab") as file:
        file.write(b'{"number": 2, "torn')
    store.append(dict(number=3))
    assert list(store.records()) == [dict(number=1), dict(number=3)]


def test_what_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        Store(tmp_path).append(dict(value=float("nan")))


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgumentError, match=r"result store must be a folder that can be written, got .*file"):
        Store(tmp_path / "file").append({})


@pytest.mark.parametrize("link", [lambda path, to: path.symlink_to(to), lambda path, to: path.hardlink_to(to)], ids=["symbolic", "hard"])
def test_a_link_in_the_place_of_the_store_is_not_followed(tmp_path, link):
    victim, store = tmp_path / "victim", Store(tmp_path / "store")
    victim.write_bytes(b'{"number": 1}\n')
    store.folder.mkdir()
    link(store.path, victim)
    for action in (lambda: store.append(dict(number=2)), lambda: list(store.records())):
        with pytest.raises(InvalidArgumentError, match=r"runs.jsonl' (is a symbolic link|has another name, too), .*\.$"):
            action()
    assert victim.read_bytes() == b'{"number": 1}\n'


def test_a_pipe_in_the_place_of_the_store_does_not_hold_us_up(tmp_path):
    os.mkfifo(Store(tmp_path).path)
    for action in (lambda: Store(tmp_path).append(dict(number=2)), lambda: list(Store(tmp_path).records())):
        with pytest.raises(InvalidArgumentError, match=r"runs.jsonl' is no plain file"):
            action()


def test_two_processes_may_add_to_one_store(tmp_path):
    children = [multiprocessing.get_context("fork").Process(target=append_hundred, args=(tmp_path, child)) for child in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    found = [(record["child"], record["number"]) for record in Store(tmp_path).records()]
    assert sorted(found) == [(child, number) for child in range(2) for number in range(100)]


def append_hundred(folder, child):
    for number in range(100):
        Store(folder).append(dict(child=child, number=number, long="x" * 1000))


def test_processes_give_the_outcomes_of_one_process_in_order(tmp_path):
    tasks = [task(seed) for seed in (3, 1, 2, 1)]
    alone = Campaign(Store(tmp_path / "a"), 1, "1", silent).complete(tasks)
    together = Campaign(Store(tmp_path / "b"), 2, "1", silent).complete(tasks)
    assert alone == together
    assert alone[1] == alone[3]
    assert len(list(Store(tmp_path / "a").records())) == 3  # equal tasks are one run


@dataclass(frozen=True)
class Halves:
    """Of a whole number, with a word on it where it is odd."""

    parts: tuple[int, int]
    word: str | None


def halve(whole: int) -> Halves:
    return Halves((whole // 2, whole - whole // 2), "odd" if whole % 2 else None)


@pytest.mark.parametrize(
    ("function", "name"),
    [(probe.measure, "bench.probe:measure"), (_field.refer, "bench._field:refer"), (qcqp.measure, "qcqp:measure")],
)
def test_a_key_names_the_function_and_its_arguments(function, name):
    assert json.loads(Task(function, dict(seed=1, d=2)).key) == [name, dict(d=2, seed=1)]
    assert Task(function, dict(seed=1, d=2)).key == Task(function, dict(d=2, seed=1), "a label").key


def test_an_outcome_is_the_same_made_and_stored(tmp_path):
    tasks = [Task(halve, dict(whole=whole)) for whole in (4, 5)]
    made = Campaign(Store(tmp_path), 1, "1", silent).complete(tasks)
    stored = Campaign(Store(tmp_path), 1, "1", lambda *_: pytest.fail("a stored run was run again")).complete(tasks)
    assert made == stored == [halve(4), halve(5)]
    assert [record["outcome"] for record in Store(tmp_path).records()] == [dict(parts=[2, 2], word=None), dict(parts=[2, 3], word="odd")]


@pytest.mark.parametrize(
    ("outcome", "runs"),
    [
        (dict(parts=[9, 9], word=None), 0),
        (dict(parts=[9, 9], word=None, more=1), 0),
        (dict(parts=[9, 9]), 1),
        (dict(parts=[9], word=None), 1),
    ],
)
def test_a_stored_outcome_that_lacks_a_field_is_made_again(tmp_path, outcome, runs):
    store, told, task = Store(tmp_path), [], Task(halve, dict(whole=4))
    store.append(dict(key=task.key, version="1", label="", seconds=1.0, outcome=outcome))
    (found,) = Campaign(store, 1, "1", lambda *progress: told.append(progress)).complete([task])
    assert len(told) == runs
    assert found.parts == ((2, 2) if runs else (9, 9))
    assert Campaign(store, 1, "1", lambda *_: pytest.fail("a stored run was run again")).complete([task]) == [found]


def test_other_versions_are_run_again_and_kept(tmp_path):
    Campaign(Store(tmp_path), 1, "1", silent).complete([task(0)])
    Campaign(Store(tmp_path), 1, "2", silent).complete([task(0)])
    assert [record["version"] for record in Store(tmp_path).records()] == ["1", "2"]


def test_seconds_are_those_of_the_stored_runs(tmp_path):
    Campaign(Store(tmp_path), 1, "1", silent).complete([task(7)])  # somebody else's
    campaign = Campaign(Store(tmp_path), 1, "1", silent)
    groups = campaign.complete_groups([[task(0), task(1)], [task(0)]])
    assert groups == [campaign.complete([task(0), task(1)]), campaign.complete([task(0)])]
    stored = [record["seconds"] for record in Store(tmp_path).records()]
    assert campaign.seconds == pytest.approx(sum(stored[1:]))


def test_groups_are_run_seed_by_seed(tmp_path):
    """So that an interrupted grid is whole for fewer seeds."""
    Campaign(Store(tmp_path), 1, "1", silent).complete_groups([[task(0), task(1), task(2)], [task(10), task(11)]])
    assert [record["label"] for record in Store(tmp_path).records()] == [f"seed {seed}" for seed in (0, 10, 1, 11, 2)]


def test_a_process_that_dies_is_told(tmp_path):
    def kill_one():
        while not (children := multiprocessing.active_children()):
            time.sleep(0.05)
        os.kill(children[0].pid, signal.SIGKILL)

    threading.Thread(target=kill_one).start()
    with pytest.raises(WorkerError, match="A process of the campaign died; the runs that had ended are stored"):
        Campaign(Store(tmp_path), 2, "1", silent).complete([task(seed, 10**7) for seed in range(2)])


def test_a_killed_campaign_goes_on_where_it_was(tmp_path):
    """A real process, killed without warning in the middle of its runs."""
    code = (
        "import sys; from pathlib import Path; from test_campaign import task, silent; from zolal.campaigns import Campaign, Store\n"
        "Campaign(Store(Path(sys.argv[1])), 1, '1', silent).complete([task(seed, 40_000) for seed in range(200)])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment)
    deadline = time.monotonic() + 60
    while len(list(Store(tmp_path).records())) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = list(Store(tmp_path).records())
    assert 3 <= len(kept) < 200
    told = []
    Campaign(Store(tmp_path), 1, "1", lambda *progress: told.append(progress)).complete(
        [task(seed, 40_000) for seed in range(len(kept) + 1)]
    )
    assert len(told) == 1  # only the one that was missing
    assert [json.loads(record["key"])[1]["seed"] for record in Store(tmp_path).records()] == list(range(len(kept) + 1))
