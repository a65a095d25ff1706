"""Pilot runs: settings are chosen one after the other, over a grid or uphill; the searches of many cells go on side by side."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

Plan = Generator[list[Any], None, Any]  # yields the choices to try next, returns what it found


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
class Search:
    """What was tried so far, and the ways to go on. Choices are frozen dataclasses."""

    tried: dict[Any, Trial] = field(default_factory=dict)

    @property
    def least_cost(self) -> float:
        """What the best choice that always reaches the target has spent; whatever spends more has lost, and need not go on."""
        return min((trial.cost for trial in self.tried.values() if not trial.missed), default=float("inf"))

    def rank(self, choice: Any) -> tuple[float, float]:
        return self.tried[choice].rank

    def scan(self, start: Any, name: str, values: Sequence[float]) -> Plan:
        """The best choice when one setting runs over a grid."""
        choices = [replace(start, **{name: value}) for value in values]
        yield choices
        return min(choices, key=self.rank)

    def climb(self, start: Any, name: str, factor: float, most: int = 12) -> Plan:
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

    def _better(self, choice: Any, other: Any) -> bool:
        """By a miss, or by one percent: less is noise."""
        (missed, value), (other_missed, other_value) = self.rank(choice), self.rank(other)
        return missed < other_missed or (missed == other_missed and value < 0.99 * other_value)

    def log(self) -> list[dict[str, Any]]:
        """Every trial as plain values."""
        return [vars(choice) | trial._asdict() for choice, trial in self.tried.items()]


def search_all(plans: dict[Any, tuple[Search, Plan]], trials: Callable[[list[tuple[Any, Any]]], list[Trial]]) -> dict[Any, Any]:
    """What every plan found. trials: runs (name of the plan, choice) pairs, those of all plans that are still going on at once."""
    found, asked = {}, {}
    going = dict(plans)
    while going:
        for name, (search, plan) in list(going.items()):
            asked[name] = _advance(search, plan)
            if not isinstance(asked[name], list):
                found[name] = asked[name]
                del going[name]
        pairs = [(name, choice) for name in going for choice in asked[name]]
        for (name, choice), trial in zip(pairs, trials(pairs) if pairs else [], strict=True):
            going[name][0].tried[choice] = trial
    return found


def _advance(search: Search, plan: Plan) -> Any:
    """The next choices that were not tried yet, as a list, or what the plan returned."""
    while True:
        try:
            missing = [choice for choice in dict.fromkeys(next(plan)) if choice not in search.tried]
        except StopIteration as stop:
            return stop.value
        if missing:
            return missing
