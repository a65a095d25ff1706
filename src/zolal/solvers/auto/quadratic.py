"""A posterior over quadratics: what values at any points say of f near a centre, and how surely.

With a = (u - centre)/length,

    f(u) = v + g.a + a.Ha/2 + third-order error + noise,    g_i ~ N(0, A),    H = h I + E,    h ~ N(0, A s_h^2),    E_ij ~ N(0, A s_H^2),

the third-order error independent with variance A s_3^2 |a|^6 and the noise with variance A rho. In kernel form,

    k(a, b) = a.b + s_h^2 (|a|^2/2)(|b|^2/2) + s_H^2 (a.b)^2 / 2,    K = k + diag(rho + s_3^2 |a|^6),    v by generalised least squares,
    alpha = K^-1 (F - v),    g = sum_i alpha_i a_i,    H = s_h^2 (sum_i alpha_i |a_i|^2/2) I + s_H^2 sum_i alpha_i a_i a_i^T.

The amplitude A has the closed form (F - v).K^-1 (F - v)/(N - 1); s_H, s_3 and rho are those of the largest marginal likelihood on a grid of
powers of 2, looked for among neighbours. Exact, repeated and noisy values differ in rho and in nothing else. Derived in docs/algorithm.md.
"""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from zolal.solvers.auto.constants import CONSTANTS

(_potrf,) = get_lapack_funcs(("potrf",), (np.empty(0),))
EPS = float(np.finfo(float).eps)
JITTER = 64.0 * EPS  # relative, on the diagonal of K: what its own rounding amounts to


class Scales(NamedTuple):
    """The ratios that the prior is made of. curvature: s_H. third: s_3. noise: rho; all relative to slopes over one length."""

    curvature: float
    third: float
    noise: float


class Repeats(NamedTuple):
    """The sum of squares of repeated values about their means, and its degrees of freedom."""

    square: float = 0.0
    number: int = 0


class Foretold(NamedTuple):
    """What is believed of f(u) - f(centre): its mean and standard deviation, without the noise of an evaluation."""

    change: float
    deviation: float


@final
@dataclass(frozen=True, eq=False)
class Quadratic:
    """The belief that some values leave.

    points: u_i, shape (N, d). values: F_i; weights: of how many evaluations each is the mean. repeats: what equal points have said of the
    noise, which stays when they are far away and forgotten. centre, length: the frame of a. scales: of the prior. built: how many of the rows were factorised
    at once; those after them were added one by one, so that a belief that is read from a file has the same bits. unsearched: the
    values that have come since the scales were last looked for. least: the least rho, which is that of rounding.
    """

    points: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    repeats: Repeats
    centre: np.ndarray
    length: float
    scales: Scales
    built: int
    unsearched: int = 0
    least: float = 1.0
    _kept: "_Factor | None" = field(default=None, init=False, repr=False)

    @classmethod
    def start(cls, centre: np.ndarray, values: np.ndarray, length: float) -> "Quadratic":
        """After some values at one point."""
        values = np.asarray(values, dtype=float)
        square = float(np.sum((values - values.mean()) ** 2))
        repeats = Repeats(square, len(values) - 1) if square > 0.0 else Repeats()
        scales = Scales(CONSTANTS.first_curvature / math.sqrt(len(centre)), CONSTANTS.first_third, 1.0 if square > 0.0 else 0.0)
        mean = values.mean() if square > 0.0 else values[0]
        return cls(centre[None, :], np.array([mean]), np.array([float(len(values))]), repeats, centre, length, scales, 1)

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    def told(self, point: np.ndarray, value: float) -> "Quadratic":
        """After one more value; the factor grows by a row."""
        new = replace(self, points=np.vstack([self.points, point]), values=np.append(self.values, value), weights=np.append(self.weights, 1.0))
        new = replace(new, unsearched=self.unsearched + 1)
        factor = self._factor
        object.__setattr__(new, "_kept", factor.grown(self._row(factor, point), value - self._origin))
        return new

    def moved(self, centre: np.ndarray, length: float) -> "Quadratic":
        """In another frame, of the nearest points alone, and with scales that fit them."""
        distance = np.linalg.norm(self.points - centre, axis=1)
        order = np.sort(np.argsort(distance, kind="stable")[: self.capacity])
        scales, share = self._scales_at(centre, length)
        least = min(self._rounding_share * share, 1.0)
        moved = replace(
            self,
            points=self.points[order],
            values=self.values[order],
            weights=self.weights[order],
            centre=centre,
            length=length,
            scales=scales,
            built=len(order),
            least=least,
        )
        return moved.fitted()

    def _scales_at(self, centre: np.ndarray, length: float) -> tuple[Scales, float]:
        """The prior in another frame, and by how much rho is larger there.

        Curvature, third-order error and noise keep their absolute sizes; slopes have the size that the belief foretells for the centre.
        """
        t, d = centre - self.centre, self.dimension
        factor = self._factor
        bent = self.scales.curvature**2 * (self._offsets.T @ (factor.alpha * (self._offsets @ t))) + self._shared_curvature * t
        slope = self.gradient + bent / self.length**2
        expected = float(slope @ slope) + float(np.trace(self.covariance))
        amplitude = max(expected / d, 1e-300) * length**2
        ratio = min(max(self.amplitude / amplitude, 1e-4), 1e4)
        stretch = length / self.length
        third, curvature = self.scales.third * stretch**3 * math.sqrt(ratio), self.scales.curvature * stretch**2 * math.sqrt(ratio)
        return Scales(curvature, third, self.scales.noise * ratio), ratio

    @property
    def capacity(self) -> int:
        """The most points that are kept: enough for every coefficient of a quadratic, up to what one can factorise."""
        d = self.dimension
        most = min((d + 1) * (d + 2) // 2 + CONSTANTS.spare_points, max(CONSTANTS.most_points, 4 * (d + 1)))
        return most if self.is_exact else min(2 * most, max(CONSTANTS.most_points, 4 * (d + 1)))

    @property
    def is_flat(self) -> bool:
        """Whether every value is the same."""
        return not float(np.ptp(self.values)) > 0.0

    @property
    def is_exact(self) -> bool:
        """Whether equal points have given equal values."""
        return not self.repeats.number

    @property
    def is_full(self) -> bool:
        return len(self.values) >= self.capacity + CONSTANTS.spare_points

    def fitted(self) -> "Quadratic":
        """With the likeliest scales among neighbours, looked for again whenever an eighth of the values is new."""
        number = len(self.values)
        if self.unsearched < CONSTANTS.search_share * number:
            return self
        start = replace(self, unsearched=0, built=number, least=self._rounding_share)
        return replace(start, scales=_Likelihood(start).climbed(self.scales)) if number > 2 else start

    # what the posterior says

    @property
    def noise(self) -> float:
        """The standard deviation of one evaluation."""
        return math.sqrt(self.amplitude * self._rho)

    @property
    def amplitude(self) -> float:
        """A, never 0 even where all values are equal."""
        number = max(len(self.values) - 1 + self.repeats.number, 1)
        return max((self._factor.square + self.repeats.square / self._rho) / number, 1e-300)

    @property
    def prior_variance(self) -> float:
        """Of a slope that nothing has been measured of, per unit of u."""
        return self.amplitude / self.length**2

    @property
    def value(self) -> float:
        """v, the value at the centre."""
        return self._origin + self._factor.mean

    @property
    def value_error(self) -> float:
        return math.sqrt(self.amplitude / self._factor.ones_square)

    @property
    def gradient(self) -> np.ndarray:
        """The mean of the gradient at the centre, per unit of u."""
        return self._offsets.T @ self._factor.alpha / self.length

    @property
    def covariance(self) -> np.ndarray:
        """Of the gradient at the centre: A (I - A^T K^-1 A) and what the doubt of v adds, per unit of u."""
        factor = self._factor
        along = factor.slopes[: factor.number].T @ factor.ones_solved
        reduced = np.eye(self.dimension) - factor.explained + np.outer(along, along) / factor.ones_square
        return (self.amplitude / self.length**2) * reduced

    @property
    def hessian(self) -> np.ndarray:
        """The mean of the Hessian, per square unit of u."""
        a, alpha = self._offsets, self._factor.alpha
        hessian = self.scales.curvature**2 * (a.T @ (alpha[:, None] * a))
        hessian[np.diag_indices_from(hessian)] += self._shared_curvature
        return hessian / self.length**2

    @property
    def _shared_curvature(self) -> float:
        """h, per square length."""
        a, alpha = self._offsets, self._factor.alpha
        return self._common**2 * float(alpha @ (0.5 * np.einsum("ij,ij->i", a, a)))

    def foretold(self, point: np.ndarray) -> Foretold:
        """What is believed of f(point) - f(centre), the third-order error at the point included."""
        factor, a = self._factor, (point - self.centre) / self.length
        row = self._kernel(a, self._offsets)
        solved = solve_triangular(factor.lower, row, lower=True, check_finite=False)
        square = float(a @ a)
        own = self._kernel(a, a[None, :])[0] + self.scales.third**2 * square**3
        doubt = float(solved @ factor.ones_solved) ** 2 / factor.ones_square
        variance = max(own - float(solved @ solved) + doubt, 0.0)
        return Foretold(float(row @ factor.alpha), math.sqrt(self.amplitude * variance))

    def best_radius(self) -> float:
        """The distance at which one value says most of the slope: the noise and the third-order error are then in balance."""
        if self.scales.third <= 0.0:
            return math.inf
        return self.length * (self._rho / (2.0 * self.scales.third**2)) ** (1.0 / 6.0)

    # the factor

    @property
    def _common(self) -> float:
        """s_h, the scale of the curvature that all directions share."""
        return CONSTANTS.common_curvature * math.sqrt(self.dimension) * self.scales.curvature

    @property
    def _rounding_share(self) -> float:
        """rho of the rounding of f with the amplitude of now; 1 where nothing but rounding has been seen."""
        return min(self.rounding**2 / self.amplitude, 1.0)

    @property
    def rounding(self) -> float:
        """What rounding may change a value by."""
        return CONSTANTS.rounding * EPS * max(float(np.max(np.abs(self.values))), 1e-145)

    @property
    def _rho(self) -> float:
        return max(self.scales.noise, self.least)

    @property
    def _origin(self) -> float:
        """A value near the centre, from which all are counted, so that little is lost to rounding."""
        return float(self.values[np.argmin(np.linalg.norm(self.points[: self.built] - self.centre, axis=1))])

    @property
    def _offsets(self) -> np.ndarray:
        return self._factor.offsets

    def _kernel(self, a: np.ndarray, others: np.ndarray) -> np.ndarray:
        products = others @ a
        squares = np.einsum("ij,ij->i", others, others)
        return (
            products
            + self._common**2 * 0.25 * float(a @ a) * squares
            + 0.5 * self.scales.curvature**2 * products**2
        )  # fmt: skip

    def _row(self, factor: "_Factor", point: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """What a point adds to K: its row, the diagonal, and its offset."""
        a = (point - self.centre) / self.length
        square = float(a @ a)
        own = self._kernel(a, a[None, :])[0] * (1.0 + JITTER) + self._rho + self.scales.third**2 * square**3
        return self._kernel(a, factor.offsets), own, a

    @property
    def _factor(self) -> "_Factor":
        if self._kept is None:
            offsets = (self.points[: self.built] - self.centre) / self.length
            noise = self._rho / self.weights[: self.built]
            matrix, values = _matrix(offsets, self.scales, noise, self._common), self.values - self._origin
            factor = _Factor.built(matrix, offsets, values)
            for number in range(self.built, len(values)):
                factor = factor.grown(self._row(factor, self.points[number]), float(values[number]))
            object.__setattr__(self, "_kept", factor)
        assert self._kept is not None
        return self._kept


def _matrix(offsets: np.ndarray, scales: Scales, noise: np.ndarray, common: float) -> np.ndarray:
    """K."""
    products = offsets @ offsets.T
    squares = np.diagonal(products).copy()
    matrix = products * (1.0 + (0.5 * scales.curvature**2) * products)
    half = (0.5 * common) * squares
    matrix += np.outer(half, half)
    matrix[np.diag_indices_from(matrix)] = np.diagonal(matrix) * (1.0 + JITTER) + noise + scales.third**2 * squares**3
    return matrix


def _cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower factor; a matrix that rounding has made indefinite gets a longer diagonal."""
    extra = JITTER
    while True:
        lower, failed = _potrf(matrix, lower=1, clean=1, overwrite_a=0)
        if failed == 0:
            return lower
        extra *= 16.0
        matrix = matrix + np.diag(extra * np.diagonal(matrix))


@final
class _Factor:
    """K = L L^T with what is solved by it: L^-1 (F, 1, offsets). Rows are added in place where there is room.

    Children share the arrays of their parent, which reads its own rows alone; whoever adds a second child gets a copy.
    """

    def __init__(self, number: int, arrays: "tuple[np.ndarray, ...]", explained: np.ndarray, used: list[int]) -> None:
        self.number, self.arrays, self.explained, self.used = number, arrays, explained, used

    @classmethod
    def built(cls, matrix: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> "_Factor":
        number, d = offsets.shape
        room = number + max(16, number // 4)
        lower = np.zeros((room, room), order="F")
        lower[:number, :number] = _cholesky(matrix)
        right = np.empty((number, d + 2))
        right[:, 0], right[:, 1], right[:, 2:] = values[:number], 1.0, offsets
        solved = np.zeros((room, d + 2))
        solved[:number] = solve_triangular(lower[:number, :number], right, lower=True, check_finite=False)
        slopes, kept = solved[:number, 2:], np.zeros((room, d))
        kept[:number] = offsets
        return cls(number, (lower, solved, kept), slopes.T @ slopes, [number])

    def grown(self, row: tuple[np.ndarray, float, np.ndarray], value: float) -> "_Factor":
        """After one more row of K, with its diagonal and offset, and the value."""
        kernel, own, offset = row
        n, used, arrays = self.number, self.used, self.arrays
        if used[0] != n or n == arrays[0].shape[0]:
            used, arrays = [n], tuple(_roomier(array, n) for array in arrays)
        lower, solved, kept = arrays
        new = solve_triangular(lower[:n, :n], kernel, lower=True, check_finite=False)
        diagonal = math.sqrt(max(own - float(new @ new), JITTER * own))
        lower[n, :n], lower[n, n], kept[n] = new, diagonal, offset
        solved[n] = (np.concatenate([[value, 1.0], offset]) - new @ solved[:n]) / diagonal
        used[0] = n + 1
        slope = solved[n, 2:]
        return _Factor(n + 1, arrays, self.explained + np.outer(slope, slope), used)

    @property
    def offsets(self) -> np.ndarray:
        return self.arrays[2][: self.number]

    @property
    def lower(self) -> np.ndarray:
        return self.arrays[0][: self.number, : self.number]

    @property
    def slopes(self) -> np.ndarray:
        return self.arrays[1][: self.number, 2:]

    @property
    def ones_solved(self) -> np.ndarray:
        return self.arrays[1][: self.number, 1]

    @property
    def ones_square(self) -> float:
        return float(self.ones_solved @ self.ones_solved)

    @property
    def mean(self) -> float:
        return float(self.ones_solved @ self.arrays[1][: self.number, 0]) / self.ones_square

    @property
    def _whitened(self) -> np.ndarray:
        return self.arrays[1][: self.number, 0] - self.mean * self.ones_solved

    @property
    def square(self) -> float:
        """(F - v).K^-1 (F - v)."""
        return float(self._whitened @ self._whitened)

    @property
    def alpha(self) -> np.ndarray:
        return solve_triangular(self.lower, self._whitened, lower=True, trans="T", check_finite=False)


def _roomier(array: np.ndarray, rows: int) -> np.ndarray:
    """A copy with room for a quarter more rows, and columns where it is a square."""
    room = rows + max(16, rows // 4)
    square = array.shape[0] == array.shape[1]
    bigger = np.zeros((room, room if square else array.shape[1]), order="F" if square else "C")
    bigger[:rows, : rows if square else None] = array[:rows, : rows if square else None]
    return bigger


@final
class _Likelihood:
    """The marginal likelihood of the scales, with the products of the offsets made once."""

    def __init__(self, belief: Quadratic) -> None:
        self.values, self.weights, self.least, d = belief.values, belief.weights, belief.least, belief.dimension
        self.repeats = belief.repeats
        offsets = belief._offsets
        self.products = offsets @ offsets.T
        self.squares = np.diagonal(self.products).copy()
        self.share = CONSTANTS.common_curvature * math.sqrt(d)
        self.first = (CONSTANTS.first_curvature / math.sqrt(d), CONSTANTS.first_third)
        self.seen: dict[Scales, float] = {}

    def __call__(self, scales: Scales) -> float:
        if scales not in self.seen:
            self.seen[scales] = self._value(scales)
        return self.seen[scales]

    def _value(self, scales: Scales) -> float:
        matrix = self.products * (1.0 + (0.5 * scales.curvature**2) * self.products)
        half = (0.5 * self.share * scales.curvature) * self.squares
        matrix += np.outer(half, half)
        rho = max(scales.noise, self.least)
        diagonal = np.diagonal(matrix) * (1.0 + JITTER) + rho / self.weights + scales.third**2 * self.squares**3
        matrix[np.diag_indices_from(matrix)] = diagonal
        lower = _cholesky(matrix)
        number = len(self.values)
        solved = solve_triangular(lower, np.stack([self.values - self.values[0], np.ones(number)], axis=1), lower=True, check_finite=False)
        ones = float(solved[:, 1] @ solved[:, 1])
        left = solved[:, 0] - (solved[:, 1] @ solved[:, 0]) / ones * solved[:, 1]
        square = max(float(left @ left) + self.repeats.square / rho, 1e-300)
        fit = -0.5 * (number - 1 + self.repeats.number) * math.log(square) - 0.5 * self.repeats.number * math.log(rho)
        fit -= float(np.sum(np.log(np.diagonal(lower)))) + 0.5 * math.log(ones)
        pull = math.log(scales.curvature / self.first[0]) ** 2 + math.log(scales.third / self.first[1]) ** 2
        return fit - 0.5 * pull / CONSTANTS.prior_spread**2

    def climbed(self, scales: Scales) -> Scales:
        """The best of the scales and their neighbours, as long as that is another one, for a few moves."""
        for _ in range(CONSTANTS.search_moves):
            best = max((scales, *self._neighbours(scales)), key=self)
            if best == scales:
                return scales
            scales = best
        return scales

    def _neighbours(self, scales: Scales) -> list[Scales]:
        found = [scales._replace(curvature=scales.curvature * factor) for factor in (0.5, 2.0)]
        found += [scales._replace(third=scales.third * factor) for factor in (0.5, 2.0)]
        if self.repeats.number:
            found += [scales._replace(noise=max(factor * scales.noise, self.least)) for factor in (0.25, 4.0)]
        return found
