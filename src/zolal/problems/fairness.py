"""The paper's fairness-constrained classification: a nonconvex loss known through minibatches, a fairness constraint known exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import expit

from zolal._checks import positive, positive_int, require
from zolal.constraints import Constraint
from zolal.problem import Problem
from zolal.problems.datasets._a9a import a9a
from zolal.problems.datasets._bank import bank
from zolal.problems.datasets._fairness_data import FairnessData
from zolal.problems.datasets._lendingclub import lendingclub

DATA: dict[str, Callable[[], FairnessData]] = {"a9a": a9a, "bank": bank, "lendingclub": lendingclub}


@final
@dataclass(frozen=True)
class FairnessDiagnostics:
    """The paper's common measures at a point x, with lambda = [-<grad f_0, grad g> / (g^2 + ||grad g||^2)]_+ (Section 7.3).

    feasibility: Feas. = [g(x)]_+. stationarity: Stat. = ||grad f_0 + lambda grad g||_2. slackness: Cs. = |lambda g(x)|.
    multiplier: lambda. value: f_0(x). constraint: g(x).
    """

    feasibility: float
    stationarity: float
    slackness: float
    multiplier: float
    value: float
    constraint: float


class Slopes(NamedTuple):
    """f_0 and g with their gradients at one point."""

    value: float
    gradient: np.ndarray
    constraint: float
    normal: np.ndarray

    @property
    def diagnostics(self) -> FairnessDiagnostics:
        """The paper's measures at that point."""
        size = self.constraint**2 + float(self.normal @ self.normal)
        multiplier = max(0.0, -float(self.gradient @ self.normal) / size) if size > 0.0 else 0.0
        stationarity = float(np.linalg.norm(self.gradient + multiplier * self.normal))
        slackness = abs(multiplier * self.constraint)
        return FairnessDiagnostics(max(0.0, self.constraint), stationarity, slackness, multiplier, self.value, self.constraint)


@final
@dataclass(frozen=True, eq=False)
class FairnessModel:
    """f_0 and g of the paper's Section 7.3 on given data; called, it is the objective on minibatches.

    f_0(x) = (1/N) sum_i phi(b_i <a_i, x>),   phi(t) = 2 log(1 + log(1 + exp(-t))/2)
    g(x)   = (omega/|S|) sum_{a in S} sigma(<a, x>) - (1/|S|) sum_{a in S_min} sigma(<a, x>)
    """

    data: FairnessData
    weight: float

    def __call__(self, x: np.ndarray, xi: Any) -> Any:
        """The mean of phi over the minibatch xi of row numbers; on rows x, one minibatch each. Equal neighbours are evaluated together."""
        if np.ndim(x) == 1:
            return self._minibatch(x[None, :], xi)[0]
        values = np.empty(len(x))
        for start, stop in _runs(xi):
            values[start:stop] = self._minibatch(x[start:stop], xi[start])
        return values

    def _minibatch(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        t = self.data.labels[rows, None] * (self.data.features[rows] @ x.T)
        return np.mean(phi(t), axis=0)

    def value(self, x: np.ndarray) -> float:
        """f_0(x), over all data."""
        return float(np.mean(phi(self.data.labels * (self.data.features @ x))))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient of f_0, over all data."""
        return self._loss(x)[1]

    def constraint(self, x: np.ndarray) -> float:
        """g(x)."""
        return float(np.mean(self._group_weights * expit(self.data.fairness @ x)))

    def constraint_gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient of g."""
        return self._fairness(x)[1]

    def slopes(self, x: np.ndarray) -> Slopes:
        """f_0 and g with their gradients at x, in one pass over the data."""
        return Slopes(*self._loss(x), *self._fairness(x))

    def diagnostics(self, x: np.ndarray) -> FairnessDiagnostics:
        """The paper's measures at x, in one pass over the data."""
        return self.slopes(x).diagnostics

    @property
    def _group_weights(self) -> np.ndarray:
        """Omega on S, less 1 on S_min."""
        return self.weight - self.data.minority

    def _loss(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """f_0 and its gradient: phi'(t) = -sigma(-t) / (1 + log(1 + exp(-t))/2)."""
        data = self.data
        t = data.labels * (data.features @ x)
        e = np.exp(-np.abs(t))  # at most 1, so that nothing overflows
        inner = 1.0 + 0.5 * (np.maximum(-t, 0.0) + np.log(1.0 + e))  # log1p takes twice as long, and the 1 in front hides its last digits
        slopes = -np.where(t > 0.0, e, 1.0) / ((1.0 + e) * inner)
        return 2.0 * float(np.mean(np.log(inner))), (data.labels * slopes) @ data.features / t.size

    def _fairness(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """G and its gradient: sigma' = sigma (1 - sigma)."""
        rates, weights = expit(self.data.fairness @ x), self._group_weights
        return float(np.mean(weights * rates)), (weights * rates * (1.0 - rates)) @ self.data.fairness / rates.size


def phi(t: np.ndarray) -> np.ndarray:
    """2 log(1 + log(1 + exp(-t))/2), the nonconvex loss of a margin t.

    >>> float(phi(np.array(-1000.0)).round(6))  # 2 log(1 + 1000/2)
    12.433212
    """
    return 2.0 * np.log1p(0.5 * np.logaddexp(0.0, -t))


def fairness(data: str | FairnessData = "a9a", weight: float | None = None, batch_size: int = 256) -> Problem:
    """min f_0(x) subject to g(x) <= 0, the paper's fairness-constrained classification (Section 7.3), from x = 0.

    One sample xi is a minibatch: `batch_size` row numbers, drawn uniformly and independently, so that E[F(x; xi)] = f_0(x). The objective
    takes rows and their minibatches; `problem.objective` is the `FairnessModel`, with the exact f_0, g and diagnostics.

    data: "a9a", "bank", "lendingclub", or any `FairnessData`.
    weight: omega > 0, which the paper does not print; None for |S_min|/|S| (`data.minority_share`: 0.0959 for a9a, 0.283 for bank, 0.472
        for lendingclub), at which the mean rate in the minority group must not be below that of all. Below it less is asked for.

    >>> import zolal
    >>> data = zolal.problems.FairnessData("tiny", [[1.0, 0.0]], [1.0], [[0.0, 1.0], [1.0, 1.0]], [True, False], ("first", "second"))
    >>> float(zolal.problems.fairness(data).objective.constraint(np.zeros(2)))
    0.0
    """
    known = isinstance(data, FairnessData) or (isinstance(data, str) and data in DATA)
    require(known, "fairness(data=...)", f"be a FairnessData or one of {', '.join(map(repr, DATA))}", data)
    weight = None if weight is None else positive("fairness(weight=...)", weight)
    batch_size = positive_int("fairness(batch_size=...)", batch_size)
    data = data if isinstance(data, FairnessData) else DATA[data]()
    require(weight is not None or data.sizes[3] > 0, "fairness(weight=...)", "be given for data without a minority", weight)
    model = FairnessModel(data, data.minority_share if weight is None else weight)
    d, n, _, _ = model.data.sizes
    return Problem(
        model,
        d,
        Constraint(model.constraint, -np.inf, 0.0, jac=model.constraint_gradient),
        sample=methodcaller("integers", n, size=batch_size),  # of the generator; unlike a lambda it can be sent to workers
        vectorized=True,
        gradient=model.gradient,
        x0=np.zeros(d),
    )


def fairness_diagnostics(problem: Problem, x: np.ndarray) -> FairnessDiagnostics:
    """Feas., Stat. and Cs. of the paper at x, for a problem of `fairness`."""
    model = problem.objective
    require(isinstance(model, FairnessModel), "fairness_diagnostics(problem=...)", "be a problem of zolal.problems.fairness", problem)
    return model.diagnostics(x)  # type: ignore[attr-defined]


def _runs(samples: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """Where runs of equal minibatches start and stop: queries that share a sample are neighbours, and each got its own copy of it."""
    cuts = [0] if len(samples) else []
    cuts += [i for i in range(1, len(samples)) if samples[i] is not samples[i - 1] and not np.array_equal(samples[i], samples[i - 1])]
    return list(zip(cuts, [*cuts[1:], len(samples)], strict=True))
