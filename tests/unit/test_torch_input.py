"""Bad input to `zolal.torch`: one clear sentence each, before the first step where it can be told."""

import subprocess
import sys

import pytest

from zolal.errors import InvalidArgumentError, ObjectiveError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")

from small_net import a_net  # noqa: E402

import zolal.torch as zt  # noqa: E402


def test_half_precision_that_swallows_the_perturbation_is_told_before_the_first_step():
    net = a_net(torch.bfloat16)
    with pytest.warns(zt.PrecisionWarning, match=r"% of the weights in torch.bfloat16 are not moved by the smoothing 0.000976562"):
        zt.ForwardOnly(net.parameters())
    with pytest.raises(InvalidArgumentError, match=r"`smoothing` must be larger: .*% of the weights in torch.bfloat16"):
        zt.ForwardOnly(net.parameters(), smoothing=1e-5)
    with pytest.raises(InvalidArgumentError, match=r"`smoothing` must be at least 6.10352e-05 for torch.float16"):
        zt.ForwardOnly(a_net(torch.float16).parameters(), smoothing=1e-5)


BAD = [
    (lambda net: (3.0,), {}, "`params` must be parameters or dicts"),
    (lambda net: ([],), {}, "empty parameter list"),
    (lambda net: ([p.requires_grad_(False) for p in net.parameters()],), {}, "at least one parameter that is not frozen"),
    (
        lambda net: ([*net.parameters(), torch.nn.Parameter(torch.empty(3, device="meta"))],),
        {},
        "`params` must lie on one device, got 'cpu, meta'",
    ),
    (lambda net: ([torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))],), {}, "got torch.complex64"),
    (lambda net: ([torch.nn.Parameter(torch.tensor([1.0, torch.nan]))],), {}, "`params` must be finite"),
    (lambda net: ([torch.nn.Parameter(torch.ones(4, 4)[:, ::2])],), {}, "without gaps"),
    (lambda net: ([torch.nn.Parameter(t) for t in (lambda base: (base[:3], base[2:]))(torch.ones(5))],), {}, "not overlap in memory"),
    (lambda net: (net.parameters(),), dict(lr=-1.0), "`lr` must be a positive number, got -1.0"),
    (lambda net: (net.parameters(),), dict(smoothing=0.0), "`smoothing` must be a positive number, got 0.0"),
    (lambda net: (net.parameters(),), dict(num_directions=1), "`num_directions` must be from 2 to 32, got 1"),
    (lambda net: (net.parameters(),), dict(num_directions=33), "`num_directions` must be from 2 to 32, got 33"),
    (lambda net: (net.parameters(),), dict(seed=-1), "`seed` must be a nonnegative integer, got -1"),
    (lambda net: (net.parameters(),), dict(constraints=["kl"]), "`constraints` must hold AtMost, NormBall"),
    (lambda net: (net.parameters(),), dict(constraints=[zt.AtMost("a", 1.0), zt.AtMost("a", 2.0)]), "names of their own"),
    (lambda net: (net.parameters(),), dict(constraints=zt.NormBall(1.0, params=[torch.ones(2)])), "be weights that the optimizer tunes"),
]


@pytest.mark.parametrize(("params", "options", "sentence"), BAD, ids=[sentence for _, _, sentence in BAD])
def test_bad_arguments_get_one_clear_sentence(params, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        zt.ForwardOnly(*params(a_net()), **options)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: zt.AtMost("", 1.0), "`AtMost\\(name=...\\)` must be a word"),
        (lambda: zt.AtMost("kl", float("nan")), "`AtMost\\(upper=...\\)` must be a finite number, got nan"),
        (lambda: zt.NormBall(-1.0), "`NormBall\\(radius=...\\)` must be a positive number, got -1.0"),
        (lambda: zt.L1Budget(0.0), "`L1Budget\\(budget=...\\)` must be a positive number"),
        (lambda: zt.TrustRegion("small"), "`TrustRegion\\(radius=...\\)` must be a positive number, got 'small'"),
        (lambda: zt.average_kl(torch.zeros(2, 3), torch.zeros(2, 4)), "must have equal shapes"),
    ],
)
def test_bad_constraints_get_one_clear_sentence(make, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ("one", "must return real numbers"),
        ((1.0, {}), "a dict with 'kl'"),
        (1.0, "a dict with 'kl'"),
        ((1.0, {"kl": None}), "real numbers"),
    ],
)
def test_a_closure_with_other_values_is_refused(found, sentence):
    opt = zt.ForwardOnly(
        a_net().parameters(), constraints=[zt.AtMost("kl", 1.0)] if "kl" in str(sentence) or isinstance(found, tuple) else []
    )
    with pytest.raises(ObjectiveError, match=sentence):
        opt.step(lambda: found)


def test_a_model_that_was_moved_afterwards_is_noticed():
    net = a_net()
    opt = zt.ForwardOnly(net.parameters())
    net.double()
    with pytest.raises(InvalidArgumentError, match="make it after the model is moved or cast"):
        opt.step(lambda: 1.0)


def test_without_pytorch_the_door_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None\ntry:\n    import zolal; zolal.torch\nexcept ImportError as error:\n    print(error)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "`zolal.torch` needs PyTorch: pip install 'zolal[torch]'."
