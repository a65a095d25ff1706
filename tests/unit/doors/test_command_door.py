"""A program as an objective: real processes, files, signals and exit codes."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import zolal
from zolal.doors.command import described_problem
from zolal.errors import CommandError, InvalidArgumentError


def script(tmp_path, body, name="simulate"):
    """An executable shell script."""
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def echo(tmp_path):
    """A program that keeps what it was given and answers with the content of a file."""
    return script(tmp_path, f'cat "$1" > {tmp_path}/given; cat {tmp_path}/answer > "$2"')


def answer(tmp_path, echo, text, x=(1.0,)):
    (tmp_path / "answer").write_text(text)
    return zolal.Command(f"{echo} {{input}} {{output}}")(np.array(x))


@pytest.mark.parametrize("x", [[0.1, -1e-300, 1 / 3], [np.pi * 1e17, 5e-324, -0.0]])
def test_a_point_arrives_to_the_last_bit(tmp_path, echo, x):
    answer(tmp_path, echo, "1", x)
    assert_array_equal(json.loads((tmp_path / "given").read_text()), x)


def test_names_arrive_as_an_object(tmp_path, echo):
    (tmp_path / "answer").write_text("2.5")
    assert zolal.Command(f"{echo} {{input}} {{output}}")({"speed": 2.0, "load": 0.1}) == 2.5
    assert json.loads((tmp_path / "given").read_text()) == {"speed": 2.0, "load": 0.1}


VALUES = {
    "1" * 400: np.inf,
    '{"value": %s}' % ("1" * 5000): np.inf,
    '{"value": NaN}': np.nan,
    '{"value": -Infinity}': -np.inf,
    "3": 3.0,
    " -1.25e-3\n": -1.25e-3,
    '{"value": 0.1, "note": "x"}': 0.1,
    "1e400": np.inf,
    "-nan": np.nan,
    "null": np.nan,
}


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_a_value_is_read_as_programs_write_it(tmp_path, echo, text, value):
    np.testing.assert_equal(answer(tmp_path, echo, text), value)


@pytest.mark.parametrize("text", ["", "three", "[1, 2]", '{"cost": 3}', '"3"x', "true", '{"value": "3"}', "[" * 100_000])
def test_what_is_no_value_is_one_sentence(tmp_path, echo, text):
    with pytest.raises(CommandError, match="must write a number or"):
        answer(tmp_path, echo, text)


def test_without_files_a_program_reads_stdin_and_prints():
    assert zolal.Command("tr -d '[]'")(np.array([2.5])) == 2.5
    assert zolal.Command("""sh -c 'cat {input} | tr -d "[]"'""")(np.array([2.5])) == 2.5


def test_words_of_a_command_are_those_of_a_shell_and_braces_of_others_stay(tmp_path):
    program = script(tmp_path, 'printf %s "$1$2" > "$3"', "two words")
    with pytest.raises(CommandError, match=r"got '\{x\}a b'"):
        zolal.Command(f"'{program}' {{x}} 'a b' {{output}}")(np.ones(1))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("echo no licence >&2; exit 3", "ended with exit code 3: no licence"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("kill -40 $$", "was ended by signal 40"),
        ("true", "The command wrote no output"),
        ("echo no licence >&2", "The command wrote no output: no licence"),
        ("echo no licence >&2; echo three > $2", "must write a number or .*, got 'three': no licence"),
    ],
)
def test_a_program_that_fails_says_how(tmp_path, body, sentence):
    with pytest.raises(CommandError, match=sentence):
        zolal.Command(f"{script(tmp_path, body)} {{input}} {{output}}")(np.ones(1))


def test_a_script_without_its_first_line_says_what_it_lacks(tmp_path):
    (tmp_path / "simulate").write_text("echo 3\n")
    (tmp_path / "simulate").chmod(0o755)
    with pytest.raises(CommandError, match=r"cannot be started: Exec format error; a script needs a first line such as #!/bin/sh"):
        zolal.Command(str(tmp_path / "simulate"))(np.ones(1))


def alive(pid):
    """Whether a process is there and is no zombie, which a container without an init may keep."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def ended(pid):
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_has_started(tmp_path):
    slow = script(tmp_path, f"sleep 300 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(TimeoutError, match=r"longer than timeout=0\.5 s"):
        zolal.Command(slow, timeout=0.5)(np.ones(1))
    assert ended(int((tmp_path / "child").read_text()))


def test_an_interrupt_ends_the_program_and_the_run(tmp_path):
    slow = script(tmp_path, f"echo $$ > {tmp_path}/child; kill -INT {os.getpid()}; sleep 300")
    res = zolal.minimize(zolal.Command(slow), [1.0], maxfev=10, rng=0)
    assert res.status is zolal.Status.INTERRUPTED
    assert ended(int((tmp_path / "child").read_text()))


def test_a_timeout_of_minimize_ends_the_programs_of_workers(tmp_path):
    slow = script(tmp_path, f"echo $$ >> {tmp_path}/children; sleep 300")
    res = zolal.minimize(zolal.Command(slow), [1.0], maxfev=4, rng=0, timeout=0.5, retries=0, workers=2)
    assert "longer than timeout=0.5 s" in res.message
    children = (tmp_path / "children").read_text().split()
    assert len(children) >= 1
    assert all(ended(int(pid)) for pid in children)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_us_ends_the_programs_of_all_workers_and_their_files(tmp_path, workers, number):
    slow = script(tmp_path, f"echo $$ >> {tmp_path}/children; sleep 300")
    code = f"zolal.minimize(zolal.Command({slow!r}), [1.0, 2.0], rng=0, workers={workers}, options=dict(step_size=0.1))"
    if workers > 1:  # as in `zolal solve`; else a program that has workers ends at once, and they after their evaluation
        code = "signal.signal(signal.SIGTERM, signal.default_int_handler); " + code
    (tmp_path / "files").mkdir()
    run = subprocess.Popen([sys.executable, "-c", f"import signal, zolal; {code}"], env=os.environ | {"TMPDIR": str(tmp_path / "files")})
    while not (tmp_path / "children").exists() or len((tmp_path / "children").read_text().split()) < workers:
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(number)
    run.wait(60)
    assert all(ended(int(pid)) for pid in (tmp_path / "children").read_text().split())
    assert list((tmp_path / "files").iterdir()) == []


def test_programs_at_the_same_time_have_files_of_their_own(tmp_path):
    own = script(tmp_path, 'sleep 0.05; tr -d "[]" < "$1" > "$2"')
    command = zolal.Command(f"{own} {{input}} {{output}}")
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda x: command(np.array([x])), np.arange(24.0))) == list(range(24))


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    zolal.Command("tr -d '[]'")(np.array([2.5]))
    with pytest.raises(CommandError):
        zolal.Command("false")(np.array([2.5]))
    assert list(tmp_path.iterdir()) == []


BOWL = "awk -F '[][,]' '{ a = $2 - 1; b = $3 + 0.5; printf \"%.17g\", a * a + b * b }'"


def bowl(x):
    return float((x[0] - 1) ** 2 + (x[1] + 0.5) ** 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_is_that_of_the_same_function_in_python(workers):
    mine = zolal.minimize(zolal.Command(BOWL), [0.0, 0.0], maxfev=40, rng=0, workers=workers)
    reference = zolal.minimize(bowl, [0.0, 0.0], maxfev=40, rng=0)
    assert_array_equal(mine.x, reference.x)
    assert (mine.nfev, mine.status) == (reference.nfev, reference.status)


def test_failures_are_retried_as_everywhere(tmp_path):
    sometimes = script(tmp_path, f'echo x >> {tmp_path}/calls; [ $(($(wc -l < {tmp_path}/calls) % 3)) -eq 0 ] && exit 9; cat "$1" | {BOWL}')
    res = zolal.minimize(zolal.Command(f"{sometimes} {{input}}"), [0.0, 0.0], maxfev=60, rng=0)
    assert res.success
    assert_allclose(res.x, [1.0, -0.5], atol=1e-3)
    assert res.nfev == len((tmp_path / "calls").read_text().split())
    assert "exit code 9" in res.failures[0][0]


def test_a_seed_is_the_same_at_both_ends_of_a_difference(tmp_path):
    noisy = script(tmp_path, f'echo "$2" >> {tmp_path}/seeds; tr -d "[]" < "$1" | awk -v s="$2" \'{{ printf "%.17g", $1 * $1 + s }}\'')
    command = zolal.Command(f"{noisy} {{input}} {{seed}}")
    options = dict(step_size=0.1, num_directions=1, max_iterations=5, kkt_directions=0)
    res = zolal.minimize(command, [1.0], sample=command.draw_seed, maxfev=100, rng=0, options=options)
    seeds = (tmp_path / "seeds").read_text().split()
    assert len(seeds) == res.nfev
    assert len(set(seeds)) <= res.nfev // 2
    assert 0 < res.x[0] < 0.8  # a seed that differs would shift a difference by millions


def test_a_resumed_run_may_have_another_timeout_and_no_other_command(tmp_path):
    arguments = dict(x0=[0.0, 0.0], rng=0, checkpoint=tmp_path / "run")
    whole = zolal.minimize(zolal.Command(BOWL), [0.0, 0.0], rng=0, maxfev=30)
    zolal.minimize(zolal.Command(BOWL, timeout=30), maxfev=6, **arguments)
    again = zolal.minimize(zolal.Command(BOWL, timeout=60), maxfev=30, resume=True, **arguments)
    assert_array_equal(again.x, whole.x)
    with pytest.raises(zolal.CheckpointError, match="objective was"):
        zolal.minimize(zolal.Command(BOWL + " "), maxfev=60, resume=True, **arguments)


def test_a_command_travels_with_its_timeout():
    again = pickle.loads(pickle.dumps(zolal.Command("tr -d '[]'", timeout=3)))
    assert (again.line, again.timeout) == ("tr -d '[]'", 3.0)


BAD = {
    "no text": (3, "must be a line of text, got 3"),
    "nothing": ("  ", "must name a program, got '  '"),
    "quotes": ("sh -c 'echo", "must be a command, got"),
    "no such program": ("./no-such-program {input}", "must exist and be executable, got './no-such-program'"),
}


@pytest.mark.parametrize(("line", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_command_is_one_sentence(line, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        zolal.Command(line)


def test_a_bad_timeout_or_a_seed_too_many_is_one_sentence():
    with pytest.raises(InvalidArgumentError, match=r"must be a positive number, got -1"):
        zolal.Command("cat", timeout=-1)
    with pytest.raises(TypeError, match="takes a seed where it has"):
        zolal.Command("cat")(np.ones(1), 3)


WHOLE = {
    "x0": {"a": 0.2, "b": 0.8},
    "bounds": {"a": [0, None], "b": None},
    "constraints": {"sum": {"weights": {"a": 1, "b": 1}, "lower": 1, "upper": 1}, "limit": {"weights": {"b": 2}, "upper": 1.8}},
}


def described(tmp_path, told, line="cat"):
    (tmp_path / "problem.json").write_text(told if isinstance(told, str) else json.dumps(told))
    return described_problem(tmp_path / "problem.json", zolal.Command(line))


def test_a_described_problem_is_the_one_that_python_would_make(tmp_path):
    problem = described(tmp_path, WHOLE)
    assert problem.x0 == {"a": 0.2, "b": 0.8}
    assert_array_equal(problem.region.project(np.array([-1.0, -1.0])), [0.0, -1.0])
    assert_array_equal(problem.constraints["limit"].A, [[0.0, 2.0]])
    assert (problem.constraints["limit"].lb, problem.constraints["limit"].ub) == (-np.inf, 1.8)
    assert problem.sample is None
    assert described(tmp_path, {"x0": [1, 2]}, "echo {seed}").sample is zolal.Command.draw_seed
    plain = described(tmp_path, {"x0": [1, 2], "bounds": [[0, 3], None], "constraints": {"c": {"weights": [1, 2], "lower": 0}}})
    assert_array_equal(plain.constraints["c"].A, [[1.0, 2.0]])


BAD_FILES = {
    "no JSON": ("{", "must be JSON"),
    "no object": ([1], "must be an object with 'x0'"),
    "unknown part": ({"x0": [1], "bound": []}, "must be an object with 'x0' and perhaps 'bounds'"),
    "x0": ({"x0": 3}, "'x0' of .* must be a list"),
    "bounds": ({"x0": [1, 2], "bounds": [[0, 1]]}, "one pair per variable"),
    "name of a bound": ({"x0": {"a": 1}, "bounds": {"b": [0, 1]}}, "unknown name 'b'"),
    "constraints": ({"x0": [1], "constraints": [3]}, "must be an object {name: constraint}"),
    "no limit": ({"x0": [1], "constraints": {"c": {"weights": [1]}}}, "constraint 'c' must have 'weights' and 'lower' or 'upper'"),
    "weights": ({"x0": [1], "constraints": {"c": {"weights": [1, 2], "upper": 1}}}, "constraint 'c' must have 1 numbers"),
    "name of a weight": ({"x0": {"a": 1}, "constraints": {"c": {"weights": {"b": 1}, "upper": 1}}}, "unknown name 'b'"),
}


@pytest.mark.parametrize(("told", "sentence"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_description_is_one_sentence(tmp_path, told, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        described(tmp_path, told)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(InvalidArgumentError, match="No such file"):
        described_problem(tmp_path / "nothing.json", zolal.Command("cat"))


def test_an_interrupt_from_the_terminal_ends_the_program(tmp_path):
    """Ctrl-C reaches the program's group not at all: it is for us to end it."""
    slow = script(tmp_path, f"echo $$ > {tmp_path}/child; exec sleep 300")
    code = f"import zolal; print(zolal.minimize(zolal.Command({slow!r}), [1.0], rng=0).status.name)"
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert run.communicate(timeout=30)[0].strip() == "INTERRUPTED"
    assert ended(int((tmp_path / "child").read_text()))
