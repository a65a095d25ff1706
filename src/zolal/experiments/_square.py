"""Square Attack of the Adversarial Robustness Toolbox (ART) on the same images and model, every evaluation of the model counted."""

import importlib.metadata
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.errors import InvalidArgumentError
from zolal.problems.attack import Attack, margins

MISSING = "Square Attack was left out: it needs adversarial-robustness-toolbox (pip install 'zolal[bench]')."
SIDE = 28


def has_square_attack() -> bool:
    """Whether ART is installed, by the name of its distribution: another package is imported as `art`, too."""
    try:
        importlib.metadata.distribution("adversarial-robustness-toolbox")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


class _EndedError(Exception):
    """The attack has succeeded, or has spent its budget."""


class _Meter:
    """The model as a function of images that counts: evaluations, those at points that are new, and the last and least margin."""

    def __init__(self, attack: Attack, budget: int) -> None:
        self.attack, self.budget = attack, budget
        self.count, self.margin = 0, float("inf")
        self.seen: set[bytes] = set()

    def __call__(self, images: np.ndarray) -> np.ndarray:
        rows = images.reshape(len(images), -1)
        logits = self.attack.classifier.logits(rows.astype(float))
        for row, margin in zip(rows, margins(logits, [self.attack.label] * len(rows)), strict=True):
            if self.count == self.budget:
                raise _EndedError
            self.count += 1
            self.seen.add(row.tobytes())
            self.margin = min(self.margin, float(margin))
            if margin < 0.0:
                raise _EndedError
        return logits


@final
@dataclass(frozen=True)
class Attempt:
    """One image. queries: evaluations at the first negative margin, None within the budget. distinct: the same without repeated points.

    margin: the least one.
    """

    queries: int | None
    distinct: int | None
    margin: float


def square_attack(attack: Attack, seed: int, budget: int) -> Attempt:
    """Attack one image.

    ART's own loop evaluates a point up to three times (to check it, as the old and as the new one); the second count forgives it that.
    It draws from NumPy's global generator, which is seeded for it and put back.
    """
    if not has_square_attack():
        raise InvalidArgumentError(MISSING)
    from art.attacks.evasion import SquareAttack
    from art.estimators.classification import BlackBoxClassifierNeuralNetwork

    meter = _Meter(attack, budget)
    shape, classes = (1, SIDE, SIDE), len(attack.classifier.bias)
    model = BlackBoxClassifierNeuralNetwork(meter, shape, classes, channels_first=True, clip_values=(0.0, 1.0))
    method = SquareAttack(model, norm=np.inf, eps=attack.radius, max_iter=budget, verbose=False)
    before = np.random.get_state()  # noqa: NPY002, it is ART's generator
    np.random.seed(seed)  # noqa: NPY002
    try:
        method.generate(attack.image.reshape(1, *shape).astype(np.float32), np.array([attack.label]))
    except _EndedError:
        pass
    finally:
        np.random.set_state(before)  # noqa: NPY002
    won = meter.margin < 0.0
    return Attempt(meter.count if won else None, len(meter.seen) if won else None, meter.margin)
