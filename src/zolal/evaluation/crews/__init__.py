"""Crews: who makes the calls. This thread, a map, processes, any executor, a Dask cluster; the values are the same to the bit."""

import os
from typing import Any

from zolal.errors import InvalidArgumentError, UnsupportedError
from zolal.evaluation.crews._cargo import travels_by_value
from zolal.evaluation.crews.base import TimeLimit
from zolal.evaluation.crews.executor import ExecutorCrew
from zolal.evaluation.crews.processes import ProcessCrew
from zolal.evaluation.evaluate import Crew, MapCrew, SerialCrew
from zolal.problem import Problem

__all__ = ["ExecutorCrew", "ProcessCrew", "as_crew", "travels_by_value"]

FORMS = "a number of processes, -1 for one per core, a map-like callable, an executor with `submit`, or a Dask client"


def as_crew(problem: Problem, workers: Any, timeout: float | None = None) -> Crew:
    """The crew that `workers` names."""
    if isinstance(workers, int) and not isinstance(workers, bool):
        return _counted(problem, workers, timeout)
    if _is_dask(workers):
        from zolal.evaluation.crews.dask import DaskCrew

        return DaskCrew(problem, getattr(workers, "_client", workers), timeout)
    if hasattr(workers, "submit"):
        return ExecutorCrew(problem, workers, timeout)
    if not callable(workers):
        raise InvalidArgumentError(f"`workers` must be {FORMS}, got {workers!r}.")
    if timeout is not None and workers is not map:
        raise UnsupportedError(f"`timeout` needs `workers` that can be waited for one by one, and a map cannot, got {workers!r}.")
    return as_crew(problem, 1, timeout) if workers is map else MapCrew(problem, workers)


def _counted(problem: Problem, workers: int, timeout: float | None) -> Crew:
    count = (os.cpu_count() or 1) if workers == -1 else workers
    if count < 1:
        raise InvalidArgumentError(f"`workers` must be {FORMS}, got {workers!r}.")
    if count > 1:
        return ProcessCrew(problem, count, timeout)
    return SerialCrew(problem) if timeout is None else SerialCrew(problem, within=TimeLimit(timeout))


def _is_dask(workers: Any) -> bool:
    return type(workers).__module__.split(".")[0] == "distributed" and hasattr(workers, "submit")
