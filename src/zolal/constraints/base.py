"""One known constraint: lower <= fun(x) <= upper, with what is needed to multiply by its transposed Jacobian."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse
from array_api_compat import device, is_array_api_obj
from scipy.sparse.linalg import LinearOperator

from zolal._array import Array, copied, like, namespace, to_numpy
from zolal.errors import ConstraintError, InvalidArgumentError


@final
@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= fun(x) <= upper, rowwise; equal bounds make an equality.

    fun(x) -> (m,) or a number. jac(x) -> (m, d): an array, a scipy.sparse matrix or a LinearOperator. vjp(x, y) -> (d,),
    the product of the transposed Jacobian with y, is enough and never forms the Jacobian. With neither, the Jacobian comes
    from scipy.differentiate (some ten evaluations of fun per variable and iteration).

    >>> sphere = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
    >>> sphere.vjp_at(np.array([0.0, 2.0]), np.array([3.0])).tolist()
    [0.0, 12.0]
    """

    fun: Callable[[Array], Any]
    lower: Any = 0.0
    upper: Any = 0.0
    jac: Callable[[Array], Any] | None = None
    vjp: Callable[[Array, Array], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("fun", "jac", "vjp"):
            value = getattr(self, name)
            if not callable(value) and (value is not None or name == "fun"):
                raise InvalidArgumentError(f"`{name}` of a constraint must be callable, got {value!r}.")

    def value_at(self, x: Array) -> Array:
        """fun(x) as a vector."""
        return as_vector(_call("fun", self.fun, copied(x)), x)

    def vjp_at(self, x: Array, y: Array) -> Array:
        """The transposed Jacobian at x times y."""
        if self.vjp is not None:
            return _real("vjp", _call("vjp", self.vjp, copied(x), copied(y)), x)
        jacobian = self.jacobian_at(x)
        shape = (y.shape[0], x.shape[0])
        if tuple(jacobian.shape) != shape:
            raise ConstraintError(f"The Jacobian of the constraint must have shape {shape}, got {tuple(jacobian.shape)}.")
        if scipy.sparse.issparse(jacobian):
            return _real("Jacobian", np.asarray(jacobian.T @ to_numpy(y)), x)
        if isinstance(jacobian, LinearOperator):
            return _real("Jacobian", _call("jac", jacobian.rmatvec, to_numpy(y)), x)
        return namespace(x).matmul(y, jacobian)

    def jacobian_at(self, x: Array) -> Any:
        """The Jacobian: sparse or an operator as the user gives it, otherwise dense with shape (m, d)."""
        jacobian = numerical_jacobian(self.fun, x) if self.jac is None else _call("jac", self.jac, copied(x))
        if scipy.sparse.issparse(jacobian) or isinstance(jacobian, LinearOperator):
            return jacobian
        dense = _real("Jacobian", jacobian, x)
        return namespace(x).reshape(dense, (1, -1)) if dense.ndim == 1 else dense

    def rows_at(self, x: Array, rows: int) -> Array:
        """The Jacobian as a dense array of shape (rows, d), row by row from `vjp` where that is all there is."""
        xp = namespace(x)
        if self.vjp is not None:
            units = xp.eye(rows, dtype=x.dtype, device=device(x))
            return xp.stack([self.vjp_at(x, units[i, :]) for i in range(rows)])
        jacobian = self.jacobian_at(x)
        if scipy.sparse.issparse(jacobian):
            jacobian = like(jacobian.toarray(), x)
        elif isinstance(jacobian, LinearOperator):
            jacobian = _real("Jacobian", _call("jac", jacobian.rmatmat, np.eye(rows)).T, x)
        if tuple(jacobian.shape) != (rows, x.shape[0]):
            raise ConstraintError(f"The Jacobian of the constraint must have shape {(rows, x.shape[0])}, got {tuple(jacobian.shape)}.")
        return jacobian

    def check_at(self, x: Array) -> int:
        """The number of rows; raises one sentence if fun, jac, vjp or the bounds do not fit together at x."""
        value = self.value_at(x)
        rows, dimension = value.shape[0], x.shape[0]
        for name in ("lower", "upper"):
            try:
                bound = np.asarray(getattr(self, name), dtype=float)
            except (TypeError, ValueError):
                bound = np.asarray(np.nan)
            if bound.ndim > 1 or bound.size not in (1, rows) or np.isnan(bound).any():
                raise InvalidArgumentError(
                    f"Constraint `{name}` must be a number or {rows} numbers, one per row of `fun`, got {getattr(self, name)!r}."
                )
        lower, upper = np.broadcast_arrays(*np.atleast_1d(self.lower, self.upper, np.zeros(rows)))[:2]
        crossed = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
        if crossed.size:
            row = int(crossed[0])
            raise InvalidArgumentError(
                f"Constraint bounds must satisfy lower <= upper, lower < inf and upper > -inf, "
                f"got [{lower[row]}, {upper[row]}] in row {row}."
            )
        if self.vjp is not None:
            shape = tuple(self.vjp_at(x, namespace(x).ones_like(value)).shape)
            if shape != (dimension,):
                raise InvalidArgumentError(f"Constraint `vjp` must return shape ({dimension},), got {shape}.")
            return rows
        shape = tuple(self.jacobian_at(x).shape)
        if shape != (rows, dimension):
            raise InvalidArgumentError(f"The Jacobian of the constraint must have shape ({rows}, {dimension}), got {shape}.")
        self.vjp_at(x, namespace(x).ones_like(value))
        return rows


def linear(matrix: Any, lower: Any, upper: Any) -> Constraint:
    """lower <= matrix @ x <= upper; the matrix is dense, scipy.sparse or a LinearOperator."""
    if scipy.sparse.issparse(matrix) or isinstance(matrix, LinearOperator):
        return Constraint(lambda x: like(matrix @ to_numpy(x), x), lower, upper, jac=lambda x: matrix)
    dense = np.atleast_2d(to_numpy(matrix))
    return Constraint(lambda x: namespace(x).matmul(like(dense, x), x), lower, upper, jac=lambda x: dense)


def numerical_jacobian(fun: Callable[[Array], Any], x: Array) -> np.ndarray:
    """The Jacobian by scipy.differentiate, which adapts its steps until the error is small."""
    from scipy.differentiate import jacobian

    point = to_numpy(x).astype(float)

    def columns(points: np.ndarray) -> np.ndarray:
        flat = points.reshape(point.size, -1)
        values = [to_numpy(as_vector(_call("fun", fun, like(flat[:, i], x)), x)) for i in range(flat.shape[1])]
        return np.stack(values, axis=1).reshape(-1, *points.shape[1:])

    steps = 1e-2 * np.maximum(np.abs(point), 1.0)
    found = jacobian(columns, point, initial_step=steps, tolerances=dict(rtol=1e-9, atol=1e-10), maxiter=8)
    return found.df


def as_vector(value: Any, x: Array) -> Array:
    """A constraint's value as a vector with the namespace of x."""
    value = _real("value", value, x)
    if value.ndim > 1:
        raise ConstraintError(f"A constraint must return a number or a vector, got shape {tuple(value.shape)}.")
    return namespace(value).reshape(value, (-1,))


def _real(name: str, value: Any, x: Array) -> Array:
    """What a constraint returned, as a real array with the namespace of x."""
    if not is_array_api_obj(value):
        try:
            value = np.asarray(value)
        except ValueError:
            value = np.asarray(None)
    plain = not isinstance(value, np.ndarray) or value.dtype.kind in "biufc"
    if not plain or namespace(value).isdtype(value.dtype, "complex floating"):
        raise ConstraintError(f"The {name} of a constraint must be real numbers, got dtype {value.dtype}.")
    return like(value, x)


def _call(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """The user's function, its exceptions told as the constraint's."""
    try:
        return function(*args)
    except Exception as error:
        raise ConstraintError(f"A constraint's `{name}` raised {type(error).__name__}: {error}.") from error
