"""A search over hyperparameters under constraints: scikit-learn's own checks, what is fitted, and bad input."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("sklearn.base", reason="needs the extra sklearn: pip install 'zolal[sklearn]'")

from scipy.optimize import NonlinearConstraint
from scipy.stats import loguniform, poisson, randint, uniform
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from zolal.sklearn import ConstrainedSearchCV


class Sizes:
    """A distribution with a name that is the same in every process, as that of a test has to be."""

    def __init__(self):
        self.given = loguniform(1e-2, 1e2)

    def __repr__(self):
        return "sizes"

    def __getattr__(self, name):
        return getattr(self.__dict__["given"], name) if "given" in self.__dict__ else super().__getattribute__(name)


TINY = ConstrainedSearchCV(LogisticRegression(), dict(C=Sizes()), n_iter=3, cv=2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of fits that fail on purpose
@parametrize_with_checks([TINY])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


class Bowl(RegressorMixin, BaseEstimator):
    """An estimator whose score is known: it falls with the distance of its parameters from (0.3, 7, 0.1)."""

    fitted = ()

    def __init__(self, a=0.0, n=1, rate=1.0):
        self.a, self.n, self.rate = a, n, rate

    def fit(self, X, y):
        type(self).fitted = (*type(self).fitted, (self.a, self.n, self.rate))
        return self

    def score(self, X, y):
        return -((self.a - 0.3) ** 2) - 0.01 * (self.n - 7) ** 2 - 0.1 * np.log(self.rate / 0.1) ** 2


DATA = np.zeros((8, 1)), np.arange(8.0)
SPACE = dict(a=uniform(0, 1), n=randint(1, 21), rate=loguniform(1e-3, 1e1))


@pytest.fixture(autouse=True)
def _nothing_fitted():
    Bowl.fitted = ()


@pytest.mark.parametrize("state", range(12))
def test_the_best_parameters_are_found_and_integers_are_integers(state):
    """Along n the score has steps, which a smooth model stops at in a third of these searches; neighbours lead on."""
    search = ConstrainedSearchCV(Bowl(), SPACE, n_iter=45, cv=2, refit=False, random_state=state).fit(*DATA)
    best = search.best_params_
    assert isinstance(best["n"], int)
    assert search.result_.nfev <= 43
    assert len(search.cv_results_["params"]) <= 45
    assert best["n"] == 7
    assert best["a"] == pytest.approx(0.3, abs=0.05)
    assert np.log10(best["rate"]) == pytest.approx(-1.0, abs=0.2)


def test_neighbours_of_an_integer_keep_its_ends_and_the_constraints():
    below = {"n": NonlinearConstraint(lambda params: params["n"], -np.inf, 5.0)}
    search = ConstrainedSearchCV(Bowl(), dict(n=randint(4, 21)), constraints=below, n_iter=9, cv=2, refit=False).fit(*DATA)
    assert search.best_params_ == {"n": 5}
    assert {n for _, n, _ in Bowl.fitted} <= {4, 5}


def test_nothing_is_fitted_where_a_constraint_does_not_hold():
    size = NonlinearConstraint(lambda params: params["n"] * (1 + params["a"]), -np.inf, 5.5)
    search = ConstrainedSearchCV(Bowl(), SPACE, constraints={"size": size}, n_iter=40, cv=2, refit=False).fit(*DATA)
    assert len(Bowl.fitted) >= 20
    assert max(n * (1 + a) for a, n, _ in Bowl.fitted) <= 5.5 + 1e-4
    best = max(-((a - 0.3) ** 2) - 0.01 * (n - 7) ** 2 for n in range(1, 21) for a in np.linspace(0, 1, 1001) if n * (1 + a) <= 5.5)
    assert search.best_score_ >= best - 0.05


def test_real_models_are_searched_and_refitted():
    X, y = load_iris(return_X_y=True)
    search = ConstrainedSearchCV(LogisticRegression(max_iter=1000), dict(C=loguniform(1e-4, 1e3)), n_iter=8, cv=3).fit(X, y)
    assert search.best_score_ >= 0.95
    assert search.predict(X).shape == y.shape


def test_several_scores_need_one_to_optimise():
    X, y = load_iris(return_X_y=True)
    several = dict(scoring=["accuracy", "f1_macro"], n_iter=3, cv=2)
    assert (
        ConstrainedSearchCV(LogisticRegression(max_iter=500), dict(C=loguniform(1, 2)), refit="f1_macro", **several).fit(X, y).best_score_
        > 0
    )
    with pytest.raises(ValueError, match="`refit` must name the one to optimise"):
        ConstrainedSearchCV(LogisticRegression(max_iter=500), dict(C=loguniform(1, 2)), refit=False, **several).fit(X, y)


def test_a_random_state_is_taken_and_the_same_one_gives_the_same_search():
    found = [
        ConstrainedSearchCV(Bowl(), SPACE, n_iter=6, cv=2, refit=False, random_state=np.random.RandomState(3)).fit(*DATA).best_params_
        for _ in range(2)
    ]
    assert found[0] == found[1]


def test_an_interrupt_is_one():
    def scoring(estimator, X, y):
        os.kill(os.getpid(), signal.SIGINT)
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        ConstrainedSearchCV(Bowl(), SPACE, n_iter=6, cv=2, scoring=scoring).fit(*DATA)


BAD = {
    "list": (dict(param_distributions=dict(a=[1, 2])), "must be a distribution of scipy.stats.*for lists of values use RandomizedSearchCV"),
    "no dict": (dict(param_distributions=[uniform()]), "`param_distributions` must be a dict"),
    "constraints": (dict(constraints=[3]), "`constraints` must be a dict"),
    "n_iter": (dict(n_iter=0), "`n_iter` must be a positive integer, got 0"),
    "random_state": (dict(random_state="one"), "'one' cannot be used to seed"),
    "endless": (dict(param_distributions=dict(n=poisson(3))), "must lie between two integers, as randint does"),
    "unknown name": (
        dict(constraints={"size": NonlinearConstraint(lambda params: params["m"], 0, 1)}),
        "In constraint 'size' .*KeyError: 'm'",
    ),
    "impossible": (dict(constraints={"size": NonlinearConstraint(lambda params: params["n"], 100, 200)}), "satisfy the constraints"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_a_value_error(given, sentence):
    arguments = dict(param_distributions=SPACE, n_iter=10, cv=2) | given
    with pytest.raises(ValueError, match=sentence):
        ConstrainedSearchCV(Bowl(), **arguments).fit(*DATA)
