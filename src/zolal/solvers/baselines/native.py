"""Constraints without slack variables: g(x) in [-limit, 0] rowwise, as the baselines treat them.

A row with limit 0 is an equality, one with an infinite limit an inequality g <= 0, one in between has two sides. Certificates and
results speak of z = (x, s); so the slacks that fit x best, s = clip(-g(x), 0, limit), go with every iterate, and c(z) = g(x) + s is
what x violates.
"""

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse
from array_api_compat import device
from scipy.sparse.linalg import LinearOperator

from zolal._array import Array, concatenate, is_finite, like, namespace, norm, to_numpy, zeros
from zolal.constraints import Constraint, Equalities
from zolal.errors import ConstraintError
from zolal.kkt import gradient_mapping, kkt_measures
from zolal.mirror import Euclidean, bregman_step
from zolal.problem import Problem, SlackForm
from zolal.solvers.base import Candidate, TrackedState


@dataclass(frozen=True, eq=False)
class NativeState(TrackedState):
    """A state whose iterate is x alone; the slacks in z follow from it."""

    g: Array  # g(x^k)

    def moved(self, x: Array, gradient: Array, pulled: Array, y: Array, eta: float, **changes: Any) -> Self:
        """The state after a step from x^k to x with the estimate `gradient`, the multipliers y and pulled = J(x^k)^T y.

        The measures are those of (x^k, s^k) with y: the x part of the generalized gradient tells stationarity, its slack part,
        min(s / eta, y) for s >= 0, complementarity.
        """
        form, slack_part = self.form, _take(y, self.form.equalities.slack_rows)
        slope = concatenate([gradient + pulled, slack_part]) if form.sizes[1] else gradient + pulled
        mapping = gradient_mapping(Euclidean(), form.region, form.regularizer, self.z, slope, eta)
        z, c, g = settle(form, x) if is_finite(x) else (x, self.c, self.g)  # the loop ends a run that left the finite numbers
        here = Candidate(self.z, y, gradient)
        return self.advanced(z, c, here, kkt_measures(Euclidean(), mapping, self.c), multipliers=y, g=g, **changes)


def start(problem: Problem, x0: Array, step_size: float) -> tuple[SlackForm, Array, Array, Array, float]:
    """The form, z^0, c(z^0), g(x^0) and ||c(z^0)||; an unsupported combination is told before anything is evaluated."""
    form = SlackForm(problem, problem.equalities(x0))
    z, c, g = settle(form, x0)
    bregman_step(Euclidean(), form.region, form.regularizer, z, 0.0 * z, step_size)
    return form, z, c, g, norm(c)


def settle(form: SlackForm, x: Array) -> tuple[Array, Array, Array]:
    """z = (x, s) with the slacks that fit x best, c(z) and g(x)."""
    equalities, xp = form.equalities, namespace(x)
    g = equalities.value(x, zeros(equalities.num_slacks, x))
    slacks = xp.minimum(xp.maximum(-g, xp.zeros_like(g)), like(row_limits(equalities), g))
    z = concatenate([x, _take(slacks, equalities.slack_rows)]) if equalities.num_slacks else x
    return z, g + slacks, g


def row_limits(equalities: Equalities) -> np.ndarray:
    """How far each row may lie below 0."""
    limits = np.zeros(equalities.num_rows)
    limits[equalities.slack_rows] = equalities.slack_limit
    return limits


def clip_rows(g: Array, limits: Array) -> Array:
    """The nearest point of [-limit, 0]."""
    xp = namespace(g)
    return xp.minimum(xp.maximum(g, -limits), xp.zeros_like(g))


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """g(x) + J(x) (. - x), with every Jacobian asked for once."""

    equalities: Equalities
    x: Array
    g: Array

    @classmethod
    def at(cls, form: SlackForm, x: Array, g: Array) -> "LinearModel":
        pairs = zip(form.equalities.parts, form.equalities.row_counts, strict=True)
        return cls(Equalities([_frozen(part, rows, x) for part, rows in pairs], form.equalities.row_counts), x, g)

    def pull(self, y: Array) -> Array:
        """J^T y."""
        return self.equalities.vjp(self.x, y)[0]

    def push(self, v: Array) -> Array:
        """J v."""
        if not self.equalities.parts:
            return zeros(0, v)
        pairs = zip(self.equalities.parts, self.equalities.row_counts, strict=True)
        pushed = concatenate([_row_products(part, rows, self.x, v) for part, rows in pairs]) * like(self.equalities.sign, v)
        if not is_finite(pushed):
            raise ConstraintError("The derivative of a constraint is not finite.")
        return pushed

    def ahead(self, x: Array) -> Array:
        """g(self.x) + J (x - self.x), the linear model at x."""
        return self.g + self.push(x - self.x)


def _frozen(part: Constraint, rows: int, x: Array) -> Constraint:
    """The part with its Jacobian at x; where the user gives a vjp alone, its rows, by one call each."""
    if part.vjp is None:
        jacobian = part.jacobian_at(x)
    else:
        jacobian = namespace(x).stack([part.vjp_at(x, like(unit, x)) for unit in np.eye(rows)])
    return replace(part, vjp=None, jac=lambda _: jacobian)


def _row_products(part: Constraint, rows: int, x: Array, v: Array) -> Array:
    jacobian = part.jacobian_at(x)
    shape = (rows, x.shape[0])
    if tuple(jacobian.shape) != shape:
        raise ConstraintError(f"The Jacobian of {part.label} must have shape {shape}, got {tuple(jacobian.shape)}.")
    if not (scipy.sparse.issparse(jacobian) or isinstance(jacobian, LinearOperator)):
        return namespace(x).matmul(jacobian, v)
    try:
        return like(np.asarray(jacobian @ to_numpy(v)), x)
    except Exception as error:
        raise ConstraintError(f"In {part.label} `jac` raised {type(error).__name__}: {error}.") from error


def _take(rows: Array, index: np.ndarray) -> Array:
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(index, dtype=xp.int64, device=device(rows)))
