"""Constraints on what the simulator reports: their bounds, the outputs of one evaluation, and every way in which those can be wrong."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import zolal
from zolal import Constraint, Simulated
from zolal.constraints import Outputs, parted
from zolal.errors import InvalidArgumentError, ObjectiveError

WAIT, LEVELS = Simulated(upper=2.0, name="wait"), Simulated(lower=[0.1, 0.2], name="level", noisy=False)
OUTPUTS = Outputs.of([WAIT, LEVELS, Simulated(1.0, 1.0)])


def test_outputs_are_those_of_all_constraints_in_their_order():
    assert OUTPUTS.names == ("wait", "level[0]", "level[1]", "output 3")
    assert_array_equal(OUTPUTS.lower, [-np.inf, 0.1, 0.2, 1.0])
    assert_array_equal(OUTPUTS.upper, [2.0, np.inf, np.inf, 1.0])
    assert OUTPUTS.noisy == (None, False, False, None)
    assert OUTPUTS.described == "4 outputs ('wait', 'level[0]', 'level[1]', 'output 3')"
    assert Outputs.of([WAIT]).described == "1 output ('wait')"
    assert len(Outputs.of(())) == 0


def test_excess_is_what_values_lie_outside_by():
    assert_array_equal(OUTPUTS.excess(np.array([2.5, 0.1, 0.0, 0.25])), [0.5, 0.0, -0.2, -0.75])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            dict(lower=2, upper=1),
            "The bounds of a simulated constraint must satisfy lower <= upper, lower < inf and upper > -inf, got [2, 1].",
        ),
        (dict(lower=[0, 3], upper=1, name="wait"), "The bounds of the simulated constraint 'wait' must satisfy lower <= upper"),
        (dict(lower=np.inf), "must satisfy lower <= upper, lower < inf and upper > -inf, got [inf, inf]."),
        (dict(upper=-np.inf), "must satisfy lower <= upper, lower < inf and upper > -inf, got [-inf, -inf]."),
        (dict(lower=[1, 2], upper=[1, 2, 3]), "The bounds of a simulated constraint must have equally many entries, got 2 and 3."),
        (dict(lower="low"), "`Simulated(lower=...)` must be a number or a vector of numbers, got 'low'."),
        (dict(upper=np.nan), "`Simulated(upper=...)` must be a number or a vector of numbers, got nan."),
        (dict(upper=None), "`Simulated(upper=...)` must be a number or a vector of numbers, got None."),
        (dict(upper=[]), "`Simulated(upper=...)` must be a number or a vector of numbers, got []."),
        (dict(upper=[[1.0]]), "`Simulated(upper=...)` must be a number or a vector of numbers, got [[1.0]]."),
        (dict(name=3), "`Simulated(name=...)` must be a word or None, got 3."),
        (dict(name=""), "`Simulated(name=...)` must be a word or None, got ''."),
        (dict(noisy="yes"), "`Simulated(noisy=...)` must be True, False or None, got 'yes'."),
    ],
)
def test_bad_bounds_are_told_at_once(arguments, sentence):
    with pytest.raises(InvalidArgumentError) as caught:
        Simulated(**arguments)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "given", [[1, 2.0, 3, 4], (1, 2, 3, 4), np.array([1.0, 2, 3, 4]), {"level[1]": 3, "wait": 1, "output 3": 4, "level[0]": 2}]
)
def test_outputs_come_as_numbers_in_order_or_by_their_names(given):
    assert OUTPUTS.read(given) == (1.0, 2.0, 3.0, 4.0)


def test_one_output_may_be_a_number():
    assert Outputs.of([WAIT]).read(1.5) == (1.5,)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([1.0, 2.0], "got the outputs [1.0, 2.0]."),
        ([[1.0, 2.0, 3.0, 4.0]], "got the outputs [[1.0, 2.0, 3.0, 4.0]]."),
        ([1.0, "2", 3.0, 4.0], "got the outputs [1.0, '2', 3.0, 4.0]."),
        ([1.0, [2.0, 3.0], 4.0], "got the outputs [1.0, [2.0, 3.0], 4.0]."),
        ([1j, 0, 0, 0], "got the outputs [1j, 0, 0, 0]."),
        (None, "got the outputs None."),
        ({"wait": 1.0}, "got outputs named ['wait']."),
    ],
)
def test_outputs_of_another_number_or_kind_are_told_with_what_was_got(given, got):
    with pytest.raises(ObjectiveError) as caught:
        OUTPUTS.read(given)
    assert str(caught.value).startswith("The objective must return 4 outputs ('wait', ")
    assert str(caught.value).endswith(got)


@pytest.mark.parametrize("given", [1.0, (1.0,), (1.0, [2.0], 3.0), np.array([1.0, 2.0]), None])
def test_an_objective_with_outputs_returns_a_pair(given):
    with pytest.raises(ObjectiveError, match=r"must return \(value, outputs\) with 4 outputs"):
        OUTPUTS.parted(given)


def test_rows_have_one_output_per_column():
    assert_array_equal(OUTPUTS.rows(np.arange(8).reshape(2, 4), 2), np.arange(8.0).reshape(2, 4))
    with pytest.raises(ObjectiveError, match=r"outputs of shape \(2, 4\), got \(4, 2\) of dtype float64"):
        OUTPUTS.rows(np.zeros((4, 2)), 2)


def test_the_first_output_that_is_no_number_is_named():
    assert OUTPUTS.not_finite((1.0, np.nan, np.inf, 0.0)) == "The output 'level[0]' is nan."
    assert OUTPUTS.not_finite((1.0, 0.0, 0.0, 0.0)) is None


def test_known_constraints_are_told_from_simulated_ones_in_every_form():
    known = Constraint(lambda x: x[0], 0.0, 1.0)
    assert parted(WAIT) == ((), (WAIT,))
    assert parted([known, WAIT]) == ([known], (WAIT,))
    assert parted(known) == (known, ())
    assert parted(()) == ((), ())
    exact, (named,) = parted({"sum": known, "queue": Simulated(upper=1.0, noisy=True)})
    assert exact == {"sum": known}
    assert (named.name, named.upper, named.noisy) == ("queue", 1.0, True)


@pytest.mark.parametrize(
    ("constraints", "sentence"),
    [
        ({"queue": WAIT}, r"`constraints\['queue'\]` must have no other name, got 'wait'"),
        ({3: WAIT}, "A name in `constraints` must be a word, got 3"),
        ([WAIT, Simulated(lower=0.0, name="wait")], "'wait'"),
    ],
)
def test_names_are_given_once(constraints, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        zolal.minimize(lambda x: (0.0, [0.0]), [1.0], constraints=constraints)
