"""Best-of times measured in turns, so that a noisy machine disturbs every candidate alike."""

import time
from collections.abc import Callable


def best_times(candidates: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    """The shortest time of each candidate in seconds, over rounds in which each runs once."""
    for run in candidates.values():
        run()  # compile, warm caches
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
