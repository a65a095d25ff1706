"""How methods stand on a collection of problems: shares, medians, claims, and where the automatic method is behind."""

from collections.abc import Iterable

import numpy as np

from zolal.bench._apart import Unanswered
from zolal.bench._entrants import LABELS
from zolal.bench._field import ACCURACIES, LEVELS, Outcome, Run
from zolal.bench.base import METHOD, Claim
from zolal.tables import Table

MEDIAN = 2.0  # (n + 1), asked of the median to the last accuracy with exact values
BEHIND = 2.0  # times the fewest evaluations of anybody


def select(runs: Iterable[Run], method: str | None = None, level: float | None = None) -> list[Run]:
    return [run for run in runs if method in (None, run.method) and level in (None, run.level)]


def share(runs: list[Run], accuracy: float) -> float:
    """The part of the runs that is solved."""
    return sum(run.solved(accuracy) is not None for run in runs) / len(runs)


def median(runs: list[Run], accuracy: float) -> float | None:
    """Evaluations per n + 1, over the runs that are solved."""
    counts = [count / (run.dimension + 1) for run in runs if (count := run.solved(accuracy)) is not None]
    return float(np.median(counts)) if counts else None


def claims(found: Outcome) -> list[Claim]:
    """The median of exact runs, and the first place in what is solved at every noise and accuracy."""
    if not select(found.runs, METHOD):
        return []
    result = []
    if mine := select(found.runs, METHOD, 0.0):
        middle = median(mine, ACCURACIES[-1])
        measured = "none solved" if middle is None else f"{middle:.2f}, {_percent(share(mine, ACCURACIES[-1]))} solved"
        what = f"exact, to {ACCURACIES[-1]:g}: median evaluations / (n + 1) over what is solved"
        result.append(Claim(what, f"≤ {MEDIAN:g}", measured, middle is not None and middle <= MEDIAN))
    return result + firsts(found.runs)


def firsts(runs: list[Run]) -> list[Claim]:
    """The first place in what is solved at every noise and accuracy."""
    if not select(runs, METHOD):
        return []
    return [_first(runs, level, accuracy) for level, accuracy in _cells(runs)]


def not_behind(runs: list[Run], rival: str, accuracy: float) -> list[Claim]:
    """The median of evaluations with exact values beside a rival's, over what both solve."""
    counts = [
        {(run.problem, run.seed): count / (run.dimension + 1) for run in select(runs, method, 0.0) if (count := run.solved(accuracy))}
        for method in (METHOD, rival)
    ]
    both = counts[0].keys() & counts[1].keys()
    if not both:
        return []
    mine, other = (float(np.median([count[key] for key in both])) for count in counts)
    what = f"exact, to {accuracy:g}: median evaluations / (n + 1) over the {len(both)} runs that both {LABELS[rival]} and auto solve"
    return [Claim(what, f"≤ that of {LABELS[rival]}", f"{mine:.2f}; {LABELS[rival]} {other:.2f}", mine <= other)]


def _first(runs: list[Run], level: float, accuracy: float) -> Claim:
    shares = {method: share(select(runs, method, level), accuracy) for method in _methods(runs)}
    mine = shares.pop(METHOD)
    what = f"noise {level:g}, to {accuracy:g}: solved"
    if not shares:
        return Claim(what, "above every peer", _percent(mine), None)
    rival = max(shares, key=lambda method: shares[method])
    return Claim(what, "above every peer", f"{_percent(mine)}; {LABELS[rival]} {_percent(shares[rival])}", mine > shares[rival])


def tables(name: str, found: Outcome) -> list[Table]:
    """What is solved, at what cost, who gave no answer, where the automatic method is behind, and the problems."""
    if not found.runs:
        return [_left_out(name, found)]
    return [
        _solved(name, found.runs),
        _medians(name, found.runs),
        _answers(name, found.runs),
        _behind(name, found),
        _left_out(name, found),
        _problems(name, found),
    ]


def _cells(runs: list[Run]) -> list[tuple[float, float]]:
    return [(level, accuracy) for level in _levels(runs) for accuracy in ACCURACIES]


def _columns(runs: list[Run]) -> tuple[str, ...]:
    return ("method", *(f"noise {level:g}: {accuracy:g}" for level, accuracy in _cells(runs)))


def _solved(name: str, runs: list[Run]) -> Table:
    rows = [
        (LABELS[method], *(_percent(share(select(runs, method, level), accuracy)) for level, accuracy in _cells(runs)))
        for method in _methods(runs)
    ]
    note = "Solved: a feasible point was evaluated or returned with f at most so many times the range above the least value known."
    return Table(f"{name}-solved", "Solved, by noise and accuracy", _columns(runs), rows, note)


def _medians(name: str, runs: list[Run]) -> Table:
    rows = []
    for method in _methods(runs):
        middles = [median(select(runs, method, level), accuracy) for level, accuracy in _cells(runs)]
        rows.append((LABELS[method], *("—" if middle is None else f"{middle:.2f}" for middle in middles)))
    note = "Each method over what it solves itself, so a method that solves few and easy problems looks fast."
    return Table(f"{name}-medians", "Median evaluations / (n + 1) over what is solved", _columns(runs), rows, note)


def _answers(name: str, runs: list[Run]) -> Table:
    rows = []
    for method in _methods(runs):
        mine = select(runs, method)
        answered = [run.verdict for run in mine if run.verdict]
        stopped = sum(one.late for one in answered)
        silent = [run.outcome.late for run in mine if isinstance(run.outcome, Unanswered)]
        overhead = f"{1e3 * float(np.median([one.overhead for one in answered])):.2g}" if answered else "—"
        rows.append((LABELS[method], str(len(mine)), str(stopped), str(silent.count(True)), str(silent.count(False)), overhead))
    columns = ("method", "runs", "stopped by the clock", "no answer", "failed", "overhead in ms")
    note = (
        "Stopped by the clock: no evaluation was answered after the time limit; what had been found until then counts. No answer: the "
        "method did not even ask. Overhead: seconds outside the objective per evaluation; medians."
    )
    return Table(f"{name}-answers", "Time limits, failures, overhead", columns, rows, note)


def _behind(name: str, found: Outcome) -> Table:
    """Problem by problem, where somebody solves what auto does not, or with less than half of its evaluations."""
    rows = []
    groups: dict[tuple[str, float, int], list[Run]] = {}
    for run in found.runs:
        groups.setdefault((run.problem, run.level, run.seed), []).append(run)
    for (problem, level, _), runs in groups.items():
        cells = [_compared(runs, accuracy) for accuracy in ACCURACIES]
        if any(cells):
            facts = found.facts[problem]
            rows.append((problem, str(facts.n), str(facts.rows), f"{level:g}", *(cell or "" for cell in cells)))
    columns = ("problem", "n", "rows", "noise", *(f"to {accuracy:g}" for accuracy in ACCURACIES))
    note = (
        f"{LABELS[METHOD]} against who needs fewest evaluations, in units of n + 1, where it does not solve what another does or needs "
        f"more than {BEHIND:g} times as many."
    )
    return Table(f"{name}-behind", f"Where {LABELS[METHOD]} is behind", columns, rows, note, folded=len(rows) > 30)


def _compared(runs: list[Run], accuracy: float) -> str | None:
    counts = {run.method: count for run in runs if (count := run.solved(accuracy)) is not None}
    mine = counts.pop(METHOD, None)
    if not counts or METHOD not in {run.method for run in runs}:
        return None
    rival = min(counts, key=lambda method: counts[method])
    if mine is not None and mine <= BEHIND * counts[rival]:
        return None
    unit = runs[0].dimension + 1
    own = "not solved" if mine is None else f"{mine / unit:.1f}"
    return f"{own}; {LABELS[rival]} {counts[rival] / unit:.1f}"


def _left_out(name: str, found: Outcome) -> Table:
    rows = sorted(found.left_out.items())
    return Table(f"{name}-left-out", "Problems that were left out", ("problem", "why"), rows, folded=len(rows) > 30)


def _problems(name: str, found: Outcome) -> Table:
    rows = []
    for problem, facts in found.facts.items():
        numbers = (f"{number:.6g}" for number in (facts.start, facts.best, facts.moved))
        rows.append((problem, str(facts.n), str(facts.rows), *numbers))
    columns = ("problem", "n", "rows", "f at the nearest feasible point", "least f known", "its distance from the start")
    return Table(f"{name}-problems", "The problems", columns, rows, folded=True)


def _methods(runs: list[Run]) -> list[str]:
    present = {run.method for run in runs}
    return [method for method in LABELS if method in present]


def _levels(runs: list[Run]) -> list[float]:
    return sorted({run.level for run in runs}, key=lambda level: (level not in LEVELS, level))


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"
