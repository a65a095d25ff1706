"""The static problem: what is minimised, where, and subject to what."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from zolal._array import Array, concatenate, split, to_numpy
from zolal._checks import positive_int
from zolal.constraints import Equalities, Outputs, Simulated, as_constraints, check_distinct, parted
from zolal.errors import InvalidArgumentError
from zolal.mirror import Block, Euclidean, Linearization, MirrorMap
from zolal.regularizers import BlockSum, Regularizer, Zero
from zolal.sets import ConvexSet, Product, WholeSpace


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise E[F(x; xi)] + h(x) over x in X subject to known constraints (Eq. (1.1), label `p`, with slacks for inequalities).

    objective: F, called as objective(x), objective(x, xi) when `sample` is given, or on rows when `vectorized`. It returns a value, or a
    value and outputs where constraints are `Simulated`.
    dimension: d. constraints: any of SciPy's forms. region: X. regularizer: h.
    sample: rng -> xi, draws one sample from a numpy.random.Generator; the same xi is used at both ends of a difference.
    gradient: the exact gradient of f, for diagnostics only. x0: a start. solution, multipliers: a known optimum.
    names: of the variables, for results, tables and pages. Functions get x as an array, or as a dict or Series where x0 is one.
    """

    objective: Callable[..., Any]
    dimension: int
    constraints: Any = ()
    region: ConvexSet = field(default_factory=WholeSpace)
    regularizer: Regularizer = field(default_factory=Zero)
    sample: Callable[[Any], Any] | None = None
    vectorized: bool = False
    gradient: Callable[[Array], Array] | None = None
    x0: Array | None = None
    solution: Array | None = None
    multipliers: Array | None = None
    names: Sequence[Any] | None = None
    outputs: Outputs = field(init=False, repr=False)  # what those of the objective must satisfy; empty where it has none

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "outputs", Outputs.of(self.simulated)
        )  # now: a property that is made later takes a lock, which forks share
        positive_int("Problem(dimension=...)", self.dimension)
        for name in ("objective", "sample", "gradient"):
            value = getattr(self, name)
            if not callable(value) and (value is not None or name == "objective"):
                raise InvalidArgumentError(f"`Problem({name}=...)` must be callable, got {value!r}.")
        for name, kind in (("region", ConvexSet), ("regularizer", Regularizer)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidArgumentError(f"`Problem({name}=...)` must be a zolal {kind.__name__}, got {getattr(self, name)!r}.")
        if not isinstance(self.vectorized, bool):
            raise InvalidArgumentError(f"`Problem(vectorized=...)` must be True or False, got {self.vectorized!r}.")
        self._check_names()
        for part in (self.region, self.regularizer):
            if part.dimension not in (None, self.dimension):
                raise InvalidArgumentError(f"{part!r} must have {self.dimension} variables as the problem has, got {part.dimension}.")

    def _check_names(self) -> None:
        if self.names is None:
            return
        if isinstance(self.names, str) or not isinstance(self.names, Sequence) or len(self.names) != self.dimension:
            raise InvalidArgumentError(f"`Problem(names=...)` must hold {self.dimension} names, one per variable, got {self.names!r}.")
        if not all(isinstance(name, Hashable) for name in self.names):
            raise InvalidArgumentError(f"`Problem(names=...)` must hold words, got {self.names!r}.")
        repeated = [name for name in self.names if list(self.names).count(name) > 1] if len(set(self.names)) < self.dimension else []
        if repeated:
            raise InvalidArgumentError(f"`Problem(names=...)` must be distinct, got {repeated[0]!r} more than once.")

    @property
    def known(self) -> Any:
        """The constraints that are known exactly."""
        return parted(self.constraints)[0]

    @property
    def simulated(self) -> tuple[Simulated, ...]:
        """The constraints on outputs of the objective."""
        return parted(self.constraints)[1]

    def equalities(self, x: Array) -> Equalities:
        """The known constraints as equalities with slacks; their shapes are checked at x."""
        parts = [part.inside(self.region) for part in as_constraints(self.known, self.dimension)]
        equalities = Equalities(tuple(parts), tuple(part.check_at(x) for part in parts))
        check_distinct((*equalities.row_names, *self.outputs.names))
        return equalities


@final
@dataclass(frozen=True, eq=False)
class SlackForm:
    """The problem in the variables z = (x, s): one region, one regularizer, one geometry, equalities only."""

    problem: Problem
    equalities: Equalities

    @property
    def sizes(self) -> tuple[int, int]:
        return self.problem.dimension, self.equalities.num_slacks

    @property
    def region(self) -> ConvexSet:
        """X x [0, limit]."""
        d, slacks = self.sizes
        return Product([(self.problem.region, d), (self.equalities.slack_region, slacks)]) if slacks else self.problem.region

    @property
    def regularizer(self) -> Regularizer:
        """h(x), and nothing on the slacks."""
        d, slacks = self.sizes
        h = self.problem.regularizer
        return BlockSum([(h, d), (Zero(), slacks)]) if slacks and not isinstance(h, Zero) else h

    def geometry(self, mirror: MirrorMap) -> MirrorMap:
        """The given geometry on x, the Euclidean one on the slacks."""
        d, slacks = self.sizes
        return Block([(mirror, d), (Euclidean(), slacks)]) if slacks and not isinstance(mirror, Euclidean) else mirror

    def start(self, x: Array) -> Array:
        """z^0 = (x^0, s^0)."""
        return concatenate([x, self.equalities.initial_slacks(x)]) if self.sizes[1] else x

    def variables(self, z: Array) -> Array:
        """The x part of z."""
        return z[: self.sizes[0]] if self.sizes[1] else z

    def value(self, z: Array) -> Array:
        """c(z), shape (m,)."""
        x, slacks = split(z, self.sizes)
        return self.equalities.value(x, slacks)

    def linearization(self, x: Array) -> Linearization:
        """The constraints at x with their slacks eliminated: values and derivatives that ought to lie in intervals."""
        value = to_numpy(self.equalities.signed_value(x)).astype(float)
        return Linearization(value, self.equalities.signed_jacobian(x), *self.equalities.interval)

    def gradient(self, z: Array, gradient: Array, multipliers: Array) -> Array:
        """(gradient, 0) + grad c(z)^T multipliers: f does not depend on the slacks."""
        x = self.variables(z)
        along_x, along_slacks = self.equalities.vjp(x, multipliers)
        return concatenate([gradient + along_x, along_slacks]) if self.sizes[1] else gradient + along_x
