"""One known constraint: lower <= fun(x) <= upper, with what is needed to multiply by its transposed Jacobian."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, final

import numpy as np
import scipy.sparse
from array_api_compat import device, is_array_api_obj
from scipy.sparse.linalg import LinearOperator

from zolal._array import Array, copied, is_finite, like, namespace, to_numpy
from zolal._cached import cached_property
from zolal._checks import shown
from zolal.constraints._differences import Group, column_groups, numerical_jacobian
from zolal.constraints._memo import Memo
from zolal.errors import ConstraintError, InvalidArgumentError, UnsupportedError
from zolal.sets import ConvexSet


@final
@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= fun(x) <= upper, rowwise; equal bounds make an equality.

    fun(x) -> (m,) or a number. jac(x) -> (m, d): an array, a scipy.sparse matrix or a LinearOperator. vjp(x, y) -> (d,),
    the product of the transposed Jacobian with y, is enough and never forms the Jacobian. With neither, the Jacobian comes
    from complex steps or differences, at one to four evaluations of fun per variable and step and at most 500 in all.
    name: what messages, tables and pages call it. sparsity: (m, d), not zero where the Jacobian may be; differences then move several
    variables at once. region: where differences stay; a `Problem` gives its own. x_scale: the sizes of the variables, one each, to which
    their steps are relative where x itself is smaller; `minimize(x_scale=...)` gives its own.

    >>> sphere = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x, name="unit length")
    >>> sphere.vjp_at(np.array([0.0, 2.0]), np.array([3.0])).tolist()
    [0.0, 12.0]
    """

    fun: Callable[[Array], Any]
    lower: Any = 0.0
    upper: Any = 0.0
    jac: Callable[[Array], Any] | None = None
    vjp: Callable[[Array, Array], Any] | None = None
    name: str | None = None
    sparsity: Any = None
    region: ConvexSet | None = None
    x_scale: Any = None
    _values: Memo = field(init=False, repr=False, default_factory=lambda: Memo(16))
    _jacobians: Memo = field(init=False, repr=False, default_factory=lambda: Memo(3))

    def __post_init__(self) -> None:
        if self.name is not None and not (isinstance(self.name, str) and self.name):
            raise InvalidArgumentError(f"`Constraint(name=...)` must be a word or None, got {self.name!r}.")
        for name in ("fun", "jac", "vjp"):
            value = getattr(self, name)
            if not callable(value) and (value is not None or name == "fun"):
                raise InvalidArgumentError(f"`{name}` of {self.label} must be callable, got {value!r}.")
        if not isinstance(self.region, (ConvexSet, NoneType)):
            raise InvalidArgumentError(f"`region` of {self.label} must be a zolal ConvexSet, got {self.region!r}.")

    @property
    def label(self) -> str:
        """What a sentence calls it."""
        if self.name is None:
            return "a constraint"
        return self.name if re.fullmatch(r"constraint \d+", self.name) else f"constraint {self.name!r}"

    @property
    def is_numerical(self) -> bool:
        """Whether derivatives come from values."""
        return self.jac is None and self.vjp is None

    @cached_property
    def _is_product(self) -> bool:
        """Whether a value takes less time to compute than to remember."""
        return isinstance(self.fun, Matrix) and isinstance(self.fun.matrix, np.ndarray)

    def inside(self, region: ConvexSet) -> "Constraint":
        """The same constraint, whose numerical derivatives stay in a region."""
        return replace(self, region=region) if self.is_numerical and self.region is None else self

    def scaled(self, x_scale: np.ndarray) -> "Constraint":
        """The same constraint, for whose derivatives the variables have these sizes."""
        return self if is_linear(self) or self.x_scale is not None else replace(self, x_scale=x_scale)

    def value_at(self, x: Array) -> Array:
        """fun(x) as a vector."""
        if self._is_product:
            return self._vector(self._call("fun", self.fun, x), x)
        found = self._values.get(x)
        if found is None:
            found = self._values.keep(x, self._vector(self._call("fun", self.fun, copied(x)), x))
        return found

    def finite_value_at(self, x: Array) -> Array:
        """The same; raises where a row is not finite."""
        value = self.value_at(x)
        if not is_finite(value):
            row = int(np.flatnonzero(~np.isfinite(to_numpy(value)))[0])
            raise ConstraintError(f"The value of {self.label} in row {row} is not finite: {float(value[row])}.")
        return value

    def vjp_at(self, x: Array, y: Array) -> Array:
        """The transposed Jacobian at x times y."""
        if self.vjp is not None:
            return self._real("vjp", self._call("vjp", self.vjp, copied(x), copied(y)), x)
        jacobian = self.jacobian_at(x)
        self._check_shape(jacobian, y.shape[0], x.shape[0])
        if scipy.sparse.issparse(jacobian):
            return self._real("Jacobian", np.asarray(jacobian.T @ to_numpy(y)), x)
        if isinstance(jacobian, LinearOperator):
            return self._real("Jacobian", self._call("jac", jacobian.rmatvec, to_numpy(y)), x)
        return namespace(x).matmul(y, jacobian)

    def jacobian_at(self, x: Array) -> Any:
        """The Jacobian: sparse or an operator as the user gives it, otherwise dense with shape (m, d)."""
        if self.jac is None:
            return self._numerical(x)
        jacobian = self._call("jac", self.jac, copied(x))
        if scipy.sparse.issparse(jacobian) or isinstance(jacobian, LinearOperator):
            return jacobian
        dense = self._real("Jacobian", jacobian, x)
        return namespace(x).reshape(dense, (1, -1)) if dense.ndim == 1 else dense

    def rows_at(self, x: Array, rows: int) -> Array:
        """The Jacobian as a dense array of shape (rows, d), row by row from `vjp` where that is all there is."""
        if self.is_numerical or is_linear(self):  # the first are remembered as they come, the others are there
            return self._rows_anew(x, rows)
        found = self._jacobians.get(x)
        return self._jacobians.keep(x, self._rows_anew(x, rows)) if found is None or len(found) != rows else found

    def _rows_anew(self, x: Array, rows: int) -> Array:
        xp = namespace(x)
        if self.vjp is not None:
            units = xp.eye(rows, dtype=x.dtype, device=device(x))
            return xp.stack([self.vjp_at(x, units[i, :]) for i in range(rows)])
        jacobian = self.jacobian_at(x)
        if scipy.sparse.issparse(jacobian):
            jacobian = like(jacobian.toarray(), x)
        elif isinstance(jacobian, LinearOperator):
            jacobian = self._real("Jacobian", self._call("jac", jacobian.rmatmat, np.eye(rows)).T, x)
        self._check_shape(jacobian, rows, x.shape[0])
        return jacobian

    def check_at(self, x: Array) -> int:
        """The number of rows; raises one sentence if fun, jac, vjp or the bounds do not fit together at x."""
        value = self.finite_value_at(x)
        rows, dimension = value.shape[0], x.shape[0]
        self._check_bounds(rows)
        self._check_scale(dimension)
        if self.vjp is not None:
            shape = tuple(self.vjp_at(x, namespace(x).ones_like(value)).shape)
            if shape != (dimension,):
                raise InvalidArgumentError(f"In {self.label} `vjp` must return shape ({dimension},), got {shape}.")
            return rows
        if self.sparsity is not None and _shape(self.sparsity) != (rows, dimension):
            raise InvalidArgumentError(f"In {self.label} `sparsity` must have shape ({rows}, {dimension}), got {_shape(self.sparsity)}.")
        try:
            self._check_shape(self.jacobian_at(x), rows, dimension)
        except ConstraintError as error:
            raise InvalidArgumentError(str(error)) from error
        self.vjp_at(x, namespace(x).ones_like(value))
        return rows

    def _check_bounds(self, rows: int) -> None:
        for name in ("lower", "upper"):
            try:
                bound = np.asarray(getattr(self, name), dtype=float)
            except (TypeError, ValueError):
                bound = np.asarray(np.nan)
            if bound.ndim > 1 or bound.size not in (1, rows) or np.isnan(bound).any():
                raise InvalidArgumentError(
                    f"In {self.label} `{name}` must be a number or {rows} numbers, one per row of `fun`, got {getattr(self, name)!r}."
                )
        lower, upper = np.broadcast_arrays(*np.atleast_1d(self.lower, self.upper, np.zeros(rows)))[:2]
        crossed = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
        if crossed.size:
            row = int(crossed[0])
            raise InvalidArgumentError(
                f"The bounds of {self.label} must satisfy lower <= upper, lower < inf and upper > -inf, "
                f"got [{lower[row]}, {upper[row]}] in row {row}."
            )

    def _check_scale(self, dimension: int) -> None:
        try:
            scale = np.asarray(1.0 if self.x_scale is None else self.x_scale, dtype=float)
        except (TypeError, ValueError):
            scale = np.asarray(np.nan)
        if scale.shape not in ((), (dimension,)) or not np.all((scale > 0.0) & np.isfinite(scale)):
            raise InvalidArgumentError(f"In {self.label} `x_scale` must hold {dimension} positive numbers, got {self.x_scale!r}.")

    def _check_shape(self, jacobian: Any, rows: int, dimension: int) -> None:
        if tuple(jacobian.shape) != (rows, dimension):
            shape = tuple(jacobian.shape)
            raise ConstraintError(f"The Jacobian of {self.label} must have shape ({rows}, {dimension}), got {shape}.")

    @cached_property
    def _groups(self) -> list[Group] | None:
        return None if self.sparsity is None else column_groups(self.sparsity)

    def _numerical(self, x: Array) -> Any:
        found = self._jacobians.get(x)
        if found is not None:
            return found

        def fun(point: np.ndarray) -> np.ndarray:
            if np.iscomplexobj(point):  # an exception means: only real numbers
                if not isinstance(x, np.ndarray):
                    raise TypeError
                return np.asarray(self.fun(point), dtype=complex).reshape(-1)
            return to_numpy(self.value_at(like(point, x))).astype(float)

        try:
            jacobian = numerical_jacobian(fun, to_numpy(x), self.region, self._groups, self.x_scale)
        except UnsupportedError as error:
            raise InvalidArgumentError(f"{self.label[:1].upper()}{self.label[1:]} {error}.") from None
        return self._jacobians.keep(x, jacobian if scipy.sparse.issparse(jacobian) else like(jacobian, x))

    def _vector(self, value: Any, x: Array) -> Array:
        """A constraint's value as a vector with the namespace of x."""
        value = self._real("value", value, x)
        if value.ndim > 1:
            raise ConstraintError(f"The value of {self.label} must be a number or a vector, got shape {tuple(value.shape)}.")
        return namespace(value).reshape(value, (-1,))

    def _real(self, what: str, given: Any, x: Array) -> Array:
        """What a constraint returned, as a real array with the namespace of x."""
        value = given
        if type(value) is np.ndarray and type(x) is np.ndarray and value.dtype == x.dtype:
            return value  # the usual case, which is called often
        if not is_array_api_obj(value):
            try:
                value = np.asarray(value)
            except Exception:  # whatever an object that poses as an array may raise
                value = np.asarray(None)
        plain = not isinstance(value, np.ndarray) or value.dtype.kind in "biufc"
        if not plain or namespace(value).isdtype(value.dtype, "complex floating"):
            raise ConstraintError(f"The {what} of {self.label} must be real numbers, got {shown(given)} of dtype {value.dtype}.")
        return like(value, x)

    def _call(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """The user's function, its exceptions told as the constraint's."""
        try:
            return function(*args)
        except Exception as error:
            raise ConstraintError(f"In {self.label} `{name}` raised {type(error).__name__}: {error}.") from error


@final
@dataclass(frozen=True, eq=False)
class Matrix:
    """x -> matrix @ x."""

    matrix: Any

    def __call__(self, x: Array) -> Array:
        if isinstance(self.matrix, np.ndarray):
            return namespace(x).matmul(like(self.matrix, x), x)
        return like(self.matrix @ to_numpy(x), x)

    def derivative(self, x: Array) -> Any:
        return self.matrix


def is_linear(part: Constraint) -> bool:
    """Whether a constraint is known to be linear, by a matrix."""
    return isinstance(part.fun, Matrix)


def linear(matrix: Any, lower: Any, upper: Any, name: str | None = None) -> Constraint:
    """lower <= matrix @ x <= upper; the matrix is dense, scipy.sparse or a LinearOperator."""
    if not (scipy.sparse.issparse(matrix) or isinstance(matrix, LinearOperator)):
        matrix = np.atleast_2d(to_numpy(matrix))
    product = Matrix(matrix)
    return Constraint(product, lower, upper, jac=product.derivative, name=name)


def _shape(pattern: Any) -> tuple[int, ...]:
    try:
        return tuple(pattern.shape) if scipy.sparse.issparse(pattern) else np.atleast_2d(np.asarray(pattern, dtype=float)).shape
    except Exception:  # whatever an object that poses as an array may raise
        return ()
