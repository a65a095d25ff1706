"""Batches on a quadratic objective: the values of all queries of an iteration from one gradient per base and one form per direction."""

from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.estimators.base import QueryBatch
from zolal.evaluation.faults import Evaluation
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
        still = np.array([self.objective(x) for x in batch.bases])
        slopes = np.stack([batch.directions.dot(self.objective.gradient(x)) for x in batch.bases])
        return Evaluation(batch.arrange(still, still[:, None] + nu * slopes + 0.5 * nu**2 * curvature), len(batch))
