"""The door for PyTorch models: what it keeps, and that a run can be taken up again to the bit."""

import warnings

import pytest

from zolal.errors import CheckpointError, ConstraintError, ObjectiveError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")

from small_net import DEVICES, Task, a_net, bits, equal  # noqa: E402
from torch.nn import functional  # noqa: E402

import zolal.torch as zt  # noqa: E402


@pytest.mark.parametrize("device", DEVICES)
def test_the_loss_falls_without_a_gradient_and_without_a_learning_rate(device):
    net = a_net(device=device)
    task = Task(net)
    before = task.loss()
    steps = task.run(zt.ForwardOnly(net.parameters()), 150)
    assert task.loss() < 0.6 * before
    assert all(parameter.grad is None for parameter in net.parameters())
    assert steps[-1].forwards == 150 * 18


def test_a_kl_to_the_first_model_is_kept_and_used():
    free, kept = a_net(), a_net()
    task, bounded = Task(free), Task(kept)
    task.run(zt.ForwardOnly(free.parameters()), 200)
    steps = bounded.run(zt.ForwardOnly(kept.parameters(), constraints=[zt.AtMost("kl", 0.1)]), 200, bounded=True)
    assert task.kl() > 0.3
    assert 0.07 < bounded.kl() <= 0.1
    assert steps[-1].multipliers["kl"] > 0.0
    start, least = Task(a_net()).loss(), least_loss(0.1)
    assert bounded.loss() < start - 0.7 * (start - least)


def least_loss(bound):
    """By gradients of the whole loss: an augmented Lagrangian under Adam, 600 steps."""
    net, price = a_net(), 0.0
    task = Task(net)
    adam = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(600):
        logits = net(task.x)
        above = zt.average_kl(logits, task.first) / bound - 1.0
        total = functional.cross_entropy(logits, task.y) + torch.relu(price + 2.0 * above) ** 2 / 4.0
        adam.zero_grad()
        total.backward()
        adam.step()
        price = max(0.0, price + 0.2 * float(above.detach()))
    assert task.kl() == pytest.approx(bound, rel=0.05)
    return task.loss()


def test_a_step_before_any_update_leaves_the_weights_to_the_bit():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters(), lr=1e-300)
    before = bits(net)
    Task(net).run(opt, 3)
    assert equal(bits(net), before)


def test_an_error_in_the_closure_leaves_the_model_as_it_was():
    net, calls = a_net(), []
    opt = zt.ForwardOnly(net.parameters())
    before = bits(net)

    def closure():
        calls.append(1)
        if len(calls) == 5:
            raise KeyError("no such word")
        return net(torch.ones(2, 6)).sum()

    with pytest.raises(KeyError, match="no such word"):
        opt.step(closure)
    assert equal(bits(net), before)


def test_a_step_goes_along_the_gradient():
    """Over many steps with a small learning rate: the mean of the steps is that of gradient descent."""
    net = a_net(torch.float64)
    task = Task(net)
    task.x, task.first = task.x.double(), task.first.double()
    start = torch.cat([p.detach().clone().view(-1) for p in net.parameters()])
    loss = functional.cross_entropy(net(task.x), task.y)
    gradient = torch.cat([g.view(-1) for g in torch.autograd.grad(loss, list(net.parameters()))])
    opt = zt.ForwardOnly(net.parameters(), lr=1e-6, num_directions=32)
    for _ in range(100):
        opt.step(lambda: functional.cross_entropy(net(task.x), task.y))
    moved = torch.cat([p.detach().view(-1) for p in net.parameters()]) - start
    slope = float(moved @ gradient / (gradient @ gradient)) / -1e-4
    assert slope == pytest.approx(1.0, abs=0.15)


def test_tied_weights_are_moved_once_and_frozen_ones_stay():
    net = a_net()
    net.extra = torch.nn.Linear(16, 4)
    net.extra.weight = net[3].weight
    net.other = torch.nn.Parameter(net[0].weight.data.view(-1))  # the same memory under another parameter
    net[0].bias.requires_grad_(False)
    frozen = net[0].bias.clone()
    opt = zt.ForwardOnly(net.parameters())
    assert opt.weights.dimension == 6 * 16 + 16 * 4 + 4 + 4
    opt.step(lambda: net[3](torch.tanh(net[0](torch.ones(2, 6)))).square().mean())
    assert torch.equal(net[0].bias, frozen)
    assert net.extra.weight is net[3].weight


def test_groups_have_their_own_smoothing_and_rate():
    net = a_net()
    groups = [dict(params=net[0].parameters(), lr=1e-12), dict(params=net[3].parameters(), smoothing=2e-3, lr=1.0)]
    opt = zt.ForwardOnly(groups, lr=0.1)
    assert [part.smoothing for part in opt.weights.parts] == [2.0**-10, 2.0**-9]
    before = bits(net)
    Task(net).run(opt, 2)
    change = [float((a - b).abs().max()) for a, b in zip(before, bits(net), strict=True)]
    assert max(change[:2]) < 1e-9
    assert min(change[2:]) > 1e-5


def test_a_scheduler_of_pytorch_sets_the_pace():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: 1.0 if k < 5 else 1e-12)
    task = Task(net)
    for _ in range(5):
        opt.step(task.closure())
        schedule.step()
    before = bits(net)
    task.run(opt, 3)
    assert max(float((a - b).abs().max()) for a, b in zip(before, bits(net), strict=True)) < 1e-8


def test_dropout_is_the_same_in_all_forwards_of_a_step():
    net, seen = a_net(dropout=0.5), []
    opt = zt.ForwardOnly(net.parameters(), lr=1e-300)

    def closure():
        mask = torch.nn.functional.dropout(torch.ones(32), 0.5)
        seen.append(mask)
        return net(torch.ones(2, 6)).square().mean()

    opt.step(closure)
    opt.step(closure)
    assert all(torch.equal(mask, seen[0]) for mask in seen[:17])
    assert not torch.equal(seen[17], seen[0])


@pytest.mark.parametrize(
    ("constraint", "measure"),
    [
        (zt.NormBall(2.0), lambda net, start: float(torch.cat([p.view(-1) for p in net.parameters()]).norm()) / 2.0),
        (zt.L1Budget(15.0), lambda net, start: sum(float(p.abs().sum()) for p in net.parameters()) / 15.0),
        (
            zt.TrustRegion(0.01),
            lambda net, start: max(float((p - s).square().mean().sqrt()) for p, s in zip(net.parameters(), start, strict=True)) / 0.01,
        ),
    ],
    ids=["norm", "l1", "trust region"],
)
@pytest.mark.parametrize("device", DEVICES)
def test_sets_of_weights_hold_after_every_step(constraint, measure, device):
    net = a_net(device=device)
    start, task = bits(net), Task(net)
    before = task.loss()
    opt = zt.ForwardOnly(net.parameters(), constraints=constraint)
    with torch.no_grad():
        for _ in range(40):
            opt.step(task.closure())
            assert measure(net, start) <= 1.0
        assert measure(net, start) > 0.9
    assert task.loss() < before


def test_a_projection_to_the_l1_ball_is_the_nearest_point(rng):
    values = rng.normal(size=50)
    net = torch.nn.Linear(50, 1, bias=False, dtype=torch.float64)
    net.weight.data[:] = torch.tensor(values)
    zt.ForwardOnly(net.parameters(), constraints=zt.L1Budget(5.0))
    from zolal.sets import L1Ball

    assert net.weight.detach().numpy()[0] == pytest.approx(L1Ball(5.0 * 0.9999).project(values), abs=1e-9)


def test_sets_that_cannot_hold_together_are_told_before_the_first_step():
    net = a_net()
    with pytest.raises(ConstraintError, match="NormBall and TrustRegion cannot hold together"):
        zt.ForwardOnly(net.parameters(), constraints=[zt.NormBall(0.01), zt.TrustRegion(1e-4)])


def test_a_step_that_would_leave_a_bound_is_taken_back():
    """The loss drives the weights out of a ball for ever; without noise no step begins outside of it, and they come near to its rim."""
    x = torch.nn.Parameter(torch.zeros(40))
    opt = zt.ForwardOnly([x], constraints=[zt.AtMost("square", 0.01)], num_directions=8)
    seen = [opt.step(lambda: (-x.sum(), {"square": (x * x).mean()})) for _ in range(400)]
    values = [step.values["square"] for step in seen]
    assert max(values) <= 0.01
    assert values[-1] > 0.007
    assert any(step.rejected for step in seen)
    assert float(-x.detach().sum()) < -0.8 * 40 * 0.1  # the least value is -40 * 0.1


def test_steps_that_were_shortened_again_and_again_grow_again():
    x = torch.nn.Parameter(torch.full((40,), 3.0))
    opt = zt.ForwardOnly([x], num_directions=8)
    for _ in range(5):
        opt.step(lambda: (x * x).mean())
    opt.size *= 1e-12
    before = float((x * x).mean().detach())
    for _ in range(60):
        opt.step(lambda: (x * x).mean())
    assert float((x * x).mean().detach()) < 0.99 * before


def test_a_bound_that_cannot_hold_is_told():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters(), num_directions=2, constraints=[zt.AtMost("rate", 0.5)])

    def closure():
        found = net(torch.ones(1, 6)).square().mean()
        return found, {"rate": 1.0 + found}

    for _ in range(199):
        opt.step(closure)
    with pytest.warns(zt.ConstraintWarning, match=r"'rate' has been above its bound 0.5 for 200 steps"):
        opt.step(closure)


def test_a_loss_that_is_not_finite_is_a_rejected_step():
    net, calls = a_net(), []
    opt = zt.ForwardOnly(net.parameters(), lr=1e-3)
    task = Task(net)
    task.run(opt, 2)

    def broken():
        calls.append(1)
        return torch.tensor(torch.nan) if len(calls) == 1 else net(torch.ones(2, 6)).square().mean()

    assert opt.step(broken).rejected
    assert opt.history[-1]["back"]
    assert opt.size == 0.25
    step = opt.step(lambda: net(torch.ones(2, 6)).square().mean())
    assert not step.rejected


def test_directions_without_a_finite_loss_are_left_out():
    net, calls = a_net(), []
    opt = zt.ForwardOnly(net.parameters(), lr=1e-3)

    def closure():
        calls.append(1)
        return torch.inf if len(calls) % 3 == 0 else net(torch.ones(2, 6)).square().mean()

    step = opt.step(closure)
    assert not step.rejected
    assert [j for j, weight in enumerate(opt.history[-1]["weights"]) if weight == 0.0] == [1, 4, 7, 10, 13]


def test_a_model_whose_first_loss_is_nan_is_refused():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters())
    before = bits(net)
    with pytest.raises(ObjectiveError, match=r"nan, .* is not finite, and no step is left to take back"):
        opt.step(lambda: float("nan"))
    assert equal(bits(net), before)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("constraints", [[], [zt.AtMost("kl", 0.05), zt.NormBall(2.7), zt.TrustRegion(0.02)]], ids=["free", "bound"])
def test_a_run_is_taken_up_again_to_the_bit(dtype, constraints, device, tmp_path):
    def begun():
        net = a_net(dtype, device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zt.PrecisionWarning)
            return net, zt.ForwardOnly(net.parameters(), constraints=constraints, smoothing=4e-3)

    net, opt = begun()
    task = Task(net)
    task.run(opt, 8, bool(constraints))
    torch.save(opt.state_dict(), tmp_path / "run.pt")
    assert (tmp_path / "run.pt").stat().st_size < 50_000
    place = task.rng.get_state()
    task.run(opt, 5, bool(constraints))
    expected = bits(net)

    again, resumed = begun()
    other = Task(again)
    resumed.load_state_dict(torch.load(tmp_path / "run.pt", weights_only=True))
    other.rng.set_state(place)
    other.run(resumed, 5, bool(constraints))
    assert equal(bits(again), expected)
    assert (resumed.size, resumed.prices, resumed.history) == (opt.size, opt.prices, opt.history)


def test_a_checkpoint_of_other_weights_or_another_run_is_refused():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters())
    Task(net).run(opt, 2)
    state = opt.state_dict()
    other = a_net()
    other[0].weight.data[0, 0] += 0.5
    with pytest.raises(CheckpointError, match="began with other weights"):
        zt.ForwardOnly(other.parameters()).load_state_dict(state)
    with pytest.raises(CheckpointError, match="its `seed` is 0, here it is 3"):
        zt.ForwardOnly(a_net().parameters(), seed=3).load_state_dict(state)
    with pytest.raises(CheckpointError, match="no checkpoint of `ForwardOnly`"):
        zt.ForwardOnly(a_net().parameters()).load_state_dict({"step": 1})
    with pytest.raises(CheckpointError, match="has taken 2"):
        opt.load_state_dict(state)
    same = zt.ForwardOnly(net.parameters())  # the model as it is now
    same.load_state_dict(state)
    assert same.num_steps == 2
