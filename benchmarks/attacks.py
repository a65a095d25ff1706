"""zolal.art.ConstrainedAttack beside Square Attack, ZOO, SimBA and HopSkipJump of ART, on MNIST: a softmax and a small CNN.

    python benchmarks/attacks.py 100 2000 1

The arguments: how many test images (correctly classified, margin above 0.2), the first of them, and the seed that the CNN is trained with.
The schedule of ConstrainedAttack was chosen on images before the 400th and the CNN of seed 0; no other number was seen then.
For every attack a query is one image that the model sees, the clean one included, points that are seen again excluded; it has succeeded at
the first image of another class that lies within the budget. At most 1,000 queries. The second table is of constraints that the others do
not take: there a success must keep them, too. Needs `zolal[bench]`, torch, and the data (docs/data.md). The CNN has two layers of
convolutions and is trained for two epochs, which takes a minute.
"""

import contextlib
import functools
import sys
import time

import numpy as np
import torch
from art.attacks.evasion import HopSkipJump, SimBA, SquareAttack, ZooAttack
from art.estimators.classification import BlackBoxClassifierNeuralNetwork
from scipy.optimize import LinearConstraint

from zolal.art import ConstrainedAttack
from zolal.problems import mnist_classifier
from zolal.problems.attack import margins
from zolal.problems.datasets import mnist

BUDGET, SIDE = 1000, 28
BUDGETS = ((np.inf, 0.3), (np.inf, 0.15), (2, 2.0))  # of a change; Square Attack's authors take 2 for the Euclidean norm on MNIST


def trained_cnn(data, seed):
    """Two convolutions and two dense layers."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        *(
            torch.nn.Conv2d(1, 16, 5, stride=2, padding=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 5, stride=2, padding=2),
            torch.nn.ReLU(),
        ),
        *(torch.nn.Flatten(), torch.nn.Linear(32 * 49, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)),
    )
    images = torch.tensor(data.train_images.reshape(-1, 1, SIDE, SIDE), dtype=torch.float32)
    labels = torch.tensor(np.asarray(data.train_labels), dtype=torch.long)
    optimizer, generator = torch.optim.Adam(model.parameters(), 1e-3), torch.Generator().manual_seed(seed)
    for _ in range(2):
        for rows in torch.randperm(len(images), generator=generator).split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()
    model.eval()

    def logits(rows):
        with torch.no_grad():
            return model(torch.tensor(rows.reshape(-1, 1, SIDE, SIDE), dtype=torch.float32)).numpy().astype(float)

    return logits


class EndedError(Exception):
    """Success, or a spent budget."""


class Meter:
    """The model for the attack on one image: counts the images that are new, and ends the attack."""

    def __init__(self, logits, image, label, holds, probabilities):
        self.logits, self.image, self.label, self.holds, self.probabilities = logits, image, label, holds, probabilities
        self.seen, self.queries = set(), None

    def __call__(self, images):
        rows = np.asarray(images, dtype=np.float32).reshape(len(images), -1)
        scores = self.logits(rows)
        for row, margin in zip(rows, margins(scores, [self.label] * len(rows)), strict=True):
            self.seen.add(row.tobytes())
            if margin < 0 and self.holds(row.astype(float) - self.image):
                self.queries = len(self.seen)
                raise EndedError
            if len(self.seen) >= BUDGET:
                raise EndedError
        if not self.probabilities:
            return scores
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def ours(prior):
    return lambda model, norm, radius, seed, constraint=None: ConstrainedAttack(
        model, norm, radius, constraint, max_queries=BUDGET, prior=prior, seed=seed
    )


def square(model, norm, radius, seed, constraint=None):
    return SquareAttack(model, norm, eps=radius, max_iter=BUDGET, verbose=False)


def simba(model, norm, radius, kind, frequencies):
    """Steps of the radius itself in the largest norm; in the Euclidean one those of ART, which are better there than larger ones."""
    step = radius if norm == np.inf else 0.1
    return SimBA(model, attack=kind, epsilon=step, max_iter=BUDGET, freq_dim=frequencies, verbose=False)


ATTACKS = {
    "zolal, squares": ours("squares"),
    "zolal, no prior": ours(None),
    "Square Attack": square,
    "SimBA, pixels": lambda model, norm, radius, seed: simba(model, norm, radius, "px", 4),
    "SimBA, cosines": lambda model, norm, radius, seed: simba(model, norm, radius, "dct", SIDE),
    "ZOO": lambda model, norm, radius, seed: ZooAttack(
        model, max_iter=BUDGET, nb_parallel=8, use_resize=False, use_importance=False, verbose=False
    ),
    "HopSkipJump": lambda model, norm, radius, seed: HopSkipJump(model, norm=norm, max_iter=50, verbose=False),
}


def brightness(image, label, second):
    """The sum of all pixels stays."""
    return LinearConstraint(np.ones((1, image.size)), 0.0, 0.0)


def second_answer(image, label, second):
    """A second model, the softmax, still gives the right answer: each lead of it stays above 0.1, or above half of what it was."""
    others = [j for j in range(10) if j != label]
    gaps = second.weights[label] - second.weights[others]
    leads = gaps @ image + second.bias[label] - second.bias[others]
    return LinearConstraint(gaps, np.minimum(0.1, 0.5 * leads) - leads, np.inf)


def both(image, label, second):
    return [brightness(image, label, second), second_answer(image, label, second)]


CONSTRAINTS = {"brightness": brightness, "a second model's answer": second_answer, "both": both}


def within(norm, radius, constraints=()):
    """Whether a change keeps the budget and the constraints, to what single precision tells apart."""

    def holds(delta):
        if np.linalg.norm(delta, norm) > radius * (1 + 1e-5) + 1e-5:
            return False
        values = [(part.A @ delta, part.lb, part.ub) for part in constraints]
        return all(np.all(value >= low - 1e-3) and np.all(value <= high + 1e-3) for value, low, high in values)

    return holds


def queries(attack, logits, image, label, holds, probabilities=False, seed=0):
    """Until success; None without it. ART draws from NumPy's global generator."""
    meter = Meter(logits, image, label, holds, probabilities)
    model = BlackBoxClassifierNeuralNetwork(meter, (1, SIDE, SIDE), 10, channels_first=True, clip_values=(0.0, 1.0))
    np.random.seed(seed)  # noqa: NPY002
    with contextlib.suppress(EndedError):
        attack(model).generate(image.reshape(1, 1, SIDE, SIDE).astype(np.float32), np.eye(10)[[label]])
    return meter.queries


def told(words, found, seconds):
    """One row of a table; who has not succeeded has used the whole budget."""
    counts = [BUDGET if number is None else number for number in found]
    won = sum(number is not None for number in found)
    numbers = f"{won} | {np.median(counts):g} | {np.mean(counts):.0f} | {np.quantile(counts, 0.9):.0f} | {seconds:.0f}"
    print(f"| {' | '.join(words)} | {numbers} |", flush=True)


def compare(name, logits, images, labels):
    """Every attack with every budget."""
    for norm, radius in BUDGETS:
        for attack, make in ATTACKS.items():
            begun, found = time.process_time(), []
            for number, (image, label) in enumerate(zip(images, labels, strict=True)):
                made = functools.partial(make, norm=norm, radius=radius, seed=number)
                found.append(queries(made, logits, image, label, within(norm, radius), attack.startswith("SimBA"), number))
            told([name, f"{norm:g}-norm {radius:g}", attack], found, time.process_time() - begun)


def constrain(logits, second, images, labels):
    """Constraints at the largest budget: our attack, and what Square Attack, which knows nothing of them, finds by chance."""
    norm, radius = BUDGETS[0]
    for name, constraint in CONSTRAINTS.items():
        for attack in ("zolal, squares", "Square Attack"):
            begun, found = time.process_time(), []
            for number, (image, label) in enumerate(zip(images, labels, strict=True)):
                parts = constraint(image, label, second)
                made = functools.partial(ATTACKS[attack], norm=norm, radius=radius, seed=number, constraint=parts)
                holds = within(norm, radius, parts if isinstance(parts, list) else [parts])
                found.append(queries(made, logits, image, label, holds, seed=number))
            told([name, attack], found, time.process_time() - begun)


def main(count, first, seed):
    data, second = mnist(), mnist_classifier()
    cnn = trained_cnn(data, seed)
    models = {"softmax": second.logits, "CNN": cnn}
    images, labels = np.asarray(data.test_images, dtype=np.float32).astype(float), np.asarray(data.test_labels).astype(int)
    leads = {name: margins(logits(images), labels) for name, logits in models.items()}
    print("clean accuracy:", ", ".join(f"{name} {np.mean(lead > 0):.1%}" for name, lead in leads.items()), flush=True)
    chosen = {name: first + np.flatnonzero(lead[first:] > 0.2)[:count] for name, lead in leads.items()}
    print(f"\n| model | budget | attack | success of {count} | median queries | mean | 90th percentile | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, logits in models.items():
        compare(name, logits, images[chosen[name]], labels[chosen[name]])
    print(f"\n| what stays | attack | success of {count} | median queries | mean | 90th percentile | seconds |")
    print("|---|---|---|---|---|---|---|")
    rows = first + np.flatnonzero((leads["CNN"][first:] > 0.2) & (leads["softmax"][first:] > 0.2))[:count]  # right for both
    constrain(cnn, second, images[rows], labels[rows])


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["100", "2000", "1"][len(sys.argv) - 1 :])))
