"""The names that the docstrings' examples use."""

import importlib.util

import numpy as np
import pytest

import zolal
from zolal import directions, estimators, mirror, regularizers, sets, solvers

OPTIONAL = {"art": "src/zolal/art", "sklearn": "src/zolal/sklearn"}  # doors to packages that may be missing
collect_ignore = [folder for package, folder in OPTIONAL.items() if importlib.util.find_spec(package) is None]


@pytest.fixture(autouse=True)
def _example_names(request, doctest_namespace):
    if request.node.__class__.__name__ == "DoctestItem":
        for module in (sets, regularizers, mirror, directions, estimators, solvers):
            doctest_namespace.update({name: getattr(module, name) for name in module.__all__})
        doctest_namespace.update(np=np, zolal=zolal)
