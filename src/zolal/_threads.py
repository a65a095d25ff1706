"""One thread for linear algebra on small matrices, where several only wait for each other."""

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    """Looks once which libraries there are."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS and LAPACK use one thread; outside, as many as before."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


def at_most(threads: int) -> None:
    """From here on, in this process, the objective's own linear algebra uses no more than so many threads."""
    _controller().limit(limits=threads)
