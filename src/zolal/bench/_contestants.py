"""The methods of `zolal bench peers`, each as a user calls it: a start, a noisy objective, exact constraints, a budget."""

import contextlib
import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint
from scipy.optimize import minimize as scipy_minimize

from zolal._array import Array
from zolal.bench._contest import FEASIBLE, Contest, SpentError, Verdict, Witness, contest
from zolal.bench.base import blinded
from zolal.doors.minimize import minimize
from zolal.sets import Box

NARROW = 0.5 * FEASIBLE  # pycma and nevergrad know inequalities only: |c| <= 5e-5; SciPy's methods are told the same tolerance
PENALTY = 2.0  # of the paper's method
DIRECTIONS = 16  # of the paper's method and of its baselines
SHARES = {"mdlal": 1.0, "szo-conex": 1.0, "zo-penalty": 0.3}  # of the step that theory allows, see `fixed_step`
SMALLEST, WARM_UP = 4, 150  # variables and evaluations of the run before the run
NEEDS = {"cma": "cma", "nevergrad": "nevergrad"}


def measure(method: str, family: str, dimension: int, level: float, seed: int, budget: int) -> Verdict:
    """One run of one method."""
    given = contest(family, dimension, level, seed)
    witness = Witness(given, budget, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = contest(family, SMALLEST, level, seed)
        METHODS[method](small, Witness(small, WARM_UP, seed), seed)  # what is loaded or compiled once is not the method's time
        started = time.perf_counter()
        x = METHODS[method](given, witness, seed)
    return witness.verdict(np.asarray(x, dtype=float), time.perf_counter() - started)


def available() -> tuple[str, ...]:
    """The methods whose packages are installed."""
    return tuple(name for name in METHODS if name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None)


class Trail:
    """Remembers where a method's own callback was last; that stands for its answer when the budget ends it."""

    def __init__(self, start: Array) -> None:
        self.x = start

    def __call__(self, x: Array, *_: Any) -> None:
        self.x = np.array(x)


def _constraint(given: Contest) -> NonlinearConstraint:
    """c(x) = 0 with its exact derivative."""
    equalities = given.equalities
    zero = np.zeros(equalities.num_rows)
    return NonlinearConstraint(equalities.signed_value, zero, zero, jac=equalities.signed_jacobian)


def _bounds(given: Contest) -> Bounds | None:
    region, d = given.problem.region, given.problem.dimension
    return Bounds(np.full(d, region.lower), np.full(d, region.upper)) if isinstance(region, Box) else None


def _scipy(name: str, options: Callable[[Contest, Witness], dict[str, Any]], **more: Any) -> Callable[[Contest, Witness, int], Array]:
    def solve(given: Contest, witness: Witness, seed: int) -> Array:
        trail = Trail(given.start)
        with contextlib.suppress(SpentError):
            found = scipy_minimize(
                witness,
                given.start,
                method=name,
                bounds=_bounds(given),
                constraints=[_constraint(given)],
                callback=trail,
                options=options(given, witness),
                **more,
            )
            return found.x
        return trail.x

    return solve


def _cobyqa(given: Contest, witness: Witness) -> dict[str, Any]:
    return dict(maxfev=witness.budget, initial_tr_radius=given.typical, feasibility_tol=NARROW)


def _cobyla(given: Contest, witness: Witness) -> dict[str, Any]:
    return dict(maxiter=witness.budget, rhobeg=given.typical, catol=NARROW)


def _trust(given: Contest, witness: Witness) -> dict[str, Any]:
    step = math.sqrt(given.level) if given.level else None  # the default, 1e-8, sees nothing but noise
    return dict(maxiter=10**6, finite_diff_rel_step=step)


def _inequalities(given: Contest) -> Callable[[Array], Array]:
    equalities = given.equalities

    def values(x: Array) -> Array:
        c = equalities.signed_value(np.asarray(x))
        return np.concatenate([c - NARROW, -c - NARROW])

    return values


def by_cma(
    fun: Callable[[Array], float],
    start: Array,
    step: float,
    budget: int,
    seed: int,
    bounds: Bounds | None = None,
    inequalities: Callable[[Array], Any] | None = None,
) -> Array:
    """pycma's answer. step: its first standard deviation; inequalities: values that must not be positive."""
    import cma

    options: dict[str, Any] = dict(maxfevals=budget, seed=seed + 1, verbose=-9, verb_log=0, verb_disp=0)
    if bounds is not None:
        options["bounds"] = [bounds.lb.tolist(), bounds.ub.tolist()]
    trail = Trail(start)
    with contextlib.suppress(SpentError):
        method, more = cma.fmin2, {}
        if inequalities is not None:
            method, more = cma.fmin_con2, dict(constraints=inequalities, kwargs_confit=dict(logging=0))
        x, _ = method(fun, start, step, options=options, callback=lambda es: trail(es.result.xfavorite), **more)
        return trail.x if x is None else x
    return trail.x


def _cma(given: Contest, witness: Witness, seed: int) -> Array:
    inequalities = _inequalities(given)
    step = 0.3 * given.typical
    return by_cma(witness, given.start, step, witness.budget, seed, _bounds(given), lambda x: inequalities(x).tolist())


def _nevergrad(given: Contest, witness: Witness, seed: int) -> Array:
    import nevergrad as ng

    inequalities, bounds = _inequalities(given), _bounds(given)
    space = ng.p.Array(init=given.start.copy())
    space.set_mutation(sigma=given.typical)
    if bounds is not None:
        space.set_bounds(bounds.lb, bounds.ub)
    space.random_state = np.random.RandomState(seed)
    space.function.deterministic = given.level == 0.0
    # NGOpt may choose a metamodel that NumPy 2.4 does not accept, so what it would choose otherwise is named here
    kind = ng.optimizers.TBPSA if given.level else ng.optimizers.CMA
    optimizer = kind(parametrization=space, budget=witness.budget)
    for _ in range(witness.budget):
        point = optimizer.ask()
        optimizer.tell(point, witness(point.value), constraint_violation=np.maximum(inequalities(point.value), 0.0))
    return optimizer.provide_recommendation().value


def _auto(given: Contest, witness: Witness, seed: int) -> Array:
    return minimize(_described(given, witness), given.start, method="auto", maxfev=witness.budget, rng=seed).x


def _zolal(name: str, **more: Any) -> Callable[[Contest, Witness, int], Array]:
    def solve(given: Contest, witness: Witness, seed: int) -> Array:
        options = dict(
            step_size=fixed_step(name, given),
            smoothing=max(1e-6, 0.5 * math.sqrt(given.level)) * given.typical,
            num_directions=DIRECTIONS,
            share_base=True,
            kkt_directions=0,
            **more,
        )
        return minimize(_described(given, witness), given.start, method=name, maxfev=witness.budget, rng=seed, options=options).x

    return solve


def fixed_step(name: str, given: Contest) -> float:
    """share / ((1 + d/n) + w ||J||_F^2): f has a curvature of about 1, seen through n random directions, and the constraints' is w ||J||^2.

    w is the penalty of Algorithm 1, and 1 for the others. The shares were chosen from {0.03, 0.1, 0.3, 1, 3}, the penalty from {2, 4, 10},
    at d = 30 and 100 on a seed that is not among those reported.
    """
    rows, weight = given.equalities.signed_jacobian(given.start), PENALTY if name == "mdlal" else 1.0
    return SHARES[name] / (1.0 + given.problem.dimension / DIRECTIONS + weight * float(np.sum(rows**2)))


def _described(given: Contest, witness: Witness) -> Any:
    return replace(blinded(given.problem, witness), sample=None, vectorized=False)


METHODS: dict[str, Callable[[Contest, Witness, int], Array]] = {
    "auto": _auto,
    "mdlal": _zolal("mdlal", penalty=PENALTY),
    "szo-conex": _zolal("szo-conex"),
    "zo-penalty": _zolal("zo-penalty"),
    "cobyqa": _scipy("COBYQA", _cobyqa),
    "cobyla": _scipy("COBYLA", _cobyla),
    "trust-constr": _scipy("trust-constr", _trust, jac="2-point"),
    "cma": _cma,
    "nevergrad": _nevergrad,
}
