"""Names: x as a dict or a Series in every place, constraints by name, and one sentence for every wrong name."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import zolal
from zolal.constraints import as_constraints
from zolal.report.run_page import write_run_page
from zolal.runs.checkpoint import read_run

pd = pytest.importorskip("pandas")

START = {"price": 0.5, "count": 500.0}
BOUNDS = {"count": (0, 2000), "price": (None, 10)}  # another order on purpose
SCALE = {"count": 1e3, "price": 1.0}
KINDS = {"dict": dict, "series": pd.Series}


def cost(x):
    return (x["price"] - 2) ** 2 + (x["count"] / 1e3 - 1) ** 2


def spent(x):
    return x["price"] + x["count"] / 1e3


def array_cost(x):
    return cost({"price": x[0], "count": x[1]})


BUDGET = {"budget": NonlinearConstraint(spent, -np.inf, 2.5)}


def solve(x0=START, **given):
    common = dict(bounds=BOUNDS, constraints=BUDGET, x_scale=SCALE, rng=0, maxfev=100)
    return zolal.minimize(given.pop("fun", cost), x0, **common | given)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_functions_get_and_results_give_what_the_start_is(kind):
    seen = set()

    def fun(x):
        seen.add(type(x))
        assert list(x.keys()) == ["price", "count"]
        return cost(x)

    res = solve(kind(START), fun=fun)
    assert seen == {kind}
    assert type(res.x) is kind
    assert res.names == ("price", "count")
    assert_allclose([res.x["price"], res.x["count"]], [1.75, 750.0], rtol=1e-3)
    assert res.named_multipliers == {"budget": pytest.approx(0.5, abs=1e-3)}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_names_change_nothing_about_the_run(kind):
    plain = zolal.minimize(
        array_cost,
        [0.5, 500.0],
        bounds=[(None, 10), (0, 2000)],
        constraints=NonlinearConstraint(lambda x: x[0] + x[1] / 1e3, -np.inf, 2.5),
        x_scale=[1.0, 1e3],
        rng=0,
        maxfev=100,
    )
    named = solve(kind(START))
    assert_array_equal(np.array([named.x["price"], named.x["count"]]), plain.x)
    assert (named.nfev, named.fun) == (plain.nfev, plain.fun)
    assert plain.names is None
    assert plain.constraint_names == ("constraint 1",)


def test_a_series_keeps_its_index_and_name():
    start = pd.Series(START, name="design")
    res = solve(start)
    assert res.x.name == "design"
    assert res.x.index.equals(start.index)


def test_bounds_by_name_give_names_to_an_array():
    res = solve([500.0, 0.5], fun=lambda x: array_cost(x[::-1]), constraints=())
    assert isinstance(res.x, np.ndarray)
    assert res.names == ("count", "price")
    assert_allclose(res.x, [1000.0, 2.0], rtol=1e-2)


@pytest.mark.parametrize(
    "bounds",
    [
        {"price": None, "count": np.array([0.0, 2000.0])},
        {"count": [0, 2000], "price": (None, None)},
        pd.Series({"price": (-np.inf, np.inf), "count": (0.0, 2000.0)}),
        pd.DataFrame({"low": [0.0, -np.inf], "high": [2000.0, np.inf]}, index=["count", "price"]),
    ],
    ids=["arrays and none", "lists", "series", "frame"],
)
def test_bounds_by_name_may_be_anything_that_has_two_ends(bounds):
    usual = solve(bounds={"price": (None, None), "count": (0, 2000)})
    assert solve(bounds=bounds).x == usual.x
    array = solve([0.5, 500.0], fun=array_cost, constraints=(), bounds=[None, np.array([0.0, 2000.0])], x_scale=[1.0, 1e3])
    assert array.success


@pytest.mark.parametrize(("kind", "expected"), [(dict, dict), (pd.Series, pd.DataFrame)], ids=KINDS)
def test_a_vectorized_function_gets_columns(kind, expected):
    def fun(rows):
        assert type(rows) is expected
        return np.asarray(cost(rows))

    assert_array_equal(list(solve(kind(START), fun=fun, vectorized=True).x), list(solve(kind(START)).x))


DERIVATIVES = {
    "array": lambda x: np.array([1.0, 1e-3]),
    "dict": lambda x: {"count": 1e-3, "price": 1.0},
    "series": lambda x: pd.Series({"count": 1e-3, "price": 1.0}),
    "rows": lambda x: [{"count": 1e-3, "price": 1.0}],
    "frame": lambda x: pd.DataFrame([{"count": 1e-3, "price": 1.0}]),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("jac", DERIVATIVES.values(), ids=DERIVATIVES)
def test_derivatives_may_have_names_in_any_order(jac, kind):
    gradient = lambda x: {"count": 2e-3 * (x["count"] / 1e3 - 1), "price": 2 * (x["price"] - 2)}  # noqa: E731
    res = solve(kind(START), constraints={"budget": NonlinearConstraint(spent, -np.inf, 2.5, jac=jac)}, gradient=gradient)
    assert res.success
    assert res.named_multipliers["budget"] == pytest.approx(0.5, abs=1e-3)


def test_a_wrong_derivative_is_told_by_the_name_of_the_variable():
    wrong = NonlinearConstraint(spent, -np.inf, 2.5, jac=lambda x: {"price": 1.0, "count": -1e-3})
    with pytest.raises(zolal.InvalidArgumentError, match=r"In constraint 'budget' .* by 'count' is -0.001 by `jac`, and 0.001 by"):
        solve(constraints={"budget": wrong})


def test_the_points_that_are_asked_for_have_names():
    with zolal.Optimizer(None, START, bounds=BOUNDS, constraints=BUDGET, x_scale=SCALE, rng=0, maxfev=100) as opt:
        while (batch := opt.ask()) is not None:
            opt.tell({query.key: cost(query.point) for query in batch})
    assert opt.result.x == solve().x


def test_processes_get_names_too():
    assert solve(workers=2).x == solve().x


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_problem_has_names(kind):
    given = dict(constraints=BUDGET, region=zolal.sets.Box([-np.inf, 0.0], [10.0, 2000.0]), names=["price", "count"])
    problem = zolal.Problem(cost, 2, x0=kind({"count": 500.0, "price": 0.5}), **given)
    res = zolal.minimize(problem, x_scale=SCALE, rng=0, maxfev=100)
    assert list(res.x.keys()) == ["price", "count"]
    assert list(dict(res.x).values()) == list(solve().x.values())
    plain = zolal.minimize(zolal.Problem(array_cost, 2, names=["price", "count"]), [0.5, 500.0], x_scale=SCALE, rng=0, maxfev=100)
    assert isinstance(plain.x, np.ndarray)
    assert plain.names == ("price", "count")


def test_constraints_in_every_form_may_have_a_name():
    named = as_constraints(
        {
            "a": zolal.Constraint(spent),
            "b": NonlinearConstraint(spent, 0, 1),
            "c": LinearConstraint([[1.0, 1.0]], 0, 1),
            "fun": Bounds(0, 1),
            "type": {"type": "eq", "fun": spent},
        },
        2,
    )
    assert [part.name for part in named] == ["a", "b", "c", "fun", "type"]
    listed = as_constraints([zolal.Constraint(spent, name="a"), {"type": "eq", "fun": spent, "name": "b"}], 2)
    assert [part.name for part in listed] == ["a", "b"]


def test_constraints_without_a_name_go_by_their_function_or_number():
    def heat(x):
        return x["price"]

    parts = as_constraints([zolal.Constraint(heat), zolal.Constraint(lambda x: 0.0), zolal.Constraint(spent), zolal.Constraint(spent)], 2)
    assert [part.name for part in parts] == ["heat", "constraint 2", "constraint 3", "constraint 4"]
    assert as_constraints({}, 2) == []


BAD = {
    "x0 lacks a name": (dict(x0={"price": 0.5}), "`bounds` must name the variables 'price', got the unknown name 'count'."),
    "bounds lack a name": (dict(bounds={"price": (0, 1)}), "`bounds` must name every variable, got nothing for 'count'."),
    "bounds of nobody": (dict(bounds=BOUNDS | {"cost": (0, 1)}), "'price', 'count', got the unknown name 'cost'."),
    "no pair": (dict(bounds=BOUNDS | {"price": 3.0}), "`bounds['price']` must be a pair (low, high) or None, got 3.0."),
    "scale lacks a name": (dict(x_scale={"price": 1.0}), "`x_scale` must name every variable, got nothing for 'count'."),
    "scale of nobody": (
        dict(x_scale=SCALE | {"cost": 1.0}),
        "`x_scale` must name the variables 'price', 'count', got the unknown name 'cost'.",
    ),
    "scale is no number": (dict(x_scale=SCALE | {"price": "big"}), "`x_scale` must be a positive number"),
    "scale by name alone": (dict(x0=[0.5, 500.0], bounds=None, constraints=()), "`x_scale` can have names where the variables have"),
    "not a number": (dict(x0={"price": "much", "count": 1.0}), "`x0` must hold real numbers"),
    "not finite": (dict(x0={"price": np.nan, "count": 1.0}), "`x0` must be finite, got nan at 'price'."),
    "a name twice": (
        dict(x0=pd.Series([0.5, 500.0], index=["price", "price"])),
        "`x0` must have distinct names, got 'price' more than once.",
    ),
    "empty": (dict(x0={}, bounds=None, x_scale=None), "`x0` must be a vector with at least one entry"),
    "constraints twice": (
        dict(constraints=[zolal.Constraint(spent, name="a"), zolal.Constraint(cost, name="a")]),
        "Names of constraints must differ, got 'a' more than once.",
    ),
    "a name that is a number": (
        dict(constraints=[zolal.Constraint(lambda x: 0.0, name="constraint 2"), zolal.Constraint(lambda x: 0.0)]),
        "Names of constraints must differ, got 'constraint 2' more than once.",
    ),
    "a name that is a row": (
        dict(constraints={"a": zolal.Constraint(lambda x: np.zeros(2)), "a[1]": zolal.Constraint(lambda x: 0.0)}),
        "Names of constraints must differ, got 'a[1]' more than once.",
    ),
    "two names for one": (
        dict(constraints={"a": zolal.Constraint(spent, name="b")}),
        "`constraints['a']` must have no other name, got 'b'.",
    ),
    "no constraint": (dict(constraints={"a": 3.0}), "`constraints['a']` must be NonlinearConstraint"),
    "a name that is no word": (dict(constraints={1: zolal.Constraint(spent)}), "A name in `constraints` must be a word, got 1."),
    "matrix": (
        dict(constraints={"total": LinearConstraint([[1.0]], 0, 1)}),
        "`LinearConstraint` of constraint 'total' must have one column",
    ),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_a_wrong_name_is_refused_in_one_sentence(given, sentence):
    with pytest.raises(zolal.InvalidArgumentError) as caught:
        solve(**given)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("names", ["ab", ["a"], 3, ["a", "a"]], ids=repr)
def test_wrong_names_of_a_problem_are_refused(names):
    with pytest.raises(zolal.InvalidArgumentError, match=r"`Problem\(names=...\)` must"):
        zolal.Problem(cost, 2, names=names)


@pytest.mark.parametrize("name", ["", 3])
def test_a_name_of_a_constraint_is_a_word(name):
    with pytest.raises(zolal.InvalidArgumentError, match=r"`Constraint\(name=...\)` must be a word"):
        zolal.Constraint(spent, name=name)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_printing_shows_names(kind):
    text = str(solve(kind(START)))
    assert "multipliers: budget: 0.49" in text or "multipliers: budget: 0.5" in text
    assert "x: price: 1.7" in text
    assert "count: 7" in text


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_folder_and_its_page_have_the_names(kind, tmp_path):
    res = solve(kind(START), checkpoint=tmp_path / "run")
    again = solve(kind(START), checkpoint=tmp_path / "run", resume=True)
    assert list(dict(again.x).items()) == list(dict(res.x).items())
    record = json.loads((tmp_path / "run" / "result.json").read_text())
    assert record["names"] == ["price", "count"]
    assert [row["name"] for row in record["constraints"]] == ["budget"]
    write_run_page(tmp_path / "run", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<td>price</td>" in page
    assert "<td>budget</td><td></td>" in page
    assert read_run(tmp_path / "run").result["x"] == list(dict(res.x).values())
