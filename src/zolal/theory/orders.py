"""How the number of evaluations grows: Theorems 6.1 and 6.2, Corollaries 6.1 and 6.2, the high-accuracy regime."""

import math

from zolal._checks import is_number, positive, positive_int, require
from zolal.theory._explained import Explained, explained

SOURCE = "Theorem 6.1, Eq. (6.1), label `R-sm`"


def order_terms(d: int, p: float, epsilon: float) -> Explained:
    """The sum of the three terms of Theorem 6.1 for Rademacher directions, without their constants (Eq. (6.1), label `R-sm`).

    Up to p = 2 ln d: p d^{2/p} eps^-3 + p^2 d eps^-2 + p^3 d^{2-2/p}; beyond: ln d (eps^-3 + p d^{1-2/p} eps^-2 + p^2 d^{2-4/p}).
    Implements Theorem 6.1, label `thm:rad_qnorm`. Differs from the paper: nothing.
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


def stage_order_terms(d: int, p: float, epsilon: float) -> Explained:
    """The sum of both terms of Theorem 6.2, the order of Algorithm 2, without their constants (Eq. (6.7), label `mul-cp`).

    Up to p = 2 ln d: p d^{2/p} eps^-3 + p^5 d^{4-6/p}; beyond: ln d (eps^-3 + p^4 d^{4-8/p}). The second term is the first stage's, from
    any start in X; epsilon does not enter it. Implements Theorem 6.2, label `thm:restart`. Differs from the paper: nothing.
    """
    _check("stage_order_terms", d, p)
    epsilon = positive("stage_order_terms(epsilon=...)", epsilon)
    log = math.log(d)
    if p <= 2.0 * log:
        terms = {"p d^{2/p} eps^-3": p * d ** (2.0 / p) * epsilon**-3, "p^5 d^{4-6/p}": p**5 * d ** (4.0 - 6.0 / p)}
    else:
        terms = {"ln d eps^-3": log * epsilon**-3, "p^4 d^{4-8/p} ln d": p**4 * d ** (4.0 - 8.0 / p) * log}
    return explained(sum(terms.values()), "the sum of", "Theorem 6.2, Eq. (6.7), label `mul-cp`", terms, max(terms, key=terms.__getitem__))


def euclidean_order(d: int, epsilon: float) -> Explained:
    """d eps^-3, the order of both algorithms in the Euclidean geometry, without its constant.

    Implements Corollary 6.1, label `thm:2-norm` (Algorithm 1 from a nearly feasible start), and Corollary 6.2, label `cor:2-restart`
    (Algorithm 2 from any start). Differs from the paper: nothing. With L_v = 1 the terms of Theorems 6.1 and 6.2 at p = 2 that have a
    smaller power of 1/eps are of order d eps^-2 and d.
    """
    _check("euclidean_order", d, 2.0)
    epsilon = positive("euclidean_order(epsilon=...)", epsilon)
    return explained(d * epsilon**-3, "d eps^-3", "Corollaries 6.1 and 6.2, labels `thm:2-norm` and `cor:2-restart`")


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
