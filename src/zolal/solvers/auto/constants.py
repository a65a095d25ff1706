"""Every number that the automatic solver for few variables was given, in one place; docs/auto.md shows how much each matters."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Constants:
    """Numbers without a unit unless one is named; Delta is the radius of the trust region, R the variance of the noise."""

    # the belief
    first_curvature: float = 1.0  # s_H sqrt(d) before anything is known: over one length a slope may turn once
    first_third: float = 0.3  # s_3 before anything is known
    common_curvature: float = 3.0  # s_h in units of s_H sqrt(d): how much more alike than unlike directions are
    first_axes: float = 1.0  # s_d in units of s_H before anything is known
    prior_spread: float = 5.0  # of the logarithms of s_H, s_h, s_d and s_3 about these: a factor of 150
    search_share: float = 0.125  # the part of the values that is new when scales are looked for again
    ruled_out: float = 2.0  # of log-likelihood: by which scales that are less likely than others are ruled out
    search_points: int = 300  # the most values, near and far, by which scales are judged
    near: float = 2.0  # radii: with noise, how near all values are kept
    again: float = 1.5  # lengths of the frame: how near noisy values are worth being made again
    repeat_trust: int = 8  # values that one repeated value counts for where the noise is estimated
    outvoted: float = 4.0  # times the noise that repeats show: the most that a model may take for noise of what it misses
    radial: float = 3.0  # of s_3^2: the variance of (t.a)|a|^2, which passes for a slope, beside that of a random cubic
    search_moves: int = 40  # by a factor of 2 each: straight functions ask for many
    rounding: float = 4.0  # units in the last place of f that count as noise
    grain_values: int = 30  # the last values that are looked at for a common grain
    grain_least: int = 6  # different values that it takes to speak of one
    grain_ratio: float = 1.8  # of neighbouring differences: values that double again and again are no grid
    grain_margin: float = 1e4  # units of rounding below which there is none
    most_points: int = 600  # whose factor takes a few milliseconds
    spare_points: int = 10  # beyond the coefficients of a quadratic

    # units
    apart: int = 3  # powers of 2 between the longest and the shortest change of a unit that is worth it
    relearning: float = 1.5  # of the batches so far: when units are asked for again

    # what to evaluate
    most_variables: int = 300  # for which a factor is affordable; above, slopes
    first_radius: float = 0.1  # Delta at the start, in units of the variables' scale times sqrt(d)
    ignorance: float = 1.0  # trace of the gradient's covariance above which, in units of |g|^2, one looks rather than steps
    pressed: float = 2.0  # standard deviations by which a gradient presses against what is surely active
    little: float = 1e-4  # of what f has fallen by: a smaller gain makes one ask what a longer step might gain
    negligible: float = 1e-6  # of what f has fallen by: a smaller gain asks for noise; at the default tol no success comes before
    small: float = 0.1  # of the largest gradient: what may be a solution's
    certain: float = 2.33  # standard deviations below which a normal number stays in 99 of 100 cases: how sure a claim is
    few: int = 2  # exact values per coefficient of a plane, up to which looks do not move the centre
    overtaken: float = 0.5  # of what a step is foretold to gain: where a look has gained more, it becomes the centre instead
    look_radius: float = 0.5  # of Delta, where a look goes without noise
    look_lengths: tuple[float, float] = (1.0, 0.5)  # of the longest look, by turns: one alone does not tell slopes from third order
    stretch: float = 1.5  # of the length at which noise and third order are in balance, since third order is told apart
    look_elsewhere: int = 16  # once there are plenty of points, one look in so many goes to a new one
    at_once: int = 128  # noisy values: for each so many of them one more look is planned by one belief
    longest_look: float = 2.0  # of Delta, where a look may go with noise
    many: int = 30  # variables or values, with which to ask whether there is noise costs little
    repeats: int = 4  # values at the centre where two of them differ
    in_vain: int = 2  # times that the question stays without an answer before it is put off; as many more before a success
    rough_below: float = 0.03  # of the last good step and of the radii at which f seemed smooth: where one asks whether it is rough
    hair: float = 1e-3  # of a step: how far away that is asked
    rough: float = 0.05  # of what the step is to gain: how little a smooth f changes there

    clear: float = 1e-6  # of f: a fall by as much is clear, and small parts of it are none of rounding's
    clear_doubts: float = 10.0  # what noise may have made of a fall: one by as many times as much is clear
    unconfirmed: float = 3.0  # times the steepest move so far: as much of a gradient counts as large
    noisy_looks: int = 3  # per variable, before noisy values say how large slopes are
    farthest: float = 1e3  # the radius, in units times sqrt(d), at which a flat objective is given up
    endless: float = 1e15  # the way from the start, in units times sqrt(d), at which an objective that still falls counts as unbounded
    hidden: float = 5.0  # standard errors of a spread: values whose spread exceeds the noise by less tell nothing
    kinked: float = 1e-6  # the radius, in units, at which a smooth objective would long have done what was foretold
    steep: float = 0.01  # of the largest gradient: a slope that has stayed
    shortest: float = 1e-12  # the radius, in units, at which only rounding is left

    surprise_memory: float = 0.8  # per value: how long a wrong forecast counts against the belief's own error
    noisy_surprise_memory: float = 0.95  # with noise, which surprises by itself
    most_surprise: float = 100.0  # squares of standard deviations that one value may count

    # outputs of the simulator
    overpriced: float = 1.5  # of a multiplier: what a unit of violation costs
    price_memory: float = 0.8  # per step: how fast a price falls that was too high
    bought: float = 0.7  # of what violations fall by: f rises by no more in a step, or prices are raised
    chosen: float = 1.0  # standard errors of an output, or of f, beside those of the confidence: values that have chosen a point flatter it
    visits: int = 2  # with noise, one look in so many goes to where the run would end now, which tells whether outputs hold there
    eased: float = 0.8  # of Delta: what a step may spend on coming nearer to where outputs hold
    farthest_look: float = 8.0  # in units times sqrt(d), or of the way so far: a look for the sake of a noisy output goes no farther

    # the judge
    accepted: float = 0.1  # of the foretold gain
    good: float = 0.7  # of the foretold gain, after which Delta grows
    full: float = 0.8  # of Delta: the radius holds a longer step back
    growth: float = 2.0  # of Delta after a good step, at the least
    most_growth: float = 8.0  # after one whose gain was foretold to a few thousandths
    shrinkage: float = 0.5
    largest_value: float = 1e70  # whose fourth power is still a number; a larger one counts as none
    absurd: float = 1e6  # of the range of the values so far: a value so much larger counts as none
    retreat: float = 0.25  # of a step that led to no value
    noise_margin: float = 2.0  # standard deviations that the judge leaves to the noise
    sure: float = 0.5  # foretold deviation over foretold gain below which a failure is the radius's fault, and a step may be longer than it
    patience: int = 2  # failures in a row after which it is in any case


CONSTANTS = Constants()
