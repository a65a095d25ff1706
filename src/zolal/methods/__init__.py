"""The methods that `minimize` knows by name, and their options."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from zolal.errors import InvalidArgumentError
from zolal.methods.auto import AutoOptions
from zolal.methods.base import Method, Options
from zolal.methods.baselines import SZOConExOptions, ZOPenaltyOptions, ZOSGDOptions
from zolal.methods.mdlal import MDLALOptions, MultiStageOptions

__all__ = [
    "METHODS",
    "AutoOptions",
    "MDLALOptions",
    "Method",
    "MultiStageOptions",
    "Options",
    "SZOConExOptions",
    "ZOPenaltyOptions",
    "ZOSGDOptions",
    "as_method",
]

METHODS: dict[str, Any] = {
    "auto": AutoOptions,
    "mdlal": MDLALOptions,
    "multistage": MultiStageOptions,
    "szo-conex": SZOConExOptions,
    "zo-penalty": ZOPenaltyOptions,
    "zo-sgd": ZOSGDOptions,
}


def as_method(method: str, geometry: Any, options: dict[str, Any] | None) -> Method:
    """The named method with its options."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidArgumentError(f"`method` must be one of {sorted(METHODS)}, got {method!r}.")
    known = {field.name: field for field in dataclasses.fields(METHODS[method])}
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgumentError(f"`options` must be a dict, got {options!r}.")
    given = dict(options or {})
    unknown = sorted(set(given) - set(known))
    if unknown:
        owners = [repr(name) for name, other in METHODS.items() if unknown[0] in {field.name for field in dataclasses.fields(other)}]
        belongs = f", it belongs to method {' or '.join(owners)}" if owners else ""
        offered = ", ".join(sorted(known))
        raise InvalidArgumentError(f"Unknown option {unknown[0]!r} for method {method!r}{belongs}; the options are {offered}.")
    missing = [name for name, field in known.items() if field.default is dataclasses.MISSING and name not in given]
    if missing:
        raise InvalidArgumentError(f"Method {method!r} needs options[{missing[0]!r}], got {sorted(given) or 'no options'}.")
    found: Method = METHODS[method](**given).method(geometry)
    return found
