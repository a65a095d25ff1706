"""A collection of problems given to a field of methods: references first, then every run in a process of its own; all of it is stored."""

from dataclasses import dataclass, replace
from typing import Any, final

from zolal.bench._apart import Unanswered, call_apart
from zolal.bench._entrants import installed
from zolal.bench._reference import Unmeasured
from zolal.bench._trial import Facts, Verdict
from zolal.bench._trial import measure as measure_here
from zolal.bench._trial import refer as refer_here
from zolal.campaigns import Campaign, Task

ACCURACIES = (1e-2, 1e-3, 1e-5)  # of the range
LEVELS = (0.0, 1e-3, 1e-2)  # of the noise, as a part of the range
PER_VARIABLE = 50  # the budget: 50 (n + 1)
SAME = ", the same whenever x is the same,"
REFERENCE = 20.0  # seconds for each of both parts of a reference
PATIENCE, GRACE = 1.5, 30.0  # a run that makes no evaluation is ended after 1.5 times its seconds and 30 more


@final
@dataclass(frozen=True)
class Field:
    """Who is given what. collection: "s2mpj" or "more-wild". letters: that names of the former may begin with. seconds: of one run."""

    collection: str
    names: tuple[str, ...]
    methods: tuple[str, ...]
    levels: tuple[float, ...] = LEVELS
    seeds: int = 1
    seconds: float = 60.0
    letters: str = "H-Z"
    blind: bool = False  # whether constraints are known by their values alone
    rough: bool = False  # whether the noise is a function of x

    def references(self) -> list[Task[Facts | Unmeasured]]:
        given = dict(collection=self.collection, letters=self.letters, seconds=REFERENCE)
        return [Task(refer, given | dict(name=name), f"{name}, reference") for name in self.names]

    def tasks(self, name: str, facts: Facts) -> list[Task[Verdict | Unanswered]]:
        """All runs on one problem."""
        budget, span = PER_VARIABLE * (facts.n + 1), facts.start - facts.best
        given = dict(collection=self.collection, name=name, letters=self.letters, span=span, budget=budget, seconds=self.seconds)
        given |= {option: True for option in ("blind", "rough") if getattr(self, option)}
        return [
            Task(measure, given | dict(method=method, level=level, seed=seed), f"{name}, {method}, noise {level:g}, seed {seed}")
            for method in installed(self.methods)
            for level in self.levels
            for seed in range(self.seeds)
        ]


@final
@dataclass(frozen=True)
class Run:
    """One run with what it is measured by. start, best: f at the feasible point nearest the start, and the least value known."""

    method: str
    problem: str
    dimension: int
    level: float
    seed: int
    start: float
    best: float
    outcome: Verdict | Unanswered

    @property
    def verdict(self) -> Verdict | None:
        """The outcome, where there was an answer."""
        return self.outcome if isinstance(self.outcome, Verdict) else None

    def solved(self, accuracy: float) -> int | None:
        """The evaluation at which a point had f(x) <= best + accuracy (start - best), and no violation.

        Where outputs have noise, one may be violated by as much as that, but by no more than the accuracy: who violates gains.
        """
        allowed = min(self.level, accuracy)
        return self.verdict.first(self.best + accuracy * (self.start - self.best), allowed) if self.verdict else None

    def seconds(self, limit: float) -> float:
        """What it took, or the limit of its time where there was no answer."""
        return self.verdict.seconds if self.verdict else limit


@final
@dataclass(frozen=True)
class Outcome:
    """All runs, the facts of every problem that was run, and why others were left out."""

    runs: list[Run]
    facts: dict[str, Facts]
    left_out: dict[str, str]


def refer(**given: Any) -> Facts | Unmeasured:
    """`_trial.refer` in a process of its own. A problem that cannot be loaded cannot be measured, either."""
    found = call_apart(refer_here, given, 3.0 * given["seconds"] + GRACE)
    return Unmeasured(found.why or "its reference takes too long") if isinstance(found, Unanswered) else found


def measure(**given: Any) -> Verdict | Unanswered:
    """`_trial.measure` in a process of its own."""
    return call_apart(measure_here, given, PATIENCE * given["seconds"] + GRACE)


def carry_out(campaign: Campaign, field: Field) -> Outcome:
    """Problem by problem. What is measured by: the best of the reference and of all exact runs; the noise is of the reference's range."""
    references = field.references()
    _remember(campaign, references)
    found = dict(zip(field.names, campaign.complete(references), strict=True))
    facts = {name: one for name, one in found.items() if isinstance(one, Facts)}
    groups = {name: field.tasks(name, one) for name, one in facts.items()}
    campaign.complete([task for tasks in groups.values() for task in tasks])
    runs: list[Run] = []
    for name, tasks in groups.items():
        outcomes = campaign.complete(tasks)
        mine = [_run(task, outcome, facts[name]) for task, outcome in zip(tasks, outcomes, strict=True)]
        exact = [run.verdict.least for run in mine if run.level == 0.0 and run.verdict]
        best = min([facts[name].best, *(value for value in exact if value is not None)])
        facts[name] = replace(facts[name], best=best)
        runs += [replace(run, best=best) for run in mine]
    return Outcome(runs, facts, {name: one.why for name, one in found.items() if isinstance(one, Unmeasured)})


def _run(task: Task[Verdict | Unanswered], outcome: Verdict | Unanswered, facts: Facts) -> Run:
    given = task.arguments
    return Run(given["method"], given["name"], facts.n, given["level"], given["seed"], facts.start, facts.best, outcome)


def _remember(campaign: Campaign, references: list[Task[Facts | Unmeasured]]) -> None:
    """References are no runs of zolal: those in the store hold for every version, and with `--again`, lest all runs change with them."""
    keys = {task.key for task in references}
    campaign.known.update({record["key"]: record for record in campaign.store.records() if record["key"] in keys})
