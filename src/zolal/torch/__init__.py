"""Tuning of PyTorch models by forward passes alone, under constraints."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("`zolal.torch` needs PyTorch: pip install 'zolal[torch]'.", name=error.name) from None

from zolal.torch.constraints import AtMost, L1Budget, NormBall, TrustRegion, WeightSet, average_kl
from zolal.torch.forward_only import ConstraintWarning, ForwardOnly, PrecisionWarning, Step

__all__ = [
    "AtMost",
    "ConstraintWarning",
    "ForwardOnly",
    "L1Budget",
    "NormBall",
    "PrecisionWarning",
    "Step",
    "TrustRegion",
    "WeightSet",
    "average_kl",
]
