"""The methods that `minimize` knows by name, and their options."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from zolal._checks import is_number, nonnegative, nonnegative_int, positive, positive_int, require
from zolal.errors import InvalidArgumentError
from zolal.estimators import Estimator, Momentum
from zolal.mirror import Euclidean, MirrorMap, SmoothedLq
from zolal.schedules import Schedule, as_schedule, momentum_weight
from zolal.solvers import MDLAL, MultiStage, Solver, Stage
from zolal.solvers.mdlal import OUTPUTS
from zolal.theory import stage_penalties


class Method(NamedTuple):
    """A solver with what the front door needs beside it."""

    solver: Solver
    directions: str
    smoothing: Schedule
    check_directions: int
    max_iterations: int | None


SCHEDULED = dict(
    step_size=positive,
    penalty=positive,
    dual_step=nonnegative,
    smoothing=positive,
    num_directions=positive_int,
    momentum=momentum_weight,
)


@dataclass(frozen=True)
class MDLALOptions:
    """Options of method "mdlal"; a number may be a function of the iteration k instead, where the paper's symbol is given.

    step_size: eta, required. penalty: mu. dual_step: rho_k, below mu. smoothing: nu, the length of a difference per coordinate.
    num_directions: n. num_initial_directions: n_0, n if not given. momentum: alpha in (0, 1]; 1 is plain averaging.
    directions: "rademacher", "sphere" or "gaussian". share_base: one sample and one base value per iteration, half the evaluations.
    delta: the smoothing of the mirror map when `geometry` is a number above 2. output: "last", "best", "random", "average".
    max_iterations: a limit on the steps. kkt_directions: directions of the final check, n if not given, 0 for none.
    """

    step_size: Any
    penalty: Any = 10.0
    dual_step: Any = 1.0
    smoothing: Any = 1e-4
    num_directions: Any = 16
    num_initial_directions: int | None = None
    momentum: Any = 0.5
    directions: str = "rademacher"
    share_base: bool = False
    delta: float = 1e-3
    output: str = "last"
    max_iterations: int | None = None
    kkt_directions: int | None = None

    def method(self, geometry: Any) -> Method:
        """The solver that these options describe."""
        checked = {name: as_schedule(f"options[{name!r}]", getattr(self, name), check) for name, check in SCHEDULED.items()}
        require(self.output in OUTPUTS, "options['output']", f"be one of {OUTPUTS}", self.output)
        require(isinstance(self.share_base, bool), "options['share_base']", "be True or False", self.share_base)
        if self.num_initial_directions is not None:
            positive_int("options['num_initial_directions']", self.num_initial_directions)
        estimator = Momentum(
            checked["num_directions"],
            checked["smoothing"],
            self.directions,
            self.num_initial_directions,
            self.share_base,
            checked["momentum"],
        )
        mirror = as_mirror(geometry, nonnegative("options['delta']", self.delta))
        solver = MDLAL(estimator, checked["step_size"], checked["penalty"], checked["dual_step"], mirror, self.output)
        limit = None if self.max_iterations is None else positive_int("options['max_iterations']", self.max_iterations)
        return Method(solver, self.directions, estimator.smoothing_schedule, self._check_directions(estimator), limit)

    def _check_directions(self, estimator: Estimator) -> int:
        if self.kkt_directions is None:
            return int(estimator.count_schedule(0))
        return nonnegative_int("options['kkt_directions']", self.kkt_directions)


@final
@dataclass(frozen=True)
class MultiStageOptions(MDLALOptions):
    """Options of method "multistage": those of "mdlal" for its last stage, and how the stages before lead there.

    penalty and dual_step: of the last stage, numbers. initial_penalty: mu_1, above 1/2; then mu_{s+1} = min(2 mu_s^2, penalty).
    stage_steps: steps of each stage but the last. A stage with a smaller penalty takes longer steps, step_size * min(penalty / mu_s,
    step_growth), and its dual steps are in the same proportion to its penalty.
    """

    initial_penalty: float = 1.0
    stage_steps: int = 25
    step_growth: float = 10.0

    def method(self, geometry: Any) -> Method:
        """The solver that these options describe."""
        penalty, dual_step = positive("options['penalty']", self.penalty), nonnegative("options['dual_step']", self.dual_step)
        steps = positive_int("options['stage_steps']", self.stage_steps)
        growth = positive("options['step_growth']", self.step_growth)
        step_size = as_schedule("options['step_size']", self.step_size, positive)
        shared = {field.name: getattr(self, field.name) for field in dataclasses.fields(MDLALOptions)}
        first, between = positive("options['initial_penalty']", self.initial_penalty), f"exceed 1/2 and be at most the penalty, {penalty}"
        require(0.5 < first <= penalty, "options['initial_penalty']", between, first)
        stages = []
        for mu in stage_penalties(first, penalty):
            longer = min(penalty / mu, growth)
            stage = MDLALOptions(
                **(shared | dict(step_size=_scaled(step_size, longer), penalty=mu, dual_step=dual_step * mu / penalty))
            ).method(geometry)
            stages.append(Stage(stage.solver, steps))
        stages[-1] = Stage(stages[-1].solver)
        return stage._replace(solver=MultiStage(stages))


def _scaled(schedule: Schedule, factor: float) -> Schedule:
    return lambda k: factor * schedule(k)


METHODS: dict[str, Any] = {"mdlal": MDLALOptions, "multistage": MultiStageOptions}


def as_method(method: str, geometry: Any, options: dict[str, Any] | None) -> Method:
    """The named method with its options."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidArgumentError(f"`method` must be one of {sorted(METHODS)}, got {method!r}.")
    known = {field.name: field for field in dataclasses.fields(METHODS[method])}
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgumentError(f"`options` must be a dict, got {options!r}.")
    given = dict(options or {})
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidArgumentError(f"Unknown option {unknown[0]!r} for method {method!r}; the options are {', '.join(sorted(known))}.")
    missing = [name for name, field in known.items() if field.default is dataclasses.MISSING and name not in given]
    if missing:
        raise InvalidArgumentError(f"Method {method!r} needs options[{missing[0]!r}], got {sorted(given) or 'no options'}.")
    return METHODS[method](**given).method(geometry)


def as_mirror(geometry: Any, delta: float) -> MirrorMap:
    """A mirror map from p, a map, or "auto"."""
    if isinstance(geometry, MirrorMap):
        return geometry
    if isinstance(geometry, str):
        require(geometry == "auto", "geometry", "be a number p >= 2, a MirrorMap or 'auto'", geometry)
        return Euclidean()
    require(is_number(geometry) and geometry >= 2, "geometry", "be a number p >= 2, a MirrorMap or 'auto'", geometry)
    return Euclidean() if geometry == 2 else SmoothedLq(geometry, delta)
