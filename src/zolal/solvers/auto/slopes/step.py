"""Steps that cost no query: constraints are exact, so trial points are tried on them alone."""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from zolal._array import Array, namespace, norm, to_numpy
from zolal.mirror import Euclidean, KeptStep, Linearization, MirrorMap, Subproblem, kept_curvature_step
from zolal.problem import SlackForm
from zolal.regularizers import Zero
from zolal.solvers.auto.slopes.constants import CONSTANTS


class Trial(NamedTuple):
    """tangent: the minimiser of the model. x: the same after restoration. multipliers: of the rows. step_size: the one that was taken.

    bend: <multipliers, c(tangent) - c - J t>. rows, lengths: the constraints that it was taken with.
    """

    tangent: Array
    x: Array
    multipliers: np.ndarray
    step_size: float
    bend: float
    rows: Linearization
    lengths: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Stepper:
    """Steps and restorations on one problem. scale: the length that tolerances are relative to."""

    form: SlackForm
    mirror: MirrorMap
    scale: float

    @property
    def tolerance(self) -> float:
        """The violation, in lengths, that counts as none."""
        return CONSTANTS.tolerance * self.scale

    def violation(self, model: Linearization, lengths: np.ndarray, x: Array) -> float:
        """The distance of c(x) from its intervals, each row divided by the length of its gradient."""
        value = to_numpy(self.form.equalities.signed_value(x)).astype(float)
        return float(np.linalg.norm(model.excess(value) / lengths)) if len(lengths) else 0.0

    def restored(self, x: Array, most: int = CONSTANTS.restorations, target: float = 0.1) -> tuple[Array, float]:
        """Gauss-Newton steps towards c(x) = 0 within X, each halved until the violation shrinks; what is left of it.

        target: where to stop, in units of the tolerance.
        """
        plain = self.form.problem.region
        left = 0.0
        for _ in range(most):
            model = self.form.linearization(x)
            rows, lengths = model.scaled(CONSTANTS.farthest * self.scale)
            left = float(np.linalg.norm(rows.excess(rows.value)))
            if left <= target * self.tolerance:
                break
            step = kept_curvature_step(
                Subproblem(Euclidean(), plain, Zero(), x, 0.0 * x, 1.0), rows, 0.0 * lengths, CONSTANTS.restoring_penalty
            )
            for halvings in range(10):
                trial = x + 0.5**halvings * (step.x - x)
                after = self.violation(model, lengths, trial)
                if after <= (1.0 - 0.25 * 0.5**halvings) * left:
                    break
            else:
                break
            x, left = plain.clipped(trial), after
        return x, left

    def is_feasible(self, x: Array) -> bool:
        """Whether x violates no constraint by more than the tolerance."""
        rows, _ = self.scaled_rows(x)
        return float(np.linalg.norm(rows.excess(rows.value))) <= self.tolerance

    def scaled_rows(self, x: Array) -> tuple[Linearization, np.ndarray]:
        """The constraints linearized at x, each row divided by the length of its gradient, and these lengths."""
        return self.form.linearization(x).scaled(CONSTANTS.farthest * self.scale)

    def minimiser(
        self, x: Array, s: Array, step_size: float, multipliers: np.ndarray, rows: Linearization, lengths: np.ndarray
    ) -> KeptStep:
        """The step of the model, with the penalty that goes with its size; its multipliers are those of the scaled rows."""
        problem = Subproblem(self.mirror, self.form.problem.region, self.form.problem.regularizer, x, s, step_size)
        return kept_curvature_step(problem, rows, multipliers * lengths, CONSTANTS.penalty / step_size)

    def step(self, x: Array, s: Array, step_size: float, multipliers: np.ndarray) -> Trial | None:
        """The first step, halving its size, that neither leaves the constraints nor bends far along them; None when there is none.

        The model's own curvature of c is missing, so the exact c at the trial point decides: after restoration the violation must not
        have grown, and from a feasible point the restoration may move at most half as far as the step did.
        """
        model = self.form.linearization(x)
        rows, lengths = model.scaled(CONSTANTS.farthest * self.scale)
        before = float(np.linalg.norm(rows.excess(rows.value)))
        feasible = before <= self.tolerance
        for _ in range(CONSTANTS.halvings):
            found = self.minimiser(x, s, step_size, multipliers, rows, lengths)
            new = self.restored(found.x)[0] if len(lengths) else self.form.problem.region.clipped(found.x)
            left = self.violation(model, lengths, new)
            bend = norm(new - found.x)
            if left <= max(before, self.tolerance) and (not feasible or bend <= 0.5 * norm(found.x - x) + 1e-6 * self.scale):
                return Trial(found.x, new, found.multipliers / lengths, step_size, self._bend(rows, lengths, x, found), rows, lengths)
            step_size *= 0.5
        return None

    def _bend(self, rows: Linearization, lengths: np.ndarray, x: Array, found: KeptStep) -> float:
        value = to_numpy(self.form.equalities.signed_value(found.x)).astype(float) / lengths
        return float(found.multipliers @ (value - rows.value - to_numpy(namespace(x).matmul(rows.jacobian, found.x - x))))
