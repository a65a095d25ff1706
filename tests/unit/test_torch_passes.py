"""Passes over weights: every backend has the bits of plain PyTorch, and weights come back to the bit."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zolal.directions import Rademacher

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")

from zolal.torch import _plain  # noqa: E402
from zolal.torch._weights import MOST, Part  # noqa: E402

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
EPS = 2.0**-10
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.249, 0.2509, 255 / 1024, -256 / 1024, 1e-6, 3.0, EPS, -EPS]
RULES = [(_plain.SHRINK, 0.97), (_plain.THRESHOLD, 0.01), (_plain.PULL, 0.7)]


def a_part(dtype, device="cpu", smoothing=EPS):
    """Four tensors, one of them no multiple of anything and one not aligned, away from coordinate 0."""
    rng = torch.Generator().manual_seed(3)
    big = (0.05 * torch.randn(9_002, generator=rng)).to(dtype).to(device)
    tensors = [torch.tensor(SPECIAL), 0.1 * torch.randn(4_096, generator=rng), torch.randn(17, generator=rng)]
    tensors = (*(t.to(dtype).to(device) for t in tensors), big[1:])
    firsts = (2**32 - 40_000, 1_000, 7, 50_000)
    return Part(tensors, firsts, 1, smoothing, 0, tuple(0.9 * tensor for tensor in tensors))


def with_passes(part, module):
    part.__dict__["passes"] = module
    return part


def walk(part):
    """Copies of the weights after each of a series of passes."""
    part.project(5, 0, _plain.SHRINK, 1.0)
    seen = [[tensor.clone() for tensor in part.tensors]]

    def note():
        seen.append([tensor.clone() for tensor in part.tensors])

    for before, after in ((None, 3), (3, 31), (31, None), (None, 0)):
        part.shift(5, 1, before, after)
        note()
    part.update(5, 1, 0, [1e-3 * (-1) ** j / (j + 1) for j in range(16)])
    note()
    for number, (rule, amount) in enumerate(RULES):
        part.project(5, 2, rule, amount, number)
        note()
    part.update(5, 3, None, [0.3] * MOST)
    note()
    return [[tensor.cpu() for tensor in tensors] for tensors in seen]


def same(found, expected):
    return all(torch.equal(a, b) for one, other in zip(found, expected, strict=True) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_compiled_passes_have_the_bits_of_plain_ones(dtype):
    from zolal.torch import _compiled

    assert a_part(dtype).passes is _compiled
    assert same(walk(a_part(dtype)), walk(with_passes(a_part(dtype), _plain)))


def test_more_threads_give_the_same_bits(monkeypatch):
    from zolal.torch import _compiled

    monkeypatch.setattr(_compiled, "PIECE", 1_000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert same(walk(a_part(torch.float32)), walk(with_passes(a_part(torch.float32), _plain)))


def test_triton_kernels_have_the_bits_of_plain_passes():
    """Their code, run by Triton's interpreter, which must be chosen before Triton is loaded."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton: pip install triton")
    folder = Path(__file__).parent
    code = """
import test_torch_passes as t
from zolal.torch import _triton
for dtype in t.TYPES:
    assert t.same(t.walk(t.with_passes(t.a_part(dtype), _triton)), t.walk(t.with_passes(t.a_part(dtype), t._plain))), dtype
print("same bits")
"""
    paths = os.pathsep.join([str(folder), str(folder.parents[1] / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | dict(TRITON_INTERPRET="1", PYTHONPATH=paths)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert found.stdout.strip() == "same bits", found.stderr


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_gpu_has_the_bits_of_the_cpu(dtype):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    assert same(walk(a_part(dtype, "cuda")), walk(with_passes(a_part(dtype), _plain)))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_move_is_the_row_of_the_directions(dtype):
    d, first = 3_000, 50
    part = Part((torch.zeros(d - first, dtype=dtype),), (first,), 2, EPS)
    part.shift(11, 4, None, 21)
    row = Rademacher(d, 32, seed=11, iteration=4, stream=2).row(21, np.empty(0))
    np.testing.assert_array_equal(part.tensors[0].double().numpy(), EPS * row[first:])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@given(
    weights=st.lists(st.floats(-300.0, 300.0, width=16) | st.sampled_from(SPECIAL), min_size=1, max_size=40),
    power=st.integers(-14, 0),
    moves=st.lists(st.integers(0, 31), min_size=1, max_size=5),
)
def test_weights_come_back_to_the_bit(dtype, weights, power, moves):
    part = Part((torch.tensor(weights, dtype=dtype),), (0,), 0, 2.0**power)
    part.project(1, 0, _plain.SHRINK, 1.0)
    start = part.tensors[0].clone()
    for before, after in zip([None, *moves], [*moves, None], strict=True):
        part.shift(1, 1, before, after)
        if after is not None:
            signs = torch.tensor(Rademacher(len(weights), 32, seed=1, iteration=1).row(after, np.empty(0)))
            moved = part.tensors[0].double() - start.double()
            expected = torch.where(start.double().abs() < part.limit, part.smoothing * signs, 0.0)
            assert torch.equal(moved, expected)  # by exactly eps u, or not at all
    assert torch.equal(part.tensors[0], start)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_settling_changes_little_and_only_once(dtype):
    part = a_part(dtype)
    before = [tensor.double() for tensor in part.tensors]
    part.project(0, 0, _plain.SHRINK, 1.0)
    once = [tensor.clone() for tensor in part.tensors]
    part.project(9, 9, _plain.SHRINK, 1.0)
    for old, new, again in zip(before, once, part.tensors, strict=True):
        assert torch.equal(new, again)
        at_the_edge = (old.abs() < part.limit) & (old.abs() + EPS >= part.limit)
        spacing = (old.abs() + EPS) * 2.0 * torch.finfo(dtype).eps + at_the_edge * EPS
        assert ((new.double() - old).abs() <= spacing).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_an_update_adds_the_combination_of_the_rows(dtype):
    d, weights = 500, np.linspace(-1e-2, 2e-2, 20)
    part = Part((torch.zeros(d, dtype=dtype),), (0,), 0, EPS)
    part.shift(3, 7, None, 4)
    part.update(3, 7, 4, weights.tolist())
    expected = Rademacher(d, 20, seed=3, iteration=7).combine(weights)
    np.testing.assert_allclose(part.tensors[0].numpy(), expected, atol=1e-7 if dtype == torch.float32 else 1e-15)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_small_updates_survive_half_precision_on_average(dtype):
    """A step of a hundredth of the spacing would be lost by rounding to nearest; here its mean is kept."""
    d = 200_000
    part = Part((torch.full((d,), 0.2, dtype=dtype),), (0,), 0, EPS)
    start = part.tensors[0].double()
    spacing = float(torch.finfo(dtype).eps) / 8.0  # of numbers from 1/8 to 1/4
    weight = 0.01 * spacing
    for k in range(20):
        part.update(0, k, None, [weight])
    signs = sum(torch.tensor(Rademacher(d, 1, seed=0, iteration=k).row(0, np.empty(0))) for k in range(20))
    moved, wanted = part.tensors[0].double() - start, weight * signs
    slope = float((moved @ wanted) / (wanted @ wanted))
    assert slope == pytest.approx(1.0, abs=5 * np.sqrt(spacing / weight / d))


def test_weights_too_large_for_the_smoothing_stay():
    part = Part((torch.tensor([0.5, 0.1], dtype=torch.bfloat16),), (0,), 0, EPS)
    part.shift(0, 0, None, 0)
    assert float(part.tensors[0][0]) == 0.5
    assert float(part.tensors[0][1]) != float(torch.tensor(0.1, dtype=torch.bfloat16))
    part.update(0, 0, 0, [0.1])
    assert float(part.tensors[0][0]) == 0.5
