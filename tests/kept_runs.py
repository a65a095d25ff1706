"""A small run with a constraint, as the tests of folders make it, how two results are compared, and a disk that is full."""

import multiprocessing
import resource

import numpy as np
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from zolal.runs.checkpoint._codec import read_about
from zolal.runs.checkpoint._lines import read_lines

FORK = multiprocessing.get_context("fork")
X0 = np.array([0.5, -0.5, 0.25])
SPHERE = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)


def bowl(x):
    return float((x - 1.0) @ (x - 1.0))


class Counted:
    def __init__(self, function=bowl):
        self.function, self.count = function, 0

    def __call__(self, *args):
        self.count += 1
        return self.function(*args)


def solve(fun=bowl, x0=X0, *, options=(), **arguments):
    options = ({} if arguments.get("method") == "auto" else dict(step_size=0.05, num_directions=4)) | dict(options)
    return zolal.minimize(fun, x0, **dict(rng=0, maxfev=200, constraints=SPHERE) | arguments, options=options)


def check_same(one, other):
    for name in ("x", "fun", "fun_error", "nfev", "nit", "multipliers", "status", "message", "failures", "seed"):
        assert_array_equal(one[name], other[name])
    for name in one.trace:
        assert_array_equal(one.trace[name], other.trace[name])


def stop_at(k):
    return lambda state: state.k == k


def check_whole(path):
    """No file is torn: every line and every file can be read, and nothing half-written lies about."""
    for file in path.glob("*.jsonl"):
        content = file.read_bytes()
        assert not content or content.endswith(b"\n")
        read_lines(file)
    assert list(path.glob("state-*.npz"))
    for file in path.glob("state-*.npz"):
        assert read_about(file)["format"] == 2
    assert not list(path.glob(".*.new"))


def limited(size):
    """Files of this process can no longer grow beyond so many bytes, as on a disk that is full."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def in_child(function, *args):
    """Run in a process of its own, whose limits go with it."""
    child = FORK.Process(target=function, args=args)
    child.start()
    child.join()
    assert child.exitcode == 0
