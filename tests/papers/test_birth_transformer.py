"""The full transformer against loops, against the simplified one, and its heads under ablation."""

import math
from itertools import pairwise

import pytest
import torch

from icl_core.papers.birth.shared import model as simplified
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, role
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.full.head_scores import evaluate, look
from icl_core.papers.birth.shared.full.model import forward, initialise, layers_of
from icl_core.papers.birth.shared.full.train import loss_and_gradient
from icl_core.papers.birth.shared.task import make_task, sample
from icl_core.papers.birth.transformer.ablation import Bench, replacing

N = 20
T = 24
D = 12


def setting(layers=2, mlp=True, layer_norm=False, batch=4, K=3, length=T, scale="code"):
    generator = torch.Generator().manual_seed(7)
    weights = initialise(N, D, length, layers, generator, scale, mlp, layer_norm)
    if layer_norm:  # gains of one and biases of zero would not show which is which
        weights |= {
            name: tensor + 0.3 * torch.randn(D, generator=generator)
            for name, tensor in weights.items()
            if name.startswith(("gain", "bias"))
        }
    task = make_task(N=N, K=K, T=length)
    return {name: tensor.double() for name, tensor in weights.items()}, sample(
        task, batch, generator
    )


def normed(x, weights, where):
    if f"gain_{where}" not in weights:
        return x
    mean = sum(float(value) for value in x) / D
    variance = sum((float(value) - mean) ** 2 for value in x) / D
    standard = (x - mean) / math.sqrt(variance + 1e-5)
    return weights[f"gain_{where}"] * standard + weights[f"bias_{where}"]


def naive(weights, tokens, heads):
    """Logits of one sequence, one position, one head and one key at a time."""
    x = [weights["W_E"][token] + weights["P"][t] for t, token in enumerate(tokens)]
    wide = D // heads
    for layer in range(1, layers_of(weights) + 1):
        read = [normed(vector, weights, f"attention{layer}") for vector in x]
        written = []
        for t in range(len(x)):
            update = torch.zeros(D, dtype=torch.float64)
            for head in range(heads):
                at = slice(head * wide, (head + 1) * wide)
                W_Q, W_K, W_V = (weights[f"{name}{layer}"][at] for name in ("W_Q", "W_K", "W_V"))
                scores = [
                    torch.exp((W_Q @ read[t]) @ (W_K @ read[s]) / math.sqrt(wide))
                    for s in range(t + 1)
                ]
                mixed = sum(score / sum(scores) * read[s] for s, score in enumerate(scores))
                update = update + weights[f"W_O{layer}"][:, at] @ (W_V @ mixed)
            written.append(x[t] + update)
        x = written
        if f"W_in{layer}" in weights:
            W_in, W_out = (weights[f"{name}{layer}"] for name in ("W_in", "W_out"))
            hidden = [(W_in @ normed(vector, weights, f"mlp{layer}")).clamp(min=0) for vector in x]
            x = [vector + W_out @ h for vector, h in zip(x, hidden, strict=True)]
    return torch.stack([weights["W_U"] @ normed(vector, weights, "out") for vector in x])


@pytest.mark.parametrize(
    "layers, heads, mlp, layer_norm",
    [(1, 1, True, False), (2, 3, True, True), (3, 2, False, False)],
)
def test_forward_equals_the_loops(layers, heads, mlp, layer_norm):
    weights, batch = setting(layers, mlp, layer_norm)
    outcome = forward(weights, batch.inputs, heads)
    expected = naive(weights, batch.inputs[0].tolist(), heads)
    torch.testing.assert_close(outcome.logits[0], expected, rtol=0, atol=1e-5)
    assert len(outcome.attention) == len(outcome.outputs) == layers
    for attention in outcome.attention:
        assert attention.shape == (4, heads, T, T) and (attention.triu(1) == 0).all()
        torch.testing.assert_close(attention.sum(-1), torch.ones(4, heads, T, dtype=torch.float64))
    assert outcome.outputs[0].shape == (4, heads, T, D // heads)


@pytest.mark.parametrize("positions", ["all", "in_context"])
def test_gradient_equals_central_differences_of_the_loops(positions):
    weights, batch = setting(layer_norm=True, length=6, K=6, batch=2)
    counted = torch.ones_like(batch.in_context) if positions == "all" else batch.in_context
    assert counted.any()
    gradient, measures = loss_and_gradient(weights, batch, 2, positions, list(weights), chunk=1)

    def loss(changed):
        logits = torch.stack([naive(changed, row.tolist(), 2) for row in batch.inputs])
        return float(torch.nn.functional.cross_entropy(logits[counted], batch.targets[counted]))

    assert measures["loss"] == pytest.approx(loss(weights), abs=1e-8)
    for name, matrix in weights.items():
        place = int(gradient[name].abs().argmax())  # where it matters
        step = torch.zeros_like(matrix)
        step.view(-1)[place] = 1e-5
        up, down = (loss({**weights, name: matrix + sign * step}) for sign in (1, -1))
        assert float(gradient[name].flatten()[place]) == pytest.approx(
            (up - down) / 2e-5, abs=1e-5
        ), name


def test_gradient_does_not_depend_on_chunks_and_leaves_out_what_is_frozen():
    weights, batch = setting(batch=5)
    whole, measures = loss_and_gradient(weights, batch, 2, "all", list(weights))
    part, again = loss_and_gradient(weights, batch, 2, "all", ["W_Q1", "W_out2"], chunk=2)
    assert part.keys() == {"W_Q1", "W_out2"} and measures == pytest.approx(again)
    for name, slope in part.items():
        torch.testing.assert_close(slope, whole[name])


def test_products_in_bfloat16_change_no_gradient_by_much():
    weights, batch = setting(layer_norm=True, batch=8)
    weights = {name: tensor.float() for name, tensor in weights.items()}
    exact, _ = loss_and_gradient(weights, batch, 2, "all", list(weights))
    rounded, _ = loss_and_gradient(weights, batch, 2, "all", list(weights), bfloat16=True)
    for name, slope in exact.items():
        assert rounded[name].dtype == slope.dtype
        assert 0 < float((rounded[name] - slope).norm() / slope.norm()) < 0.05, name  # 8 bits


def as_full(small: simplified.Weights) -> dict[str, torch.Tensor]:
    """The simplified model as a full one: W_Q = I, W_V and W_O as they are, and relu(x) − relu(−x)
    = x."""
    d = small.d
    identity = torch.eye(d, dtype=torch.float64)
    zeros = torch.zeros(2 * d, d, dtype=torch.float64)
    W_in = torch.cat([identity, -identity, zeros])
    assert small.W_F is not None
    return {
        "W_E": small.W_E,
        "P": small.P,
        "W_U": small.W_U,
        "W_Q1": identity,
        "W_K1": small.W_K1,
        "W_V1": small.R1,
        "W_O1": identity,
        "W_in1": W_in,
        "W_out1": torch.zeros(d, 4 * d, dtype=torch.float64),
        "W_Q2": identity,
        "W_K2": small.W_K2,
        "W_V2": small.V2,
        "W_O2": small.W_O2,
        "W_in2": W_in,
        "W_out2": torch.cat([small.W_F, -small.W_F, zeros.T], 1),
    }


def test_with_one_head_identity_queries_and_a_linear_layer_it_is_the_simplified_model():
    generator = torch.Generator().manual_seed(3)
    small = simplified.initialise(N, D, T, generator, "code").to(torch.float64)
    batch = sample(make_task(N=N, K=3, T=T), 5, generator)
    logits, first, second = simplified.forward(small, batch.inputs)
    outcome = forward(as_full(small), batch.inputs, 1)
    torch.testing.assert_close(outcome.logits, logits, rtol=0, atol=1e-5)
    assert first is not None
    for attention, expected in zip(outcome.attention, (first, second), strict=True):
        torch.testing.assert_close(attention[:, 0], expected, rtol=0, atol=1e-5)


def test_the_papers_construction_is_called_what_it_is():
    """Its two heads, in the full model: one looks one back, the other finds what followed."""
    task = make_task(N=16, K=3, T=32)
    embedded = simplified.initialise(
        16, 64, 32, torch.Generator().manual_seed(0), embeddings="orthonormal"
    )
    built = construct(embedded, task).to(torch.float64)
    batch = sample(task, 64, torch.Generator().manual_seed(1))
    behaviour = look(as_full(built), batch, 1)[1]
    scores = (behaviour.previous, behaviour.triggers, behaviour.triggers_even, behaviour.uniformity)
    roles = [role(*map(float, head_scores)) for head_scores in zip(*scores, strict=True)]
    assert roles == [PREVIOUS, INDUCTION]


def test_evaluation_equals_the_plain_model():
    weights, batch = setting(batch=9)
    logits = forward(weights, batch.inputs, 2).logits
    right = (logits.argmax(-1) == batch.targets).double()
    loss = torch.nn.functional.cross_entropy(logits.mT, batch.targets, reduction="none")
    measures = evaluate(weights, batch, 2)
    assert measures["accuracy"] == pytest.approx(float(right[batch.in_context].mean()))
    assert measures["global_loss"] == pytest.approx(float(loss[batch.global_].mean()))


def test_initial_scales():
    generator = torch.Generator().manual_seed(0)
    paper, code = (initialise(65, 128, 64, 1, generator, scale) for scale in ("paper", "code"))
    assert float(paper["W_E"].std()) == pytest.approx(128**-0.5, rel=0.05)
    assert float(paper["W_out1"].std()) == pytest.approx(512**-0.5, rel=0.05)
    assert float(code["P"].std()) == pytest.approx(1, rel=0.05)
    assert float(code["W_out1"].abs().max()) <= 512**-0.5
    assert float(code["W_U"].abs().max()) <= 128**-0.5


def bench_of(weights, K=2, heads=2):
    task = make_task(N=N, K=K, T=T)
    return Bench(weights, task, sample(task, 40, torch.Generator().manual_seed(5)), heads)


def test_replacing_a_head_by_its_mean_changes_nothing_if_it_does_nothing():
    weights, _ = setting(3, layer_norm=True)
    weights["W_V2"][:6] = 0  # head 1 of layer 2 writes zero at every position
    weights["W_O1"][:, 6:] = 0  # what head 2 of layer 1 reads, nobody writes
    bench = bench_of(weights)
    whole = bench.measure([], "mean")
    for way in ("mean", "zero"):
        assert bench.measure([(2, 1)], way) == pytest.approx(whole, nan_ok=True)
        assert bench.measure([(1, 2)], way) == pytest.approx(whole, nan_ok=True)
    assert bench.measure([(1, 2)], "patch") == pytest.approx(bench.measure([], "patch"))
    assert bench.measure([(1, 1)], "zero")["global_loss"] != pytest.approx(whole["global_loss"])


def test_means_are_those_over_sequences():
    weights, _ = setting()
    bench = bench_of(weights)
    outputs = forward(weights, bench.batch.inputs, 2).outputs
    torch.testing.assert_close(bench.mean[1], outputs[1].mean(0))


def test_all_heads_patched_and_the_token_itself_left_are_the_corrupted_run_at_the_queries():
    """Without a feed-forward layer, and the queries' own tokens being equal, the heads carry all
    that differs."""
    weights, _ = setting(mlp=False)
    bench = bench_of(weights)
    assert 10 < len(bench.clean.inputs) < 40
    heads = [(layer, head) for layer in (1, 2) for head in (1, 2)]
    source = torch.stack(forward(weights, bench.corrupted.inputs, 2).outputs)
    patched = forward(weights, bench.clean.inputs, 2, replacing(heads, source)).logits
    expected = forward(weights, bench.corrupted.inputs, 2).logits
    inside = bench.clean.in_context
    assert inside.any()
    torch.testing.assert_close(patched[inside], expected[inside])


def test_where_every_output_is_a_trigger_nothing_is_patched():
    weights, _ = setting()
    bench = bench_of(weights, K=10)
    assert not bench.patches and math.isnan(bench.measure([(1, 1)], "patch")["accuracy"])
    assert bench.measure([(1, 1)], "mean")["accuracy"] >= 0


def test_a_corrupted_sequence_differs_in_its_outputs_alone():
    bench = bench_of(setting()[0])
    clean = bench.clean
    corrupted = bench.corrupted
    for row in range(len(clean.inputs)):
        triggers = clean.triggers[row].tolist()
        other = dict(zip(triggers, corrupted.outputs[row].tolist(), strict=True))
        assert not set(other.values()) & ({*triggers, *clean.outputs[row].tolist()})
        tokens = clean.tokens[row].tolist()
        expected = [other.get(before, after) for before, after in pairwise(tokens)]
        assert corrupted.tokens[row].tolist() == [tokens[0], *expected]
