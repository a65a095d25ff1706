"""The door for the Adversarial Robustness Toolbox: a black-box attack under exact constraints."""

try:
    import art as _installed  # noqa: F401
except ImportError:
    raise ImportError("`zolal.art` needs the Adversarial Robustness Toolbox: pip install 'zolal[art]'.") from None

from zolal.art.attack import ConstrainedAttack

__all__ = ["ConstrainedAttack"]
