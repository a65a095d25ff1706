"""The attack inside ART: success, what every query keeps, counts, targets, and bad input in ART's own exceptions."""

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("art") is None:
    pytest.skip("needs the extra art: pip install 'zolal[art]'", allow_module_level=True)

from art.attacks.attack import EvasionAttack
from art.estimators.classification import BlackBoxClassifierNeuralNetwork
from art.exceptions import EstimatorError
from scipy.optimize import LinearConstraint, NonlinearConstraint

from zolal.art import ConstrainedAttack
from zolal.problems import SoftmaxClassifier

SIDE, CLASSES = 16, 4
RNG = np.random.default_rng(0)
COARSE = RNG.standard_normal((CLASSES, 4, 4)).repeat(4, 1).repeat(4, 2)
PICTURES = np.clip(0.5 + 0.12 * COARSE[:, None] + 0.05 * RNG.standard_normal((CLASSES, 5, SIDE, SIDE)), 0, 1)
IMAGES = PICTURES.reshape(-1, 1, SIDE, SIDE).astype(np.float32)
LABELS = np.repeat(np.arange(CLASSES), 5)
WEIGHTS = 0.12 * COARSE.reshape(CLASSES, -1)
LINEAR = SoftmaxClassifier(WEIGHTS, -0.5 * WEIGHTS.sum(axis=1))  # of pictures around grey


class Watched:
    """A model that keeps every image that it has seen."""

    def __init__(self, probabilities=False):
        self.seen, self.probabilities = [], probabilities

    def __call__(self, images):
        self.seen.append(np.array(images, dtype=float))
        scores = 6.0 * np.tanh(LINEAR.logits(images.reshape(len(images), -1).astype(float)) / 6.0)
        if self.probabilities:
            powers = np.exp(scores)
            return powers / powers.sum(axis=1, keepdims=True)
        return scores


def estimator(model, **given):
    return BlackBoxClassifierNeuralNetwork(model, (1, SIDE, SIDE), CLASSES, **(dict(channels_first=True, clip_values=(0.0, 1.0)) | given))


@pytest.fixture
def model():
    return Watched()


def changes(images):
    return (np.asarray(images, dtype=float) - IMAGES).reshape(len(IMAGES), -1)


def answers(images):
    return np.argmax(LINEAR.logits(images.reshape(len(images), -1).astype(float)), axis=1)


def test_it_is_an_attack_of_art_that_changes_every_answer(model):
    attack = ConstrainedAttack(estimator(model), eps=0.2, max_queries=300)
    assert isinstance(attack, EvasionAttack)
    changed = attack.generate(IMAGES, LABELS)
    assert changed.dtype == np.float32
    assert changed.shape == IMAGES.shape
    assert np.array_equal(attack.success, answers(changed) != LABELS)
    assert attack.success.all()
    assert np.abs(changes(changed)).max() <= 0.2 + 1e-6
    assert attack.queries.sum() == sum(len(images) for images in model.seen)  # success ends an image's queries
    assert "eps=0.2" in repr(attack)


def test_images_do_not_depend_on_each_other(model):
    together = ConstrainedAttack(estimator(model), eps=0.2).generate(IMAGES, LABELS)
    alone = ConstrainedAttack(estimator(model), eps=0.2).generate(IMAGES[:1], LABELS[:1])
    np.testing.assert_array_equal(alone[0], together[0])


@pytest.mark.parametrize(("norm", "eps"), [(2, 3.0), (1, 30.0), ("inf", 0.2)])
def test_every_query_keeps_the_norm_and_the_range(model, norm, eps):
    attack = ConstrainedAttack(estimator(model), norm=norm, eps=eps, max_queries=60)
    changed = attack.generate(IMAGES[:4], LABELS[:4])
    assert attack.success.all()
    order = np.inf if norm == "inf" else norm
    for images in model.seen:
        assert images.min() >= 0.0
        assert images.max() <= 1.0
    assert np.linalg.norm((changed - IMAGES[:4]).reshape(4, -1).astype(float), order, axis=1).max() <= eps * (1 + 1e-5)


def test_every_query_keeps_the_brightness(model):
    level = LinearConstraint(np.ones((1, SIDE * SIDE)), 0.0, 0.0)
    attack = ConstrainedAttack(estimator(model), eps=0.15, constraint=level, max_queries=150)
    attack.generate(IMAGES[:1], LABELS[:1])
    sums = np.concatenate([images.reshape(len(images), -1).sum(axis=1) for images in model.seen])
    assert len(sums) > 2
    np.testing.assert_allclose(sums, IMAGES[0].sum(dtype=float), atol=1e-5)  # of 256 floats of single precision


def test_a_constraint_may_belong_to_an_image_and_be_a_second_classifier(model):
    left = np.broadcast_to(np.arange(SIDE) < SIDE // 2, (SIDE, SIDE)).reshape(-1)  # all that the second one looks at
    second = SoftmaxClassifier(2 * WEIGHTS * left, -(WEIGHTS * left).sum(axis=1))

    def keeps(image, label):
        others = [j for j in range(CLASSES) if j != label]
        gaps = second.weights[label] - second.weights[others]
        margin = gaps @ image + second.bias[label] - second.bias[others]
        return NonlinearConstraint(lambda d: gaps @ d + margin, 0.1, np.inf, jac=lambda d: gaps)

    attack = ConstrainedAttack(estimator(model), eps=0.3, constraint=keeps, max_queries=60)
    changed = attack.generate(IMAGES[:4], LABELS[:4])
    kept = np.argmax(second.logits(changed.reshape(4, -1).astype(float)), axis=1)
    assert np.array_equal(kept, LABELS[:4])
    assert attack.success.any()
    assert np.all(answers(changed)[attack.success] != LABELS[:4][attack.success])


def test_a_target_is_reached():
    targets = (LABELS + 1) % CLASSES
    attack = ConstrainedAttack(estimator(Watched(probabilities=True)), eps=0.3, targeted=True, max_queries=300)
    assert np.array_equal(answers(attack.generate(IMAGES, targets)), targets)
    with pytest.raises(ValueError, match="Target labels `y` need to be provided"):
        attack.generate(IMAGES)


def test_squares_need_fewer_queries_than_pixels(model):
    counts = {}
    for prior in ("squares", None):
        attack = ConstrainedAttack(estimator(model), eps=0.15, prior=prior, max_queries=400)
        attack.generate(IMAGES, LABELS)
        counts[prior] = np.median(attack.queries)
    assert counts["squares"] <= counts[None]


def test_channels_last_and_own_answers_are_taken():
    model = Watched()
    last = BlackBoxClassifierNeuralNetwork(
        lambda images: model(np.moveaxis(images, 3, 1)), (SIDE, SIDE, 1), CLASSES, channels_first=False, clip_values=(0.0, 1.0)
    )
    attack = ConstrainedAttack(last, eps=0.2)
    changed = attack.generate(np.moveaxis(IMAGES, 1, 3))
    assert changed.shape == (len(IMAGES), SIDE, SIDE, 1)
    assert attack.success.all()


@pytest.mark.parametrize(("norm", "eps"), [(np.inf, 0.3), (2, 3.0)])
def test_what_a_mask_hides_stays(model, norm, eps):
    left = np.broadcast_to(np.arange(SIDE) < 10, (SIDE, SIDE))
    attack = ConstrainedAttack(estimator(model), norm=norm, eps=eps, max_queries=60)
    changed = attack.generate(IMAGES, LABELS, mask=left)
    np.testing.assert_array_equal(changed[..., 10:], IMAGES[..., 10:])
    assert attack.success.sum() >= 15


def test_numbers_of_numpy_integers_and_limits_of_each_pixel_are_taken():
    def darker(images):
        return Watched()(np.asarray(images, dtype=float) / 255)

    limits = np.zeros((1, SIDE, SIDE)), np.full((1, SIDE, SIDE), 255.0)
    attack = ConstrainedAttack(estimator(darker, clip_values=limits), eps=np.float32(60), max_queries=np.int64(200))
    whole = np.round(255 * IMAGES).astype(np.uint8)
    changed = attack.generate(whole, LABELS.tolist())
    assert attack.success.all()
    assert np.abs(changed - whole.astype(float)).max() <= 60 + 1e-4
    assert changed.max() <= 255


def test_scores_are_taken_for_probabilities_once_and_for_all():
    """Where one batch of scores looks like probabilities by chance, margins would jump."""
    calls = []

    def scores(images):
        calls.append(len(images))
        looks_so = np.tile([0.4, 0.3, 0.2, 0.1], (len(images), 1))
        return looks_so if len(calls) == 3 else np.tile([5.0, 1.0, -2.0, -9.0], (len(images), 1))

    attack = ConstrainedAttack(estimator(scores), max_queries=6)
    attack.generate(IMAGES[:1], LABELS[:1])
    assert not attack.success.any()
    assert calls == [1] * 6


def test_an_image_that_is_wrong_already_takes_one_query(model):
    attack = ConstrainedAttack(estimator(model), eps=0.2)
    changed = attack.generate(IMAGES[:2], (LABELS[:2] + 1) % CLASSES)
    assert attack.queries.tolist() == [1, 1]
    np.testing.assert_array_equal(changed, IMAGES[:2])


BAD = {
    "norms": (dict(norm=[2]), r"`norm` has to be np.inf, 2 or 1, got \[2\]"),
    "seed": (dict(seed=-1), "`seed` has to be a nonnegative integer, got -1"),
    "batch_size": (dict(batch_size=0), "`batch_size` has to be a positive integer, got 0"),
    "norm": (dict(norm=3), "`norm` has to be np.inf, 2 or 1, got 3"),
    "eps": (dict(eps=-1), "`eps` has to be a positive number, got -1"),
    "max_queries": (dict(max_queries=0), "`max_queries` has to be a positive integer, got 0"),
    "prior": (dict(prior="circles"), "`prior` has to be"),
    "targeted": (dict(targeted=1), "`targeted` has to be of type bool"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_argument_is_a_value_error(model, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        ConstrainedAttack(estimator(model), **given)


BAD_INPUT = {
    "shape": (dict(x=IMAGES.reshape(20, -1)), r"`x` must be finite numbers, one or more inputs of shape \(1, 16, 16\), got"),
    "nothing": (dict(x=IMAGES[:0], y=LABELS[:0]), r"got float32 of shape \(0, 1, 16, 16\)"),
    "missing": (dict(x=np.nan * IMAGES), "`x` must be finite numbers"),
    "no numbers": (dict(x="image"), "`x` must be finite numbers"),
    "labels": (dict(y=np.full(20, 7)), "`y` must be 20 labels from 0 to 3, or rows of 4 numbers, got"),
    "as many labels": (dict(y=LABELS[:3]), "`y` must be 20 labels"),
    "mask": (dict(mask=np.ones(5)), r"`mask` must broadcast to the shape of x, \(20, 1, 16, 16\), got \(5,\)"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_images_and_labels_are_a_value_error(model, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        ConstrainedAttack(estimator(model)).generate(**(dict(x=IMAGES, y=LABELS) | given))


def test_scores_that_are_no_numbers_and_constraints_that_raise_are_a_value_error(model):
    broken = estimator(lambda images: np.full((len(images), CLASSES), np.nan))
    with pytest.raises(ValueError, match="must give finite scores, got nan"):
        ConstrainedAttack(broken).generate(IMAGES, LABELS)
    raising = dict(type="eq", fun=lambda delta: {}["no"])
    with pytest.raises(ValueError, match="In constraint 1 `fun` raised KeyError: 'no'"):
        ConstrainedAttack(estimator(model), constraint=raising).generate(IMAGES, LABELS)


def test_other_bad_input_is_what_art_raises(model):
    with pytest.raises(EstimatorError):
        ConstrainedAttack(model)
    with pytest.raises(ValueError, match="within the classifier's clip_values"):
        ConstrainedAttack(estimator(model)).generate(IMAGES + 1.0, LABELS)
    with pytest.raises(ValueError, match="A constraint must be"):
        ConstrainedAttack(estimator(model), constraint=[3]).generate(IMAGES, LABELS)
    with pytest.raises(ValueError, match="cannot be set"):
        ConstrainedAttack(estimator(model)).set_params(colour=1)
