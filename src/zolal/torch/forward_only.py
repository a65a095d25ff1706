"""An optimizer that tunes a model by forward passes alone: weights are moved in place along directions that seeds name."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

import torch

from zolal._checks import nonnegative_int, positive, positive_int, require, shown
from zolal.errors import CheckpointError, ConstraintError, InvalidArgumentError, ObjectiveError
from zolal.torch._closure import Repeatable, Seen
from zolal.torch._pace import NEARER, RETREAT, Price, Signal, centred, first_size, next_size, shortest_size, spread
from zolal.torch._weights import MOST, Weights, rounded_smoothing
from zolal.torch.constraints import AtMost, Piece, WeightSet

FORMAT = 1  # of checkpoints
ROUNDS = 20  # of projections to several sets
PATIENCE = 200  # steps above a bound in a row, after which that is said
LOST = 10  # steps in a row without finite values, after which a run ends


class PrecisionWarning(UserWarning):
    """Half precision cannot hold the perturbation of some weights."""


class ConstraintWarning(UserWarning):
    """A constraint has long been violated, whatever was paid for it."""


class Step(NamedTuple):
    """What one step saw at the weights that it began with.

    loss: of the batch. values: of the constraints on outputs. multipliers: what these cost now. step_size: as a learning rate of the first
    group. forwards: how often the closure was called. rejected: whether the weights have stayed, because a loss was not finite or rose.
    """

    loss: float
    values: dict[str, float]
    multipliers: dict[str, float]
    step_size: float
    forwards: int
    rejected: bool


@final
class ForwardOnly(torch.optim.Optimizer):
    """Tunes a model by forward passes alone, under constraints on its weights and on what it does.

    s_j      = F(x + eps u_j) - F(x),   j = 1, ..., n                 random signs u_j, made from a seed wherever they are needed
    x       <- P_X(x - tau eps sum_j (s_j - mean s) u_j / (n - 1))     the paper's step (3.4) with the estimate (3.3)
    F        = loss + sum_i theta_i g_i,   theta_i = max(0, lambda_i + mu_i g_i),   lambda_i <- max(0, lambda_i + rho_i g_i)

    Weights are moved in place and come back to the bit; there is no second copy of them. Differs from the paper: the gradients of what
    the model does are estimated, too, from the same forward passes; step size and penalties come from what the run sees.

    params: parameters, or dicts of parameters with `lr` and `smoothing` of their own. Frozen ones stay; tied ones are one.
    lr: a learning rate, as for gradient descent; None: each step is followed by one more forward pass on the same batch, which tells how
    curved the loss is, and with it how far to go. Then `lr` of a group multiplies what is found, so that schedulers serve both.
    constraints: `AtMost`, `NormBall`, `L1Budget`, `TrustRegion`. num_directions: n, 2 to 32.
    smoothing: eps, rounded to a power of two. seed: names the directions.

    >>> import torch, zolal.torch
    >>> model = torch.nn.Linear(3, 1)
    >>> opt = zolal.torch.ForwardOnly(model.parameters(), constraints=[zolal.torch.NormBall(1.0)])
    >>> opt.step(lambda: (model(torch.ones(4, 3)) ** 2).mean()).forwards
    18
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | None = None,
        *,
        constraints: Sequence[AtMost | WeightSet] = (),
        num_directions: int = 16,
        smoothing: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.seed, self.num_directions = nonnegative_int("seed", seed), positive_int("num_directions", num_directions)
        require(2 <= num_directions <= MOST, "num_directions", f"be from 2 to {MOST}", num_directions)
        self.automatic = lr is None
        rate = 1.0 if lr is None else positive("lr", lr)
        super().__init__(_listed(params), dict(lr=rate, smoothing=smoothing))
        for group in self.param_groups:
            group["smoothing"] = rounded_smoothing("smoothing", group["smoothing"])
            positive("lr", group["lr"])
        self.bounds, sets = _sorted(constraints)
        self.weights = Weights((group["params"], group["smoothing"]) for group in self.param_groups)
        self.weights.settle(self.seed)
        self._warn_of_underflow()
        self.sets: list[tuple[WeightSet, tuple[Piece, ...]]] = [(each, each.pieces(self.weights)) for each in sets]
        self.num_steps, self.num_forwards, self.lost = 0, 0, 0
        self.size: float | None = None if self.automatic else 1.0
        self.prices, self.signal = [Price() for _ in self.bounds], Signal()
        self.above = [0] * len(self.bounds)
        self.start = self.weights.digest()
        self.history: list[dict[str, Any]] = [dict(step=0, weights=[], scales=[], back=False, projections=self._projected(0))]
        self.standing: list[int] = []

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> Step:
        """One step on one batch. closure: gives the loss, or the loss and a dict with the values that are bounded by name.

        Each may be a number, or a vector with those of the examples, whose mean it is; from these a step size knows how much of a slope
        is due to the batch alone. The closure is called num_directions + 1 times, once more without `lr`, with the same random numbers
        each time, so that dropout is one more part of the batch.
        """
        self._check_places()
        k, n = self.num_steps + 1, self.num_directions
        evaluate = Repeatable(closure, self.bounds, self.weights.device)
        raw = [evaluate()]
        for j in range(n):
            self._shift(k, j - 1 if j else None, j)
            try:
                raw.append(evaluate())
            except BaseException:
                self._shift(k, j, None)  # the model as it was
                raise
        self.num_forwards += n + 1
        here, *there = evaluate.read(raw)
        self.num_steps = k
        if not here.is_finite:
            self._shift(k, n - 1, None)
            return self._without_values(here)
        slopes = self._slopes(here, there)
        if slopes is None:
            self._shift(k, n - 1, None)
            self.lost += 1
            return self._stayed(here)
        return self._moved(here, slopes, evaluate)

    def _moved(self, here: Seen, slopes: list[float], evaluate: Repeatable) -> Step:
        """The step along the slopes, and the next step size from one more forward pass."""
        k, size = self.num_steps, self._step_size(slopes)
        self._update(k, self.num_directions - 1, [-value for value in slopes], [scale * size for scale in self._scales()])
        self.lost = 0
        rejected = self.automatic and self._judged(here, slopes, size, evaluate)
        self.prices = [price.after() for price in self.prices]
        self._warn_of_violation(here)
        return self._report(here, rejected)

    def _judged(self, here: Seen, slopes: list[float], size: float, evaluate: Repeatable) -> bool:
        """The next step size, from one more forward pass.

        A step is taken back after which phi has risen by more than it was to fall, or a bounded value has left its bound.
        """
        trial, n = evaluate.read([evaluate()])[0], len(slopes)
        self.num_forwards += 1
        rate = sum(self.param_groups[part.group]["lr"] * part.size for part in self.weights.parts) / self.weights.dimension
        gain = sum(value * value for value in slopes) * (n - 1) / n**2
        pairs = list(zip(self._violations(here), self._violations(trial), strict=True))
        changes = [after - before for before, after in pairs]
        terms = sum(price.term(change) - price.term(0.0) for price, change in zip(self.prices, changes, strict=True))
        change = trial.loss - here.loss + terms if trial.is_finite else math.inf
        if change > rate * size * gain:
            self._take_back(RETREAT)
            return True
        if any(before <= bound.room < after for bound, (before, after) in zip(self.bounds, pairs, strict=True)):
            self._take_back(NEARER)
            return True
        if gain > 0.0:
            self.size = next_size(size, gain, change, self.signal.share, rate)
        return False

    def _step_size(self, slopes: list[float]) -> float:
        if self.size is None:
            self.size = first_size(slopes)
        elif self.automatic:
            self.size = max(self.size, shortest_size(slopes))
        return self.size

    def _scales(self) -> list[float]:
        """What the mean of the slopes times u is multiplied by in each group, for a step size of 1."""
        rates = [(group["lr"], group["smoothing"]) for group in self.param_groups]
        n = self.num_directions
        return [(rate * smoothing if self.automatic else rate / smoothing) / n for rate, smoothing in rates]

    def _slopes(self, here: Seen, there: Sequence[Seen]) -> list[float] | None:
        """F(x + eps u_j) - F(x) of the loss with its constraints, less their mean; None where too few are finite."""
        good = [seen.is_finite for seen in there]
        if sum(good) < 2:
            return None
        loss, *bounded = self._differences(here, there)
        for number, (g, own) in enumerate(zip(self._violations(here), bounded, strict=True)):
            self.prices[number] = self.prices[number].seen(g, spread(loss), spread(own))
        forces = [price.force() for price in self.prices]
        total, *halves = (
            _joined(forces, *self._differences(a, b))
            for a, b in ((here, there), *((here.halves[h], [seen.halves[h] for seen in there]) for h in (0, 1)))
        )
        self.signal = self.signal.seen(total, list(zip(*halves, strict=True)))
        return total

    def _differences(self, here: Seen, there: Sequence[Seen]) -> list[list[float]]:
        """Of the loss, then of each bounded value in units of its bound: those between moved weights and the weights, less their mean."""
        scales = [1.0, *(bound.scale for bound in self.bounds)]
        rows = [(seen.loss, *seen.bounded) for seen in (here, *there)]
        return [
            centred([(row[i] - rows[0][i]) / scale if all(map(math.isfinite, row)) else math.nan for row in rows[1:]])
            for i, scale in enumerate(scales)
        ]

    def _violations(self, seen: Seen) -> list[float]:
        """g_i: how far each bounded value lies above what is aimed at, in units of its bound."""
        return [(value - bound.aim) / bound.scale for value, bound in zip(seen.bounded, self.bounds, strict=True)]

    def _without_values(self, here: Seen) -> Step:
        """The loss itself is not finite: the last step was too long, if there was one."""
        self.lost += 1
        if not self.standing or self.lost > LOST:
            raise ObjectiveError(
                f"The loss of the model, {here.loss}, or a bounded value, {here.bounded}, is not finite, and no step is left to take back."
            )
        self._take_back(RETREAT)
        return self._report(here, True)

    def _stayed(self, here: Seen) -> Step:
        """Hardly any of the moved models has a finite loss."""
        if self.lost > LOST:
            raise ObjectiveError(f"Moved by the smoothing, the model has had no finite loss for {LOST} steps: `smoothing` must be smaller.")
        self.size = None if self.size is None else RETREAT * self.size
        return self._report(here, True)

    def _take_back(self, shorter: float) -> None:
        """The last step that stands with the opposite sign, and shorter steps from now on; exact up to the rounding of a step."""
        last = self.history[self.standing.pop()]
        self._update(last["step"], None, [-value for value in last["weights"]], last["scales"], back=True)
        self.size = shorter * (self.size or 0.0)

    def _shift(self, k: int, before: int | None, after: int | None) -> None:
        for part in self.weights.parts:
            part.shift(self.seed, k, before, after)

    def _update(self, k: int, before: int | None, weights: list[float], scales: list[float], back: bool = False) -> None:
        for part in self.weights.parts:
            part.update(self.seed, k, before, [scales[part.group] * weight for weight in weights])
        if not back:
            self.standing.append(len(self.history))
        self.history.append(dict(step=k, weights=weights, scales=scales, back=back, projections=self._projected(k)))

    @staticmethod
    def _standing(history: Sequence[Mapping[str, Any]]) -> list[int]:
        """The numbers of the steps that were not taken back."""
        found: list[int] = []
        for number, entry in enumerate(history):
            if entry["back"]:
                found.pop()
            elif number:
                found.append(number)
        return found

    def _projected(self, k: int) -> list[list[Any]]:
        """Weights back to all sets; what was done, as the numbers of set and piece and the amount."""
        done: list[list[Any]] = []
        for _ in range(ROUNDS if self.sets else 0):
            before = len(done)
            for number, (region, pieces) in enumerate(self.sets):
                for piece, amount in enumerate(region.amounts(pieces)):
                    if amount is not None:
                        self._project(k, number, piece, amount, len(done))
                        done.append([number, piece, amount])
            if len(done) == before:
                return done
        if self.sets and len(self.sets) > 1:
            names = " and ".join(type(region).__name__ for region, _ in self.sets)
            raise ConstraintError(f"The constraints {names} cannot hold together: no weights near these satisfy all of them.")
        return done

    def _project(self, k: int, number: int, piece: int, amount: float, count: int) -> None:
        region, pieces = self.sets[number]
        for part in pieces[piece]:
            part.project(self.seed, k, region.rule, amount, count)

    def _report(self, here: Seen, rejected: bool) -> Step:
        smoothing, size = self.param_groups[0]["smoothing"], self.size or 0.0
        names = [bound.name for bound in self.bounds]
        costs = {bound.name: price.multiplier / bound.scale for bound, price in zip(self.bounds, self.prices, strict=True)}
        rate = self.param_groups[0]["lr"] * size * (smoothing**2 if self.automatic else 1.0)
        return Step(here.loss, dict(zip(names, here.bounded, strict=True)), costs, rate, self.num_forwards, rejected)

    def _check_places(self) -> None:
        """Weights must lie where they did: a model that was moved has other tensors."""
        now = {parameter.data_ptr() for group in self.param_groups for parameter in group["params"]}
        if not now.issuperset(tensor.data_ptr() for tensor in self.weights.tensors):
            raise InvalidArgumentError(
                "The parameters lie elsewhere than when `ForwardOnly` was made: make it after the model is moved or cast."
            )

    def _warn_of_underflow(self) -> None:
        for dtype, share in self.weights.stuck().items():
            if share > 0.5:
                raise InvalidArgumentError(
                    f"`smoothing` must be larger: {share:.0%} of the weights in {dtype} are too large to be moved by "
                    f"{self._smoothing(dtype):g}, which rounding swallows."
                )
            if share > 0.0:
                warnings.warn(
                    f"{share:.2%} of the weights in {dtype} are not moved by the smoothing {self._smoothing(dtype):g}, which rounding "
                    f"swallows, and stay as they are; a larger `smoothing`, or float32 for these weights, would move them.",
                    PrecisionWarning,
                    stacklevel=3,
                )

    def _smoothing(self, dtype: Any) -> float:
        return min(part.smoothing for part in self.weights.parts if part.dtype == dtype)

    def _warn_of_violation(self, here: Seen) -> None:
        for number, (bound, value) in enumerate(zip(self.bounds, here.bounded, strict=True)):
            self.above[number] = self.above[number] + 1 if value > bound.upper else 0
            if self.above[number] == PATIENCE:
                warnings.warn(
                    f"The constraint {bound.name!r} has been above its bound {bound.upper:g} for {PATIENCE} steps, now {value:g}, "
                    f"though its multiplier has grown to {self.prices[number].multiplier / bound.scale:g}: it may be that it cannot hold.",
                    ConstraintWarning,
                    stacklevel=4,
                )

    def state_dict(self) -> dict[str, Any]:
        """Seeds and scalars from which the weights can be made again, from those of the start; no copy of the model."""
        return dict(
            format=FORMAT,
            seed=self.seed,
            num_directions=self.num_directions,
            smoothing=[group["smoothing"] for group in self.param_groups],
            rates=[group["lr"] for group in self.param_groups],
            dimension=self.weights.dimension,
            start=self.start,
            now=self.weights.digest(),
            num_steps=self.num_steps,
            num_forwards=self.num_forwards,
            lost=self.lost,
            size=self.size,
            prices=[[price.multiplier, price.ratio, price.value] for price in self.prices],
            signal=self.signal.noise,
            above=list(self.above),
            bounds=[bound.name for bound in self.bounds],
            history=[dict(entry) for entry in self.history],
        )

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a run was when it gave its `state_dict`, to the same bits.

        The model has the weights of the start, on which the steps are then taken once more without forward passes, or those of the end.
        """
        self._check_state(state)
        if self.weights.digest() != state["now"]:
            if self.start != state["start"]:
                raise CheckpointError("The checkpoint began with other weights: load it into the model as it was before the first step.")
            self._replay(state["history"])
            if self.weights.digest() != state["now"]:
                raise CheckpointError("The steps of the checkpoint do not lead to its weights again: constraints or groups differ.")
        self.start, self.history = state["start"], [dict(entry) for entry in state["history"]]
        self.standing = self._standing(self.history)
        self.num_steps, self.num_forwards, self.lost, self.size = (state[key] for key in ("num_steps", "num_forwards", "lost", "size"))
        self.prices, self.signal = [Price(*price) for price in state["prices"]], Signal(state["signal"])
        self.above = list(state["above"])
        for group, rate in zip(self.param_groups, state["rates"], strict=True):
            group["lr"] = rate

    def _check_state(self, state: Mapping[str, Any]) -> None:
        mine = self.state_dict()
        if not isinstance(state, Mapping) or state.get("format") != FORMAT or set(mine) - set(state):
            raise CheckpointError(f"This is no checkpoint of `ForwardOnly`: got {shown(state)}.")
        for key in ("seed", "num_directions", "smoothing", "dimension", "bounds"):
            if mine[key] != state[key]:
                raise CheckpointError(f"The checkpoint belongs to another run: its `{key}` is {state[key]!r}, here it is {mine[key]!r}.")
        if self.num_steps:
            raise CheckpointError(f"A checkpoint is loaded before the first step; this optimizer has taken {self.num_steps}.")

    def _replay(self, history: Sequence[Mapping[str, Any]]) -> None:
        for entry in history[1:]:
            for part in self.weights.parts:
                part.update(self.seed, entry["step"], None, [entry["scales"][part.group] * weight for weight in entry["weights"]])
            for count, (number, piece, amount) in enumerate(entry["projections"]):
                self._project(entry["step"], number, piece, amount, count)


def _joined(forces: Sequence[float], loss: Sequence[float], *bounded: Sequence[float]) -> list[float]:
    """The differences of the loss and of what is bounded, with what each counts."""
    return [value + sum(force * own[j] for force, own in zip(forces, bounded, strict=True)) for j, value in enumerate(loss)]


def _listed(params: Any) -> Any:
    if isinstance(params, torch.Tensor) or not isinstance(params, Iterable):
        raise InvalidArgumentError(f"`params` must be parameters or dicts of them, such as model.parameters(), got {shown(params)}.")
    return list(params)


def _sorted(constraints: Any) -> tuple[tuple[AtMost, ...], tuple[WeightSet, ...]]:
    """Bounds on outputs, and sets of weights."""
    listed = [constraints] if isinstance(constraints, AtMost | WeightSet) else list(constraints)
    for each in listed:
        require(isinstance(each, AtMost | WeightSet), "constraints", "hold AtMost, NormBall, L1Budget or TrustRegion", each)
    bounds = tuple(each for each in listed if isinstance(each, AtMost))
    names = [bound.name for bound in bounds]
    require(len(set(names)) == len(names), "constraints", "have names of their own", names)
    return bounds, tuple(each for each in listed if isinstance(each, WeightSet))
