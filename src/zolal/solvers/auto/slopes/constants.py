"""Every number of the solver that could be another one, with its unit and why it is what it is."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Constants:
    """What was chosen by trial and not derived; docs/auto.md says what was tried.

    "Size" is the size of the problem: the region's diameter, or how far the start lies from 0 or from feasibility, or 1. A length "per
    coordinate" times sqrt(d) is a Euclidean one. Relative numbers have no unit.
    """

    # directions of a batch
    first_directions: int = 4  # of the first batches: enough for a step, and little is lost if the first steps are bad
    first_steps: int = 5  # iterations with so few directions
    directions_growth: float = 1.5  # per iteration after that, until there are d / directions_share
    directions_share: int = 64  # d over the directions of a regular batch: steps and knowledge keep pace
    sampled_directions: int = 8  # of a batch with samples, at the least; 16 and more took more passes on the fairness problem
    least_gain: float = 1e-3  # of the filter, below which batches do not grow any more

    # lengths of differences
    exact_length: float = 1e-6  # sizes; sqrt(rounding) where that is more
    longest_exact_length: float = 1e-3  # sizes; to which rounding may lengthen them
    sampled_length: float = 1e-4  # sizes; where equal samples give equal values
    sampled_noisy_length: float = 1e-2  # sizes; where they do not, as with sums on graphics cards
    first_noisy_lengths: tuple[float, float] = (1e-2, 5e-2)  # sizes; the first two that are tried where there is noise
    longest_share: float = 0.05  # of a bounded region's diameter that a noisy difference may reach
    length_evidence: float = 12.0  # innovations of each length before one of them is preferred
    rounding_lengths: float = 16.0  # roundings of the largest coordinate that a difference measures, at the least
    deepest: float = 0.5  # of a region's depth that differences may fill; all of it would leave no choice of their middle
    rough: float = 1e-6  # the share of rounding in the square of a slope from which on differences grow

    # noise
    repeats: int = 6  # more values at the start where the first two differ: the median of 15 distances
    sample_pairs: int = 8  # slopes measured with two samples each
    noise_memory: float = 0.95  # of the squares that the variance rests on, per new square
    signal: float = 16.0  # variances by which the square of a short difference must stand out, four standard errors
    look_every: int = 4  # iterations between two looks at the noise
    look_evaluations: int = 4  # evaluations of one sample at other points
    look_share: int = 32  # directions for each of these
    value_weight: float = 0.3  # of a new difference from the start beside earlier ones

    # steps
    first_step: float = 0.1  # sizes; how far the first step goes along constraints or after leaps in vain
    first_free_step: float = 1.0  # sizes; where nothing but the region is in the way
    first_sampled_step: float = 0.01  # sizes; one sample is a poor guide
    trial_step: float = 1e-3  # sizes; of a step without a query that tells the slope of s along the constraints
    longest_step: float = 1e3  # sizes; along s
    smallest_step: float = 3e-8  # sizes; what is feasible to 1e-8 may move so far without a step
    measuring_step: float = 0.1  # sizes; the longest step along the largest gradient that still measures stationarity
    far: float = 1e3  # sizes from the start, where a slope that is still
    steady: float = 0.25  # of the largest one says that f is unbounded
    sure: float = 4.0  # standard errors by which the objective must have risen before a step is taken back
    known: float = 0.3  # the spread of a curvature, in units of 1/step size, up to which it is believed
    least_seen: float = 0.25  # of the square of a step that values next to x must have seen of it before they judge it
    change_rounding: float = 3e-14  # changes of f in units of f that rounding explains
    rise_rounding: float = 1e-12  # the same for a step that is to be taken back
    curvature_memory: float = 0.995  # of the largest curvature along noisy steps, per step
    sampled_curvature_memory: float = 0.97  # per look of a sample
    least_sampled_curvature: float = 0.7  # of the largest that a sample has shown, for ever
    sampled_growth: float = 10.0  # of a step size at once, where curvature is measured without noise
    too_long: float = 4.0  # step sizes in units of 1/curvature from which on a risen sample takes the step back
    largest_value: float = 1e140  # whose square is still a number; a larger one counts as none
    explosion: float = 10.0  # of the largest slope so far: with steeper ones f is another function, and higher
    absurd: float = 1e6  # of the values where a step began: after so large a rise f is another function, too
    retreat: float = 0.1  # of a step there, or of one to where f has no value
    most_lost: int = 20  # such steps in a row, after which the run ends
    staleness: float = 0.1  # of the square of (curvature x step), by which s is taken to age

    # steps along samples that would cross a bounded region
    crossing: float = 0.5  # of the region's diameter that a step along fresh slopes may go; with 0.2 noise alone crossed boxes
    crossing_ends: float = 0.1  # of that, once one was longer

    # the model step
    penalty: float = 1e4  # in units of 1/step size, on rows of unit gradients; 100 made the safeguard halve many times
    halvings: int = 30  # of a step that leaves the constraints
    farthest: float = 1e6  # sizes; the longest way to a constraint that is believed
    restorations: int = 12  # Gauss-Newton steps after a step
    first_restorations: int = 50  # before the first
    tolerance: float = 1e-8  # sizes; the violation that counts as none
    restoring_penalty: float = 1e6  # of a restoration, whose step size is 1

    # leaps
    explored: float = 0.5  # a fresh direction's length in a leap, where what is known has the length 1
    leap: float = 30.0  # the step of a leap in diameters of the region: into a corner
    hope: int = 8  # leaps without gain that end the phase before the first gain
    patience: int = 24  # and after it
    most_leaps: int = 256  # so many, and
    leap_share: int = 4  # d over the leaps at the most, a part of what one sweep of directions costs

    few_variables: int = 100  # up to which others may do better without noise


CONSTANTS = Constants()
