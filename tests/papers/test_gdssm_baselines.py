"""The GD-SSM's baselines: parallel forms against recurrences, causality, sizes, seeds, and that
they train."""

import numpy as np
import pytest
import torch

from icl_core.papers.gdssm.shared.sequence_models import MODELS, recurrences
from icl_core.papers.gdssm.shared.sequence_models.all_models import count, matched, nearest
from icl_core.papers.gdssm.shared.sequence_models.authors import griffin as authors_griffin
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Shape
from icl_core.papers.gdssm.shared.sequence_models.plain import griffin, s5

BASELINES = {model.label: model for model in MODELS.values() if model.baseline}
NAMES = list(BASELINES)
LONG = 161  # tokens of 80 pairs and the query
PAPERS = 21  # of 10 pairs and the query
WIDTH = 20  # the paper's
STATES = {"S5": 10, "Mamba": 8}  # a state of their kind, 20 for all others


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def sample(tasks, f, N, generator):
    """x_1, y_1, ..., x_N, y_N, x_query and its y: y = W x, W normal, x uniform on [-1, 1]."""
    W = torch.randn(tasks, f, f, generator=generator)
    x = 2 * torch.rand(tasks, N + 1, f, generator=generator) - 1
    y = x @ W.mT
    return torch.stack([x, y], 2).flatten(1, 2)[:, :-1], y[:, -1]  # (tasks, 2 N + 1, f), (tasks, f)


def parameters_of(name, features=4, seeds=1, T=LONG, dtype=torch.float64):
    generators = [generator(3 + seed) for seed in range(seeds)]
    parameters = BASELINES[name].draw(features, WIDTH, STATES.get(name, WIDTH), generators, T)
    return {part: tensor.to(dtype) for part, tensor in parameters.items()}


def all_seeds(forward, parameters, tokens):
    """`forward` for every seed at once: on the same tokens, or on each seed's own if they too have
    the axis."""
    return torch.vmap(forward, (0, 0 if tokens.ndim == 4 else None))(parameters, tokens)


def count_of(baseline, width, state):
    """The parameters for tokens of 10 in the paper's prompts."""
    return count(baseline.draw(10, width, state, [generator()], PAPERS))


def one_seed(parameters, seed):
    """The parameters of one seed, without the axis of seeds."""
    return {name: tensor[seed] for name, tensor in parameters.items()}


def remembering(name, p):
    """The same parameters, but for decays of 1 - 1e-8 and nearer to 1: nothing is forgotten over
    the sequence."""
    decays = {
        "S5": {"log_decay": -12.0, "log_step": -8.0},
        "Mamba": {"b_Δ": -20.0},
        "Griffin": {"Λ": 30.0},
        "Gated delta network": {"b_Δ": -20.0},
    }
    slow = decays.get(name, {})
    return p | {part: torch.full_like(p[part], decay) for part, decay in slow.items()}


def check_forms(module, p, tokens, atol):
    """The recurrence gives what the parallel form gives."""
    expected = module.recur(p, tokens)
    assert expected.shape == tokens.shape
    # linear attention of two layers grows with the length
    scale = max(1.0, float(expected.abs().max()))
    computed = module.forward(p, tokens)
    torch.testing.assert_close(computed / scale, expected / scale, rtol=0, atol=atol)


@pytest.mark.parametrize("memory", ["drawn", "long"])
@pytest.mark.parametrize("T", [1, 2, 21, LONG])
@pytest.mark.parametrize("name", NAMES)
def test_the_recurrence_equals_the_parallel_form(name, T, memory):
    p = one_seed(parameters_of(name), 0)
    p = remembering(name, p) if memory == "long" else p
    tokens = torch.randn(3, T, 4, generator=generator(), dtype=torch.float64)
    check_forms(BASELINES[name].plain, p, tokens, atol=1e-10)


def test_griffin_attends_to_its_window_only():
    p = one_seed(parameters_of("Griffin"), 0)
    tokens = torch.randn(2, 12, 4, generator=generator(), dtype=torch.float64)
    forward = BASELINES["Griffin"].plain.forward
    # no recurrent block: what is older than the window is not seen
    p["W_y"] = torch.zeros_like(p["W_y"])
    changed = tokens.clone()
    changed[:, 3] += 1
    differs = (forward(p, changed) - forward(p, tokens)).abs().amax((0, 2)) > 1e-12
    assert differs.tolist() == [3 <= t < 3 + griffin.WINDOW for t in range(12)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(
    "T, short", [(1, 32), (2, 1), (7, 1), (9, 1), (32, 32), (33, 32), (50, 32)]
)
def test_scan_equals_the_loop(monkeypatch, T, short, dtype):
    monkeypatch.setattr(recurrences, "SHORT", short)
    a, b = torch.randn(2, 3, T, 5, generator=generator(), dtype=dtype)
    expected = [b[:, 0]]
    for t in range(1, T):
        expected.append(a[:, t] * expected[-1] + b[:, t])
    computed = recurrences.associative_scan(a, b)
    torch.testing.assert_close(computed, torch.stack(expected, 1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_later_token_changes_no_earlier_answer(name):
    p = one_seed(parameters_of(name), 0)
    tokens = torch.randn(3, 41, 4, generator=generator(), dtype=torch.float64)
    changed = tokens.clone()
    changed[:, 17] += 1
    before, after = (BASELINES[name].plain.forward(p, inputs) for inputs in (tokens, changed))
    torch.testing.assert_close(after[:, :17], before[:, :17], rtol=0, atol=1e-12)
    assert ((after - before)[:, 17].abs().amax(-1) > 1e-6).all()
    assert ((after - before)[:, 18].abs().amax(-1) > 1e-9).all()  # and later answers do see it


@pytest.mark.parametrize("memory", ["drawn", "long"])
@pytest.mark.parametrize("T", [1, 21, LONG])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_and_reach_every_parameter(name, T, memory):
    p = one_seed(parameters_of(name, dtype=torch.float32), 0)
    p = remembering(name, p) if memory == "long" else p
    leaves = {parameter: tensor.clone().requires_grad_() for parameter, tensor in p.items()}
    tokens = torch.randn(3, T, 4, generator=generator())
    BASELINES[name].plain.forward(leaves, tokens)[:, -1].square().sum().backward()
    for parameter, leaf in leaves.items():
        assert leaf.grad is not None and leaf.grad.isfinite().all(), parameter
        assert T == 1 or memory == "long" or leaf.grad.abs().max() > 0, parameter


@pytest.mark.parametrize("name", NAMES)
def test_five_seeds_in_one_pass_equal_five_single_ones(name):
    forward = BASELINES[name].plain.forward
    # each seed its own tasks
    tokens = torch.randn(5, 3, 21, 4, generator=generator(), dtype=torch.float64)
    leaves = {
        part: tensor.requires_grad_() for part, tensor in parameters_of(name, seeds=5).items()
    }
    together, shared = (all_seeds(forward, leaves, inputs) for inputs in (tokens, tokens[0]))
    together.square().sum().backward()
    for seed in range(5):
        alone = one_seed(leaves, seed)
        alone = {part: tensor.detach().clone().requires_grad_() for part, tensor in alone.items()}
        expected = forward(alone, tokens[seed])
        torch.testing.assert_close(together[seed], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(shared[seed], forward(alone, tokens[0]), rtol=0, atol=1e-12)
        expected.square().sum().backward()
        for part, tensor in alone.items():
            torch.testing.assert_close(leaves[part].grad[seed], tensor.grad, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_seed_does_not_depend_on_how_many_follow(name):
    alone = parameters_of(name)
    five = parameters_of(name, seeds=5)
    assert all(torch.equal(alone[part][0], five[part][0]) for part in alone)
    matrices = [part for part in five if part.startswith("W_")]
    assert not any(torch.equal(five[part][0], five[part][1]) for part in matrices)


# Of seed 3: the sum of all squares, which an eigenvector's free phase leaves alone, and the first
# number of W_out.
DRAWN = {
    "S5": (19019.21, -0.00160387),
    "Mamba": (2068.9044, 0.03678195),
    "Griffin": (780.9445, 0.01153745),
    "Gated delta network": (152.5273, 0.01623566),
    "Linear transformer, 1 layer": (864.2524, -0.00508547),
    "Linear transformer, 2 layers": (863.6087, 0.03074073),
    "Softmax transformer, 1 layer": (915.0453, -0.00508547),
    "Softmax transformer, 2 layers": (967.9669, 0.03074073),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_seeds_weights_are_those_of_the_shipped_runs(name):
    p = parameters_of(name)
    squares = sum(float(tensor.square().sum()) for tensor in p.values())
    assert (squares, float(p["W_out"][0, 0, 0])) == pytest.approx(DRAWN[name], rel=1e-4)


@pytest.mark.parametrize("target", [1000, 2000, 4000])
@pytest.mark.parametrize("name", NAMES)
def test_matched_sizes_have_the_parameters_asked_for(name, target):
    size = matched(BASELINES[name], 10, target, PAPERS, WIDTH)
    parameters = count_of(BASELINES[name], size.width, size.state)
    assert parameters == size.parameters
    assert abs(parameters - target) <= 0.05 * target
    smallest = count_of(BASELINES[name], WIDTH, 1)
    # by the state alone, where that suffices
    assert size.width == WIDTH or smallest > 1.05 * target


def test_counts_at_the_papers_width():
    counts = {name: count_of(BASELINES[name], WIDTH, STATES.get(name, WIDTH)) for name in NAMES}
    in_and_out = 2 * 10 * 20
    per_head = 4 * 20 * 20
    assert counts["S5"] == in_and_out + 2 * 10 * 20 * 2 + 3 * 10 + 20 + 20 * 20
    assert counts["Mamba"] == in_and_out + 3 * 20 * 40 + 40 * (4 + 1 + 2 * 2 + 1 + 3 * 8 + 1)
    assert counts["Griffin"] == in_and_out + 3 * 400 + 20 * 5 + 2 * 420 + 20 + 4 * 400 + 3
    assert counts["Gated delta network"] == in_and_out + 4 * 20 * 20 + 2 * 20 + 2
    for layers, plural in ((1, ""), (2, "s")):
        for kind in ("Linear", "Softmax"):
            name = f"{kind} transformer, {layers} layer{plural}"
            assert counts[name] == in_and_out + 21 * 20 + layers * per_head
    assert min(counts.values()) > 10 * 113  # none is as small as the GD-SSM, whatever its decay


def test_the_gd_ssm_cannot_be_matched():
    for baseline in BASELINES.values():
        # neither with one decay, 14, nor with one a row
        assert count_of(baseline, 1, 1) > 1.05 * 23
        size = matched(baseline, 10, 113, PAPERS, WIDTH)  # a decay an entry
        assert abs(size.parameters - 113) <= 5
        assert size.width < 10  # in number only: too narrow for a token
    assert matched(BASELINES["S5"], 10, 23, PAPERS, WIDTH).parameters > 1.05 * 23


def test_nearest_finds_the_nearest_of_all():
    for target in (1, 5, 9, 10, 11, 99, 1234):
        expected = min(range(1, 100), key=lambda state: abs(3 + state * state - target))
        assert nearest(lambda state: 3 + state * state, target, 7).state == expected


def test_hippo_eigenvectors():
    eigenvalues, V = s5.hippo(6)
    root = (torch.arange(12, dtype=torch.float64) + 0.5).sqrt()
    below = (root[:, None] * root).tril(-1)
    normal = -0.5 * torch.eye(12, dtype=torch.float64) - below + below.T
    torch.testing.assert_close(normal.to(V.dtype) @ V, V * eigenvalues, rtol=0, atol=1e-10)
    assert (eigenvalues.imag > 0).all()


def test_s5_holds_its_input_for_a_step():
    """One step of the recurrence against the differential equation z' = Λ z + B u in a thousand
    small steps."""
    p = one_seed(parameters_of("S5"), 0)
    A, B = s5.discretised(p)
    Λ = torch.complex(-p["log_decay"].exp(), p["frequency"])
    u = torch.randn(20, generator=generator(), dtype=torch.float64).to(B.dtype)
    Bu = torch.complex(*p["B"]) @ u
    Δ = p["log_step"].exp() / 1000
    z = torch.ones_like(A)
    for _ in range(1000):
        middle = z + Δ / 2 * (Λ * z + Bu)
        z = z + Δ * (Λ * middle + Bu)
    torch.testing.assert_close(A + B @ u, z, rtol=0, atol=1e-4)  # what Euler's midpoint leaves


def trained(baseline, p, rate, steps, f=5, N=5):
    """Losses of a short training on fresh tasks of all seeds at once: (steps, seeds)."""
    tasks = generator(1)
    losses = []
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in p.items()}
    optimiser = torch.optim.Adam(leaves.values(), lr=rate)
    for _ in range(steps):
        tokens, y = sample(64, f, N, tasks)
        predictions = all_seeds(baseline.plain.forward, leaves, tokens)[:, :, -1]
        loss = (predictions - y).square().mean((1, 2)) / 2
        optimiser.zero_grad()
        loss.sum().backward()
        optimiser.step()
        losses.append(loss.detach())
    return leaves, torch.stack(losses)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_training_lowers_the_loss(name):
    p = parameters_of(name, features=5, T=11, dtype=torch.float32)
    p["W_out"] *= 10  # the answers begin at full size, wrong: there is something to learn
    leaves, losses = trained(BASELINES[name], p, 3e-3, 100)
    assert losses.isfinite().all()
    tokens, y = sample(2000, 5, 5, generator(9))

    def held_out(parameters):
        answers = BASELINES[name].plain.forward(one_seed(parameters, 0), tokens)[:, -1]
        return float((answers - y).square().mean() / 2)

    with torch.no_grad():
        assert held_out(leaves) < 0.98 * held_out(p)


# As their authors build them

AUTHORS = {model.id: model for model in BASELINES.values()}


def shape_of(id, width=10, norm=True, T=21, features=4):
    return Shape(features, width, AUTHORS[id].layers, T, norm)


def authors(id, seeds=1, dtype=torch.float64, **shape):
    parameters = AUTHORS[id].authors.parameters(
        shape_of(id, **shape), [generator(3 + seed) for seed in range(seeds)]
    )
    assert all(name in parameters for name in AUTHORS[id].authors.SLOW), id
    return {name: tensor.to(dtype) for name, tensor in parameters.items()}


def varied(p):
    """The same parameters with norms, shifts and biases that are not those of the start, so that
    all of them count."""
    numbers = generator(8)
    result = {}
    for name, tensor in p.items():
        noise = torch.randn(tensor.shape, generator=numbers, dtype=tensor.dtype)
        constant = (tensor == tensor.flatten()[0]).all()
        result[name] = tensor + 0.1 * noise * constant
    return result


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("T", [1, 3, 40])
@pytest.mark.parametrize("id", AUTHORS)
def test_the_authors_forms_run_token_by_token_as_in_parallel(id, T, norm):
    p = varied(one_seed(authors(id, norm=norm, T=40), 0))
    tokens = torch.randn(3, T, 4, generator=generator(), dtype=torch.float64)
    check_forms(AUTHORS[id].authors, p, tokens, atol=1e-11)


@pytest.mark.parametrize("T", [1, 2, 11])
@pytest.mark.parametrize("id", AUTHORS)
def test_the_last_answer_alone_is_the_last_of_all(id, T):
    p = one_seed(authors(id), 0)
    tokens = torch.randn(3, T, 4, generator=generator(), dtype=torch.float64)
    predictions = AUTHORS[id].authors.forward(p, tokens)
    last = AUTHORS[id].authors.forward(p, tokens, last=True)
    torch.testing.assert_close(last, predictions[:, -1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("id", AUTHORS)
def test_the_authors_forms_are_causal_and_train_all_their_parameters(id):
    leaves = {
        name: tensor.requires_grad_() for name, tensor in varied(one_seed(authors(id), 0)).items()
    }
    tokens = torch.randn(3, 21, 4, generator=generator(), dtype=torch.float64)
    changed = tokens.clone()
    changed[:, 7] += 1
    before, after = (AUTHORS[id].authors.forward(leaves, inputs) for inputs in (tokens, changed))
    torch.testing.assert_close(after[:, :7], before[:, :7], rtol=0, atol=1e-12)
    assert ((after - before)[:, 7:9].abs().amax(-1) > 1e-9).all()
    before[:, -1].square().sum().backward()
    assert all(leaf.grad.isfinite().all() and leaf.grad.abs().max() > 0 for leaf in leaves.values())


@pytest.mark.parametrize("id", AUTHORS)
def test_seeds_of_the_authors_forms_do_not_mix(id):
    p = authors(id, seeds=3)
    tokens = torch.randn(2, 11, 4, generator=generator(), dtype=torch.float64)
    together = all_seeds(AUTHORS[id].authors.forward, p, tokens)
    for seed in range(3):
        alone = AUTHORS[id].authors.forward(one_seed(p, seed), tokens)
        torch.testing.assert_close(together[seed], alone, rtol=0, atol=1e-12)
    fewer = authors(id)
    assert all(torch.equal(fewer[name][0], p[name][0]) for name in p)


@pytest.mark.parametrize("id", AUTHORS)
def test_a_norm_hides_the_size_of_what_a_block_reads(id):
    """Without norms a small input is read as small; with them as large as any. The residual carries
    the size on."""
    tokens = torch.randn(2, 11, 4, generator=generator(), dtype=torch.float64)

    def added(norm, size):
        p = one_seed(authors(id, norm=norm), 0)
        p |= {"P": torch.zeros_like(p["P"])} if "P" in p else {}
        residual = size * tokens @ p["W_in"] @ p["W_out"]
        return float((AUTHORS[id].authors.forward(p, size * tokens) - residual).abs().mean())

    assert added(True, 0.01) > 0.2 * added(True, 1.0)
    assert added(False, 0.01) < 0.2 * added(False, 1.0)


def test_steps_begin_as_long_as_the_sequence_asks_for():
    s5_steps = authors("s5", seeds=40)["log_step"].exp()
    mamba_steps = torch.nn.functional.softplus(authors("mamba", seeds=40)["b_Δ"])
    for steps in (s5_steps, mamba_steps):
        assert 1 / 21 <= float(steps.min()) < 1.2 / 21 and 0.8 < float(steps.max()) <= 1
        assert abs(float(steps.log().median()) + 0.5 * np.log(21)) < 0.2  # log-uniform
    decays = authors("griffin", seeds=10)["recurrent.Λ"].sigmoid() ** authors_griffin.SHARPNESS
    assert 0.9 <= float(decays.min()) < 0.91 and 0.99 < float(decays.max()) <= 0.999


@pytest.mark.parametrize("width, head", [(4, 1), (9, 3), (12, 3), (31, 8)])
def test_every_width_has_four_heads(width, head):
    p = authors("softmax-1", width=width)
    assert shape_of("softmax-1", width).head == head
    assert p["attention.W_Q"].shape == (1, 1, width, 4 * head)


def test_the_delta_rule_is_a_step_of_gradient_descent_on_what_a_key_recalls():
    S, k, v = (
        torch.randn(*size, generator=generator(5), dtype=torch.float64)
        for size in ((3, 4), (4,), (3,))
    )
    k = recurrences.unit(k)
    beta, keep = torch.tensor([0.3, 0.8], dtype=torch.float64)
    decayed = (keep * S).requires_grad_()
    ((decayed @ k - v).square().sum() / 2).backward()
    stepped, read = recurrences.delta_step(S, k, k, v, keep.log(), beta)
    torch.testing.assert_close(stepped, decayed.detach() - beta * decayed.grad, rtol=0, atol=1e-12)
    eq_10 = keep * S @ (torch.eye(4) - beta * torch.outer(k, k)) + beta * torch.outer(v, k)
    torch.testing.assert_close(stepped, eq_10, rtol=0, atol=1e-12)
    torch.testing.assert_close(read, stepped @ k, rtol=0, atol=1e-12)


def test_the_delta_rule_forgets_everything_without_overflow():
    q, k, v = torch.randn(3, 2, 30, 4, generator=generator(6))
    far = torch.full((2, 30), -60.0)
    read = recurrences.delta_rule(q, k, v, far, torch.ones(2, 30))
    torch.testing.assert_close(read, v * (k * q).sum(-1, keepdim=True), rtol=1e-5, atol=1e-5)
