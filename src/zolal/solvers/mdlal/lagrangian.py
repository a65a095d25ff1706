"""The augmented Lagrangian and its multipliers, as pure functions of values that are already known."""

from zolal._array import Array, dot


def smooth_part(f: float, lam: Array, c: Array, mu: float) -> float:
    """phi(x, lambda; mu) = f(x) + lambda^T c(x) + (mu/2) ||c(x)||_2^2 (Section 3, unnumbered).

    f: f(x). lam: lambda, shape (m,). c: c(x), shape (m,). mu: the penalty. Differs from the paper: nothing.
    """
    return f + dot(lam, c) + 0.5 * mu * dot(c, c)


def augmented_lagrangian(f: float, h: float, lam: Array, c: Array, mu: float) -> float:
    """L(x, lambda; mu) = f(x) + h(x) + lambda^T c(x) + (mu/2) ||c(x)||_2^2 (Section 3, unnumbered).

    f: f(x). h: h(x). lam: lambda, shape (m,). c: c(x), shape (m,). mu: the penalty. Differs from the paper: nothing.
    """
    return smooth_part(f, lam, c, mu) + h


def penalized_multipliers(lam: Array, c: Array, mu: float) -> Array:
    """Lambda + mu c(x): the multipliers that the gradient of phi holds (Algorithm 1, label `algo`, line 3).

    Differs from the paper: nothing.
    """
    return lam + mu * c


def update_multipliers(lam: Array, c: Array, rho: float) -> Array:
    """lambda^{k+1} = lambda^k + rho_k c(x^k) (Algorithm 1, label `algo`, line 4).

    Differs from the paper: nothing.
    """
    return lam + rho * c
