"""How much faster the linear-attention form trains than the recurrence as a loop over tokens; run by hand:

    python tests/bench/bench_gdssm.py

One gradient of a GD-SSM on fresh tasks (f = 10, 64 tasks, float32). Plain is autograd through the recurrence, one state
after the other; fast is the form that trains. Both take turns, on one thread, and medians are compared, of processor
time, which waiting for a core does not lengthen. Then five seeds in one pass against one at the classroom batch. Then
the tasks a second of every model of the comparison, and what bounds it: where twice as many tasks take hardly longer,
the number of operations, not their size.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import layer_1d, layer_nd, multi_layer
from icl_core.papers.gdssm.shared.sequence_models import train as comparison
from icl_core.papers.gdssm.shared.sequence_models.learners import Learner, learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Config as Beside
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.papers.gdssm.shared.train import draw, gradient

ROUNDS = 21
WIDE = Config(N=40, batch=64)
KINDS = {
    "N-D, one decay a row": (WIDE, layer_nd.recurrent),
    "N-D, one decay": (replace(WIDE, recurrence="scalar"), layer_nd.recurrent),
    "N-D, a decay an entry": (replace(WIDE, recurrence="full"), layer_nd.recurrent),
    "1-D": (replace(WIDE, model="1-D"), layer_1d.recurrent),
    "two layers": (replace(WIDE, layers=2, recurrence="scalar"), multi_layer.recurrent),
}


def plain_gradient(weights: models.Model, recurrent: Callable, tasks: Tasks) -> dict[str, torch.Tensor]:
    """Through the loop over tokens, the answer at the last of them."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in weights.tensors().items()}
    changed = weights.with_(**leaves)
    outputs = recurrent(changed, models.read(changed, tasks))[0][-1]
    answer = outputs if outputs.dim() == 3 else outputs[:, None]  # (seeds, n_o, tasks)
    found = torch.autograd.grad(loss(answer, tasks.y[-1]).sum(), list(leaves.values()))
    return dict(zip(leaves, found, strict=True))


def seconds(work: Callable, *arguments) -> float:
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def fresh(config: Config, seed: int) -> Tasks:
    return draw(config, config.batch, torch.Generator().manual_seed(seed))


def compare_forms(name: str, config: Config, recurrent: Callable, wanted: float) -> None:
    """The loop against the form that trains; first whether they agree."""
    weights = models.initial(config, [0])
    slow, fast = plain_gradient(weights, recurrent, fresh(config, 0)), gradient(weights, fresh(config, 0))[0]
    gap = max(float((slow[n] - fast[n]).norm() / slow[n].norm().clamp(min=1e-12)) for n in slow)
    times = [
        (seconds(plain_gradient, weights, recurrent, tasks), seconds(gradient, weights, tasks))
        for tasks in (fresh(config, seed) for seed in range(ROUNDS))
    ]
    loop, attention = (1000 * statistics.median(column[1:]) for column in zip(*times, strict=True))
    print(
        f"{name}: loop {loop:.1f} ms, linear attention {attention:.2f} ms, ratio {loop / attention:.1f} "
        f"(wanted: {wanted}); gradients differ by {gap:.0e}",
        flush=True,
    )


def compare_seeds(config: Config, wanted: float) -> None:
    """Five seeds in one pass against one."""
    times: dict[int, list[float]] = {1: [], 5: []}
    for seed in range(3 * ROUNDS):
        for seeds, found in times.items():
            found.append(seconds(gradient, models.initial(config, list(range(seeds))), fresh(config, seed)))
    one, five = (1000 * statistics.median(each[1:]) for each in times.values())
    what = f"batch {config.batch}, N {config.N}"
    print(f"seeds, {what}: one {one:.2f} ms, five {five:.2f} ms, ratio {five / one:.2f} (wanted: under {wanted})")


def step(each: Learner, setting: Beside, batch: int) -> float:
    """Milliseconds of a training step of all seeds: fresh tasks, gradient, update."""
    weights, generator = each.initial(list(range(setting.seeds))), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(comparison.groups(each, weights, 1e-3), fused=True)

    def work() -> None:
        found, _ = comparison.gradient(each, weights, comparison.tasks(setting, batch, generator))
        for name, tensor in weights.items():
            tensor.grad = found[name]
        optimiser.step()

    return 1000 * statistics.median([seconds(work) for _ in range(7)][1:])


def speeds(what: str, setting: Beside) -> None:
    """Tasks a second of every model, each counted once for every seed that it trains."""
    for each in learners(setting):
        once, twice = (step(each, setting, batch) for batch in (setting.batch, 2 * setting.batch))
        bound = "operations" if twice < 1.4 * once else "their size"
        rate = f"{1000 * setting.seeds * setting.batch / once:,.0f} tasks a second"
        print(f"{what}, {each.model.label}: {once:.1f} ms a step, {rate}, bound by {bound}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for kind, (setting, form) in KINDS.items():
        compare_forms(kind, setting, form, 5)
    compare_seeds(Config(), 2)
    speeds("f = 3, N = 5, one seed", Beside())
    speeds("f = 3, N = 5, five seeds", Beside(seeds=5))
    speeds("f = N = 10, batch 256, three seeds", Beside(f=10, N=10, batch=256, seeds=3))
