"""A classifier learns a new kind of input by forward passes alone, while its answers to the old ones must stay; beside MeZO.

A small network is trained by gradients on four clusters of points. Two new clusters come, whose labels only forward passes may teach it:
say it runs where no gradients can be had. On the old points its predictions may change little: average KL to the first model at most 0.02.
MeZO, the same without constraints, gets as many forward passes. The picture has loss and KL against forward passes.

    python examples/forward_only.py forward-only.png
"""

import copy
import sys

import torch
from torch.nn import functional

import zolal.torch

BOUND, FORWARDS, BATCH = 0.02, 5_400, 128
CENTRES = 2.0 * torch.randn(6, 20, generator=torch.Generator().manual_seed(2))
LABELS = torch.tensor([0, 1, 2, 3, 2, 0])


def points(clusters, count, rng):
    """Points of some clusters, with their labels."""
    chosen = torch.tensor(clusters)[torch.randint(len(clusters), (count,), generator=rng)]
    return CENTRES[chosen] + 1.5 * torch.randn(count, 20, generator=rng), LABELS[chosen]


def first_model(steps=200):
    torch.manual_seed(0)
    model, rng = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4)), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = points([0, 1, 2, 3], BATCH, rng)
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        optimizer.step()
    return model


def values(model, first, batch):
    """The losses of new points, and the KL to the first model for old ones."""
    (x, y), (old, _) = batch
    return functional.cross_entropy(model(x), y, reduction="none"), zolal.torch.average_kl(model(old), first(old), reduction="none")


def batches(seed, count=BATCH):
    rng = torch.Generator().manual_seed(seed)
    while True:
        yield points([4, 5], count, rng), points([0, 1, 2, 3], count, rng)


def forward_only(model, first):
    opt = zolal.torch.ForwardOnly(model.parameters(), constraints=[zolal.torch.AtMost("kl", BOUND)])
    for batch in batches(1):

        def closure(batch=batch):
            losses, kl = values(model, first, batch)
            return losses, {"kl": kl}

        yield opt.step(closure).forwards


def mezo(model, first, lr=3e-4, eps=1e-3):
    parameters = list(model.parameters())

    def move(seed, scale):
        rng = torch.Generator().manual_seed(seed)
        for p in parameters:
            p.data.add_(torch.randn(p.shape, generator=rng), alpha=scale)

    for k, batch in enumerate(batches(1)):
        move(k, eps)
        plus = values(model, first, batch)[0].mean()
        move(k, -2 * eps)
        slope = float(plus - values(model, first, batch)[0].mean()) / (2 * eps)
        move(k, eps - lr * slope)
        yield 2 * (k + 1)


@torch.no_grad()
def curve(method, first, forwards=FORWARDS, marks=30):
    """Forward passes, loss on new points and KL on old ones, along a run."""
    model, test = copy.deepcopy(first), next(batches(9, 2_000))
    found = [(0, *_measured(model, first, test))]
    for used in method(model, first):
        if used >= found[-1][0] + forwards // marks:
            found.append((used, *_measured(model, first, test)))
        if used >= forwards:
            break
    return found


def _measured(model, first, batch):
    return tuple(float(value.mean()) for value in values(model, first, batch))


def picture(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for name, found in curves.items():
        used, loss, kl = zip(*found, strict=True)
        left.plot(used, loss, label=name)
        right.plot(used, kl, label=name)
    right.axhline(BOUND, color="black", linewidth=0.8, linestyle="--", label="bound")
    left.set(xlabel="forward passes", ylabel="loss on new points", yscale="log")
    right.set(xlabel="forward passes", ylabel="average KL on old points", yscale="symlog")
    right.set_yscale("symlog", linthresh=BOUND)
    right.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "forward-only.png"
    first = first_model()
    curves = {f"zolal, KL at most {BOUND}": curve(forward_only, first), "MeZO": curve(mezo, first)}
    for name, found in curves.items():
        print(f"{name}: loss {found[0][1]:.3f} -> {found[-1][1]:.3f}, KL {found[-1][2]:.4f}, {found[-1][0]} forward passes")
    picture(curves, path)
    print("picture in", path)


if __name__ == "__main__":
    main()
