"""Numbers that say where they come from."""

from collections.abc import Mapping
from typing import Any


class Explained(float):
    """A float with its formula, the paper's label, and the candidates of a max or min with the one that was active.

    Arithmetic gives plain floats. Made by `explained`, `largest` and `smallest`.

    >>> from zolal.theory._explained import smallest
    >>> value = smallest("eta^2", "eq. (5.9), label `settings`", {"1/(4 L_mu^2)": 0.25, "1/(96 L_f^2)": 0.01})
    >>> value.active, value + 1
    ('1/(96 L_f^2)', 1.01)
    """

    formula: str
    source: str
    terms: dict[str, float]
    active: str | None

    def explain(self) -> str:
        """The value, its formula and source, and the terms of a max or min with the active one marked."""
        lines = [f"{float(self):.6g} = {self.formula}   [{self.source}]"]
        for name, value in self.terms.items():
            lines.append(f"    {'->' if name == self.active else '  '} {name} = {value:.6g}")
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        return explained, (float(self), self.formula, self.source, self.terms, self.active)


def explained(value: float, formula: str, source: str, terms: Mapping[str, float] | None = None, active: str | None = None) -> Explained:
    """A number with its formula and source."""
    number = Explained(value)
    number.formula, number.source, number.terms, number.active = formula, source, dict(terms or {}), active
    return number


def largest(formula: str, source: str, terms: Mapping[str, float]) -> Explained:
    """The largest of the named terms."""
    active = max(terms, key=terms.__getitem__)
    return explained(terms[active], formula, source, terms, active)


def smallest(formula: str, source: str, terms: Mapping[str, float]) -> Explained:
    """The smallest of the named terms."""
    active = min(terms, key=terms.__getitem__)
    return explained(terms[active], formula, source, terms, active)
