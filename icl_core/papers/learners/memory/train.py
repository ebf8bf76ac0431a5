"""Train linear attention of several kinds on prompts whose noise differs."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.learners.memory import measurements, models
from icl_core.papers.learners.memory.measurements import Prompts, draw_prompts, shares
from icl_core.papers.learners.memory.models import MEMFORMER, STEPS, VARIANTS
from icl_core.papers.learners.memory.settings import BATCH, TESTED_ON, Config
from icl_core.papers.learners.shared import references
from icl_core.training import loop, phases, several_seeds
from icl_core.training.run_grid import to_longest

ATTENTION = "attention"  # all of VARIANTS, trained as rows of one program
DESCENT = "descent"  # steps and Memformer
NAMES = (*VARIANTS, STEPS, MEMFORMER)
FIRST_RATE = 0.3  # of a layer's step before training
SPREAD = 0.02  # of what is added to every coefficient
CLIP = 1.0  # the longest gradient
WARM_UP = 0.05  # of the steps; a prompt with large labels makes a large loss, so no ceiling
EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
CHUNK = 64  # prompts that are measured at once
TRAIN = 0  # streams of prompts; measurements have others
EVALUATE = 1


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model of `names/models`, and measure it beside ridge and Bayes. Return

    snapshot/step        [levels], noises in per cent of the labels
    share/<name>         [seeds, levels], what a model leaves on prompts of that noise, the mean of
                         |ŵ − w*|² / d; of a reference [levels]: "ridge" with one r for all noises,
                         "knowing" with r = τ²/n, "bayes", which weighs all noises
    total/<name>         [seeds], the same over all noises; of a reference a number
    triangle/<name>      [levels, seeds, layers, layers], Γ of the Memformer that comes nearest, and
                         explained/<name> [levels, seeds, layers], the share of each step that it
                         explains
    kept/<name>          [levels, seeds, bins], the share of w* that is kept along eigenvectors of S
                         whose eigenvalues are about those of `eigenvalue`, [levels, bins]
    curve/<name>         [seeds, evaluations] beside `curve/step`, the share left while it trains
    final/coefficients   [variants, seeds, layers, 4], and `final/triangle`, of steps and Memformer
                         [2, seeds, layers, layers]

    Seeds differ in their first numbers alone: all train on the same prompts and are tested on the
    same.

    Raises `Cancelled` and `Diverged`.
    """
    results = phases.run(plan(config), progress, _curves)
    rows = {phase: results[phase]["final/rows"] for phase in results}
    by_seed = (-1, config.seeds, config.layers)
    progress.enter("every noise")
    return {
        "names/models": names(NAMES),
        "snapshot/step": np.array(config.percents),
        **_curves(results),
        **measurements.measured(config, partial(_every_model, config, rows)),
        "final/coefficients": rows[ATTENTION].reshape(*by_seed, 4),
        "final/triangle": rows[DESCENT].reshape(*by_seed, config.layers),
    }


def plan(config: Config) -> list[phases.Phase]:
    """Return the two trainings: of the variants of attention, and of steps with the Memformer."""
    return [
        phases.Phase(
            name,
            config.steps,
            partial(_train, config, name),
            partial(_by_model, config, name),
            label=label,
        )
        for name, label in ((ATTENTION, "linear attention"), (DESCENT, "Memformer"))
    ]


def _models(phase: str) -> tuple[str, ...]:
    return tuple(VARIANTS) if phase == ATTENTION else (STEPS, MEMFORMER)


def _curves(results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of both trainings as far as they have come."""
    curves: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for part in results.values():
        for name in part:
            if name.startswith("curve/") and name != "curve/step":
                curves[name.removeprefix("curve/")] = (part["curve/step"], part[name])
    return to_longest(curves)


def _by_model(config: Config, phase: str, state: loop.State) -> dict[str, np.ndarray]:
    """Return the curves of the models of a training, [seeds, evaluations] each."""
    curves = state.curves()
    if "curve/loss" not in curves:
        return {}
    rows = curves["curve/loss"]
    by_model = rows.reshape(-1, config.seeds, rows.shape[-1])
    shares = {f"curve/{name}": rows for name, rows in zip(_models(phase), by_model, strict=True)}
    return {"curve/step": curves["curve/step"], **shares}


def _train(
    config: Config, phase: str, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    rows = initial(config, phase)
    state = loop.train(
        _problem(config, phase, rows),
        config.steps,
        loop.evaluations(config.steps, *EVALUATIONS),
        resumed,
        report,
        keep=False,
    )
    used = rows * mask(config, phase).to(rows)
    return {**_by_model(config, phase, state), "final/rows": used.cpu().numpy()}


def mask(config: Config, phase: str) -> Tensor:
    """Return 1 for every number of a model that is trained and 0 for others, [rows, layers, …]; the
    rows are models × seeds."""
    if phase == ATTENTION:
        kinds = torch.tensor(list(VARIANTS.values()), dtype=torch.float32)[:, None]
        every = kinds.expand(-1, config.layers, -1)  # [variants, layers, 4]
    else:
        triangle = torch.ones(config.layers, config.layers).tril()
        every = torch.stack([triangle.diagonal().diag(), triangle])  # [2, layers, layers]
    return every.repeat_interleave(config.seeds, 0)


def initial(config: Config, phase: str) -> Tensor:
    """Return the numbers of all models before training, steps of gradient descent with a little
    added, [rows, layers, 4] or [rows, layers, layers]; the seeds of all models are the same."""
    seeds: list[Tensor] = []
    last = 4 if phase == ATTENTION else config.layers
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(seed)
        seeds.append(SPREAD * torch.randn(config.layers, last, generator=generator))
    noise = torch.stack(seeds).repeat(len(_models(phase)), 1, 1)
    if phase == ATTENTION:
        start = torch.tensor([0.0, 0.0, -FIRST_RATE, 0.0])
    else:
        start = FIRST_RATE * torch.eye(config.layers)
    return ((start + noise) * mask(config, phase)).to(device.current_device())


def _problem(config: Config, phase: str, rows: Tensor) -> loop.Problem:
    """Return what the loop trains: every row by its own loss, all on the same prompts."""
    generator = references.stream(TRAIN, config.seed)
    trained = mask(config, phase).to(rows)
    held_out = draw_prompts(config, TESTED_ON, references.stream(EVALUATE, config.seed))

    def losses(values: Tensor, prompts: Prompts) -> Tensor:
        weights = answers(config, phase, values * trained, prompts.G.to(rows))
        return shares(weights[-1], prompts.w.to(rows)[:, None])

    def gradient(step: int) -> tuple[dict[str, Tensor], loop.Measures]:
        leaves = several_seeds.leaves({"rows": rows})
        every = losses(leaves["rows"], draw_prompts(config, BATCH, generator))
        gradients = several_seeds.clipped(several_seeds.gradients(every, leaves), CLIP)
        return gradients, {"loss": every.detach().cpu().numpy()}

    @torch.no_grad()
    def evaluate(step: int) -> loop.Measures:
        return {"loss": losses(rows, held_out).cpu().numpy()}

    return loop.Problem(
        {"rows": rows},
        gradient,
        evaluate,
        partial(torch.optim.Adam, lr=config.learning_rate),
        (generator,),
        loss="loss",
        schedule=loop.cosine(config.steps, WARM_UP),
    )


def _every_model(
    config: Config, rows: dict[str, np.ndarray], G: Tensor
) -> dict[str, Float[Tensor, "layers d seeds prompts"]]:
    """Return ŵ after every layer of every model, by its name."""
    by_model: dict[str, Tensor] = {}
    for phase, values in rows.items():
        weights = _in_chunks(config, phase, torch.from_numpy(values).to(G), G)
        for name, part in zip(_models(phase), weights.split(config.seeds, 2), strict=True):
            by_model[name] = part
    return by_model


def _in_chunks(config: Config, phase: str, rows: Tensor, G: Tensor) -> Tensor:
    """Return `answers`, computed for few prompts at once, whose products fit the processor's
    cache."""
    return torch.cat([answers(config, phase, rows, part) for part in G.split(CHUNK, -1)], -1)


def answers(config: Config, phase: str, rows: Tensor, G: Tensor) -> Tensor:
    """Return ŵ after every layer of the models of a training, [layers, d, rows, prompts]. They read
    labels that are divided by their size over all prompts, a number that is the same for all."""
    size = config.label_size
    scale = torch.ones(len(G), 1, dtype=G.dtype, device=G.device)
    scale[-1] = 1 / size
    scaled = scale[:, None] * scale * G  # [D, D, prompts]
    if phase == ATTENTION:
        return size * models.iterates(rows, scaled)
    return size * models.memformer_iterates(rows, scaled)
