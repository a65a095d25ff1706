"""A black-box attack on many images at once, each query of which keeps the constraints."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, final

import numpy as np
from art.attacks.attack import EvasionAttack
from art.estimators.classification.classifier import ClassifierMixin
from art.estimators.estimator import BaseEstimator

from zolal.art._changes import Changes
from zolal.constraints import as_constraints
from zolal.directions import Squares
from zolal.errors import ConstraintError, InvalidArgumentError
from zolal.problems.attack import margins
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.leaps import Leaps

NORMS = {1: 1.0, 2: 2.0, np.inf: np.inf, "inf": np.inf}
SIDES = ((60, 4), (250, 7), (np.inf, 14))  # up to so many queries the squares' side is the image's over this: from coarse to fine
EXPLORED = tuple(CONSTANTS.explored * 2.0**i for i in range(8))  # the length of the fresh direction beside what is known
SEEDS_APART = 100_000  # more than there are images in a call


@final
class ConstrainedAttack(EvasionAttack):  # type: ignore[misc]  # ART has no types
    """Change each image within a norm, and within constraints that are known exactly, until the classifier's answer changes.

    Each query is a leap: into the corner of what is allowed that a linear model of the margin likes best, with a fresh direction for what
    the model does not know yet (`zolal.solvers`, leaps; docs/algorithm.md). Images are independent of each other, are sent to the
    classifier together, and end at their first success.

    estimator: any classifier of ART; only `predict` is used. norm: np.inf, 2, or 1, by which few pixels change. eps: its radius.
    constraint: on the flattened change delta, any of SciPy's forms or `zolal.Constraint`, or a callable (image, label) -> one of these.
        Every image that is sent keeps it to a millionth; a candidate that cannot be restored to it is not sent.
    max_queries: for each image. prior: "squares" for fresh directions of squares that shrink with the queries, for models that see
        images; None for independent pixels. targeted: whether y are the classes to reach. seed: names the run.

    After `generate`: queries, one count per image, the first look at the image included; success, one bool each.
    """

    attack_params = [  # noqa: RUF012, as ART has it
        *EvasionAttack.attack_params,
        "norm",
        "eps",
        "constraint",
        "max_queries",
        "prior",
        "targeted",
        "seed",
        "batch_size",
    ]
    _estimator_requirements = (BaseEstimator, ClassifierMixin)

    def __init__(
        self,
        estimator: Any,
        norm: Any = np.inf,
        eps: float = 0.3,
        constraint: Any = None,
        max_queries: int = 1000,
        prior: str | None = "squares",
        targeted: bool = False,
        seed: int = 0,
        batch_size: int = 128,
    ) -> None:
        super().__init__(estimator=estimator)
        self.norm, self.eps, self.constraint, self.max_queries = norm, eps, constraint, max_queries
        self.prior, self.seed, self.batch_size = prior, seed, batch_size
        self._targeted = targeted
        self._check_params()

    def generate(self, x: np.ndarray, y: np.ndarray | None = None, **kwargs: Any) -> np.ndarray:
        """The changed images. y: true labels, or those to reach where targeted; the classifier's own answers unless given.

        mask: as in other attacks, an array that broadcasts to x; what is 0 there stays as it is.
        """
        x = self._inputs(x)
        images = x.astype(float).reshape(len(x), -1)
        labels = self._labels(x, y)
        changes = self._changes(x, labels, kwargs.get("mask"))
        scores = self._scores(x)
        self._are_probabilities = bool(np.all(scores >= 0.0) and np.allclose(scores.sum(axis=1), 1.0, atol=1e-3))
        values = self._margins(scores, labels)
        leaps = [Leaps.start(np.zeros(images.shape[1]), float(value)) for value in values]
        self.queries = np.ones(len(x), dtype=int)
        active = np.flatnonzero(values >= 0.0)
        for k in range(1, self.max_queries):
            if not active.size:
                break
            points = [self._next(leaps[i], changes[i], x.shape[1:], int(i), k) for i in active]
            asked = np.array([point is not None for point in points], dtype=bool)
            sent, found = active[asked], [point for point in points if point is not None]
            if found:
                self.queries[sent] += 1
                values[sent] = self._margins(self._scores(self._shown(images[sent], np.array(found), x)), labels[sent])
                for i, point in zip(sent, found, strict=True):
                    leaps[i] = leaps[i].told(point, float(values[i]))
            active = active[values[active] >= 0.0]
        self.success = np.array([leap.value < 0.0 for leap in leaps], dtype=bool)
        return self._shown(images, np.array([leap.best for leap in leaps]), x)

    def _next(self, leaps: Leaps, changes: Changes, shape: tuple[int, ...], image: int, k: int) -> np.ndarray | None:
        """Where to look next; None where no change near there keeps the constraints.

        The more the fresh direction counts, the longer the best change is all that comes of it: few corners are near each other.
        """
        far, fresh = CONSTANTS.leap * changes.diameter, self._fresh(shape, image, k)
        for weight in EXPLORED:
            try:
                point = changes.restored(leaps.best - far * leaps.model(fresh, weight))
            except ConstraintError as error:
                raise ValueError(str(error)) from error
            if point is None or not np.array_equal(point, leaps.best):
                return point
        return None

    def _fresh(self, shape: tuple[int, ...], image: int, k: int) -> np.ndarray:
        """A fresh direction, of squares where the prior says so; channels come first for it."""
        last = len(shape) == 3 and not getattr(self.estimator, "channels_first", True)
        planes = (shape[2], shape[0], shape[1]) if last else shape if len(shape) <= 3 else (int(np.prod(shape)),)
        squares = Squares(int(np.prod(shape)), 1, seed=SEEDS_APART * self.seed + image, iteration=k, shape=planes)
        if self.prior == "squares":
            part = next(part for until, part in SIDES if k < until)
            squares = replace(squares, side=max(1, min(planes[-2:]) // part))
        row: np.ndarray = squares.rows()[0]
        return row.reshape(planes).transpose(1, 2, 0).reshape(-1) if last else row

    def _scores(self, images: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.estimator.predict(images, batch_size=self.batch_size), dtype=float)
        if scores.ndim != 2 or scores.shape[1] < 2:
            raise ValueError(f"The classifier must give one score for each of two classes or more, got shape {scores.shape}.")
        if not np.isfinite(scores).all():
            raise ValueError(f"The classifier must give finite scores, got {scores[~np.isfinite(scores)][0]}.")
        return scores

    def _margins(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """By how much the label leads, or another one leads where the label is the aim; negative is a success."""
        if self._are_probabilities:
            scores = np.log(np.maximum(scores, 1e-300))  # probabilities are flat where a model is sure
        lead: np.ndarray = margins(scores, labels)
        return -lead if self.targeted else lead

    def _shown(self, images: np.ndarray, deltas: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Changed images as the classifier gets them."""
        return np.asarray((images + deltas).astype(np.float32).reshape(-1, *x.shape[1:]))

    def _inputs(self, x: Any) -> np.ndarray:
        found, shape = np.asarray(x), tuple(self.estimator.input_shape or ())
        fits = found.ndim > 1 and len(found) > 0 and (None in shape or found.shape[1:] == shape)
        if not fits or not np.issubdtype(found.dtype, np.number) or not np.isfinite(found).all():
            raise ValueError(f"`x` must be finite numbers, one or more inputs of shape {shape}, got {found.dtype} of shape {found.shape}.")
        return found if np.issubdtype(found.dtype, np.floating) else found.astype(np.float32)

    def _labels(self, x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        if y is None:
            if self.targeted:
                raise ValueError("Target labels `y` need to be provided for a targeted attack.")
            y = self.estimator.predict(x, batch_size=self.batch_size)
        given, classes = np.asarray(y), self.estimator.nb_classes
        if given.shape == (len(x), classes):
            return np.asarray(np.argmax(given, axis=1))
        if given.shape not in ((len(x),), (len(x), 1)) or not np.isin(given, np.arange(classes)).all():
            raise ValueError(
                f"`y` must be {len(x)} labels from 0 to {classes - 1}, or rows of {classes} numbers, got {given.tolist()!r:.80}."
            )
        return given.reshape(-1).astype(int)

    def _changes(self, x: np.ndarray, labels: np.ndarray, mask: Any) -> list[Changes]:
        clip = (-np.inf, np.inf) if self.estimator.clip_values is None else self.estimator.clip_values
        if np.any(x < clip[0]) or np.any(x > clip[1]):
            raise ValueError(f"`x` must lie within the classifier's clip_values {clip}, got {x.min()} to {x.max()}.")
        lower, upper = (np.asarray(limit - x.astype(float)) for limit in clip)
        if mask is not None:
            free = self._free(mask, x.shape)
            lower, upper = np.where(free, lower, 0.0), np.where(free, upper, 0.0)
        images, lower, upper = (part.reshape(len(x), -1) for part in (x.astype(float), lower, upper))
        try:
            parts = [as_constraints(self._constraint(image, int(label)), image.size) for image, label in zip(images, labels, strict=True)]
        except InvalidArgumentError as error:
            raise ValueError(str(error)) from error
        return [Changes(NORMS[self.norm], float(self.eps), *one) for one in zip(lower, upper, parts, strict=True)]

    @staticmethod
    def _free(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.broadcast_to(np.asarray(mask, dtype=float) != 0.0, shape)
        except (TypeError, ValueError):
            raise ValueError(f"`mask` must broadcast to the shape of x, {shape}, got {np.shape(mask)}.") from None

    def _constraint(self, image: np.ndarray, label: int) -> Any:
        if self.constraint is None:
            return ()
        return self.constraint(image, label) if callable(self.constraint) else self.constraint

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.norm, (Real, str)) or self.norm not in NORMS:
            raise ValueError(f"The argument `norm` has to be np.inf, 2 or 1, got {self.norm!r}.")
        if not isinstance(self.eps, Real) or not 0 < self.eps < np.inf:
            raise ValueError(f"The argument `eps` has to be a positive number, got {self.eps!r}.")
        for name, least in (("max_queries", 1), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                kind = "positive" if least else "nonnegative"
                raise ValueError(f"The argument `{name}` has to be a {kind} integer, got {value!r}.")
        if self.prior not in ("squares", None):
            raise ValueError(f'The argument `prior` has to be "squares" or None, got {self.prior!r}.')
        if not isinstance(self.targeted, bool):
            raise ValueError(f"The argument `targeted` has to be of type bool, got {self.targeted!r}.")
