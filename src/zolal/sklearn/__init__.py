"""The door for scikit-learn's users: a classifier under constraints on its rates, and a search under constraints on hyperparameters."""

try:
    import sklearn as _installed  # noqa: F401
except ImportError:
    raise ImportError("`zolal.sklearn` needs scikit-learn: pip install 'zolal[sklearn]'.") from None

from zolal.sklearn.fair import FairClassifier
from zolal.sklearn.search import ConstrainedSearchCV

__all__ = ["ConstrainedSearchCV", "FairClassifier"]
