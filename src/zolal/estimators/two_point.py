from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import Array, like
from zolal.estimators.base import Estimator, Memory, QueryBatch


@final
@dataclass(frozen=True)
class TwoPoint(Estimator):
    """The mean of n two-point estimates, fresh at every iteration.

    G_nu(x; u, xi) = [F(x + nu u; xi) - F(x; xi)] / nu * u                         (2.1)

    Implements Eq. (2.1), label `sgrad`, averaged over j. Differs from the paper: nothing; `share_base` is an option.
    Costs 2n evaluations per iteration, n + 1 with `share_base`.

    >>> len(TwoPoint(num_directions=8, smoothing=1e-3).plan(Memory(seed=0), np.zeros(5), k=0))
    16
    """

    def plan(self, memory: Memory, x: Array, k: int) -> QueryBatch:
        return self.batch(memory.seed, (x,), k)

    def absorb(self, memory: Memory, batch: QueryBatch, values: np.ndarray) -> tuple[Array, Memory]:
        x = batch.bases[0]
        gradient = batch.directions.combine(like(batch.mean_weights(batch.slopes(values)[0]), x))
        return gradient, Memory(memory.seed, x, gradient)
