"""One digit, four ways to change it: within a box, with the same brightness, in few pixels, and so that a second model sees nothing.

    python examples/attack_constraints.py attack.png

A model of scikit-learn's digits of 8 x 8 pixels, wrapped for the Adversarial Robustness Toolbox, which only answers with scores. Each query
keeps the constraint exactly. Needs `pip install 'zolal[art]'`.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from art.estimators.classification import BlackBoxClassifierNeuralNetwork
from scipy.optimize import LinearConstraint, NonlinearConstraint
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from zolal.art import ConstrainedAttack

SIDE, SHOWN = 8, (1502, 1511, 1520)  # digits that no model was trained on


def models():
    """Images, labels, the model under attack and a second one, which is known."""
    images, labels = load_digits(return_X_y=True)
    images = images / 16.0
    attacked = LogisticRegression(max_iter=2000).fit(images[:700], labels[:700])
    second = LogisticRegression(max_iter=2000).fit(images[700:1400], labels[700:1400])
    return images, labels, attacked, second


def keeps_answer(second):
    """The constraint that the second model's label stays ahead of all others."""

    def constraint(image, label):
        gaps = second.coef_[label] - np.delete(second.coef_, label, axis=0)
        start = gaps @ image + second.intercept_[label] - np.delete(second.intercept_, label)
        return NonlinearConstraint(lambda change: gaps @ change + start, 0.1, np.inf, jac=lambda change: gaps)

    return constraint


def attacks(second):
    """The name of each way and its arguments."""
    level = LinearConstraint(np.ones((1, SIDE * SIDE)), 0.0, 0.0)
    return {
        "every pixel by 0.25": dict(eps=0.25),
        "same brightness": dict(eps=0.25, constraint=level),
        "few pixels": dict(norm=1, eps=4.0),
        "second model unmoved": dict(eps=0.3, constraint=keeps_answer(second)),
    }


def attacked_digits(max_queries=400):
    """The clean images, and for each way the changed ones with the model's answers and the queries."""
    images, labels, model, second = models()

    def scores(x):
        return model.decision_function(np.asarray(x, dtype=float).reshape(len(x), -1))

    black_box = BlackBoxClassifierNeuralNetwork(scores, (1, SIDE, SIDE), 10, channels_first=True, clip_values=(0.0, 1.0))
    clean = images[list(SHOWN)].reshape(-1, 1, SIDE, SIDE).astype(np.float32)
    found = {}
    for name, arguments in attacks(second).items():
        attack = ConstrainedAttack(black_box, max_queries=max_queries, **arguments)
        changed = attack.generate(clean, labels[list(SHOWN)])
        found[name] = changed, np.argmax(scores(changed), axis=1), attack.queries
    return clean, labels[list(SHOWN)], found


def draw(clean, labels, found, path):
    figure, axes = plt.subplots(len(clean), 1 + len(found), figsize=(2.1 * (1 + len(found)), 2.3 * len(clean)), layout="constrained")
    for row, (image, label) in enumerate(zip(clean, labels, strict=True)):
        pictures = [("clean" if row == 0 else "", image, f"{label}")]
        pictures += [(name if row == 0 else "", c[row], f"{a[row]} after {q[row]} queries") for name, (c, a, q) in found.items()]
        for panel, (title, picture, text) in zip(axes[row], pictures, strict=True):
            panel.imshow(picture[0], cmap="gray_r", vmin=0, vmax=1)
            panel.set(title=title, xlabel=text, xticks=[], yticks=[])
    figure.savefig(path, dpi=90)


def main(path):
    clean, labels, found = attacked_digits()
    for name, (changed, answers, queries) in found.items():
        change = (changed - clean).reshape(len(clean), -1)
        pixels = np.sum(np.abs(change) > 1e-6, axis=1)
        print(
            f"{name}: labels {labels} read as {answers} after {queries} queries; pixels {pixels}, brightness {change.sum(axis=1).round(3)}"
        )
    draw(clean, labels, found, path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "attack.png")
