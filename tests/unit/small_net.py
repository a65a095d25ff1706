"""A small network and its task, for the tests of `zolal.torch`."""

import pytest
import torch
from torch.nn import functional

import zolal.torch as zt

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"))]


def a_net(dtype=torch.float32, device="cpu", dropout=0.0):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(16, 4)]
    return torch.nn.Sequential(*layers).to(dtype).to(device)


class Task:
    """Four classes told by a linear map, in batches of 64."""

    def __init__(self, net):
        self.net, self.rng = net, torch.Generator().manual_seed(1)
        parameter = next(net.parameters())
        self.x = torch.randn(1_000, 6, generator=self.rng)
        self.y = (self.x @ torch.randn(6, 4, generator=self.rng)).argmax(dim=1).to(parameter.device)
        self.x = self.x.to(parameter)
        self.first = self.logits().clone()

    @torch.no_grad()
    def logits(self):
        return self.net(self.x).float()

    def loss(self):
        return float(functional.cross_entropy(self.logits(), self.y))

    def kl(self):
        return float(zt.average_kl(self.logits(), self.first))

    def closure(self, bounded=False):
        rows = torch.randint(1_000, (64,), generator=self.rng)

        def values():
            logits = self.net(self.x[rows])
            losses = functional.cross_entropy(logits.float(), self.y[rows], reduction="none")
            return (losses, {"kl": zt.average_kl(logits, self.first[rows])}) if bounded else losses

        return values

    def run(self, opt, steps, bounded=False):
        return [opt.step(self.closure(bounded)) for _ in range(steps)]


def bits(net):
    return [parameter.detach().clone() for parameter in net.parameters()]


def equal(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))
