"""Pilot runs: settings are chosen one after the other, over a grid or uphill; the searches of many cells go on side by side."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, final

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C", bound="DataclassInstance")  # a choice
N = TypeVar("N")  # the name of a plan
R = TypeVar("R")
Plan = Generator[list[C], None, R]  # yields the choices to try next, returns what it found


class Trial(NamedTuple):
    """How a choice did over the pilot seeds.

    missed: seeds that did not reach the target. cost: queries in all, with the limit for those. residual: the mean best residual.
    """

    missed: int
    cost: float
    residual: float

    @property
    def rank(self) -> tuple[float, float]:
        """Less is better: queries decide between choices that always reach the target; otherwise first the misses, then the residual."""
        return (self.missed, self.residual if self.missed else self.cost)


@final
@dataclass(frozen=True)
class Search(Generic[C]):
    """What was tried so far, and the ways to go on. Choices are frozen dataclasses."""

    tried: dict[C, Trial] = field(default_factory=dict)

    @property
    def least_cost(self) -> float:
        """What the best choice that always reaches the target has spent; whatever spends more has lost, and need not go on."""
        return min((trial.cost for trial in self.tried.values() if not trial.missed), default=float("inf"))

    def rank(self, choice: C) -> tuple[float, float]:
        return self.tried[choice].rank

    def scan(self, start: C, name: str, values: Sequence[float]) -> Plan[C, C]:
        """The best choice when one setting runs over a grid."""
        choices = [replace(start, **{name: value}) for value in values]
        yield choices
        return min(choices, key=self.rank)

    def climb(self, start: C, name: str, factor: float, most: int = 12) -> Plan[C, C]:
        """The best choice when one setting is multiplied or divided by a factor for as long as that helps, by one percent at least."""
        best = start
        for _ in range(most):
            around = [replace(best, **{name: float(f"{getattr(best, name) * step:.6g}")}) for step in (factor, 1.0 / factor)]
            yield [best, *around]
            following = min(around, key=self.rank)
            if not self._better(following, best):
                break
            best = following
        return best

    def _better(self, choice: C, other: C) -> bool:
        """By a miss, or by one percent: less is noise."""
        (missed, value), (other_missed, other_value) = self.rank(choice), self.rank(other)
        return missed < other_missed or (missed == other_missed and value < 0.99 * other_value)


def search_all(plans: dict[N, tuple[Search[C], Plan[C, R]]], trials: Callable[[list[tuple[N, C]]], list[Trial]]) -> dict[N, R]:
    """What every plan found. trials: runs (name of the plan, choice) pairs, those of all plans that are still going on at once."""
    found: dict[N, R] = {}
    going = dict(plans)
    while going:
        asked: dict[N, list[C]] = {}
        for name, (search, plan) in list(going.items()):
            try:
                asked[name] = _untried(search, plan)
            except StopIteration as end:
                found[name] = end.value
                del going[name]
        pairs = [(name, choice) for name, choices in asked.items() for choice in choices]
        for (name, choice), trial in zip(pairs, trials(pairs) if pairs else [], strict=True):
            going[name][0].tried[choice] = trial
    return found


def _untried(search: Search[C], plan: Plan[C, R]) -> list[C]:
    """The next choices of a plan that were not tried yet; `StopIteration` at its end."""
    while True:
        missing = [choice for choice in dict.fromkeys(next(plan)) if choice not in search.tried]
        if missing:
            return missing
