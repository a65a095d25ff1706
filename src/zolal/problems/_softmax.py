from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import minimize

from zolal._checks import positive, require
from zolal.errors import InvalidArgumentError


@final
@dataclass(frozen=True, eq=False)
class SoftmaxClassifier:
    """Multinomial logistic regression: the class of an input is that of its largest logit.

    weights: shape (classes, d). bias: shape (classes,).

    >>> two = SoftmaxClassifier(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2))
    >>> two.logits(np.array([[3.0, 1.0]])).tolist(), two.accuracy(np.array([[3.0, 1.0]]), np.array([0]))
    ([[3.0, 1.0]], 1.0)
    """

    weights: np.ndarray
    bias: np.ndarray

    def __post_init__(self) -> None:
        if np.ndim(self.weights) != 2 or len(self.weights) < 2 or np.shape(self.bias) != (len(self.weights),):
            shapes = f"{np.shape(self.weights)} and {np.shape(self.bias)}"
            raise InvalidArgumentError(
                f"`SoftmaxClassifier` must have weights (classes, d) of 2 classes or more and a bias each, got {shapes}."
            )

    def logits(self, x: np.ndarray) -> np.ndarray:
        """weights x + bias, for one input or rows of them."""
        return x @ self.weights.T + self.bias

    def accuracy(self, x: np.ndarray, labels: np.ndarray) -> float:
        """The share of rows whose largest logit is that of their label."""
        return float(np.mean(np.argmax(self.logits(x), axis=1) == labels))

    @classmethod
    def trained(cls, x: np.ndarray, labels: np.ndarray, decay: float, tolerance: float = 1e-4) -> "SoftmaxClassifier":
        """The minimiser of the mean cross-entropy + (decay/2) ||weights||^2, by L-BFGS from zero until no slope exceeds `tolerance`.

        There is one such minimiser (up to equal shifts of the bias, which zero settles), whatever the machine; nothing is random.
        """
        positive("SoftmaxClassifier.trained(decay=...)", decay)
        x, labels = np.asarray(x), np.asarray(labels)
        if x.ndim != 2 or not len(x) or labels.shape != x.shape[:1]:
            raise InvalidArgumentError(
                f"`SoftmaxClassifier.trained` must have rows (n, d) and a label each, got {x.shape} and {labels.shape}."
            )
        classes_named = labels.dtype.kind in "iu" and labels.min() >= 0
        require(classes_named, "SoftmaxClassifier.trained(labels=...)", "be integers from 0 on", labels)
        n, d = x.shape
        classes, rows = int(labels.max()) + 1, np.arange(n)

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights, bias = flat[: classes * d].reshape(classes, d), flat[classes * d :]
            logits = x @ weights.T + bias
            logits -= logits.max(axis=1, keepdims=True)
            errors = np.exp(logits)
            totals = errors.sum(axis=1, keepdims=True)
            value = np.mean(np.log(totals[:, 0]) - logits[rows, labels]) + 0.5 * decay * np.sum(weights**2)
            errors /= n * totals
            errors[rows, labels] -= 1.0 / n
            return float(value), np.concatenate([(errors.T @ x + decay * weights).ravel(), errors.sum(0)])

        options = dict(gtol=tolerance, ftol=0.0, maxiter=10_000, maxfun=20_000)
        found = minimize(loss, np.zeros(classes * (d + 1)), jac=True, method="L-BFGS-B", options=options).x
        return cls(found[: classes * d].reshape(classes, d), found[classes * d :])
