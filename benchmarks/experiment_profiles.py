"""Where the time of the paper's experiments goes: the user's functions, the query points, the diagnostics, and the rest of zolal.

    python benchmarks/experiment_profiles.py

Shares of one run's time from the interpreter's profiler. The user's functions are transforms for the QCQP, the classifier's logits for the
attack, minibatches and the exact constraint for fairness. The QCQP is shown with every point evaluated by itself and with the
experiment's shortcut, which has the same values (`QuadraticEvaluator`) and makes no points. Diagnostics are measured apart and are no
part of a method.
"""

import cProfile
import pstats

from zolal.evaluation.evaluate import VectorizedEvaluator
from zolal.experiments import attack, fairness, qcqp
from zolal.experiments._quadratic import QuadraticEvaluator
from zolal.problems import qcqp as dense
from zolal.runs.loop import run
from zolal.runs.recording import Recorder
from zolal.runs.stopping import MaxEvaluations

D = 2**12


def share(stats: pstats.Stats, *functions: tuple[str, str]) -> float:
    """The part of the whole time that is spent in calls of these functions, each given by the end of its file's name and its own name."""
    inside = sum(
        row[3] for (path, _, name), row in stats.stats.items() if any(path.endswith(file) and name == own for file, own in functions)
    )
    return inside / stats.total_tt


def profiled(call) -> pstats.Stats:
    call()  # compiles, loads data, trains the classifier
    profile = cProfile.Profile()
    profile.runcall(call)
    return pstats.Stats(profile)


def qcqp_run(method: str, evaluator, queries: int):
    problem, solver = dense(D, 0), qcqp.solver(method, D, qcqp.Choice(0.04))
    state = solver.init(problem, problem.x0, 0)
    return lambda: run(solver, state, evaluator(problem), MaxEvaluations(queries), Recorder())


def show(what: str, user: float, points: float, diagnostics: float) -> None:
    print(f"{what:58s} {user:8.0%} {points:8.0%} {diagnostics:12.0%} {1.0 - user - points - diagnostics:8.0%}")


POINTS = ("estimators/base.py", "points")


def main() -> None:
    print(f"{'':58s} {'user':>8s} {'points':>8s} {'diagnostics':>12s} {'rest':>8s}")
    for method in qcqp.METHODS:
        queries = 5 * D if method == "euc-theory" else D
        stats = profiled(qcqp_run(method, VectorizedEvaluator, queries))
        show(f"QCQP d = {D}, {method}, every point", share(stats, ("problems/qcqp.py", "__call__")), share(stats, POINTS), 0.0)
        stats = profiled(qcqp_run(method, lambda problem: QuadraticEvaluator(problem.objective), queries))
        show(f"QCQP d = {D}, {method}, shortcut", share(stats, ("_quadratic.py", "__call__")), 0.0, 0.0)
    for method, step in (("euc-theory", 0.02), ("euc-matched", 0.02), ("non-euc", 50.0)):
        stats = profiled(lambda method=method, step=step: attack.measure(method, step, 40, 0, 0, True))
        model, margins = share(stats, ("problems/attack.py", "smoothed")), share(stats, ("_lockstep.py", "_margins"))
        show(f"attack on 40 images, {method}", model, share(stats, POINTS), margins)
    for method in fairness.METHODS:
        choice = vars(fairness.Choice(0.6))
        stats = profiled(lambda method=method, choice=choice: fairness.measure("a9a", method, 1.0, 0, choice, False))
        own = share(stats, *(("problems/fairness.py", name) for name in ("__call__", "constraint", "constraint_gradient")))
        show(f"fairness on a9a, {method}", own, share(stats, POINTS), share(stats, ("_readings.py", "measure_at")))


if __name__ == "__main__":
    main()
