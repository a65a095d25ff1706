"""What one can do with a result: read it, show it, draw it, go on from it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, OptimizeResult

import zolal
from zolal import Status

SPHERE = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
START = np.array([0.5, 0.2, -0.1])
OPTIONS = dict(step_size=0.02, num_directions=8, dual_step=5.0)


def bowl(x):
    return float((x - 1) @ (x - 1))


@pytest.fixture(scope="module")
def res():
    return zolal.minimize(bowl, START, constraints=SPHERE, rng=0)


def test_a_result_reads_well_in_a_terminal(res):
    text = repr(res)
    assert text == str(res)
    assert res.message in text
    assert f"{res.fun:.8g}" in text
    assert "CONVERGED (0)" in text
    assert "trace" not in text
    assert len(text.splitlines()) < 15


def test_long_vectors_are_cut(res):
    long = zolal.minimize(lambda x: float(x @ x), np.ones(100), maxfev=210, rng=0)
    assert "... 100 in all]" in repr(long)
    assert max(map(len, repr(long).splitlines()[1:])) < 200


def test_an_empty_result_has_a_text():
    assert repr(zolal.Result()) == ""
    assert "CONVERGED" in repr(zolal.Result(status=Status.CONVERGED))


def test_a_notebook_gets_a_table_whose_texts_are_escaped(res):
    assert res._repr_html_().startswith("<table>")
    assert "<b>" not in zolal.Result(message="<b>")._repr_html_()


def test_a_result_can_be_pickled(res):
    again = pickle.loads(pickle.dumps(res))
    assert again.message == res.message
    assert isinstance(res, OptimizeResult)


def test_a_result_makes_a_page_without_a_folder(res, tmp_path):
    path = tmp_path / "page.html"
    res.report(path)
    page = path.read_text()
    assert "<svg" in page
    assert "CONVERGED" in page
    assert 'id="constraints"' in page
    assert "<script" not in page


def test_a_page_tells_of_failures(tmp_path):
    line = np.random.default_rng(0)

    def unreliable(x):
        if line.random() < 0.2:
            raise ConnectionError("the line is <busy>")
        return bowl(x)

    found = zolal.minimize(unreliable, np.zeros(3), maxfev=100, rng=0)
    found.report(str(tmp_path / "page.html"))
    assert "the line is &lt;busy&gt;" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("path", [None, 3, ""])
def test_a_path_that_is_none_is_refused(res, path):
    with pytest.raises(zolal.InvalidArgumentError, match=r"`Result.report\(path\)` must be the path of a file, got"):
        res.report(path)


def test_a_file_that_cannot_be_written_is_told(res, tmp_path):
    with pytest.raises(zolal.InvalidArgumentError, match="must be a file that can be written"):
        res.report(tmp_path / "missing" / "page.html")


def test_a_result_can_be_drawn(res, tmp_path):
    figure = res.plot()
    assert len(figure.axes) == 3
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000


def test_a_run_goes_on_from_a_result():
    first = zolal.minimize(bowl, START, constraints=SPHERE, maxfev=6, rng=0)
    again = zolal.minimize(bowl, start=first, constraints=SPHERE, maxfev=200, rng=0)
    assert not first.success
    assert again.success
    assert again.fun < first.fun
    assert again.nfev <= 200


def test_multipliers_are_carried_to_the_method_that_takes_them():
    first = zolal.minimize(bowl, START, constraints=SPHERE, maxfev=2000, rng=0, options=OPTIONS)
    seen = []
    zolal.minimize(
        bowl, start=first, constraints=SPHERE, maxfev=200, rng=0, options=OPTIONS | dict(dual_step=0.0), callback=lambda s: seen.append(s)
    )
    assert abs(first.multipliers[0]) > 0.1
    np.testing.assert_allclose(seen[0].multipliers, first.multipliers)


def test_multipliers_survive_a_folder(tmp_path):
    first = zolal.minimize(bowl, START, constraints=SPHERE, maxfev=2000, rng=0, options=OPTIONS)
    given = dict(start=first, constraints=SPHERE, maxfev=400, options=OPTIONS, checkpoint=tmp_path)
    stopped = zolal.minimize(bowl, callback=lambda state: state.k == 3, **given)
    resumed = zolal.minimize(bowl, resume=True, **given)
    assert resumed.nit > stopped.nit
    with pytest.raises(zolal.CheckpointError, match="start"):
        zolal.minimize(bowl, resume=True, **(given | dict(start=zolal.Result(x=first.x, multipliers=2 * first.multipliers))))


def test_a_result_without_a_multiplier_per_row_lends_its_point_alone(res):
    again = zolal.minimize(bowl, start=zolal.Result(x=res.x, multipliers=np.ones(7)), maxfev=200, rng=0, options=OPTIONS)
    assert np.isfinite(again.fun)


def test_a_start_is_a_result_and_stands_alone(res):
    with pytest.raises(zolal.InvalidArgumentError, match=r"`start` must be a result of `minimize`, got \[0.0\]"):
        zolal.minimize(bowl, start=[0.0])
    with pytest.raises(zolal.InvalidArgumentError, match="Give `x0` or `start`, not both"):
        zolal.minimize(bowl, np.zeros(3), start=res)


def test_an_integral_float_is_a_budget():
    assert zolal.minimize(bowl, np.zeros(3), maxfev=1e3, rng=0).success
    for bad in (10.5, 0.0, -5.0, np.inf, np.nan, "100", True):
        with pytest.raises(zolal.InvalidArgumentError, match=r"`minimize\(maxfev=...\)` must be a positive integer, got"):
            zolal.minimize(bowl, np.zeros(3), maxfev=bad)


@pytest.mark.parametrize("options", [None, OPTIONS])
@pytest.mark.parametrize("at", [1, 2, 5, 40])
def test_the_objective_after_an_interrupt_is_a_number(options, at):
    calls = []

    def interrupted(x):
        calls.append(1)
        if len(calls) > at:
            raise KeyboardInterrupt
        return bowl(x) + 1e-9 * len(calls)

    found = zolal.minimize(interrupted, np.zeros(3), regularizer=zolal.regularizers.L1(0.1), rng=0, options=options)
    assert found.status is Status.INTERRUPTED
    assert np.isfinite(found.fun)
    assert "nan" not in repr(found).split("\n")[3]


def test_the_command_tells_its_version():
    code = "import sys; sys.argv = ['zolal', '--version']; from zolal.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"zolal {zolal.__version__}"


@pytest.mark.parametrize("policy", ["retry", "skip", "raise"])
@pytest.mark.parametrize("workers", [1, 2, lambda function, items: map(function, items)], ids=["serial", "processes", "map"])
@pytest.mark.parametrize("options", [None, OPTIONS], ids=["auto", "mdlal"])
def test_a_slip_of_the_pen_is_raised_at_the_first_call(policy, workers, options):
    with pytest.raises(zolal.ObjectiveError, match=r"The objective raised NameError: name 'undefined' is not defined\.") as caught:
        zolal.minimize(lambda x: undefined + x[0], np.zeros(3), rng=0, on_error=policy, workers=workers, options=options)  # noqa: F821
    assert isinstance(caught.value.__cause__, NameError)


@pytest.mark.parametrize("fun", [lambda x, y: 0.0, lambda x: x.norm(), lambda x: x + "a"], ids=["arguments", "attribute", "types"])
def test_other_slips_are_raised_too(fun):
    with pytest.raises(zolal.ObjectiveError, match=r"TypeError|AttributeError"):
        zolal.minimize(fun, np.zeros(3), rng=0, on_error="skip")


def test_the_same_error_later_on_is_left_to_the_policy():
    calls = []

    def later(x):
        calls.append(1)
        return bowl(x) if len(calls) < 6 else undefined  # noqa: F821

    found = zolal.minimize(later, np.zeros(3), rng=0)
    assert found.status is Status.EVALUATION_FAILED
    assert "NameError" in found.message


def test_a_slip_can_be_mended_and_the_run_resumed(tmp_path):
    known = {}
    given = dict(rng=0, on_error="skip", checkpoint=tmp_path)

    def looked_up(x):
        return bowl(x - getattr(known.get("shift"), "value"))  # noqa: B009

    with pytest.raises(zolal.ObjectiveError, match="AttributeError"):
        zolal.minimize(looked_up, np.zeros(3), **given)
    known["shift"] = type("Shift", (), {"value": 1.0})
    assert zolal.minimize(looked_up, np.zeros(3), resume=True, **given).success


def test_the_users_exception_is_the_cause_of_ours():
    def fails(x):
        raise ConnectionError("the simulator is gone")

    with pytest.raises(zolal.ObjectiveError, match="the simulator is gone") as caught:
        zolal.minimize(fails, np.zeros(3), rng=0, on_error="raise")
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert caught.value.__cause__.__traceback__ is not None
    with pytest.raises(zolal.ObjectiveError) as caught:
        zolal.minimize(fails, np.zeros(3), rng=0, on_error="raise", workers=2)
    assert "in fails" in "".join(caught.value.__cause__.__notes__)


class StubbornError(Exception):
    def __init__(self, one, other):
        super().__init__(one)


def test_an_exception_that_cannot_travel_is_told_in_words():
    def fails(x):
        raise StubbornError("one", "other")

    with pytest.raises(zolal.ObjectiveError, match="StubbornError: one") as caught:
        zolal.minimize(fails, np.zeros(3), rng=0, on_error="raise", workers=2)
    assert "in fails" in str(caught.value.__cause__)


def test_options_of_another_method_are_refused_with_its_name():
    words = "Unknown option 'step_size' for method 'auto', it belongs to method 'mdlal' or .*; the options are"
    with pytest.raises(zolal.InvalidArgumentError, match=words):
        zolal.minimize(bowl, np.zeros(3), method="auto", options=dict(step_size=0.1))
    with pytest.raises(zolal.InvalidArgumentError, match="'inner_steps' for method 'auto', it belongs to method 'szo-conex';"):
        zolal.minimize(bowl, np.zeros(3), options=dict(inner_steps=5))
    assert zolal.minimize(bowl, np.zeros(3), maxfev=100, rng=0, options=dict(step_size=0.1)).parameters["method"] == "mdlal"
