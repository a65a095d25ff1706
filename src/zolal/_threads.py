"""One thread for linear algebra on small matrices, where several only wait for each other."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    """Looks once which libraries there are."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, BLAS and LAPACK use one thread; outside, as many as before."""
    several = [(library, count) for library in _controller().lib_controllers if (count := library.get_num_threads()) != 1]
    for library, _ in several:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in several:
            library.set_num_threads(count)


def at_most(threads: int) -> None:
    """From here on, in this process, the objective's own linear algebra uses no more than so many threads."""
    _controller().limit(limits=threads)
