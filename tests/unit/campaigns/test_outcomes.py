"""What was stored of an outcome is made again as it was, and what does not fit is not taken for it."""

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

import pytest

from zolal.campaigns import MisfitError, restored


class Curve(NamedTuple):
    counts: list[int]
    values: list[float]


@dataclass(frozen=True)
class Point:
    k: int
    value: float | None


@dataclass(frozen=True)
class Found:
    name: str
    met: bool
    point: Point
    curve: Curve
    firsts: tuple[int | None, ...]
    pairs: list[tuple[int, Point | None]]


@dataclass(frozen=True)
class LeftOut:
    why: str | None


FOUND = Found("one", True, Point(3, None), Curve([0, 1], [0.5, 0.25]), (4, None), [(1, Point(2, 1.5)), (2, None)])


def through_json(outcome):
    return json.loads(json.dumps(asdict(outcome), allow_nan=False))


@pytest.mark.parametrize("outcome", [FOUND, LeftOut(None), LeftOut("a reason")])
def test_an_outcome_comes_back_as_it_was(outcome):
    again = restored(type(outcome), through_json(outcome))
    assert again == outcome
    assert repr(again) == repr(outcome)  # tuples are tuples, lists are lists


def test_an_outcome_comes_back_from_its_fields_before_they_are_written():
    assert restored(Found, asdict(FOUND)) == FOUND


@pytest.mark.parametrize("name", asdict(FOUND))
def test_a_missing_field_does_not_fit(name):
    stored = through_json(FOUND)
    del stored[name]
    with pytest.raises(MisfitError):
        restored(Found, stored)


def test_a_field_that_the_class_does_not_have_is_passed_over():
    assert restored(Found, through_json(FOUND) | dict(more=1)) == FOUND


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (int, 1.0),
        (int, True),
        (float, "1"),
        (float, None),
        (str, 1),
        (bool, 1),
        (Point, [3, None]),
        (Point, None),
        (list[int], dict(k=1)),
        (list[int], [1, None]),
        (tuple[int, int], [1]),
        (Curve, [[0], [0.5], [0.5]]),
        (int | None, "1"),
    ],
)
def test_what_is_of_another_kind_does_not_fit(kind, stored):
    with pytest.raises(MisfitError):
        restored(kind, stored)


def test_a_whole_number_may_stand_for_a_real_one():
    assert restored(Point, dict(k=1, value=2)) == Point(1, 2.0)


def test_the_first_class_that_fits_is_taken():
    assert restored(Found | LeftOut, through_json(FOUND)) == FOUND
    assert restored(Found | LeftOut, dict(name="one", why="a reason")) == LeftOut("a reason")
    with pytest.raises(MisfitError):
        restored(Found | LeftOut, dict(name="one"))


def test_a_misfit_says_what_was_expected():
    with pytest.raises(MisfitError, match=r"must fit a field 'value', got \{'k': 1\}"):
        restored(Point, dict(k=1))


def test_a_kind_that_cannot_be_made_again_is_told():
    with pytest.raises(TypeError, match="must be made of dataclasses, lists, tuples and plain values"):
        restored(complex, 1)
