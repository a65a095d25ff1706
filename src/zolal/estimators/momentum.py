from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from zolal._array import Array, like
from zolal.estimators.base import Estimator, Memory, QueryBatch
from zolal.schedules import Schedule, as_schedule, momentum_weight


@final
@dataclass(frozen=True)
class Momentum(Estimator):
    """The paper's recursion: momentum with variance reduction, the same u and xi at x^k and x^{k-1}.

    s^0 = (1/n_0) sum_j G_nu(x^0; u_j^0, xi_j^0)
    s^k = (1/n) sum_j [G_nu(x^k; u_j^k, xi_j^k) + (1 - alpha) (s^{k-1} - G_nu(x^{k-1}; u_j^k, xi_j^k))]      (3.3)

    Implements Eq. (3.3), label `hsgd`. Differs from the paper: alpha may be a function of k; where alpha = 1 the values at
    x^{k-1} have weight 0 and are not asked for. Costs 2 n_0 evaluations, then 4n per iteration (n_0 + 1, then 2n + 2 with
    `share_base`; half where alpha = 1).

    momentum: alpha in (0, 1], a number or a function of k.
    """

    momentum: Any = 0.5
    momentum_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "momentum_schedule", as_schedule("Momentum(momentum=...)", self.momentum, momentum_weight))

    def plan(self, memory: Memory, x: Array, k: int) -> QueryBatch:
        fresh = memory.point is None or self.momentum_schedule(k) == 1.0
        return self.batch(memory.seed, (x,) if fresh else (x, memory.point), k)

    def absorb(self, memory: Memory, batch: QueryBatch, values: np.ndarray) -> tuple[Array, Memory]:
        x, slopes = batch.bases[0], batch.slopes(values)
        keep = 1.0 - self.momentum_schedule(batch.directions.iteration)
        weights = slopes[0] - keep * slopes[1] if len(batch.bases) == 2 else slopes[0]
        gradient = batch.directions.combine(like(batch.mean_weights(weights), x))
        if memory.gradient is not None and len(batch.bases) == 2:
            gradient = gradient + keep * memory.gradient
        return gradient, Memory(memory.seed, x, gradient)
