"""Gradient estimates from values: which points to evaluate, and what their values say."""

from zolal.estimators.base import Estimator, Memory, Queries, Query, QueryBatch, SampleKey
from zolal.estimators.innovation import Innovation
from zolal.estimators.momentum import Momentum
from zolal.estimators.two_point import TwoPoint

__all__ = ["Estimator", "Innovation", "Memory", "Momentum", "Queries", "Query", "QueryBatch", "SampleKey", "TwoPoint"]
