"""Trains every paper's learners on the prompts of one distribution, and reads off what they do."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from icl_core import registry
from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.in_context_regression.home import Home, Prompts, sample
from icl_core.machine import device
from icl_core.papers.learners.shared import references
from icl_core.papers.learners.trained.settings import FEWEST, SHOWN, TESTED_ON, TUNED_ON, Config
from icl_core.training import loop, phases, several_seeds

EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
CEILING = 1e4  # times the loss of predicting zero
CLIP = 1.0  # the longest gradient
WARM_UP = 0.05  # of the steps
# Some beginnings lead nowhere: one in five of the GD-SSM's loses its memory in the first steps. So
# each learner tries some for a share of the steps, and goes on from the start of the best.
TRIES, TRIAL = 3, 0.1


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train all learners one after the other. Return, over the learners of `names/learners`,

    curve/<learner>     [evaluations] beside `curve/step`, the share left on other prompts: the
                        squared error of the query's label without its noise, over that of zero
    snapshot/share      [snapshots, learners] the same beside `snapshot/step`
    snapshot/implied    [snapshots, learners, prompts, d], the derivative of the answer by the query
    snapshot/bend       [snapshots, learners], the root mean square of the answer without what this
                        derivative makes of the query, over that of the answer
    snapshot/reference  [snapshots, learners, references], the mean squared difference to what each
                        reference of `names/references` answers, as a share of the error of zero;
                        `final/error`, the standard error of the last
    baseline/reference  [references], what references leave on the test prompts
    evaluated/share, evaluated/error
                        [learners], at the end
    count/parameters    [learners]
    final/<learner>/<weight>
                        the trained weights, in half precision
    prompt/x, prompt/y, prompt/w, prompt/reference
                        the prompts that are shown, and the weights of the references on them

    Raises `Cancelled` and `Diverged`.
    """
    learners = registry.trained_learners()
    results = phases.run(plan(config), progress, _curves)
    tested, others = _tested(config.home, config.seed)
    shown = _part(tested, SHOWN)
    stacked = {
        name: np.stack([results[id][name] for id in learners], 1)
        for name in ("snapshot/share", "snapshot/implied", "snapshot/bend", "snapshot/reference")
    }
    variance = config.home.label_variance()
    squares = {
        name: ((weights - tested.w) * tested.query).sum(0).square() / variance
        for name, weights in others.items()
    }
    return {
        "names/learners": names(learners),
        "names/references": names(others),
        **_curves(results),
        "snapshot/step": next(iter(results.values()))["snapshot/step"],
        **stacked,
        "final/error": np.stack([results[id]["final/error"] for id in learners]),
        "baseline/reference": np.array([float(square.mean()) for square in squares.values()]),
        "evaluated/share": np.array([float(results[id]["evaluated/share"]) for id in learners]),
        "evaluated/error": np.array([float(results[id]["evaluated/error"]) for id in learners]),
        "count/parameters": np.array([int(results[id]["count/parameters"]) for id in learners]),
        **{
            f"final/{id}/{name.removeprefix('weights/')}": array
            for id, made in results.items()
            for name, array in made.items()
            if name.startswith("weights/")
        },
        "prompt/x": shown.x.numpy(),
        "prompt/y": shown.y.numpy(),
        "prompt/w": shown.w.numpy(),
        "prompt/reference": np.stack([each[:, :SHOWN].numpy() for each in others.values()]),
    }


def plan(config: Config) -> list[phases.Phase]:
    """Return the trainings, one a learner."""
    return [
        phases.Phase(
            learner.id,
            config.steps,
            partial(_train, config, learner),
            loop.State.curves,
            label=learner.short,
        )
        for learner in registry.trained_learners().values()
    ]


def _curves(results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the learners trained so far, and of the one in training as far as it
    is."""
    steps = max((part["curve/step"] for part in results.values()), key=len, default=None)
    if steps is None:
        return {}
    return {"curve/step": steps} | {
        f"curve/{id}": several_seeds.padded(part["curve/loss"], len(steps))
        for id, part in results.items()
    }


def _part(prompts: Prompts, count: int) -> Prompts:
    return Prompts(
        prompts.x[..., :count],
        prompts.y[..., :count],
        prompts.w[..., :count],
        prompts.covariance[..., :count],
        prompts.query[..., :count],
    )


@lru_cache(maxsize=1)
def _tested(home: Home, seed: int) -> tuple[Prompts, dict[str, Tensor]]:
    """Return the test prompts, and the weights of every reference on them; kept, since every
    learner is measured on the same ones."""
    tested = sample(home, TESTED_ON, references.stream(1, seed))
    tuned_on = sample(home, TUNED_ON, references.stream(0, seed))
    return tested, references.final_weights(home, tuned_on, tested)


Answer = Callable[[Prompts], Tensor]


def _train(
    config: Config, learner: TrainedLearner, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train a learner, and measure it at its snapshots. What is resumed has chosen its seed."""
    seed = config.seed if resumed else _best_seed(config, learner)
    weights = _initial(config, learner, seed)
    state = loop.train(
        _problem(config, learner, weights),
        config.steps,
        loop.evaluations(config.steps, *EVALUATIONS),
        resumed,
        report,
    )
    at = loop.spread([np.log1p(np.array(state.curve["step"], float))])
    kept = state.snapshot_arrays(at)
    tested, others = _tested(config.home, config.seed)
    measured = [
        _measure(config, learner, _weights_at(kept, index), tested, others)
        for index in range(len(at))
    ]
    last = measured[-1]
    return {
        **state.curves(),
        "snapshot/step": kept["snapshot/step"],
        **{
            f"snapshot/{name}": np.stack([each[name] for each in measured])
            for name in ("share", "implied", "bend", "reference")
        },
        "final/error": last["reference error"],
        "evaluated/share": last["share"],
        "evaluated/error": last["error"],
        **{
            f"weights/{name}": tensor.cpu().numpy().astype(np.float16)
            for name, tensor in weights.items()
        },
        "count/parameters": np.array(sum(tensor.numel() for tensor in weights.values())),
    }


def _initial(config: Config, learner: TrainedLearner, seed: int) -> dict[str, Tensor]:
    """Return a learner's weights before training, on the device."""
    initial = learner.initial(config.d, config.n, seed)
    return {name: tensor.to(device.current_device()) for name, tensor in initial.items()}


def _best_seed(config: Config, learner: TrainedLearner) -> int:
    """Return the seed of the initial weights that leave least after a short training."""
    steps = max(1, round(TRIAL * config.steps))
    trial = replace(config, steps=max(steps, FEWEST))
    left: dict[int, float] = {}
    for seed in range(config.seed, config.seed + TRIES):
        weights = _initial(config, learner, seed)
        problem = _problem(trial, learner, weights)
        state = loop.train(problem, trial.steps, [0, trial.steps], {}, _unheard, keep=False)
        left[seed] = state.curve["loss"][-1]
    return min(left, key=lambda seed: left[seed])


def _unheard(state: loop.State, resumable: Callable[[], Tensors]) -> None:
    """Report nothing: a trial is short, and is not resumed."""


def _weights_at(kept: dict[str, np.ndarray], index: int) -> dict[str, Tensor]:
    """Return the weights of a snapshot."""
    return {
        name.removeprefix("snapshot/"): torch.tensor(array[index], device=device.current_device())
        for name, array in kept.items()
        if name.startswith("snapshot/") and name != "snapshot/step"
    }


def _problem(config: Config, learner: TrainedLearner, weights: dict[str, Tensor]) -> loop.Problem:
    """Return what the loop trains; `weights` change in place."""
    home = config.home
    variance = home.label_variance()
    generator = references.stream(2, config.seed)
    watched = sample(home, TESTED_ON, references.stream(5, config.seed))

    def loss_of(current: dict[str, Tensor], prompts: Prompts) -> Tensor:
        right = (prompts.w * prompts.query).sum(0).float()
        answers = _answers(config, learner, current, prompts)
        return (answers - right.to(answers.device)).square().mean() / variance

    def gradient(step: int) -> tuple[dict[str, Tensor], dict[str, float]]:
        prompts = sample(home, config.batch, generator)
        leaves = several_seeds.leaves(weights)
        loss = loss_of(leaves, prompts)
        slopes = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
        norm = torch.stack([slope.square().sum() for slope in slopes.values()]).sum().sqrt()
        factor = CLIP / norm.clamp(min=CLIP)
        return {name: slope * factor for name, slope in slopes.items()}, {
            "loss": float(loss.detach())
        }

    @torch.no_grad()
    def evaluate(step: int) -> dict[str, float]:
        return {"loss": float(loss_of(weights, watched))}

    return loop.Problem(
        parameters=weights,
        gradient=gradient,
        evaluate=evaluate,
        optimiser=partial(torch.optim.Adam, lr=learner.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps, WARM_UP),
        ceiling=CEILING,
    )


def _answers(
    config: Config, learner: TrainedLearner, weights: dict[str, Tensor], prompts: Prompts
) -> Tensor:
    """Return the learner's answers to prompts, in single precision, [prompts]."""
    where = device.current_device()
    x, y, query = (each.float().to(where) for each in (prompts.x, prompts.y, prompts.query))
    return learner.predict(weights, config.d, config.n, x, y, query)


def _measure(
    config: Config,
    learner: TrainedLearner,
    weights: dict[str, Tensor],
    tested: Prompts,
    others: dict[str, Tensor],
) -> dict[str, np.ndarray]:
    """Return what a learner does with these weights."""
    where = device.current_device()
    x = tested.x.float().to(where)
    y = tested.y.float().to(where)
    query = tested.query.float().to(where).requires_grad_()
    answers = learner.predict(weights, config.d, config.n, x, y, query)
    (implied,) = torch.autograd.grad(answers.sum(), query)  # [d, prompts]
    answers = answers.detach().cpu().double()
    implied = implied.cpu().double()
    bend = answers - (implied * tested.query).sum(0)
    variance = config.home.label_variance()
    right = (tested.w * tested.query).sum(0)
    squares = (answers - right).square() / variance
    to_references = torch.stack(
        [
            (answers - (learned * tested.query).sum(0)).square() / variance
            for learned in others.values()
        ]
    )
    means, errors = references.mean_and_error(to_references)
    return {
        "share": squares.mean().numpy(),
        "error": (squares.std() / len(squares) ** 0.5).numpy(),
        "implied": implied[:, :SHOWN].T.float().numpy(),  # [prompts, d]
        "bend": (bend.square().mean() / answers.square().mean().clamp(min=1e-30)).sqrt().numpy(),
        "reference": means,
        "reference error": errors,
    }
