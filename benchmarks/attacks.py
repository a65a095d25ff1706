"""zolal.art.ConstrainedAttack beside Square Attack, ZOO, SimBA and HopSkipJump of ART, on MNIST: a softmax and a small CNN.

    python benchmarks/attacks.py 50 0.3 0.15

The arguments: how many test images (correctly classified, margin above 0.2), and radii of the largest norm. For every attack a query is one
image that the model sees, the clean one included, points that are seen again excluded; it has succeeded at the first image of another
class that lies within the radius. Budget: 1,000 queries. Needs `zolal[bench]`, torch, and the data (docs/data.md). The CNN has two layers
of convolutions and is trained for two epochs, which takes a minute.
"""

import contextlib
import sys
import time

import numpy as np
import torch
from art.attacks.evasion import HopSkipJump, SimBA, SquareAttack, ZooAttack
from art.estimators.classification import BlackBoxClassifierNeuralNetwork

from zolal.art import ConstrainedAttack
from zolal.problems import mnist_classifier
from zolal.problems.attack import margins
from zolal.problems.datasets import mnist

BUDGET, SIDE = 1000, 28


def trained_cnn(data):
    """Two convolutions and two dense layers."""
    torch.manual_seed(0)
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
    optimizer, generator = torch.optim.Adam(model.parameters(), 1e-3), torch.Generator().manual_seed(0)
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

    def __init__(self, logits, image, label, radius, probabilities):
        self.logits, self.image, self.label, self.radius, self.probabilities = logits, image, label, radius, probabilities
        self.seen, self.queries = set(), None

    def __call__(self, images):
        rows = np.asarray(images, dtype=np.float32).reshape(len(images), -1)
        scores = self.logits(rows)
        for row, margin in zip(rows, margins(scores, [self.label] * len(rows)), strict=True):
            self.seen.add(row.tobytes())
            if margin < 0 and np.abs(row - self.image).max() <= self.radius + 1e-5:
                self.queries = len(self.seen)
                raise EndedError
            if len(self.seen) >= BUDGET:
                raise EndedError
        if not self.probabilities:
            return scores
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


ATTACKS = {
    "zolal, squares": lambda model, radius, seed: ConstrainedAttack(model, eps=radius, max_queries=BUDGET, seed=seed),
    "zolal, no prior": lambda model, radius, seed: ConstrainedAttack(model, eps=radius, max_queries=BUDGET, prior=None, seed=seed),
    "Square Attack": lambda model, radius, seed: SquareAttack(model, eps=radius, max_iter=BUDGET, verbose=False),
    "SimBA, pixels": lambda model, radius, seed: SimBA(model, attack="px", epsilon=radius, max_iter=BUDGET, verbose=False),
    "SimBA, cosines": lambda model, radius, seed: SimBA(model, epsilon=radius, max_iter=BUDGET, freq_dim=SIDE, verbose=False),
    "ZOO": lambda model, radius, seed: ZooAttack(
        model, max_iter=BUDGET, nb_parallel=8, use_resize=False, use_importance=False, verbose=False
    ),
    "HopSkipJump": lambda model, radius, seed: HopSkipJump(model, norm=np.inf, max_iter=50, verbose=False),
}


def queries(name, logits, image, label, radius, seed):
    """Until success; None without it. ART draws from NumPy's global generator."""
    meter = Meter(logits, image.astype(np.float32), label, radius, name.startswith("SimBA"))
    model = BlackBoxClassifierNeuralNetwork(meter, (1, SIDE, SIDE), 10, channels_first=True, clip_values=(0.0, 1.0))
    np.random.seed(seed)  # noqa: NPY002
    with contextlib.suppress(EndedError):
        ATTACKS[name](model, radius, seed).generate(image.reshape(1, 1, SIDE, SIDE).astype(np.float32), np.eye(10)[[label]])
    return meter.queries


def main(count, radii):
    data = mnist()
    print(f"| model | radius | attack | success of {count} | median queries | 90th percentile | seconds |")
    print("|---|---|---|---|---|---|---|")
    for model, logits in (("softmax", mnist_classifier().logits), ("CNN", trained_cnn(data))):
        labels = np.asarray(data.test_labels).astype(int)
        chosen = np.flatnonzero(margins(logits(data.test_images[: 4 * count]), labels[: 4 * count]) > 0.2)[:count]
        for radius in radii:
            for name in ATTACKS:
                begun = time.process_time()
                found = [queries(name, logits, data.test_images[i], int(labels[i]), radius, int(i)) for i in chosen]
                seconds = time.process_time() - begun
                counts = [BUDGET if number is None else number for number in found]
                won = sum(number is not None for number in found)
                median, late = np.median(counts), np.quantile(counts, 0.9)
                print(f"| {model} | {radius} | {name} | {won} | {median:g} | {late:.0f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, [float(word) for word in sys.argv[2:]] or [0.3, 0.15])
