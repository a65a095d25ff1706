"""The names that the docstrings' examples use."""

from importlib.util import find_spec

import numpy as np
import pytest

import zolal
from zolal import directions, estimators, mirror, regularizers, sets, solvers

# Modules that load an optional package are read for examples where it is installed.
OPTIONAL = {
    "art": ["src/zolal/art/*"],
    "sklearn": ["src/zolal/sklearn/*"],
    "torch": ["src/zolal/torch/*", "tests/unit/small_net.py"],
    "triton": ["src/zolal/*/_triton.py"],
}
collect_ignore_glob = [file for package, files in OPTIONAL.items() if find_spec(package) is None for file in files]


@pytest.fixture(autouse=True)
def _example_names(request, doctest_namespace):
    if request.node.__class__.__name__ == "DoctestItem":
        for module in (sets, regularizers, mirror, directions, estimators, solvers):
            doctest_namespace.update({name: getattr(module, name) for name in module.__all__})
        doctest_namespace.update(np=np, zolal=zolal)
