"""Calls that nobody would write: each ends in a result, or in an error of zolal's with one sentence; and no budget is exceeded."""

import tempfile
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import zolal
from zolal.errors import ZolalError
from zolal.methods import METHODS

MAXFEV = 60
HUGE = (1e300, -1e300, 1e17, 1e-300, np.inf, -np.inf, np.nan)
JUNK = (None, "word", "", -1, 0, 3, 2.5, True, object(), [], {}, (), [1.0, "x"], np.array([]), np.array("x"), 1j, print, *HUGE, 10**400)


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnError(Exception):
    """What a callback raises is the user's."""


def raising(error):
    def fun(*args):
        raise error

    return fun


def stopping(state):
    raise OwnError


OBJECTIVES = {
    "bowl": lambda x: float((x - 1.0) @ (x - 1.0)),
    "valley": lambda x: float(100 * (x[-1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2),
    "exponential": lambda x: float(np.sum(np.exp(3 * (x - 1)) - 3 * x)),
    "steep": lambda x: float(np.exp(np.abs(x).sum() * 200)),
    "logarithm": lambda x: float(np.sum(np.log(x))),
    "kink": lambda x: float(np.abs(x).max()),
    "jumps": lambda x: float(np.sum(np.round(x))),
    "flat": lambda x: 7.0,
    "down": lambda x: -(float(x.sum()) ** 3),
    "tiny": lambda x: 1e-300 * float(x @ x),
    "large": lambda x: 1e300 * float(x @ x),
    "random": lambda x: np.random.default_rng(int(1e6 * abs(float(x[0]))) % 2**32).normal() * 10.0 ** (300 * np.sin(1e3 * x[0])),
    "nan": lambda x: np.nan,
    "sometimes inf": lambda x: np.inf if np.sin(50 * x[0]) > 0.5 else float(x @ x),
    "one": lambda x: np.float32(x[0]),
    "mask": lambda x: np.ma.masked,
}
OBJECTIVES |= {f"returns {value!r:.20}": lambda x, value=value: value for value in JUNK}
OBJECTIVES |= {
    type(error).__name__: raising(error)
    for error in (ValueError("a\nb"), UnspeakableError(), MemoryError(), StopIteration(), NameError("x"))
}
STARTS = (
    [0.5, -0.5],
    np.zeros(3),
    np.full(4, 1e-3, dtype=np.float32),
    np.arange(3),
    [1e300, 1.0],
    [1e17],
    [1e-300, 2.0],
    np.ma.masked_array([1.0, 2.0], mask=[0, 1]),
    np.ma.masked_array([1.0, 2.0]),
    {"a": 1.0, "b": 2.0},
    np.zeros((2, 2)),
    np.array([1.0, np.nan]),
    np.array(["a"]),
    np.zeros(2, dtype=np.float16),
    np.zeros(2, dtype=complex),
    np.array([object()]),
    [[1.0], [1.0, 2.0]],
    *JUNK,
)
BOUNDS = ([(0, 1)] * 2, [(-1e300, 1e300)] * 2, [(1, 0)] * 2, [(np.nan, 1)] * 2, [(0, 0)] * 2, [None, (0, None)], Bounds(0, [1, 2]))
BOUNDS += (Bounds([0, 0], [np.inf, 1e-300]), [(0, 1)] * 5, [("a", "b")] * 2, [(1, 2, 3)] * 2)
CONSTRAINTS = (
    dict(type="eq", fun=lambda x: x @ x - 1.0),
    dict(type="ineq", fun=lambda x: 1e300 * (x[0] - 1.0)),
    dict(type="ineq", fun=lambda x: -1.0 - x @ x),
    dict(type="eq", fun=lambda x: x @ x - 1.0, jac=lambda x: -2 * x),
    dict(type="ineq", fun=raising(ZeroDivisionError("x"))),
    dict(type="ineq", fun=lambda x: np.nan),
    dict(type="ineq", fun=lambda x: "word"),
    dict(type="other", fun=len),
    dict(fun=3),
    LinearConstraint(np.ones((1, 2)), 1, 1),
    LinearConstraint(np.full((1, 2), 1e300), 1e300, 1e300),
    LinearConstraint(np.eye(2), [0, 0], [-1, 1]),
    LinearConstraint(np.ones((1, 7)), 0, 1),
    NonlinearConstraint(lambda x: np.sqrt(x), 0.5, np.inf),
    NonlinearConstraint(lambda x: [x[0], x[0]], [0, 0], [0, 0]),
    NonlinearConstraint(lambda x: x, np.nan, np.inf),
)
NUMBERS = (1e-3, 1e-12, 0.1, 1.0, 7, np.float32(0.5), np.int64(3), *HUGE)
OPTIONS = ("step_size", "smoothing", "num_directions", "momentum", "directions", "share_base", "output", "max_iterations", "kkt_directions")
OPTIONS += ("delta", "penalty", "dual_step", "stage_steps", "nonsense")
VALUES = (*NUMBERS, "rademacher", "sphere", "gaussian", "last", "average", True, lambda k: 0.1, lambda k: "word")
CHOICES = dict(
    bounds=BOUNDS,
    constraints=(*CONSTRAINTS, [CONSTRAINTS[0], CONSTRAINTS[1]], [CONSTRAINTS[2], CONSTRAINTS[9]], [CONSTRAINTS[1]] * 3),
    region=(
        zolal.sets.L2Ball(1.0),
        zolal.sets.Simplex(),
        zolal.sets.Box(-1.0, 1.0),
        zolal.sets.L1Ball(1e-300),
        zolal.sets.Box(-1e300, 1e300),
    ),
    regularizer=(zolal.regularizers.L1(0.1), zolal.regularizers.L1(1e300), zolal.regularizers.Zero()),
    sample=(lambda rng: rng.normal(), lambda rng: None, raising(OSError("x"))),
    vectorized=(True, False),
    gradient=(lambda x: 2 * x, lambda x: -x, lambda x: x[:1], raising(OSError("x"))),
    method=tuple(METHODS),
    geometry=("auto", 2, 3, 4.5, 100, 1e17, 1.5),
    maxfev=(1, 2, 5, 17, 33, np.int64(40), 60.0, 1e1, np.float32(30), np.nan, np.inf, 2.5, -1),
    tol=NUMBERS,
    workers=(1, map, 0, -7),
    on_error=("retry", "skip", "raise"),
    retries=(0, 1, 5, np.int64(2)),
    timeout=(5.0, 1e8, 1e300, 10**400, 1e-9),
    rng=(0, 2**70, np.int64(5), np.random.default_rng(0)),
    callback=(lambda state: True, lambda state: state.k, stopping, raising(StopIteration())),
    progress=(False,),
    checkpoint=("folder", "folder", "", "\0", "/proc/nowhere", b"bytes"),
    resume=(False, True),
    x_scale=(1.0, [1.0, 2.0], [1e-300, 1e300], [0.0, 1.0], dict(a=1.0, b=2.0)),
    start=(zolal.Result(x=np.ones(2)), zolal.Result(x=[np.nan]), zolal.Result(x=np.ones(2), multipliers="word")),
    args=((), (1.0,), (1.0, 2.0)),
)
HARMLESS = {  # junk of which a call would take long, write elsewhere or be something else
    "maxfev": [None, 10**400, *HUGE],
    "workers": [3, -1, 10**400, print],
    "checkpoint": ["word"],
    "progress": [True],
}


def chosen(name, right):
    wrong = [
        value
        for value in JUNK
        if not any(value is other or (type(value) is type(other) and repr(value) == repr(other)) for other in HARMLESS.get(name, ()))
    ]
    return st.sampled_from(right) | st.sampled_from(right) | st.sampled_from(right) | st.sampled_from(wrong)


@st.composite
def calls(draw):
    """A call: a function, a start, and a few more arguments, most of them right."""
    names = sorted(OBJECTIVES)
    arguments = dict(
        fun=draw(st.sampled_from(["bowl", "valley"]) | st.sampled_from(names)),
        x0=draw(st.sampled_from(STARTS[:4]) | st.sampled_from(STARTS[:9]) | st.sampled_from(STARTS)),
    )
    for name in draw(st.lists(st.sampled_from(sorted(CHOICES)), max_size=4, unique=True)):
        arguments[name] = draw(chosen(name, CHOICES[name]))
    if draw(st.integers(0, 3)) == 0:
        arguments["options"] = draw(st.dictionaries(st.sampled_from(OPTIONS), st.sampled_from(VALUES), max_size=2))
    if "start" in arguments:
        arguments["x0"] = None
    if isinstance(arguments.get("method"), str) and isinstance(arguments.setdefault("options", {}), dict):
        arguments["options"].setdefault("step_size", 0.1)
    return arguments


def check_call(arguments):
    """Make the call, and say how it ended."""
    made = []

    def fun(*args):
        made.append(1)
        return OBJECTIVES[arguments["fun"]](*args)

    given = dict(maxfev=MAXFEV, rng=0) | arguments | dict(fun=fun)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(given.get("checkpoint"), str) and given["checkpoint"] == "folder":
            given["checkpoint"] = f"{folder}/run"
        try:
            res = zolal.minimize(**given)
        except OwnError:
            return "the user's own"
        except ZolalError as error:
            told = str(error)
            assert told.rstrip().endswith((".", "?", "'"))
            return type(error).__name__
    limit = MAXFEV if given["maxfev"] is None else int(given["maxfev"])
    assert res.nfev <= limit
    assert len(made) <= limit or given.get("timeout") is not None
    assert isinstance(res.status, zolal.Status)
    assert res.message
    return res.status.name


QUIET = dict(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@settings(max_examples=300, **QUIET)
@given(arguments=calls())
def test_a_call_ends_in_a_result_or_in_a_sentence(arguments):
    check_call(arguments)


@pytest.mark.slow
@settings(max_examples=2000, **QUIET)
@given(arguments=calls())
def test_3000_calls_end_in_a_result_or_in_a_sentence(arguments):
    check_call(arguments)


@pytest.mark.parametrize("value", JUNK, ids=[f"{value!r:.20}" for value in JUNK])
def test_whatever_is_told_ends_in_a_sentence_or_in_the_next_batch(value):
    with zolal.Optimizer(None, [0.5, -0.5], maxfev=MAXFEV, rng=0) as opt:
        for told in (value, [value], {"step-0-0": value}, {value: 1.0} if not isinstance(value, (list, dict, np.ndarray)) else value):
            try:
                opt.tell(told)
            except ZolalError as error:
                assert str(error).endswith(".")  # noqa: PT017
        assert opt.result.nfev <= MAXFEV
