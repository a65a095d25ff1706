"""Figures; the only package that imports matplotlib."""

from zolal.report.theory_plot import draw_evaluations

__all__ = ["draw_evaluations"]
