"""The paper's constants and bounds as functions."""

from zolal.theory.estimator_bounds import bias_bound, difference_bound, second_moment_bound, variance_bound

__all__ = ["bias_bound", "difference_bound", "second_moment_bound", "variance_bound"]
