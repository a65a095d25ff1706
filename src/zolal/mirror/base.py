"""Mirror maps and the paper's subproblem."""

from abc import ABC, abstractmethod

from zolal._array import Array, dot
from zolal._checks import positive, require
from zolal.regularizers.base import Regularizer
from zolal.sets.base import ConvexSet


class MirrorMap(ABC):
    """A distance-generating function v, 1-strongly convex with respect to the l_q norm (Assumption 3.1, label `ass:v`)."""

    p: float  # the exponent of the dual norm, in which gradients are measured

    @property
    def q(self) -> float:
        """The exponent of the primal norm, 1/p + 1/q = 1."""
        return self.p / (self.p - 1.0)

    @abstractmethod
    def potential(self, x: Array) -> float:
        """v(x)."""

    @abstractmethod
    def grad(self, x: Array) -> Array:
        """The gradient of v at x."""

    @abstractmethod
    def grad_conjugate(self, y: Array) -> Array:
        """The point whose gradient is y: the gradient of the conjugate of v."""

    def divergence(self, x: Array, y: Array) -> float:
        """The Bregman divergence V(x, y) = v(y) - v(x) - <grad v(x), y - x> (Section 3, unnumbered).

        Differs from the paper: rounding below zero is cut off.
        """
        return max(0.0, self.potential(y) - self.potential(x) - dot(self.grad(x), y - x))

    @abstractmethod
    def smoothness(self, dimension: int, radius: float) -> float:
        """L_v on a set whose points satisfy ||x||_q <= radius (Eq. (3.2), label `v_Lv_sm`)."""

    @abstractmethod
    def step(self, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, step_size: float) -> Array:
        """Argmin over y in the region of <g, y> + h(y) + V(x, y) / step_size."""

    @property
    def dimension(self) -> int | None:
        """The dimension that the map prescribes, or None when it fits every dimension."""
        return None


def bregman_step(mirror: MirrorMap, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, step_size: float) -> Array:
    """One mirror descent step: the paper's subproblem, solved exactly.

    x^{k+1} = argmin_{x in X} <g, x> + h(x) + V(x^k, x) / eta                     (3.4)

    Implements Eq. (3.4), label `x`, with g = s^k + grad c(x^k)^T (lambda^k + mu c(x^k)). Differs from the paper: nothing.

    mirror: v, which gives V. region: X. regularizer: h. x: x^k, shape (d,). g: shape (d,). step_size: eta > 0.
    Raises UnsupportedError, naming what is supported, when the combination has no exact solution here.

    >>> bregman_step(Euclidean(), Box(0.0, 1.0), Zero(), np.array([0.5, 0.5]), np.array([1.0, -4.0]), 0.25).tolist()
    [0.25, 1.0]
    """
    shapes = tuple(getattr(x, "shape", ())), tuple(getattr(g, "shape", ()))
    require(shapes[0] == shapes[1] and len(shapes[0]) == 1, "bregman_step(x, g)", "be two vectors of one length", shapes)
    return mirror.step(region, regularizer, x, g, positive("bregman_step(step_size=...)", step_size))
