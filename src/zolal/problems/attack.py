"""The paper's black-box attack on a classifier of MNIST digits: change an image within a box until its class changes."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import logsumexp, softmax

from zolal._checks import nonnegative_int, positive, positive_int, require
from zolal.errors import InvalidArgumentError
from zolal.problem import Problem
from zolal.problems._softmax import SoftmaxClassifier
from zolal.problems.datasets._mnist import read_part
from zolal.sets import Box

NUM_TRAIN = 20_000
DECAY = 0.0075
MIN_MARGIN = 0.2  # of a clean image, as printed


def margins(logits: np.ndarray, labels: Any) -> np.ndarray:
    """M_y - max_{j != y} M_j for rows of logits M and their labels y; negative where the class is wrong.

    >>> margins(np.array([[3.0, 1.0, 2.0]]), [0]).tolist()
    [1.0]
    """
    right, others = _parted(logits, labels)
    return right - others.max(axis=-1)


def smoothed_margins(logits: np.ndarray, labels: Any, temperature: float) -> np.ndarray:
    """M_y - tau log sum_{j != y} exp(M_j / tau): f_tau of the paper's Section 7.2, below `margins` by at most tau log(classes - 1)."""
    right, others = _parted(logits, labels)
    return right - temperature * logsumexp(others / temperature, axis=-1)


def _parted(logits: np.ndarray, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The logits of the labels, and all logits with those at minus infinity."""
    here = np.arange(logits.shape[-1]) == np.asarray(labels)[..., None]
    return np.sum(logits, axis=-1, where=here), np.where(here, -np.inf, logits)


@final
@dataclass(frozen=True, eq=False)
class Attack:
    """One image x_0 with label y, and how far it may be changed: X = {delta : |delta| <= radius, 0 <= x_0 + delta <= 1}.

    Called on a change delta, or on rows of them, it gives the smoothed margin f_tau; its other methods take the same.
    """

    classifier: SoftmaxClassifier
    image: np.ndarray
    label: int
    radius: float = 0.3
    temperature: float = 0.5

    def __post_init__(self) -> None:
        classes, d = self.classifier.weights.shape
        if np.shape(self.image) != (d,):
            raise InvalidArgumentError(f"`Attack(image=...)` must have {d} pixels as the classifier has, got shape {np.shape(self.image)}.")
        nonnegative_int("Attack(label=...)", self.label)
        require(self.label < classes, "Attack(label=...)", f"be one of the {classes} classes", self.label)
        positive("Attack(radius=...)", self.radius)
        positive("Attack(temperature=...)", self.temperature)

    def __call__(self, delta: np.ndarray) -> np.ndarray:
        return smoothed_margins(self.classifier.logits(self.image + delta), self.label, self.temperature)

    def margin(self, delta: np.ndarray) -> np.ndarray:
        """The margin that decides: the attack has succeeded where it is negative."""
        return margins(self.classifier.logits(self.image + delta), self.label)

    def gradient(self, delta: np.ndarray) -> np.ndarray:
        """The exact gradient of f_tau: w_y - sum_{j != y} softmax_j(M / tau) w_j."""
        logits = self.classifier.logits(self.image + delta)
        _, others = _parted(logits, self.label)
        return self.classifier.weights[self.label] - softmax(others / self.temperature, axis=-1) @ self.classifier.weights

    @property
    def region(self) -> Box:
        """X(x_0)."""
        return Box(np.maximum(-self.radius, -self.image), np.minimum(self.radius, 1.0 - self.image))

    @property
    def problem(self) -> Problem:
        """min f_tau over X(x_0), from delta = 0; no noise, no constraint beside X."""
        d = self.image.size
        return Problem(self, d, region=self.region, vectorized=True, gradient=self.gradient, x0=np.zeros(d))


@final
@dataclass(frozen=True, eq=False)
class AttackSet:
    """Several images with their labels; `attacks[i]` is the i-th attack, and the margins of all are evaluated at once.

    images: shape (m, d). labels: shape (m,).
    """

    classifier: SoftmaxClassifier
    images: np.ndarray
    labels: np.ndarray
    radius: float = 0.3
    temperature: float = 0.5

    def __post_init__(self) -> None:
        for name in ("images", "labels"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        (classes, d), shape = self.classifier.weights.shape, self.images.shape
        if len(shape) != 2 or shape[1] != d or self.labels.shape != shape[:1]:
            raise InvalidArgumentError(f"`AttackSet` must have images (m, {d}) and a label each, got {shape} and {self.labels.shape}.")
        wrong = self.labels[~np.isin(self.labels, np.arange(classes))]
        if self.labels.dtype.kind not in "iu" or wrong.size:
            got = wrong[0] if wrong.size else f"dtype {self.labels.dtype}"
            raise InvalidArgumentError(f"`AttackSet(labels=...)` must be classes, integers from 0 to {classes - 1}, got {got}.")
        positive("AttackSet(radius=...)", self.radius)
        positive("AttackSet(temperature=...)", self.temperature)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Attack:
        return Attack(self.classifier, self.images[i], int(self.labels[i]), self.radius, self.temperature)

    def __iter__(self) -> Iterator[Attack]:
        return (self[i] for i in range(len(self)))

    def smoothed(self, deltas: np.ndarray, which: np.ndarray) -> np.ndarray:
        """f_tau of each row of `deltas` on the image that `which` names for it."""
        return smoothed_margins(self._logits(deltas, which), self.labels[which], self.temperature)

    def margin(self, deltas: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The deciding margin of each row of `deltas` on the image that `which` names for it."""
        return margins(self._logits(deltas, which), self.labels[which])

    def _logits(self, deltas: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Those of the images, which are few, plus what the changes add."""
        return self.classifier.logits(self.images)[which] + deltas @ self.classifier.weights.T


@functools.cache
def mnist_classifier() -> SoftmaxClassifier:
    """The softmax classifier of the attack: the first 20,000 training images, weight decay 0.0075; some seconds, once per process.

    The paper states its clean test accuracy, 90.76 %, and not how it was trained; this decay gives the same accuracy.
    """
    return SoftmaxClassifier.trained(*read_part("train", NUM_TRAIN), DECAY)


def attack_images(
    count: int = 40, skip: int = 0, *, classifier: SoftmaxClassifier | None = None, min_margin: float = MIN_MARGIN
) -> AttackSet:
    """The first `count` test images of MNIST with a clean margin above `min_margin` > 0, after the first `skip` of them.

    classifier: that of `mnist_classifier` unless given.
    """
    positive_int("attack_images(count=...)", count)
    nonnegative_int("attack_images(skip=...)", skip)
    positive("attack_images(min_margin=...)", min_margin)
    classifier = mnist_classifier() if classifier is None else classifier
    images, labels, good = _attackable(classifier, min_margin)
    require(skip + count <= good.size, "attack_images(count=...)", f"be at most {good.size} with those skipped", skip + count)
    chosen = good[skip : skip + count]
    return AttackSet(classifier, images[chosen], labels[chosen])


def mnist_attack(image: int = 0, *, classifier: SoftmaxClassifier | None = None, radius: float = 0.3, temperature: float = 0.5) -> Problem:
    """Change the image-th attackable digit of MNIST within a box so that its smoothed margin falls (Section 7.2 of the paper).

    min f_tau(delta) = M_y(x_0 + delta) - tau log sum_{j != y} exp(M_j(x_0 + delta) / tau)   over |delta| <= radius, 0 <= x_0 + delta <= 1

    d = 784, no noise, vectorised over rows. `problem.objective` is the `Attack`, whose `margin` decides: negative is a success.
    """
    nonnegative_int("mnist_attack(image=...)", image)
    classifier = mnist_classifier() if classifier is None else classifier
    images, labels, good = _attackable(classifier, MIN_MARGIN)
    require(image < good.size, "mnist_attack(image=...)", f"be less than {good.size}, the number of attackable digits", image)
    return Attack(classifier, images[good[image]], int(labels[good[image]]), radius, temperature).problem


def _attackable(classifier: SoftmaxClassifier, min_margin: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All test images and labels, and the numbers of those with a clean margin above `min_margin`."""
    images, labels = read_part("t10k")
    return images, labels, np.flatnonzero(margins(classifier.logits(images), labels) > min_margin)
