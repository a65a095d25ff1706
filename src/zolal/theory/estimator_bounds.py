"""How far the two-point estimator is from the gradient: Lemmas 2.1 to 2.3.

nu: the smoothing. L_f: the smoothness of f and, in mean square, of F. S_p: `Directions.moment_constant`. third, sixth: E ||u||_2^3
and E ||u||_2^6 (`third_moment`, `sixth_moment`). sigma: the standard deviation of the gradient of F.
"""

from zolal.theory._explained import Explained, explained


def bias_bound(nu: float, L_f: float, third: float) -> Explained:
    """||g_nu(x) - grad f(x)||_p <= nu L_f E||u||_2^3 / 2 (Lemma 2.1, label `le:vg`). Differs from the paper: nothing."""
    return explained(0.5 * nu * L_f * third, "nu L_f E||u||_2^3/2", "Lemma 2.1, label `le:vg`")


def difference_bound(nu: float, L_f: float, S_p: float, sixth: float, distance: float) -> Explained:
    """E||G_nu(y) - G_nu(x)||_p^2 <= (3/2) nu^2 L_f^2 E||u||_2^6 + 3 S_p L_f^2 ||y - x||_2^2 (Lemma 2.2, label `le:lip`).

    The same bound holds for ||g_nu(y) - g_nu(x)||_p^2. distance: ||y - x||_2. Differs from the paper: nothing.
    """
    terms = {"(3/2) nu^2 L_f^2 E||u||_2^6": 1.5 * nu**2 * L_f**2 * sixth, "3 S_p L_f^2 ||y - x||_2^2": 3.0 * S_p * L_f**2 * distance**2}
    return _sum("Lemma 2.2, label `le:lip`", terms)


def second_moment_bound(nu: float, L_f: float, S_p: float, sixth: float, sigma: float, gradient: float) -> Explained:
    """E||G_nu(x)||_p^2 <= nu^2 L_f^2 E||u||_2^6 / 2 + 4 S_p (sigma^2 + ||grad f(x)||_2^2) (Lemma 2.2, label `le:lip`).

    gradient: ||grad f(x)||_2. Differs from the paper: nothing.
    """
    noise = 4.0 * S_p * (sigma**2 + gradient**2)
    terms = {"nu^2 L_f^2 E||u||_2^6/2": 0.5 * nu**2 * L_f**2 * sixth, "4 S_p (sigma^2 + ||grad f||_2^2)": noise}
    return _sum("Lemma 2.2, label `le:lip`", terms)


def variance_bound(nu: float, L_f: float, S_p: float, sixth: float, sigma: float, M_f: float) -> Explained:
    """E||G_nu(x) - g_nu(x)||_p^2 <= 2 nu^2 L_f^2 E||u||_2^6 + 8 S_p (sigma^2 + M_f^2) + 4 M_f^2 (Lemma 2.3, label `le:se`).

    M_f: the Lipschitz constant of f, a bound of ||grad f||_2. Differs from the paper: nothing.
    """
    terms = {
        "2 nu^2 L_f^2 E||u||_2^6": 2.0 * nu**2 * L_f**2 * sixth,
        "8 S_p (sigma^2 + M_f^2)": 8.0 * S_p * (sigma**2 + M_f**2),
        "4 M_f^2": 4.0 * M_f**2,
    }
    return _sum("Lemma 2.3, label `le:se`", terms)


def _sum(source: str, terms: dict[str, float]) -> Explained:
    return explained(sum(terms.values()), "the sum of", source, terms, max(terms, key=terms.__getitem__))
