"""Figures, tables and pages; the only package that imports matplotlib."""

from zolal.report._writing import duration, write, write_overview
from zolal.report.attack import report_attack
from zolal.report.base import Origin, Report
from zolal.report.bench import report_bench
from zolal.report.fairness import report_fairness
from zolal.report.qcqp import report_qcqp
from zolal.report.theory_plot import draw_evaluations
from zolal.tables import Table

__all__ = [
    "Origin",
    "Report",
    "Table",
    "draw_evaluations",
    "duration",
    "report_attack",
    "report_bench",
    "report_fairness",
    "report_qcqp",
    "write",
    "write_overview",
]
