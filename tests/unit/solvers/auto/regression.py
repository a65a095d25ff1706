"""Bayesian regression on every coefficient by itself, and the belief that it is compared with."""

import itertools
import math
from collections import Counter

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.quadratic import Quadratic

SCALES = Scales(curvature=0.7, third=0.2, noise=0.01, common=1.5, axes=0.5)
REPEATS = Repeats(0.03, 3)


def powers(a, order):
    """The products of so many entries, each once, times the root of how often it occurs: those of a and b have the sum (a.b)^order."""
    chosen = itertools.combinations_with_replacement(range(len(a)), order)
    often = ((math.factorial(order) / math.prod(map(math.factorial, Counter(which).values())), list(which)) for which in chosen)
    return np.array([math.sqrt(number) * np.prod(a[which]) for number, which in often])


class Regression:
    """v + g.a + h |a|^2/2 + a.Ea/2 + third and fourth order + (t.a)|a|^2: v with a flat prior, the others with their prior variances.

    slopes: the prior variance of g.
    """

    def __init__(self, offsets, values, weights, repeats, scales, *, slopes=1.0):
        n, d = offsets.shape
        self.upper = np.triu_indices(d)
        same = self.upper[0] == self.upper[1]
        second = np.append(scales.common**2, np.where(same, 2.0 * scales.curvature**2 + scales.axes**2, scales.curvature**2))
        second = np.maximum(second, 1e-30)  # a scale of 0 leaves no such coefficient
        higher = scales.third**2 * np.append(np.ones(math.comb(d + 2, 3) + math.comb(d + 3, 4)), np.full(d, CONSTANTS.radial))
        precision = 1.0 / np.concatenate([np.full(d, slopes), second, higher])
        self.scales, features = scales, np.stack([self.features(a) for a in offsets])
        errors = scales.noise / weights + scales.third**2 * np.sum(offsets**2, axis=1) ** 5
        self.inverse = np.linalg.inv(features.T @ (features / errors[:, None]) + np.diag(np.append(0.0, precision)))
        self.shares = self.inverse @ (features / errors[:, None]).T  # what each value gives to each coefficient
        self.mean = self.shares @ values
        missed = values - features @ self.mean
        square = missed @ (missed / errors) + self.mean[1:] @ (self.mean[1:] * precision)
        trust = CONSTANTS.repeat_trust
        self.amplitude = (square + trust * repeats.square / scales.noise) / (n - 1 + trust * repeats.number)

    def features(self, a):
        i, j = self.upper
        second = np.where(i == j, 0.5, 1.0) * a[i] * a[j]
        return np.concatenate([[1.0], a, [a @ a / 2], second, powers(a, 3), powers(a, 4), a * (a @ a)])

    def hessian(self, d):
        found = np.zeros((d, d))
        found[self.upper] = self.mean[d + 2 : d + 2 + len(self.upper[0])]
        return found + np.triu(found, 1).T + self.mean[d + 1] * np.eye(d)

    def foretold(self, a):
        features = self.features(a) - np.eye(len(self.mean))[0]
        own = self.scales.third**2 * (a @ a) ** 5
        variances = [each @ self.inverse @ each + own for each in (features, self.features(a))]
        return features @ self.mean, *np.sqrt(self.amplitude * np.array(variances))


def belief_of(points, values, *, scales=SCALES, weights=None, repeats=REPEATS, centre=None, length=0.5, built=None):
    n = len(points)
    weights = np.ones(n) if weights is None else weights
    centre = points[0] if centre is None else centre
    built = n if built is None else built
    return Quadratic(points, values, weights, repeats, centre, length, scales, built, least=scales.noise)


def some(d, n, seed=0, offset=3.0):
    """Points about an offset, and values of a smooth function there, with noise."""
    rng = np.random.default_rng([seed, d, n])
    points = offset + 0.4 * rng.standard_normal((n, d))
    return points, 5.0 + np.sum(points**2, axis=1) + np.sum(np.sin(points), axis=1) + 0.1 * rng.standard_normal(n)
