import math
from dataclasses import dataclass
from typing import final

from zolal._array import Array, maximum, namespace, norm, soft_threshold
from zolal._checks import is_number, positive, require
from zolal._roots import bounded_exp, increasing_root, log_coordinate_root
from zolal.sets.base import TOLERANCE, ConvexSet, bounded_by, ray_distance, scaled_to


@final
@dataclass(frozen=True)
class LqBall(ConvexSet):
    """{x : ||x||_q <= radius} for 1 < q < infinity."""

    q: float
    radius: float

    def __post_init__(self) -> None:
        demand = "be a finite number > 1 (L1Ball is q = 1, Box is q = infinity)"
        require(is_number(self.q) and 1 < self.q < math.inf, "LqBall(q=...)", demand, self.q)
        object.__setattr__(self, "q", float(self.q))
        object.__setattr__(self, "radius", positive("LqBall(radius=...)", self.radius))

    def project(self, x: Array) -> Array:
        """y_i + theta y_i^{q-1} = |x_i| with one theta >= 0 for all coordinates, both found in logarithms."""
        if norm(x, self.q) <= self.radius:
            return x
        xp = namespace(x)
        if x.dtype != xp.float64:  # the logarithms need more range than single precision has
            return xp.astype(self.project(xp.astype(x, xp.float64)), x.dtype)
        largest = float(xp.max(xp.abs(x)))
        log_x = xp.log(maximum(xp.abs(x) / largest, 1e-300))
        log_radius, power = math.log(self.radius / largest), self.q - 1.0

        def roots(log_theta: float) -> Array:
            return log_coordinate_root(log_x, 0.0, -math.inf, log_power=log_theta, exponent=power)

        def shortfall(log_theta: float) -> tuple[float, float]:
            """log radius - log ||y||_q, which increases with log theta, and its derivative."""
            s = roots(log_theta)
            share = bounded_exp(self.q * (s - xp.max(s)))
            pull = bounded_exp(log_theta + (power - 1.0) * s)  # theta y^{q-2}
            slope = float(xp.sum(share * pull / (1.0 + power * pull))) / float(xp.sum(share))
            return log_radius - math.log(norm(bounded_exp(s), self.q)), slope

        # theta y^{q-1} <= |x| bounds ||y||_q by (||x||_p / theta)^{1/(q-1)}, hence theta from above
        upper = math.log(norm(x / largest, self.q / power)) - power * log_radius + 1e-9
        width = 1.0
        while shortfall(upper - width)[0] > 0.0 and width < 1e4:
            width *= 2.0
        y = bounded_exp(roots(increasing_root(shortfall, upper, upper - width, upper)))
        return xp.sign(x) * y * (self.radius / norm(y, self.q))

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        return bounded_by(norm(x, self.q), self.radius, tolerance)

    def inner(self, x: Array, margin: float) -> Array:
        return scaled_to(x, norm(x, self.q), self.radius - margin * x.shape[0] ** (1.0 / self.q))

    def depth(self, dimension: int) -> float:
        return self.radius / dimension ** (1.0 / self.q)

    def diameter(self, dimension: int) -> float:
        return 2.0 * self.radius * dimension ** max(0.0, 0.5 - 1.0 / self.q)

    def clipped(self, x: Array) -> Array:
        length = norm(x, self.q)
        return x if length <= self.radius else x * (self.radius / length)

    def project_soft(self, x: Array, threshold: float) -> Array:
        return self.project(soft_threshold(x, threshold))

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        xp = namespace(x)
        length = norm(x, self.q)
        if length < self.radius * (1.0 - TOLERANCE):
            return norm(g, p)
        return ray_distance(g, xp.sign(x) * (xp.abs(x) / length) ** (self.q - 1.0), p)
