"""Directions on CUDA tensors: the kernels give the bits of NumPy. Without a GPU Triton's interpreter runs them, on the CPU."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zolal._array import to_numpy
from zolal._hadamard import fwht
from zolal.directions import Orthogonal, Rademacher, _device

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")


def check(device):
    """Every kernel beside NumPy, in both precisions; sizes around those of blocks, a power of two, several words of directions."""
    rng = np.random.default_rng(0)
    for d in (7, 1_025, 4_096):
        x, scale = rng.normal(size=d), 0.0123456789
        for kind, count in ((Rademacher, 100), (Orthogonal, min(d, 100))):
            directions, weights = kind(d, count, seed=3, iteration=2), rng.normal(size=count)
            tensor = torch.tensor(x, device=device)
            assert _device.has_kernels(tensor)
            for j in (0, 5, min(count, d) - 1):
                assert (to_numpy(directions.shift(tensor, scale, j)) == directions.shift(x, scale, j)).all(), (kind, d, j)
                single = x.astype(np.float32)
                found = directions.shift(torch.tensor(single, device=device), scale, j)
                assert (to_numpy(found) == single + np.float32(scale) * directions.row(j, single)).all(), (kind, d, j)
            combined = directions.combine(torch.tensor(weights, device=device))
            if kind is Rademacher:
                assert (to_numpy(directions.row(5, tensor)) == directions.row(5, x)).all()
                assert (to_numpy(combined) == directions.combine(weights)).all()
            np.testing.assert_allclose(to_numpy(combined), directions.combine(weights), atol=1e-12 * d)
            np.testing.assert_allclose(to_numpy(directions.dot(tensor)), directions.dot(x), atol=1e-12 * d)

    for power in (1, 3, 11, 12, 16):
        x = rng.normal(size=2**power)
        assert (_device.transform(torch.tensor(x, device=device)).cpu().numpy() == fwht(x)).all()


def test_kernels_have_the_bits_of_numpy_in_the_interpreter():
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton: pip install triton")
    folder = Path(__file__).parent
    code = "import test_device_directions as t; t.check('cpu'); print('same bits')"
    paths = os.pathsep.join([str(folder), str(folder.parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | dict(TRITON_INTERPRET="1", PYTHONPATH=paths)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert found.stdout.strip() == "same bits", found.stderr


def test_kernels_have_the_bits_of_numpy_on_a_gpu():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    check("cuda")


def test_cupy_arrays_have_them_too():
    cupy = pytest.importorskip("cupy", reason="needs CuPy and a CUDA device")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    x = np.linspace(-1.0, 1.0, 3_000)
    for directions in (Rademacher(3_000, 4, seed=1), Orthogonal(3_000, 4, seed=1)):
        found = directions.shift(cupy.asarray(x), 0.1, 2)
        assert isinstance(found, cupy.ndarray)
        assert (found.get() == directions.shift(x, 0.1, 2)).all()


def test_arrays_of_the_host_do_without():
    assert not _device.has_kernels(np.zeros(3))
    assert not _device.has_kernels(torch.zeros(3))
