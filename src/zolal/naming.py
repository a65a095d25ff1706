"""Names of variables: x as a dict or a Series outside, as an array inside."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from zolal._array import Array, to_numpy
from zolal.constraints import Constraint, as_constraints, is_linear
from zolal.errors import InvalidArgumentError
from zolal.problem import Problem, SlackForm
from zolal.result import Result

MOST_NAMES = 8  # in a sentence


@final
@dataclass(frozen=True, eq=False)
class Naming:
    """The names of the variables, None where they have none, and what x is to the user: `like` is a dict, a Series, or None for arrays.

    A Series is anything with an `index` and `to_numpy`, as pandas has it; pandas itself is not needed.
    """

    names: tuple[Any, ...] | None = None
    like: Any = None

    @classmethod
    def of(cls, x0: Any, names: Sequence[Any] | None = None, bounds: Any = None) -> "Naming":
        """The names that x0 has, or those of the problem, or those of the bounds; where several have names they must be the same."""
        own = _names_of(x0)
        if own is None:
            bounds = _by_name(bounds)
            names = tuple(bounds) if names is None and isinstance(bounds, Mapping) else names
            return cls(None if names is None else tuple(names))
        _check_distinct("`x0`", own)
        if names is None:
            return cls(own, x0)
        naming = cls(tuple(names))
        naming.ordered("x0", x0)
        return replace(naming, like={name: x0[name] for name in names} if isinstance(x0, Mapping) else x0.loc[list(names)])

    def ordered(self, what: str, given: Any) -> Any:
        """What is given by name as a list in the order of the variables; anything else as it is."""
        own = _names_of(given)
        if own is None or (self.names is None and not isinstance(given, Mapping)):
            return given
        if self.names is None:
            raise InvalidArgumentError(f"`{what}` can have names where the variables have: `x0` as a dict or Series, got {given!r}.")
        _check_distinct(f"`{what}`", own)
        known, told = set(self.names), set(own)
        if unknown := [name for name in own if name not in known]:
            raise InvalidArgumentError(f"`{what}` must name the variables {_listed(self.names)}, got the unknown name {unknown[0]!r}.")
        if missing := [name for name in self.names if name not in told]:
            raise InvalidArgumentError(f"`{what}` must name every variable, got nothing for {missing[0]!r}.")
        return [given[name] for name in self.names]

    def bounds(self, given: Any) -> Any:
        """Bounds by name, a dict, a Series of pairs or a DataFrame of two columns, as pairs in the order of the variables."""
        given = _by_name(given)
        if not isinstance(given, Mapping):
            return given
        pairs = self.ordered("bounds", given)
        for name, pair in zip(self.names or (), pairs, strict=True):
            if pair is not None and not _is_pair(pair):
                raise InvalidArgumentError(f"`bounds[{name!r}]` must be a pair (low, high) or None, got {pair!r}.")
        return pairs

    def array(self, x: Any) -> Any:
        """x as an array in the order of the variables; a start is checked elsewhere."""
        return self.ordered("x0", x) if _names_of(x) is not None else x

    def given(self, x: Array) -> Any:
        """An array as what x is to the user: a dict of numbers or a Series; of rows a dict of columns or a DataFrame."""
        if self.like is None:
            return x
        values = np.array(to_numpy(x))
        if isinstance(self.like, Mapping):
            columns = values.tolist() if values.ndim == 1 else list(values.T)
            return dict(zip(self.names or (), columns, strict=True))
        if values.ndim == 1:
            return type(self.like)(values, index=self.like.index, name=self.like.name)
        return type(self.like.to_frame())(values, columns=self.like.index)

    def derivative(self, value: Any) -> Any:
        """A derivative by name, one row or several, in the order of the variables; anything else as it is."""
        names = list(self.names or ())
        if hasattr(value, "columns") and hasattr(value, "loc"):
            return value.loc[:, names].to_numpy()
        if _names_of(value) is not None:
            return np.array([value[name] for name in names])
        if isinstance(value, (list, tuple)) and value and all(_names_of(row) is not None for row in value):
            return np.array([[row[name] for name in names] for row in value])
        return value

    def plain(self, problem: Problem) -> Problem:
        """The same problem in arrays: its functions are called with what x is to the user."""
        if self.like is None:
            return problem if self.names is None else replace(problem, names=self.names)
        return replace(
            problem,
            names=self.names,
            x0=None,
            objective=Called(problem.objective, self),
            gradient=None if problem.gradient is None else Called(problem.gradient, self, derives=True),
            constraints=[*(self._constraint(part) for part in as_constraints(problem.known, problem.dimension)), *problem.simulated],
        )

    def told(self, result: Result, form: SlackForm) -> Result:
        """A result with names, x as the user has it."""
        return Result(
            {
                **result,
                "x": self.given(result.x),
                "names": self.names,
                "constraint_names": (*form.equalities.row_names, *form.problem.outputs.names),
            }
        )

    def _constraint(self, part: Constraint) -> Constraint:
        if is_linear(part):
            return part
        jac, vjp = (None if function is None else Called(function, self, derives=True) for function in (part.jac, part.vjp))
        return replace(part, fun=Called(part.fun, self), jac=jac, vjp=vjp)


NAMELESS = Naming()


@final
@dataclass(frozen=True, eq=False)
class Called:
    """A function of named variables as one of arrays, in a form that can be sent to other processes.

    derives: whether it returns derivatives, which may have names, too.
    """

    fun: Callable[..., Any]
    naming: Naming
    derives: bool = False

    def __call__(self, x: Array, *rest: Any) -> Any:
        value = self.fun(self.naming.given(x), *rest)
        return self.naming.derivative(value) if self.derives else value


def plain_result(problem: Problem, result: Result) -> tuple[Result, SlackForm]:
    """A result and its problem as arrays again, for whoever writes them down."""
    naming = Naming.of(result.x, problem.names)
    x = np.asarray(naming.array(result.x), dtype=float) if naming.like is not None else result.x
    problem = naming.plain(problem)
    return Result({**result, "x": x}), SlackForm(problem, problem.equalities(x))


def _by_name(bounds: Any) -> Any:
    """Bounds that have an index as a dict; anything else as it is."""
    if not hasattr(bounds, "index") or not hasattr(bounds, "to_numpy"):
        return bounds
    return dict(zip(bounds.index, bounds.to_numpy(), strict=True))


def _is_pair(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__") and np.ndim(value) == 1 and len(value) == 2


def _names_of(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, Mapping):
        return tuple(value)
    index = getattr(value, "index", None)
    series = index is not None and not callable(index) and hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 1
    return tuple(index) if series else None  # type: ignore[arg-type]


def _check_distinct(what: str, names: tuple[Any, ...]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidArgumentError(f"{what} must have distinct names, got {repeated[0]!r} more than once.")


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, ... ({len(names)} in all)"
