"""How the number of evaluations grows: Theorem 6.1 and the high-accuracy regime."""

import math

from zolal._checks import is_number, positive, positive_int, require
from zolal.theory._explained import Explained, explained

SOURCE = "Theorem 6.1, Eq. (6.1), label `R-sm`"


def order_terms(d: int, p: float, epsilon: float) -> Explained:
    """The sum of the three terms of Theorem 6.1 for Rademacher directions, without their constants (Eq. (6.1), label `R-sm`).

    Up to p = 2 ln d: p d^{2/p} eps^-3 + p^2 d eps^-2 + p^3 d^{2-2/p}; beyond: ln d (eps^-3 + p d^{1-2/p} eps^-2 + p^2 d^{2-4/p}).
    Differs from the paper: nothing.
    """
    _check("order_terms", d, p)
    epsilon = positive("order_terms(epsilon=...)", epsilon)
    log = math.log(d)
    if p <= 2.0 * log:
        terms = {
            "p d^{2/p} eps^-3": p * d ** (2.0 / p) * epsilon**-3,
            "p^2 d eps^-2": p**2 * d * epsilon**-2,
            "p^3 d^{2-2/p}": p**3 * d ** (2.0 - 2.0 / p),
        }
    else:
        terms = {
            "ln d eps^-3": log * epsilon**-3,
            "p d^{1-2/p} ln d eps^-2": p * d ** (1.0 - 2.0 / p) * log * epsilon**-2,
            "p^2 d^{2-4/p} ln d": p**2 * d ** (2.0 - 4.0 / p) * log,
        }
    return explained(sum(terms.values()), "the sum of", SOURCE, terms, max(terms, key=terms.__getitem__))


def high_accuracy_boundary(d: int, p: float) -> Explained:
    """The largest epsilon at which the estimator's term of Theorem 6.1 dominates (Section 6.1, "high-accuracy regime").

    min(1/(p d^{1-2/p}), 1/(p^{2/3} d^{2/3-4/(3p)})). Differs from the paper: nothing; as p d^{1-2/p} >= 1, the first term is always the
    smaller one.
    """
    _check("high_accuracy_boundary", d, p)
    base = p * d ** (1.0 - 2.0 / p)
    terms = {"1/(p d^{1-2/p})": 1.0 / base, "1/(p^{2/3} d^{2/3-4/(3p)})": base ** (-2.0 / 3.0)}
    active = min(terms, key=terms.__getitem__)
    return explained(terms[active], "the smaller of", "Section 6.1, high-accuracy regime", terms, active)


def _check(name: str, d: int, p: float) -> None:
    require(positive_int(f"{name}(d=...)", d) >= 3, f"{name}(d=...)", "be at least 3", d)
    require(is_number(p) and 2 <= p < math.inf, f"{name}(p=...)", "be a finite number >= 2", p)
