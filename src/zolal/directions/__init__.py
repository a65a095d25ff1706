"""Random directions, regenerated from (seed, iteration, j) on every backend and every worker."""

from zolal.directions.base import Directions
from zolal.directions.gaussian import Gaussian, first_row
from zolal.directions.orthogonal import Orthogonal
from zolal.directions.rademacher import Rademacher
from zolal.directions.sphere import Sphere
from zolal.directions.squares import Squares

__all__ = ["Directions", "Gaussian", "Orthogonal", "Rademacher", "Sphere", "Squares", "first_row"]
