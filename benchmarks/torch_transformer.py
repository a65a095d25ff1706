"""A transformer tuned by forward passes alone under a KL constraint, beside MeZO in 20 lines at as many forward passes.

python benchmarks/torch_transformer.py            about 10^8 weights on a GPU
python benchmarks/torch_transformer.py --small    about 10^5 weights, on the CPU too

Built from a config and trained by gradients for a while on sentences of a Markov chain, each with a question at its end: was the last
word one of the first half of the vocabulary? A tenth of the answers there are wrong. Forward passes alone then teach it to answer the other
way round, while its other predictions must stay where they were: average KL to the first model at most 0.01 on plain sentences.
"""

import argparse
import copy
import json
import math
import time
from dataclasses import dataclass

import torch
from torch.nn import functional

import zolal.torch


@dataclass(frozen=True)
class Config:
    layers: int = 12
    heads: int = 13
    width: int = 832
    vocabulary: int = 256
    length: int = 48
    pretraining: int = 1500
    batch: int = 64


SMALL = Config(layers=2, heads=2, width=32, vocabulary=16, length=12, pretraining=300, batch=64)
BOUND, ASK, YES, NO = 0.01, 0, 1, 2  # the KL; words that are not of the chain


class Layer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, width = config.heads, config.width
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.mixed, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.mixed(self.first(x)).chunk(3, dim=-1))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.second(x))))


class Transformer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.words = torch.nn.Embedding(config.vocabulary, config.width)
        self.places = torch.nn.Embedding(config.length + 2, config.width)
        self.layers = torch.nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.last = torch.nn.LayerNorm(config.width)
        self.head = torch.nn.Linear(config.width, config.vocabulary, bias=False)
        self.apply(self._begin)
        self.head.weight = self.words.weight  # tied

    @staticmethod
    def _begin(module):
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding):
            torch.nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.last(x))


class Language:
    """Sentences of a Markov chain in which every word has eight followers, with questions about them."""

    def __init__(self, config, device, seed=0):
        self.config, self.device = config, device
        self.rng = torch.Generator().manual_seed(seed)
        words = config.vocabulary - 3
        self.followers = torch.randint(words, (words, 8), generator=torch.Generator().manual_seed(7)) + 3
        self.odds = torch.tensor([0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])

    def sentences(self, count):
        words = self.config.vocabulary - 3
        rows = [torch.randint(words, (count,), generator=self.rng) + 3]
        picks = torch.multinomial(self.odds, count * self.config.length, replacement=True, generator=self.rng).view(count, -1)
        for t in range(1, self.config.length):
            rows.append(self.followers[rows[-1] - 3, picks[:, t]])
        return torch.stack(rows, dim=1)

    def questions(self, count, wrong=0.0):
        """Sentences with a question at their end, and the answers."""
        plain = self.sentences(count)
        low = plain[:, -1] < 3 + (self.config.vocabulary - 3) // 2
        flipped = torch.rand(count, generator=self.rng) < wrong
        answers = torch.where(low ^ flipped, YES, NO)
        return torch.cat([plain, torch.full((count, 1), ASK)], dim=1).to(self.device), answers.to(self.device)

    def plain(self, count):
        return self.sentences(count).to(self.device)


def pretrained(config, device):
    torch.manual_seed(0)
    model, language = Transformer(config).to(device), Language(config, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4 if config.width > 100 else 3e-3)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min((k + 1) / 100, 1.0) * (1.0 - 0.9 * k / config.pretraining))
    for _ in range(config.pretraining):
        asked, answers = language.questions(config.batch, wrong=0.1)
        rows = torch.cat([asked, answers[:, None]], dim=1)
        logits = model(rows[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss = loss + functional.cross_entropy(logits[:, -1], answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm.step()
    optimizer.zero_grad(set_to_none=True)
    return model.eval()


def values(model, first, asked, answers, plain):
    """The losses of the questions, and for each plain sentence the KL to the first model."""
    found = functional.cross_entropy(model(asked)[:, -1], answers, reduction="none")
    now, then = (torch.log_softmax(each.float(), dim=-1) for each in (model(plain), first))
    return found, (now.exp() * (now - then)).sum(dim=-1).mean(dim=-1)


class Batches:
    """The same batches for every method: questions, plain sentences, and what the first model says of these."""

    def __init__(self, config, model, device):
        self.config, self.language, self.first = config, Language(config, device, 1), copy.deepcopy(model)
        test = Language(config, device, 2)
        self.test = self.with_first(*test.questions(512, wrong=1.0), test.plain(256))

    def with_first(self, asked, answers, plain):
        with torch.no_grad():
            return self.first(plain), asked, answers, plain

    def next(self):
        count = self.config.batch // 2
        return self.with_first(*self.language.questions(count, wrong=1.0), self.language.plain(count))

    @torch.no_grad()
    def tested(self, model):
        losses, kls = values(model, *self.test)
        return float(losses.mean()), float(kls.mean())


def mezo(model, batches, forwards, lr, eps=1e-3):
    """MeZO (Malladi et al., 2023): two forward passes along one normal direction, and a step along it."""
    parameters = list(model.parameters())

    def move(seed, scale):
        rng = torch.Generator(parameters[0].device).manual_seed(seed)
        for p in parameters:
            p.data.add_(torch.randn(p.shape, generator=rng, device=p.device, dtype=p.dtype), alpha=scale)

    for k in range(forwards // 2):
        batch = batches.next()
        with torch.no_grad():
            move(k, eps)
            plus = values(model, *batch)[0].mean()
            move(k, -2 * eps)
            minus = values(model, *batch)[0].mean()
            move(k, eps)
            move(k, -lr * float(plus - minus) / (2 * eps))
        yield 2 * (k + 1)


def forward_only(model, batches, forwards, constraints):
    opt = zolal.torch.ForwardOnly(model.parameters(), constraints=constraints)
    while opt.num_forwards + opt.num_directions + 2 <= forwards:
        batch = batches.next()

        def closure(batch=batch):
            losses, kls = values(model, *batch)
            return losses, {"kl": kls}

        opt.step(closure)
        yield opt.num_forwards


def run(name, method, model, config, device, forwards):
    """The test loss and KL along a run."""
    tuned = copy.deepcopy(model)
    batches = Batches(config, model, device)
    curve, start, every = [(0, *batches.tested(tuned))], time.perf_counter(), forwards // 20
    for used in method(tuned, batches):
        if used >= curve[-1][0] + every:
            curve.append((used, *batches.tested(tuned)))
            if not math.isfinite(curve[-1][1]):
                break
    curve.append((used, *batches.tested(tuned)))
    largest, seconds = max(kl for _, _, kl in curve), time.perf_counter() - start
    print(f"{name:34s} loss {curve[-1][1]:.4f}   KL {curve[-1][2]:.5f}   largest KL {largest:.5f}   {seconds:.0f} s", flush=True)
    return dict(name=name, curve=curve)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--forwards", type=int)
    parser.add_argument("--rates", type=float, nargs="*", help="of MeZO")
    parser.add_argument("--out", help="a JSON file for the curves")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = SMALL if arguments.small else Config()
    forwards = arguments.forwards or (4_000 if arguments.small else 10_000)
    torch.set_float32_matmul_precision("high")
    start = time.perf_counter()
    model = pretrained(config, device)
    count = sum(p.numel() for p in model.parameters())
    place = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    print(f"{count:,} weights on {place}, pretrained in {time.perf_counter() - start:.0f} s; {forwards:,} forward passes each", flush=True)
    batches = Batches(config, model, device)
    print(f"{'at the start':34s} loss {batches.tested(model)[0]:.4f}")
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    bound = [zolal.torch.AtMost("kl", BOUND)]
    found = [run(f"ForwardOnly, KL <= {BOUND}", lambda m, b: forward_only(m, b, forwards, bound), model, config, device, forwards)]
    found += [run("ForwardOnly, no constraint", lambda m, b: forward_only(m, b, forwards, []), model, config, device, forwards)]
    for lr in arguments.rates or ((3e-5, 1e-4, 3e-4, 1e-3) if arguments.small else (1e-7, 3e-7, 1e-6, 3e-6)):
        found += [run(f"MeZO, learning rate {lr:g}", lambda m, b, lr=lr: mezo(m, b, forwards, lr), model, config, device, forwards)]
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
