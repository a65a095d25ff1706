"""Every set, regularizer, mirror map, kind of directions, estimator, solver and problem as an instance, for the conformance tests."""

import numpy as np

from zolal.directions import Gaussian, Orthogonal, Rademacher, Sphere, Squares
from zolal.estimators import Innovation, Momentum, TwoPoint
from zolal.mirror import Block, Euclidean, SmoothedLq
from zolal.problems import (
    Attack,
    FairnessData,
    SoftmaxClassifier,
    fairness,
    inventory,
    l1_box,
    probe,
    qcqp,
    scaled,
    simplex_lp,
    sparse_qcqp,
    sphere_quadratic,
)
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Zero
from zolal.schedules import InverseSqrt
from zolal.sets import Box, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace
from zolal.solvers import MDLAL, ZOSGD, Auto, MultiStage, Stage, SZOConEx, ZOPenalty
from zolal.solvers.auto.slopes import Slopes

DIMENSION = 6  # of every vector in the conformance tests

SETS = [
    WholeSpace(),
    Box(-1.0, 0.5),
    Box(np.array([-1.0, 0.2, -np.inf, 0.0, -2.0, 0.3]), np.array([1.0, 0.4, 0.0, np.inf, -1.0, 0.3])),
    NonNegative(),
    L1Ball(1.5),
    L2Ball(0.7),
    LqBall(1.2, 1.0),
    LqBall(3.0, 0.8),
    Simplex(),
    Simplex(2.5),
    Product([(Simplex(), 3), (Box(-1.0, 1.0), 2), (NonNegative(), 1)]),
]
SEPARABLE_REGULARIZERS = [Zero(), L1(0.3), ElasticNet(0.2, 0.7)]
REGULARIZERS = [*SEPARABLE_REGULARIZERS, GroupL2(0.4, [2, 3, 1]), BlockSum([(L1(0.5), 2), (Zero(), 4)])]
LQ_MAPS = [SmoothedLq(p, delta) for p, delta in ((2.0, 0.1), (3.0, 1e-2), (4.0, 0.0), (13.8, 1e-3), (100.0, 1e-8), (100.0, 1.0))]
MIRROR_MAPS = [Euclidean(), *LQ_MAPS, Block([(SmoothedLq(5.0, 1e-2), 4), (Euclidean(), 2)])]
DIRECTIONS = [Rademacher, Sphere, Gaussian, Orthogonal, Squares]
ESTIMATORS = [
    TwoPoint(4, 1e-3),
    TwoPoint(4, 1e-3, share_base=True),
    Momentum(4, 1e-3, num_initial_directions=7, momentum=0.3),
    Momentum(4, 1e-3, directions="sphere", share_base=True, momentum=0.3),
    Momentum(4, 1e-3, directions="gaussian", momentum=1.0),
    Innovation(4, 1e-3),
    Innovation(4, 1e-3, num_initial_directions=7, noise=1e-3, central=True),
    Innovation(4, 1e-3, directions="rademacher", share_base=False),
]
SOLVERS = [
    MDLAL(TwoPoint(4, 1e-3), 0.05, 2.0, 1.0),
    MDLAL(Momentum(4, 1e-3, share_base=True), InverseSqrt(0.05), 2.0, 1.0, SmoothedLq(4.0, 1e-2), "average"),
    MDLAL(Momentum(3, 1e-3, directions="sphere", momentum=0.2), 0.02, lambda k: 1.0 + k, 0.5, Euclidean(), "random"),
    MDLAL(Momentum(3, 1e-3, directions="gaussian"), 0.02, 2.0, 0.5, SmoothedLq(3.0, 0.0), "best"),
]
SOLVERS += [
    SZOConEx(TwoPoint(4, 1e-3), InverseSqrt(0.05), 0.5, lambda t: (t + 1) / (t + 2), inner_steps=2),
    ZOPenalty(Momentum(4, 1e-3, share_base=True, momentum=0.3), 0.05, 0.5, stage_steps=2, output_rule="best"),
    ZOSGD(TwoPoint(4, 1e-3, share_base=True), 0.02, 2.0),
]
SOLVERS += [Auto(), Auto(SmoothedLq(3.0, 1e-2)), Slopes()]
SOLVERS.append(MultiStage([Stage(SOLVERS[0], 2), Stage(SOLVERS[1], 1), Stage(SOLVERS[2])]))
TABLE = np.random.default_rng(5).uniform(-1.0, 1.0, (40, DIMENSION))
PEOPLE = FairnessData("people", TABLE[:25], np.sign(TABLE[:25, 0]), TABLE[25:], TABLE[25:, 1] > 0.2, tuple("abcdef"))
DIGIT = Attack(SoftmaxClassifier(4.0 * TABLE[:4], TABLE[4, :4]), np.linspace(0.0, 1.0, DIMENSION), 2)
PROBLEMS = {"sphere": sphere_quadratic(6), "simplex lp": simplex_lp(6), "l1 box": l1_box(6), "inventory": inventory(6)}
PROBLEMS |= {"fairness": fairness(PEOPLE, 0.4, batch_size=8), "attack": DIGIT.problem}
PROBLEMS |= {"qcqp": qcqp(8), "sparse qcqp": sparse_qcqp(8)}
PROBLEMS |= {"probe": probe(6, noise=0.0), "scaled": scaled(l1_box(6), objective=20.0, variables=0.5, constraints=3.0)}


def members_of(family):
    """The members that zolal has; tests may have made others, which live until somebody collects them."""
    return {kind for kind in family.__subclasses__() if kind.__module__.startswith("zolal.")}
