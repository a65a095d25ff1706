"""A collection of problems given to a field of methods: references first, then every run in a process of its own; all of it is stored."""

from dataclasses import dataclass
from typing import Any, final

from zolal.bench._apart import DONE, call_apart
from zolal.bench._entrants import installed
from zolal.bench._trial import measure as measure_here
from zolal.bench._trial import refer as refer_here
from zolal.campaigns import Campaign, Task

ACCURACIES = (1e-2, 1e-3, 1e-5)  # of the range
LEVELS = (0.0, 1e-3, 1e-2)  # of the noise, as a part of the range
PER_VARIABLE = 50  # the budget: 50 (n + 1)
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

    def references(self) -> list[Task]:
        given = dict(collection=self.collection, letters=self.letters, seconds=REFERENCE)
        return [Task("bench._field:refer", given | dict(name=name), f"{name}, reference") for name in self.names]

    def tasks(self, name: str, facts: dict[str, Any]) -> list[Task]:
        """All runs on one problem."""
        budget, span = PER_VARIABLE * (facts["n"] + 1), facts["start"] - facts["best"]
        given = dict(collection=self.collection, name=name, letters=self.letters, span=span, budget=budget, seconds=self.seconds)
        return [
            Task(
                "bench._field:measure",
                given | dict(method=method, level=level, seed=seed),
                f"{name}, {method}, noise {level:g}, seed {seed}",
            )
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
    outcome: dict[str, Any]

    @property
    def answered(self) -> bool:
        return self.outcome["ended"] == DONE

    def solved(self, accuracy: float) -> int | None:
        """The evaluation at which a feasible point had f(x) <= best + accuracy (start - best)."""
        goal = self.best + accuracy * (self.start - self.best)
        return next((count for count, value in self.outcome.get("history", ()) if value <= goal), None)


@final
@dataclass(frozen=True)
class Outcome:
    """All runs, the facts of every problem that was run, and why others were left out."""

    runs: list[Run]
    facts: dict[str, dict[str, Any]]
    left_out: dict[str, str]


def refer(**given: Any) -> dict[str, Any]:
    """`_trial.refer` in a process of its own; why: the sentence of a problem that cannot be loaded or measured."""
    ended, value = call_apart(refer_here, given, 3.0 * given["seconds"] + GRACE)
    return value if ended == DONE else dict(why=value or "its reference takes too long")


def measure(**given: Any) -> dict[str, Any]:
    """`_trial.measure` in a process of its own. ended: "done", "late" or "failed", the latter with a sentence as `why`."""
    ended, value = call_apart(measure_here, given, PATIENCE * given["seconds"] + GRACE)
    return dict(ended=ended, **value) if ended == DONE else dict(ended=ended, why=value)


def carry_out(campaign: Campaign, field: Field) -> Outcome:
    """Problem by problem. What is measured by: the best of the reference and of all exact runs; the noise is of the reference's range."""
    references = field.references()
    _remember(campaign, references)
    found = dict(zip(field.names, campaign.complete(references), strict=True))
    facts = {name: one for name, one in found.items() if "why" not in one}
    groups = {name: field.tasks(name, one) for name, one in facts.items()}
    campaign.complete([task for tasks in groups.values() for task in tasks])
    runs: list[Run] = []
    for name, tasks in groups.items():
        outcomes = campaign.complete(tasks)
        exact = [one.get("least") for task, one in zip(tasks, outcomes, strict=True) if task.arguments["level"] == 0.0]
        facts[name] = facts[name] | dict(best=min([facts[name]["best"], *(value for value in exact if value is not None)]))
        runs += [_run(task, outcome, facts[name]) for task, outcome in zip(tasks, outcomes, strict=True)]
    return Outcome(runs, facts, {name: one["why"] for name, one in found.items() if "why" in one})


def _run(task: Task, outcome: dict[str, Any], facts: dict[str, Any]) -> Run:
    given = task.arguments
    return Run(given["method"], given["name"], facts["n"], given["level"], given["seed"], facts["start"], facts["best"], outcome)


def _remember(campaign: Campaign, references: list[Task]) -> None:
    """References are no runs of zolal: those in the store hold for every version, and with `--again`, lest all runs change with them."""
    keys = {task.key for task in references}
    campaign.known.update({record["key"]: record for record in campaign.store.records() if record["key"] in keys})
