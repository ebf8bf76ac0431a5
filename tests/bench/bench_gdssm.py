"""GD-SSM: the linear-attention form beside the recurrence as a loop over tokens.

One gradient of a GD-SSM on tasks of f = 10, N = 40, 64 of them, float32. Plain is autograd through
the recurrence, one state after the other; fast is the form that trains. With `--all` also the tasks
a second of every model of the comparison, and what bounds it: where twice as many tasks take hardly
longer, the number of operations, not their size.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import layer_1d, layer_nd, multi_layer
from icl_core.papers.gdssm.shared import train as gdssm
from icl_core.papers.gdssm.shared.sequence_models import train as comparison
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Config as Beside
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.papers.gdssm.shared.train import draw, gradient
from icl_core.training import loop
from tests.bench import authors, in_jax, timing
from tests.bench.timing import Row, Work, by_turns, compared, in_words, short

ROUNDS = 21
WIDE = Config(N=40, batch=64)
KINDS = {
    "one decay a row": (WIDE, layer_nd.recurrent),
    "one decay": (replace(WIDE, recurrence="scalar"), layer_nd.recurrent),
    "a decay an entry": (replace(WIDE, recurrence="full"), layer_nd.recurrent),
    "scalar labels": (replace(WIDE, model="1-D"), layer_1d.recurrent),
    "two layers": (replace(WIDE, layers=2, recurrence="scalar"), multi_layer.recurrent),
}
COMPARED = {
    "f = 3, N = 5, one seed": Beside(),
    "f = 3, N = 5, five seeds": Beside(seeds=5),
    "f = N = 10, batch 256, three seeds": Beside(f=10, N=10, batch=256, seeds=3),
}


def plain_gradient(
    weights: models.Model, recurrent: Callable, tasks: Tasks
) -> dict[str, torch.Tensor]:
    """Through the loop over tokens, the answer at the last of them."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in weights.tensors().items()}
    changed = weights.with_(**leaves)
    outputs = recurrent(changed, models.read(changed, tasks))[0][-1]
    answer = outputs if outputs.dim() == 3 else outputs[:, None]  # (seeds, n_o, tasks)
    gradients = torch.autograd.grad(loss(answer, tasks.y[-1]).sum(), list(leaves.values()))
    return dict(zip(leaves, gradients, strict=True))


def fresh(config: Config, seed: int = 0) -> Tasks:
    return draw(config, config.batch, torch.Generator().manual_seed(seed))


def form_row(name: str, config: Config, recurrent: Callable) -> Row:
    """The loop against the form that trains, with how far their gradients differ."""
    weights = models.initial(config, [0])
    tasks = fresh(config)
    slow = plain_gradient(weights, recurrent, tasks)
    fast = gradient(weights, tasks)[0]
    gap = max(float((slow[n] - fast[n]).norm() / slow[n].norm().clamp(min=1e-12)) for n in slow)
    ways: list[Work] = [
        lambda tasks: plain_gradient(weights, recurrent, tasks),
        lambda tasks: gradient(weights, tasks),
    ]
    times = by_turns(ways, ROUNDS, lambda turn: (fresh(config, turn),))
    what = f"GD-SSM: gradient, {name}"
    note = f"; the gradients agree to {gap:.0e}"
    return compared(what, *times, "loop", note, work=lambda: gradient(weights, tasks))


def peer_rows() -> Iterator[Row]:
    """The loop compiled, by torch and, where it is installed, by JAX, with one decay a row."""
    config, recurrent = KINDS["one decay a row"]
    weights = models.initial(config, [0])
    assert isinstance(weights, layer_nd.LayerND)
    compiled = torch.compile(recurrent)
    ways: dict[str, Work] = {
        "torch.compile": lambda tasks: plain_gradient(weights, compiled, tasks)
    }
    if in_jax.is_there():
        in_jax_gradient = in_jax.gdssm(config.f)
        named = in_jax.arrays(weights.tensors())
        ways["JAX"] = lambda tasks: in_jax_gradient(
            named, models.read(weights, tasks).numpy(), tasks.y[-1].numpy()
        )
    every = [*ways.values(), lambda tasks: gradient(weights, tasks)]
    *others, ours = by_turns(every, ROUNDS, lambda turn: (fresh(config, turn),))
    for name, seconds in zip(ways, others, strict=True):
        yield compared(f"GD-SSM: gradient, one decay a row, beside {name}", seconds, ours, name)


def authors_row() -> Row:
    """A step of the paper's size, with a decay for every entry, as the authors have it."""
    config = Config(recurrence="full", optimiser="authors", batch=64, learning_rate=2e-4)
    step = timing.stepper(gdssm.problem(config, models.initial(config, [0]), lambda model: {}))
    times = by_turns([authors.gdssm(config.f, config.N, config.batch), step], 5 * ROUNDS)
    what = f"GD-SSM: training step, the authors' loop, f = {config.f}, N = {config.N}"
    return compared(what, *times, "theirs", "; theirs is compiled by JAX, this loop is not")


def segment_row(config: Config) -> Row:
    """A training step of the default setting in compiled segments beside torch's."""

    def problem() -> loop.Problem:
        return gdssm.problem(config, models.initial(config, [0]), lambda model: {})

    what = f"GD-SSM: training step in segments, f = {config.f}, N = {config.N}"
    return timing.segment_row(
        what, lambda: (problem(), gdssm.with_segments(config, problem())), ROUNDS // 3
    )


def seeds_row(config: Config) -> Row:
    """Five seeds in one pass against one."""
    ways: list[Work] = [
        lambda n=n: gradient(models.initial(config, list(range(n))), fresh(config)) for n in (1, 5)
    ]
    one, five = by_turns(ways, 3 * ROUNDS)
    what = f"GD-SSM: five seeds in one pass, N = {config.N}, {config.batch} tasks"
    return what, f"{short(five / one)} times one", f"one {in_words(one)}, five {in_words(five)}"


def step_of(learner: Learner, setting: Beside, batch: int) -> Work:
    """A training step of all seeds: fresh tasks, gradient, update."""
    weights = learner.initial(list(range(setting.seeds)))
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(comparison.groups(learner, weights, 1e-3), fused=True)

    def work() -> None:
        tasks = comparison.tasks(setting, batch, generator)
        gradients, _ = comparison.gradient(learner, weights, tasks)
        for name, tensor in weights.items():
            tensor.grad = gradients[name]
        optimiser.step()

    return work


def model_rows(what: str, setting: Beside) -> Iterator[Row]:
    """Tasks a second of every model, each counted once for every seed that it trains."""
    for learner in learners(setting):
        once, twice = by_turns([step_of(learner, setting, n * setting.batch) for n in (1, 2)], 6)
        bound = "operations" if twice < 1.4 * once else "their size"
        rate = f"{short(setting.seeds * setting.batch / once / 1000)} thousand tasks a second"
        yield f"{learner.model.label}: {what}", rate, f"{in_words(once)} a step, bound by {bound}"


def rows() -> Iterator[Row]:
    """See the head of this file."""
    for name, (config, recurrent) in KINDS.items():
        yield form_row(name, config, recurrent)
    yield from peer_rows()
    yield authors_row()
    yield segment_row(Config())
    yield seeds_row(Config())
    for what, setting in COMPARED.items() if timing.thorough else ():
        yield from model_rows(what, setting)
