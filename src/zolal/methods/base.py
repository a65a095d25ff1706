"""What the options of every method share: how f is sampled, how long to run, what is checked at the end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from zolal._checks import is_number, nonnegative_int, positive, positive_int, require
from zolal.estimators import Estimator, Momentum
from zolal.mirror import Euclidean, MirrorMap, SmoothedLq
from zolal.schedules import Schedule, as_schedule, momentum_weight
from zolal.solvers import Solver

Check = Callable[[str, Any], Any]


class Method(NamedTuple):
    """A solver with what the front door needs beside it."""

    solver: Solver[Any]
    directions: str
    smoothing: Schedule
    check_directions: int
    max_iterations: int | None


@dataclass(frozen=True, kw_only=True)
class Options(ABC):
    """Options of every method; a number may be a function of the iteration instead, where the paper's symbol is given.

    step_size: eta, required. smoothing: nu, the length of a difference per coordinate. num_directions: n. num_initial_directions: n_0,
    n if not given. momentum: alpha in (0, 1]; 1 is plain averaging. directions: "rademacher", "sphere" or "gaussian". share_base: one
    sample and one base value per iteration, half the evaluations. output: which point is returned. max_iterations: a limit on the
    steps. kkt_directions: directions of the final check, n if not given, 0 for none.
    """

    step_size: Any
    smoothing: Any = 1e-4
    num_directions: Any = 16
    num_initial_directions: int | None = None
    momentum: Any = 1.0
    directions: str = "rademacher"
    share_base: bool = False
    output: str = "last"
    max_iterations: int | None = None
    kkt_directions: int | None = None

    scheduled: ClassVar[Mapping[str, Check]] = dict(
        step_size=positive, smoothing=positive, num_directions=positive_int, momentum=momentum_weight
    )
    plain: ClassVar[Mapping[str, Check]] = {}  # options that are one number
    outputs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def solver(self, estimator: Estimator, checked: Mapping[str, Any], geometry: Any) -> Solver[Any]:
        """The solver that these options describe, from the checked values of `scheduled` and `plain`."""

    def method(self, geometry: Any) -> Method:
        """The solver that these options describe, with what the front door needs beside it."""
        checked: dict[str, Any] = {name: as_schedule(_label(name), getattr(self, name), check) for name, check in self.scheduled.items()}
        checked |= {name: check(_label(name), getattr(self, name)) for name, check in self.plain.items()}
        require(self.output in self.outputs, _label("output"), f"be one of {self.outputs}", self.output)
        require(isinstance(self.share_base, bool), _label("share_base"), "be True or False", self.share_base)
        if self.num_initial_directions is not None:
            positive_int(_label("num_initial_directions"), self.num_initial_directions)
        estimator = Momentum(
            checked["num_directions"],
            checked["smoothing"],
            self.directions,
            self.num_initial_directions,
            self.share_base,
            checked["momentum"],
        )
        solver = self.solver(estimator, checked, geometry)
        limit = None if self.max_iterations is None else positive_int(_label("max_iterations"), self.max_iterations)
        return Method(solver, self.directions, estimator.smoothing_schedule, self._check_directions(estimator), limit)

    def _check_directions(self, estimator: Estimator) -> int:
        if self.kkt_directions is None:
            return int(estimator.count_schedule(0))
        return nonnegative_int(_label("kkt_directions"), self.kkt_directions)


def _label(name: str) -> str:
    return f"options[{name!r}]"


def as_mirror(geometry: Any, delta: float) -> MirrorMap:
    """A mirror map from p, a map, or "auto"."""
    if isinstance(geometry, MirrorMap):
        return geometry
    if isinstance(geometry, str):
        require(geometry == "auto", "geometry", "be a number p >= 2, a MirrorMap or 'auto'", geometry)
        return Euclidean()
    require(is_number(geometry) and geometry >= 2, "geometry", "be a number p >= 2, a MirrorMap or 'auto'", geometry)
    return Euclidean() if geometry == 2 else SmoothedLq(geometry, delta)
