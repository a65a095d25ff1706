"""Batches on a quadratic objective: the values of all queries of an iteration from one gradient per base and one form per direction."""

from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.estimators.base import QueryBatch
from zolal.evaluate import Evaluation
from zolal.problems.qcqp import Quadratic


@final
@dataclass(frozen=True, eq=False)
class QuadraticEvaluator:
    """f(x + nu u_j) = f(x) + nu <grad f(x), u_j> + nu^2/2 <u_j, A u_j>: the same values as evaluating each point, up to rounding.

    The quadratic form is the same at both base points, so a direction costs one transform instead of four.
    """

    objective: Quadratic

    def __call__(self, batch: QueryBatch) -> Evaluation:
        nu, curvature = batch.smoothing, self.objective.forms(batch.directions)
        values = []
        for x in batch.bases:
            still = float(self.objective(x))
            moved = still + nu * batch.directions.dot(self.objective.gradient(x)) + 0.5 * nu**2 * curvature
            if batch.share_base:
                values.append(np.concatenate([[still], moved]))
            else:
                values.append(np.stack([np.full_like(moved, still), moved], axis=1).reshape(-1))
        return Evaluation(np.concatenate(values), len(batch))
