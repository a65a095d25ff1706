"""The paper's constants, parameter settings and bounds as functions whose numbers explain themselves."""

import importlib

from zolal.theory._explained import Explained
from zolal.theory.base import Constants, Geometry, Parameters, initial_gap, lagrangian_smoothness, variance_constant
from zolal.theory.bounds import feasibility_bound, stationarity_bound
from zolal.theory.estimator_bounds import bias_bound, difference_bound, second_moment_bound, variance_bound
from zolal.theory.multistage import stage_evaluations, stage_settings
from zolal.theory.orders import euclidean_order, high_accuracy_boundary, order_terms, stage_order_terms
from zolal.theory.parameters import Settings, best_p, settings
from zolal.theory.reach import region_bound
from zolal.theory.stages import first_penalty, penalty_scale, range_bound, stage_constants, stage_count_bound, stage_penalties


def __getattr__(name: str) -> object:
    """`estimate_constants` evaluates the objective, so it lives above the formulae and is loaded when asked for."""
    if name in ("EstimatedConstants", "estimate_constants"):
        return getattr(importlib.import_module("zolal.theory.estimate"), name)
    raise AttributeError(f"module 'zolal.theory' has no attribute {name!r}")


__all__ = [
    "Constants",
    "EstimatedConstants",
    "Explained",
    "Geometry",
    "Parameters",
    "Settings",
    "best_p",
    "bias_bound",
    "difference_bound",
    "estimate_constants",
    "euclidean_order",
    "feasibility_bound",
    "first_penalty",
    "high_accuracy_boundary",
    "initial_gap",
    "lagrangian_smoothness",
    "order_terms",
    "penalty_scale",
    "range_bound",
    "region_bound",
    "second_moment_bound",
    "settings",
    "stage_constants",
    "stage_count_bound",
    "stage_evaluations",
    "stage_order_terms",
    "stage_penalties",
    "stage_settings",
    "stationarity_bound",
    "variance_bound",
    "variance_constant",
]
