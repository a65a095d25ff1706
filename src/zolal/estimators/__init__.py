"""Gradient estimates from values: which points to evaluate, and what their values say."""

from zolal.estimators.base import Estimator, Memory, Query, QueryBatch, SampleKey
from zolal.estimators.momentum import Momentum
from zolal.estimators.two_point import TwoPoint

__all__ = ["Estimator", "Memory", "Momentum", "Query", "QueryBatch", "SampleKey", "TwoPoint"]
