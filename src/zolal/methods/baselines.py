"""The methods that the paper compares with, and plain descent on a penalty; all of them Euclidean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from zolal._checks import is_number, nonnegative, positive, positive_int
from zolal.errors import UnsupportedError
from zolal.estimators import Estimator
from zolal.methods.base import Check, Options
from zolal.mirror import Euclidean
from zolal.schedules import momentum_weight
from zolal.solvers import ZOSGD, SZOConEx, ZOPenalty
from zolal.solvers.baselines.baseline import OUTPUTS
from zolal.solvers.baselines.zo_penalty import growth_factor


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(Options):
    """Options of every baseline: those of every method. output: "last" or "best"."""

    outputs: ClassVar[tuple[str, ...]] = OUTPUTS


@final
@dataclass(frozen=True, kw_only=True)
class SZOConExOptions(BaselineOptions):
    """Options of method "szo-conex": those of every method (`Options`; step_size is a function of the inner step t), and

    dual_step: r = 1/tau. extrapolation: theta in (0, 1]. proximal: mu, constraint_proximal: kappa, the weights of the squares about the
    center. inner_steps: T, steps of each proximal problem.
    """

    dual_step: Any = 1.0
    extrapolation: Any = 1.0
    proximal: float = 1.0
    constraint_proximal: float = 0.0
    inner_steps: int = 50

    scheduled: ClassVar[Mapping[str, Check]] = {**Options.scheduled, "dual_step": positive, "extrapolation": momentum_weight}
    plain: ClassVar[Mapping[str, Check]] = dict(proximal=nonnegative, constraint_proximal=nonnegative, inner_steps=positive_int)

    def solver(self, estimator: Estimator, checked: Mapping[str, Any], geometry: Any) -> SZOConEx:
        _require_euclidean("szo-conex", geometry)
        return SZOConEx(estimator, **_chosen(checked, "step_size", "dual_step", "extrapolation", *self.plain), output_rule=self.output)


@final
@dataclass(frozen=True, kw_only=True)
class ZOPenaltyOptions(BaselineOptions):
    """Options of method "zo-penalty": those of every method (`Options`), and

    penalty: the first rho. penalty_growth: its factor, above 1. stage_steps: steps at one rho.
    """

    penalty: float = 1.0
    penalty_growth: float = 2.0
    stage_steps: int = 25

    plain: ClassVar[Mapping[str, Check]] = dict(penalty=positive, penalty_growth=growth_factor, stage_steps=positive_int)

    def solver(self, estimator: Estimator, checked: Mapping[str, Any], geometry: Any) -> ZOPenalty:
        _require_euclidean("zo-penalty", geometry)
        return ZOPenalty(estimator, **_chosen(checked, "step_size", *self.plain), output_rule=self.output)


@final
@dataclass(frozen=True, kw_only=True)
class ZOSGDOptions(BaselineOptions):
    """Options of method "zo-sgd": those of every method (`Options`), and penalty: mu."""

    penalty: Any = 10.0

    scheduled: ClassVar[Mapping[str, Check]] = {**Options.scheduled, "penalty": positive}

    def solver(self, estimator: Estimator, checked: Mapping[str, Any], geometry: Any) -> ZOSGD:
        _require_euclidean("zo-sgd", geometry)
        return ZOSGD(estimator, **_chosen(checked, "step_size", "penalty"), output_rule=self.output)


def _chosen(checked: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: checked[name] for name in names}


def _require_euclidean(method: str, geometry: Any) -> None:
    named = isinstance(geometry, str) and geometry == "auto"
    if not (isinstance(geometry, Euclidean) or named or (is_number(geometry) and geometry == 2)):
        raise UnsupportedError(f"Method {method!r} is Euclidean: `geometry` must be 2, Euclidean() or 'auto', got {geometry!r}.")
