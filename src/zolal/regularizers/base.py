"""What a simple convex regularizer offers: its value and its proximal operator."""

from abc import ABC, abstractmethod

from zolal._array import Array


class Regularizer(ABC):
    """A convex function h, possibly nonsmooth, with an exact proximal operator."""

    @abstractmethod
    def value(self, x: Array) -> float:
        """h(x)."""

    @abstractmethod
    def prox(self, x: Array, step: float) -> Array:
        """Argmin over y of ||y - x||^2 / 2 + step h(y)."""

    @property
    def elastic_weights(self) -> tuple[float, float] | None:
        """(l1, l2) when h(x) = l1 ||x||_1 + l2 ||x||_2^2 / 2, otherwise None."""
        return None

    @property
    def dimension(self) -> int | None:
        """The dimension that the regularizer prescribes, or None when it fits every dimension."""
        return None
