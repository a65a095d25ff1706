"""Test problems that know their optimum, and those of the paper's experiments, with exact gradients for diagnostics."""

from zolal.problems import datasets
from zolal.problems._softmax import SoftmaxClassifier
from zolal.problems.attack import Attack, AttackSet, attack_images, mnist_attack, mnist_classifier
from zolal.problems.base_stock import base_stock
from zolal.problems.datasets import FairnessData
from zolal.problems.fairness import FairnessDiagnostics, FairnessModel, fairness, fairness_diagnostics
from zolal.problems.inventory import corner_shop, inventory
from zolal.problems.l1_box import l1_box
from zolal.problems.more_wild import MORE_WILD, MoreWild, more_wild, more_wild_residuals, more_wild_start
from zolal.problems.probe import probe
from zolal.problems.qcqp import Quadratic, qcqp, sparse_qcqp
from zolal.problems.scaled import scaled
from zolal.problems.simplex_lp import simplex_lp
from zolal.problems.sphere_quadratic import sphere_quadratic
from zolal.problems.tandem import tandem

__all__ = [
    "MORE_WILD",
    "Attack",
    "AttackSet",
    "FairnessData",
    "FairnessDiagnostics",
    "FairnessModel",
    "MoreWild",
    "Quadratic",
    "SoftmaxClassifier",
    "attack_images",
    "base_stock",
    "corner_shop",
    "datasets",
    "fairness",
    "fairness_diagnostics",
    "inventory",
    "l1_box",
    "mnist_attack",
    "mnist_classifier",
    "more_wild",
    "more_wild_residuals",
    "more_wild_start",
    "probe",
    "qcqp",
    "scaled",
    "simplex_lp",
    "sparse_qcqp",
    "sphere_quadratic",
    "tandem",
]
