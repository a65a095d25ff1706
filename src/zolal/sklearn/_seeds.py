"""scikit-learn's `random_state` as a seed of zolal."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def as_seed(random_state: Any) -> int | None:
    """An integer or None as it is; a RandomState gives its next number. Whatever else is scikit-learn's ValueError."""
    state = check_random_state(random_state)
    return int(state.randint(2**31)) if isinstance(random_state, np.random.RandomState) else random_state
