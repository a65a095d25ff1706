"""Two systems of operations research whose constraint only a simulation tells: how near to the optimum, and how often truly feasible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal.bench.base import Claim, spread
from zolal.campaigns import Campaign, Task
from zolal.doors.minimize import minimize
from zolal.problem import Problem
from zolal.problems import base_stock, tandem
from zolal.tables import Table

LIMIT, SERVICE = 2.0, 0.95  # the time in the line, the share of demand that is met at once
CONFIDENCE = 0.95
NEAR = 0.01  # of the optimum


@final
@dataclass(frozen=True, eq=False)
class System:
    """make: seed -> problem. output: exactly, of the problem's simulator at a point. slack: output -> by how much its bound is kept."""

    title: str
    make: Callable[[int], Problem]
    output: Callable[[Any, np.ndarray], float]
    slack: Callable[[float], float]
    budget: int


SYSTEMS = {
    "tandem": System(
        f"three queues in a row, time in the line ≤ {LIMIT:g}",
        lambda seed: tandem(LIMIT, customers=10_000, seed=seed),
        lambda model, x: model.time(x),
        lambda time: LIMIT - time,
        budget=400,
    ),
    "base-stock": System(
        f"base stock of three goods, demand met at once ≥ {SERVICE:g}",
        lambda seed: base_stock(SERVICE, days=5_000, seed=seed),
        lambda model, x: model.met(x),
        lambda met: met - SERVICE,
        budget=400,
    ),
}


@final
@dataclass(frozen=True)
class Answer:
    """One run. gap: of the exact cost at the returned point to the optimum, relative to it. output: there, exactly; slack: to its bound.

    believed, error, probability: what the result says of the output and of its bound.
    """

    evaluations: int
    gap: float
    output: float
    slack: float
    believed: float
    error: float
    probability: float

    @property
    def deviation(self) -> float:
        """How wrong the result is about its output, in standard errors."""
        return (self.believed - self.output) / self.error


def measure(system: str, seed: int) -> Answer:
    """One run; the seed is that of the noise, too."""
    chosen = SYSTEMS[system]
    problem = chosen.make(seed)
    result = minimize(problem, problem.x0, maxfev=chosen.budget, rng=seed, confidence=CONFIDENCE)
    x, model, said = np.asarray(result.x), problem.objective, result.constraints[0]
    output = chosen.output(model, x)
    return Answer(
        evaluations=result.nfev,
        gap=model.cost(x) / model.cost(problem.solution) - 1.0,  # type: ignore[attr-defined]
        output=output,
        slack=chosen.slack(output),
        believed=float(said["value"]),
        error=float(said["error"]),
        probability=float(said["probability"]),
    )


def tasks(name: str, runs: int) -> list[Task[Answer]]:
    return [Task(measure, dict(system=name, seed=seed), f"{name}, run {seed}") for seed in range(runs)]


def carry_out(campaign: Campaign, names: tuple[str, ...], runs: int) -> dict[str, list[Answer]]:
    return dict(zip(names, campaign.complete_groups([tasks(name, runs) for name in names]), strict=True))


def claims(found: dict[str, list[Answer]]) -> list[Claim]:
    result = []
    for name, answers in found.items():
        middle, held = float(np.median([one.gap for one in answers])), sum(one.slack >= 0.0 for one in answers)
        gaps = spread([100.0 * one.gap for one in answers])
        result += [
            Claim(f"{name}: cost above the optimum in %, median", f"≤ {100 * NEAR:g}", gaps, abs(middle) <= NEAR),
            Claim(
                f"{name}: truly feasible at confidence={CONFIDENCE:g}",
                f"≥ {100 * CONFIDENCE:g} %",
                f"{held} of {len(answers)}",
                held >= CONFIDENCE * len(answers),
            ),
        ]
    return result


def table(found: dict[str, list[Answer]]) -> Table:
    rows = []
    for name, answers in found.items():
        near = sum(abs(one.gap) <= NEAR and one.slack >= 0.0 for one in answers)
        deviations = [one.deviation for one in answers]
        rows.append(
            (
                SYSTEMS[name].title,
                str(len(answers)),
                spread([float(one.evaluations) for one in answers]),
                spread([100.0 * one.gap for one in answers]),
                f"{near} of {len(answers)}",
                f"{sum(one.slack >= 0.0 for one in answers)} of {len(answers)}",
                spread([one.slack for one in answers]),
                f"{float(np.mean(deviations)):.2f} ± {float(np.std(deviations)):.2f}",
            )
        )
    columns = (
        *(
            "system",
            "runs",
            "evaluations",
            "cost above the optimum in %",
            "feasible and within 1 %",
            "truly feasible",
            "slack to the bound",
        ),
        "believed less true output, in its standard errors",
    )
    note = (
        "Optimum, cost and output by closed forms. Medians with the least and the largest; the last column is mean ± standard deviation, "
        "which should be 0 ± 1."
    )
    return Table("simulated-systems", "Two systems of operations research", columns, rows, note)
