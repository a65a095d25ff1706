"""The attack against naive loops and finite differences; the classifier against its optimality conditions."""

import math
from functools import partial

import numpy as np
import pytest

import zolal
from registry import DIGIT
from zolal.errors import InvalidArgumentError
from zolal.problems import Attack, AttackSet, SoftmaxClassifier, attack_images, mnist_attack, mnist_classifier
from zolal.problems.datasets import mnist

TINY = SoftmaxClassifier(np.eye(3), np.zeros(3))


def naive_margins(attack, delta):
    """(smoothed, nonsmoothed) from the definition, pixel by pixel."""
    classifier, x = attack.classifier, attack.image + delta
    logits = [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(classifier.weights, classifier.bias, strict=True)]
    others = [m for j, m in enumerate(logits) if j != attack.label]
    tau = attack.temperature
    return logits[attack.label] - tau * math.log(sum(math.exp(m / tau) for m in others)), logits[attack.label] - max(others)


def test_margins_are_the_naive_ones(rng):
    deltas = 0.3 * rng.standard_normal((7, 6))
    smoothed, plain = zip(*(naive_margins(DIGIT, delta) for delta in deltas), strict=True)
    np.testing.assert_allclose(DIGIT(deltas), smoothed, rtol=1e-13)
    np.testing.assert_allclose(DIGIT.margin(deltas), plain, rtol=1e-13)
    assert (DIGIT(deltas) <= DIGIT.margin(deltas)).all()


def test_the_gradient_is_that_of_the_smoothed_margin(rng):
    for delta in 0.3 * rng.standard_normal((5, 6)):
        slopes = [(DIGIT(delta + e) - DIGIT(delta - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
        np.testing.assert_allclose(DIGIT.gradient(delta), slopes, rtol=1e-7, atol=1e-8)


def test_large_logits_do_not_overflow():
    far = Attack(SoftmaxClassifier(1e4 * np.eye(3), np.zeros(3)), np.array([0.0, 1.0, 1.0]), 0)
    assert far(np.zeros(3)) == pytest.approx(-1e4, rel=1e-3)
    np.testing.assert_allclose(far.gradient(np.zeros(3)), [1e4, -5e3, -5e3])


def test_the_region_keeps_pixels_in_range_and_changes_small():
    low, high = DIGIT.region.lower, DIGIT.region.upper
    np.testing.assert_allclose(low, [0.0, -0.2, -0.3, -0.3, -0.3, -0.3])
    np.testing.assert_allclose(high, [0.3, 0.3, 0.3, 0.3, 0.2, 0.0])


def test_many_images_at_once_are_each_alone(rng):
    attacks = AttackSet(DIGIT.classifier, rng.uniform(size=(3, 6)), np.array([0, 3, 1]))
    deltas, which = 0.2 * rng.standard_normal((8, 6)), rng.integers(3, size=8)
    np.testing.assert_allclose(attacks.smoothed(deltas, which), [attacks[i](x) for x, i in zip(deltas, which, strict=True)], rtol=1e-12)
    np.testing.assert_allclose(
        attacks.margin(deltas, which), [attacks[i].margin(x) for x, i in zip(deltas, which, strict=True)], rtol=1e-12
    )
    assert [attack.label for attack in attacks] == [0, 3, 1]


def test_training_finds_the_minimiser(rng):
    """No slope of the stated loss is left, by finite differences."""
    x, labels = rng.standard_normal((60, 2)), rng.integers(3, size=60)
    found = SoftmaxClassifier.trained(x, labels, 0.1, tolerance=1e-7)

    def loss(flat):
        weights, bias = flat[:6].reshape(3, 2), flat[6:]
        logits = x @ weights.T + bias
        return np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(60), labels]) + 0.05 * np.sum(weights**2)

    flat = np.concatenate([found.weights.ravel(), found.bias])
    slopes = [(loss(flat + e) - loss(flat - e)) / 2e-5 for e in 1e-5 * np.eye(9)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (partial(SoftmaxClassifier, np.eye(3), np.zeros(2)), r"got \(3, 3\) and \(2,\)"),
        (partial(SoftmaxClassifier.trained, np.eye(3), np.arange(3), 0.0), r"decay=...\)` must be a positive number, got 0.0"),
        (partial(Attack, TINY, np.zeros(2), 0), r"`Attack\(image=...\)` must have 3 pixels as the classifier has, got shape \(2,\)"),
        (partial(Attack, TINY, np.zeros(3), 3), r"`Attack\(label=...\)` must be one of the 3 classes, got 3"),
        (partial(Attack, TINY, np.zeros(3), 1.0), r"`Attack\(label=...\)` must be a nonnegative integer, got 1.0"),
        (partial(AttackSet, TINY, np.zeros((2, 3)), np.arange(3)), r"images \(m, 3\) and a label each, got \(2, 3\) and \(3,\)\."),
        (partial(AttackSet, TINY, np.zeros((2, 4)), np.arange(2)), r"images \(m, 3\) and a label each, got \(2, 4\) and \(2,\)\."),
        (partial(AttackSet, TINY, np.zeros((2, 3)), np.array([0, 3])), r"`AttackSet\(labels=...\)` must be classes, .* 0 to 2, got 3\."),
        (partial(AttackSet, TINY, np.zeros((1, 3)), np.ones(1)), r"must be classes, integers from 0 to 2, got dtype float64\."),
        (partial(SoftmaxClassifier.trained, np.eye(3), np.arange(2), 0.1), r"rows \(n, d\) and a label each, got \(3, 3\) and \(2,\)\."),
        (partial(SoftmaxClassifier.trained, np.eye(2), np.array([-1, 0]), 0.1), r"labels=...\)` must be integers from 0 on"),
        (partial(Attack, TINY, np.zeros(3), 0, radius=-1.0), r"`Attack\(radius=...\)` must be a positive number, got -1.0"),
        (partial(attack_images, 0), r"`attack_images\(count=...\)` must be a positive integer, got 0"),
        (partial(mnist_attack, -1), r"`mnist_attack\(image=...\)` must be a nonnegative integer, got -1"),
    ],
)
def test_bad_arguments_are_told(call, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        call()


def test_the_paper_experiment_has_its_accuracy_and_its_images(public_data):
    """One test, since the classifier takes seconds to train."""
    classifier, data = mnist_classifier(), mnist(num_train=1)
    assert classifier.accuracy(data.test_images, data.test_labels) == pytest.approx(0.9076, abs=5e-4)
    some, rest = attack_images(40), attack_images(5, skip=38)
    np.testing.assert_array_equal(some.images[38:], rest.images[:2])
    clean = some.margin(np.zeros((40, 784)), np.arange(40))
    assert (clean > 0.2).all()
    first = [
        naive_margins(Attack(classifier, x, int(y)), np.zeros(784))[1]
        for x, y in zip(data.test_images[:50], data.test_labels[:50], strict=True)
    ]
    np.testing.assert_allclose(clean[:30], [margin for margin in first if margin > 0.2][:30], rtol=1e-10)
    with pytest.raises(InvalidArgumentError, match=r"`attack_images\(count=...\)` must be at most \d+ with those skipped, got 20000"):
        attack_images(20_000)
    with pytest.raises(InvalidArgumentError, match=r"`mnist_attack\(image=...\)` must be less than \d+, the number of .*, got 1000000\."):
        mnist_attack(10**6)

    problem = mnist_attack(0)
    found = zolal.minimize(problem, maxfev=2000, rng=0, options=dict(step_size=0.3))
    assert problem.region.contains(found.x)
    assert problem.objective.margin(found.x) < 0 < problem.objective.margin(problem.x0)
