"""The doors take one list of arguments: what `Arguments` holds, with the same defaults."""

import dataclasses
import inspect

import pytest

import zolal
from zolal.doors.arguments import Arguments

FIELDS = {field.name: field.default for field in dataclasses.fields(Arguments)}


@pytest.mark.parametrize("door", [zolal.minimize, zolal.Optimizer], ids=["minimize", "Optimizer"])
def test_a_door_takes_what_the_list_holds_with_the_same_defaults(door):
    parameters = {name: parameter.default for name, parameter in inspect.signature(door).parameters.items() if name != "fun"}
    assert parameters == {name: FIELDS[name] for name in parameters}


def test_minimize_takes_all_of_it_and_an_optimizer_all_but_what_it_takes_to_evaluate():
    assert list(inspect.signature(zolal.minimize).parameters) == list(FIELDS)
    left_out = set(FIELDS) - set(inspect.signature(zolal.Optimizer).parameters)
    assert left_out == {"args", "vectorized", "workers", "timeout"}
