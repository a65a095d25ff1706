"""Every bad argument of `minimize` is refused in one sentence that holds the value got."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import Bounds, NonlinearConstraint

import zolal
from zolal import Constraint
from zolal.mirror import Block, Euclidean
from zolal.sets import Box, Simplex

GOOD = dict(rng=0, maxfev=200, options=dict(step_size=0.1, num_directions=2))


def square(x):
    return float(x @ x)


def refusal(*args, error=zolal.InvalidArgumentError, **arguments):
    """The sentence with which a call is refused."""
    with pytest.raises(error) as caught:
        zolal.minimize(*(args or (square, [1.0, 2.0])), **(GOOD | arguments))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_option(**option):
    return dict(options=GOOD["options"] | option)


class Pretender:
    """Looks like an array and is none."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __repr__(self):
        return "Pretender()"


BAD_X0 = {
    "2-d": ([[1.0, 2.0]], "shape (1, 2)"),
    "a number": (3.0, "shape ()"),
    "empty": ([], "shape (0,)"),
    "strings": (["a", "b"], "dtype <U1"),
    "complex": ([1.0, 2j], "dtype complex128"),
    "objects": ([1.0, None], "dtype object"),
    "bools": ([True, False], "dtype bool"),
    "ragged": ([[1.0], [1.0, 2.0]], "x0"),
    "nan": ([1.0, np.nan], "got nan at entry 1"),
    "inf": ([-np.inf, 1.0], "got -inf at entry 0"),
    "missing": (None, "must be given"),
    "a word": ("abc", "got 'abc' of dtype <U3"),
    "masked": (np.ma.array([1.0, 2.0], mask=[False, True]), "no masked entries, got masked_array(data=[1.0, --]"),
    "no array": (Pretender(), "a vector of numbers, got Pretender()"),
}


@pytest.mark.parametrize(("x0", "fragment"), BAD_X0.values(), ids=BAD_X0)
def test_a_bad_x0_is_refused(x0, fragment):
    sentence = refusal(square, x0)
    assert "x0" in sentence
    assert fragment in sentence


BAD_OPTIONS = {
    "step_size is zero": (dict(step_size=0.0), "be a positive number, got 0.0"),
    "step_size is a word": (dict(step_size="small"), "got 'small'"),
    "penalty is negative": (dict(penalty=-1.0), "options['penalty']` must be a positive number, got -1.0"),
    "dual_step is negative": (dict(dual_step=-1.0), "options['dual_step']` must be a nonnegative number, got -1.0"),
    "smoothing is zero": (dict(smoothing=0), "options['smoothing']` must be a positive number, got 0"),
    "smoothing is nan": (dict(smoothing=np.nan), "options['smoothing']` must be a number or a function of the iteration, got nan"),
    "momentum is zero": (dict(momentum=0.0), "lie in (0, 1], got 0.0"),
    "momentum is above one": (dict(momentum=1.5), "lie in (0, 1], got 1.5"),
    "no directions": (dict(num_directions=0), "options['num_directions']` must be a positive integer, got 0"),
    "half a direction": (dict(num_directions=2.5), "positive integer, got 2.5"),
    "no initial directions": (dict(num_initial_directions=0), "options['num_initial_directions']` must be a positive integer, got 0"),
    "directions a list": (dict(directions=["sphere"]), "got ['sphere']"),
    "share_base a word": (dict(share_base="no"), "options['share_base']` must be True or False, got 'no'"),
    "unknown directions": (dict(directions="cube"), "'rademacher', 'sphere', 'gaussian', 'orthogonal', 'squares', got 'cube'"),
    "unknown output": (dict(output="median"), "got 'median'"),
    "no iterations": (dict(max_iterations=0), "positive integer, got 0"),
    "negative check": (dict(kkt_directions=-1), "nonnegative integer, got -1"),
}


@pytest.mark.parametrize(("option", "fragment"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_a_bad_option_is_refused(option, fragment):
    assert fragment in refusal(**with_option(**option))


def test_a_negative_delta_is_refused():
    assert "options['delta']` must be a nonnegative number, got -1" in refusal(geometry=4, **with_option(delta=-1))


def test_an_unknown_option_is_answered_with_the_known_ones():
    sentence = refusal(**with_option(step=0.1))
    assert "'step'" in sentence
    for name in ("step_size", "penalty", "dual_step", "smoothing", "num_directions", "momentum", "output", "kkt_directions"):
        assert name in sentence


@pytest.mark.parametrize("options", [None, {}, dict(penalty=1.0)])
def test_a_missing_step_size_is_named(options):
    assert "needs options['step_size']" in refusal(method="mdlal", options=options)


def test_a_step_size_asks_for_the_method_that_takes_one():
    found = zolal.minimize(lambda x: float(x @ x), np.ones(3), maxfev=200, rng=0, options=dict(step_size=0.1, penalty=2.0))
    named = zolal.minimize(lambda x: float(x @ x), np.ones(3), maxfev=200, rng=0, method="mdlal", options=dict(step_size=0.1, penalty=2.0))
    np.testing.assert_array_equal(found.x, named.x)


BAD_ARGUMENTS = {
    "options are a word": (dict(options="fast"), "'fast'"),
    "method unknown": (
        dict(method="bfgs"),
        "`method` must be one of ['auto', 'mdlal', 'multistage', 'szo-conex', 'zo-penalty', 'zo-sgd'], got 'bfgs'",
    ),
    "method a list": (dict(method=["mdlal"]), "got ['mdlal']"),
    "geometry below 2": (dict(geometry=1.5), "number p >= 2, a MirrorMap or 'auto', got 1.5"),
    "geometry a word": (dict(geometry="foo"), "'auto', got 'foo'"),
    "geometry nan": (dict(geometry=np.nan), "got nan"),
    "geometry infinite": (dict(geometry=np.inf), "got inf"),
    "geometry None": (dict(geometry=None), "got None"),
    "geometry of three variables": (dict(geometry=Block([(Euclidean(), 2), (Euclidean(), 1)])), "3"),
    "tol negative": (dict(tol=-1e-3), "tol=...)` must be a positive number, got -0.001"),
    "tol nan": (dict(tol=np.nan), "got nan"),
    "tol None": (dict(tol=None), "got None"),
    "rng negative": (dict(rng=-1), "`rng` must be a nonnegative integer, a numpy Generator or None, got -1"),
    "rng a float": (dict(rng=0.5), "got 0.5"),
    "rng a word": (dict(rng="seed"), "got 'seed'"),
    "rng a bool": (dict(rng=True), "got True"),
    "maxfev zero": (dict(maxfev=0), "positive integer, got 0"),
    "maxfev a float": (dict(maxfev=1e3 + 0.5), "positive integer, got 1000.5"),
    "maxfev below a step": (dict(maxfev=7), "at least 8: 4 evaluations for the first step and 4 for the final check, got 7"),
    "sample not callable": (dict(sample=3), "must be callable, got 3"),
    "gradient not callable": (dict(gradient=[1.0]), "must be callable, got [1.0]"),
    "callback not callable": (dict(callback=3), "callback"),
    "region not a set": (dict(region=(0, 1)), "ConvexSet, got (0, 1)"),
    "regularizer not one": (dict(regularizer=0.5), "Regularizer, got 0.5"),
    "region of three variables": (dict(region=Box([0, 0, 0], 1)), "must have 2 variables as the problem has, got 3"),
    "bounds and region": (dict(bounds=Bounds(0, 1), region=Simplex()), "`bounds` or `region`, not both"),
    "bounds crossed": (dict(bounds=Bounds([0.0, 2.0], [1.0, 1.0])), "got [2.0, 1.0] at coordinate 1"),
    "pairs crossed": (dict(bounds=[(0, 1), (2, 1)]), "got [2.0, 1.0] at coordinate 1"),
    "scalars crossed": (dict(bounds=Bounds(1, -1)), "got [1.0, -1.0]"),
    "bounds too long": (dict(bounds=Bounds([0, 0, 0], 1)), "one pair per variable (2), got 3"),
    "too many pairs": (dict(bounds=[(0, 1)] * 3), "one pair per variable (2), got 3"),
    "one pair for two": (dict(bounds=[(0, 1)]), "one pair per variable (2), got 1"),
    "bounds nan": (dict(bounds=Bounds([0.0, np.nan], 1)), "NaN"),
    "bounds a number": (dict(bounds=1.0), "(low, high) pairs, got 1.0"),
    "bounds of triples": (dict(bounds=[(0, 1, 2)] * 2), "(low, high) pairs"),
    "bounds a flat pair": (dict(bounds=(0.0, 1.0)), "(low, high) pairs, got (0.0, 1.0)"),
    "bounds of words": (dict(bounds=[("a", "b")] * 2), "(low, high) pairs"),
    "bounds of matrices": (dict(bounds=[np.zeros((2, 2))] * 2), "(low, high) pairs, got [array([[0., 0.], [0., 0.]])"),
    "vectorized no bool": (dict(vectorized="yes"), "must be True or False, got 'yes'"),
    "sparsity ragged": (dict(constraints=Constraint(square, sparsity=[[1], [1, 2]])), "`sparsity` must have shape (1, 2), got ()"),
    "sparsity no array": (dict(constraints=Constraint(square, sparsity=Pretender())), "`sparsity` must have shape (1, 2), got ()"),
    "jacobian of wrong shape": (
        dict(constraints=NonlinearConstraint(square, 0, 0, jac=lambda x: np.ones((2, 1)))),
        "Jacobian of constraint 'square' must have shape (1, 2), got (2, 1)",
    ),
}


@pytest.mark.parametrize(("arguments", "fragment"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_a_bad_argument_is_refused(arguments, fragment):
    assert fragment in refusal(**arguments)


@pytest.mark.parametrize("workers", [0, -2, "all", None, True, 2.0])
@pytest.mark.parametrize("vectorized", [False, True], ids=["one by one", "vectorized"])
def test_workers_of_no_known_form_are_refused(workers, vectorized):
    sentence = refusal(workers=workers, vectorized=vectorized)
    assert f"an executor with `submit`, or a Dask client, got {workers!r}" in sentence


BAD_CARE = {
    "on_error": (dict(on_error="ignore"), "`on_error` must be one of 'retry', 'skip', 'raise', got 'ignore'"),
    "on_error no word": (dict(on_error=None), "`on_error` must be one of 'retry', 'skip', 'raise', got None"),
    "retries": (dict(retries=-1), "`retries` must be a nonnegative integer, got -1"),
    "timeout": (dict(timeout=0), "`timeout` must be a positive number, got 0"),
    "progress": (dict(progress="yes"), "`progress` must be True or False, got 'yes'"),
    "checkpoint": (dict(checkpoint=3), "`checkpoint` must be the path of a folder, got 3"),
    "checkpoint without a name": (dict(checkpoint=""), "`checkpoint` must be the path of a folder, got ''"),
    "checkpoint of no name": (dict(checkpoint="a\0b"), "`checkpoint` must be the path of a folder, got 'a\\x00b'"),
    "resume": (dict(resume=1), "`resume` must be True or False, got 1"),
    "resume nothing": (dict(resume=True), "needs the folder of the run, got `checkpoint=None`"),
}


@pytest.mark.parametrize(("arguments", "fragment"), BAD_CARE.values(), ids=BAD_CARE)
def test_bad_arguments_of_a_run_that_lasts_are_refused(arguments, fragment):
    assert fragment in refusal(**arguments)


def test_a_map_has_no_timeout():
    assert "`timeout` needs `workers` that can be waited for" in refusal(timeout=1.0, workers=lambda f, i: [], error=zolal.UnsupportedError)


@pytest.mark.parametrize("fun", [None, 3.0, "square", [square]])
def test_a_function_that_is_not_callable_is_refused(fun):
    assert f"`fun` must be callable or a zolal.Problem, got {fun!r}" in refusal(fun, [1.0, 2.0])


BAD_VALUES = {
    "complex": (lambda x: 1j * x[0], "1j of dtype complex128"),
    "vector": (lambda x: x, "got shape (2,)"),
    "empty": (lambda x: [], "got shape (0,)"),
    "None": (lambda x: None, "got None"),
    "word": (lambda x: "1.0", "got '1.0'"),
    "ragged": (lambda x: [1.0, [2.0, 3.0]], "must return one real number"),
    "a huge integer": (lambda x: 10**400, "got " + "1" + "0" * 59 + "... of dtype object"),
}


@pytest.mark.parametrize(("fun", "fragment"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_value_that_is_not_one_real_number_is_refused_at_once(fun, fragment):
    sentence = refusal(fun, [1.0, 2.0], error=zolal.ObjectiveError)
    assert "The objective must return one real number" in sentence
    assert fragment in sentence


BAD_CONSTRAINT_VALUES = {
    "None": (lambda x: None, "The value of constraint 1 must be real numbers, got None of dtype object."),
    "word": (lambda x: "a", "The value of constraint 1 must be real numbers, got 'a' of dtype <U1."),
    "ragged": (lambda x: [1, [2, 3]], "The value of constraint 1 must be real numbers, got [1, [2, 3]] of dtype object."),
    "no array": (lambda x: Pretender(), "The value of constraint 1 must be real numbers, got Pretender() of dtype object."),
    "nan": (lambda x: np.nan, "The value of constraint 1 in row 0 is not finite: nan."),
}


@pytest.mark.parametrize(("fun", "sentence"), BAD_CONSTRAINT_VALUES.values(), ids=BAD_CONSTRAINT_VALUES)
def test_a_constraint_that_gives_no_real_numbers_is_refused_at_once(fun, sentence):
    assert refusal(constraints=NonlinearConstraint(fun, 0, 1), error=zolal.ConstraintError) == sentence


@pytest.mark.parametrize(("value", "shown"), [(None, "None"), ("ab", "'ab'"), ([1, [2, 3]], "[1, [2, 3]]")], ids=repr)
def test_a_gradient_that_gives_no_real_numbers_is_refused_at_once(value, shown):
    sentence = refusal(gradient=lambda x: value, error=zolal.ObjectiveError)
    assert f"The gradient must return 2 finite real numbers, got {shown} of dtype" in sentence


def test_a_constraint_stays_in_a_set_and_nowhere_else():
    with pytest.raises(zolal.InvalidArgumentError, match="`region` of a constraint must be a zolal ConvexSet, got 'box'"):
        Constraint(square, region="box")


def test_multipliers_to_go_on_from_are_numbers():
    start = zolal.Result(x=[1.0, 2.0], multipliers="abc")
    assert refusal(square, start=start) == "`start.multipliers` must be a vector of numbers, got 'abc'."


def test_more_arguments_may_be_none_or_one():
    assert zolal.minimize(square, [1.0, 2.0], None, rng=0).success
    slsqp = {"type": "ineq", "fun": lambda x, low: x[0] - low, "args": 0.5}
    assert zolal.minimize(square, [1.0, 2.0], constraints=slsqp, rng=0).x[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("values", [None, 3])
def test_what_is_told_holds_values(values):
    with pytest.raises(zolal.InvalidArgumentError, match=f"must be a dict by keys or a sequence of values, got {values}"):
        zolal.Optimizer(None, [0.0, 0.0]).tell(values)


def test_names_can_be_looked_up():
    with pytest.raises(zolal.InvalidArgumentError, match=r"`Problem\(names=...\)` must hold words"):
        zolal.Problem(square, 2, names=[[1], [2]])


BAD_ROWS = {
    "one number": (lambda X: 1.0, "shape ()"),
    "a matrix": (lambda X: X, "shape (4, 2)"),
    "too few": (lambda X: X[1:, 0], "shape (3,)"),
    "complex": (lambda X: X[:, 0] * 1j, "complex128"),
}


@pytest.mark.parametrize(("fun", "fragment"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_of_the_wrong_shape_are_refused_at_once(fun, fragment):
    sentence = refusal(fun, [1.0, 2.0], vectorized=True, error=zolal.ObjectiveError)
    assert "must return 4 real numbers" in sentence
    assert fragment in sentence


@pytest.mark.parametrize("region", [dict(bounds=Bounds(0, 1)), dict(region=Box(0, 1)), dict(bounds=[(0, 1), (0, 1)])])
def test_x0_outside_the_region_is_projected_with_a_warning_that_tells_the_distance(region):
    with pytest.warns(UserWarning, match=r"outside the region and was projected onto it, by a distance of 5\.") as caught:
        res = zolal.minimize(square, [4.0, -4.0], callback=lambda state: True, **(GOOD | region))
    assert caught[0].filename == __file__
    assert ((res.x >= 0) & (res.x <= 1)).all()
    inside = zolal.minimize(square, [1.0, 0.0], callback=lambda state: True, **(GOOD | region))
    assert_array_equal(res.x, inside.x)


def test_x0_on_the_boundary_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zolal.minimize(square, np.full(3, 1 / 3), region=Simplex(), **GOOD)


def test_x0_of_integers_becomes_floats():
    whole = zolal.minimize(square, np.array([1, 2]), **GOOD)
    assert whole.x.dtype == np.float64
    assert_array_equal(whole.x, zolal.minimize(square, [1.0, 2.0], **GOOD).x)


def test_x0_must_fit_the_problem():
    problem = zolal.Problem(square, 3)
    assert "`x0` must have 3 entries, got 2" in refusal(problem, [1.0, 2.0])
    assert "`x0` must be given" in refusal(problem)


@pytest.mark.parametrize(
    "argument", [dict(bounds=Bounds(0, 1)), dict(constraints=dict(type="eq", fun=square)), dict(args=(1,)), dict(vectorized=True)]
)
def test_a_problem_says_everything_about_the_problem(argument):
    assert next(iter(argument)) in refusal(zolal.Problem(square, 2), [1.0, 2.0], **argument)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_only_single_and_double_precision_are_taken(dtype):
    assert "single or double precision" in refusal(square, np.zeros(2, dtype))


@pytest.mark.parametrize("given", [0.0, [1.0, -1.0], [1.0], "one", [1.0, np.nan]])
def test_a_scale_that_is_no_positive_number_per_variable_is_refused(given):
    with pytest.raises(zolal.InvalidArgumentError, match="`x_scale` must be a positive number or 2 of them"):
        zolal.minimize(lambda x: x @ x, [1.0, 1.0], x_scale=given)


def test_a_scale_is_refused_where_variables_are_treated_alike():
    with pytest.raises(zolal.UnsupportedError, match="`x_scale` goes with at most 300 variables"):
        zolal.minimize(lambda x: x @ x, np.ones(301), x_scale=2.0)
    with pytest.raises(zolal.InvalidArgumentError, match="`x_scale` goes with method 'auto'"):
        zolal.minimize(lambda x: x @ x, [1.0, 1.0], method="mdlal", x_scale=2.0, options=dict(step_size=0.1))


def test_a_scale_tells_variables_apart():
    def f(x):
        return ((x[0] - 2e-3) / 1e-3) ** 2 + ((x[1] - 3e4) / 1e4) ** 2

    found = zolal.minimize(f, [0.0, 0.0], x_scale=[1e-3, 1e4], maxfev=60, rng=0)
    assert found.success
    np.testing.assert_allclose(found.x, [2e-3, 3e4], rtol=1e-2)
