"""The paper's constants, parameter settings and bounds as functions whose numbers explain themselves."""

from zolal.theory._explained import Explained
from zolal.theory.base import Constants, Geometry, Parameters, initial_gap, lagrangian_smoothness, variance_constant
from zolal.theory.bounds import feasibility_bound, stationarity_bound
from zolal.theory.estimator_bounds import bias_bound, difference_bound, second_moment_bound, variance_bound
from zolal.theory.orders import high_accuracy_boundary, order_terms
from zolal.theory.settings import Settings, best_p, settings

__all__ = [
    "Constants",
    "Explained",
    "Geometry",
    "Parameters",
    "Settings",
    "best_p",
    "bias_bound",
    "difference_bound",
    "feasibility_bound",
    "high_accuracy_boundary",
    "initial_gap",
    "lagrangian_smoothness",
    "order_terms",
    "second_moment_bound",
    "settings",
    "stationarity_bound",
    "variance_bound",
    "variance_constant",
]
