"""Where the time of the paper's experiments goes: the oracle, the diagnostics that are measured apart, and zolal itself.

    python benchmarks/experiment_profiles.py

Shares of one run's time from the interpreter's profiler. The oracle is what a user's function would be: transforms for the QCQP, the
classifier's logits for the attack, minibatches of the data for fairness. For the QCQP both are shown: every point evaluated by itself, and
the experiment's shortcut, which has the same values (`QuadraticEvaluator`).
"""

import cProfile
import pstats

from zolal.evaluate import VectorizedEvaluator
from zolal.experiments import attack, fairness, qcqp
from zolal.experiments._quadratic import QuadraticEvaluator
from zolal.loop import run
from zolal.problems import qcqp as dense
from zolal.recording import Recorder
from zolal.stopping import MaxEvaluations

D = 2**12


def share(stats: pstats.Stats, file: str, function: str) -> float:
    """The part of the whole time that is spent in calls of a function."""
    inside = sum(row[3] for (path, _, name), row in stats.stats.items() if path.endswith(file) and name == function)
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


def show(what: str, oracle: float, diagnostics: float) -> None:
    print(f"{what:58s} {oracle:8.0%} {diagnostics:12.0%} {1.0 - oracle - diagnostics:8.0%}")


def main() -> None:
    print(f"{'':58s} {'oracle':>8s} {'diagnostics':>12s} {'zolal':>8s}")
    for method in qcqp.METHODS:
        for name, evaluator, file in (
            ("every point by itself", VectorizedEvaluator, "evaluate.py"),
            ("shortcut", lambda problem: QuadraticEvaluator(problem.objective), "_quadratic.py"),
        ):
            stats = profiled(qcqp_run(method, evaluator, 5 * D if method == "euc-theory" else D))
            show(f"QCQP d = {D}, {method}, {name}", share(stats, file, "__call__"), 0.0)
    for method, step in (("euc-theory", 0.02), ("euc-matched", 0.02), ("non-euc", 50.0)):
        stats = profiled(lambda method=method, step=step: attack.measure(method, step, 40, 0, 0, True))
        show(f"attack on 40 images, {method}", share(stats, "_lockstep.py", "evaluate"), share(stats, "_lockstep.py", "_margins"))
    for method in fairness.METHODS:
        choice = vars(fairness.Choice(0.6))
        stats = profiled(lambda method=method, choice=choice: fairness.measure("a9a", method, 1.0, 0, choice, False))
        show(f"fairness on a9a, {method}", share(stats, "fairness.py", "__call__"), share(stats, "_readings.py", "measure_at"))


if __name__ == "__main__":
    main()
