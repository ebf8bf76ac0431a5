"""Computes every rule in closed form, and trains every rule in the GD-SSM's window beside it."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import KALMAN, RULES, Rule
from icl_core.machine import device
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.papers.gdssm.states import expected, recent, recent_layers, window
from icl_core.papers.gdssm.states.recent_layers import LAYERS, Layer
from icl_core.papers.gdssm.states.settings import Config
from icl_core.training import loop, phases, several_seeds
from icl_core.training.several_seeds import padded

EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
WATCHED = 2**10  # tasks of the curves
TEST_SET = 2**13  # of the end
PART = 2**10  # tasks that are evaluated at a time
CEILING = 1e4  # times the loss of predicting zero
DRIFTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
SETTINGS = ("rate", "decay", "ridge", "gain")
WEIGHTS = (*window.POINTS, "rate", "decay", "ridge")
Predict = Callable[[window.Weights, Tasks], Tensor]  # to (seeds, f, tasks)
Drift = float | Tensor  # of W, or of every column (f)
SHRUNK = (2.0, 1.5, 1.0, 0.7, 0.5, 0.35, 0.25, 0.1, 0.03, 0.01)  # of the delta rule's best rate


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train all rules and compute what each loses. Return, over the rules of `names/rules`,

    snapshot/<weight>  [snapshots, rules, seeds, ...] beside `snapshot/step`, and `final/<weight>`
                       [rules, seeds, ...]; NaN where a rule has no such weight
    curve/<rule>       [seeds, evaluations] beside `curve/step`
    evaluated/trained  [rules, seeds], evaluated/constructed [rules], on the same test set
    tuned/<setting>    [rules], at the drift of the config; NaN where a rule has no such setting
    tokens/share       [rules + 1, N + 1], the loss after each pair, last the Kalman filter's
    drift/share        [rules + 1, drifts] beside `drift/at`, tuned at each, last the Kalman
                       filter's
    drift/decay        [rules, drifts], the best decay, 1 where a rule has none
    batches/share      [N], of gradient descent in batches of 1 to N pairs, without drift
    imitation/fixed, imitation/scaled  [rates], how far the delta rule is from a step on all pairs
                       at `imitation/rate` times its best rate, without drift
    baseline/one, baseline/two, baseline/zero  [1], the best one and two steps, and predicting zero
    recent/…           of recent rules, where there are any (`recent.computed`)
    layers/…           of the layers of `names/layers`, where they are trained (`_of_layers`)

    Every share is a loss over that of predicting zero. Raises `Cancelled` and `Diverged`.
    """
    results = phases.run(plan(config), progress, lambda results: _curves(results))
    kept = [results[id] for id in RULES]
    stacked = {
        f"{kind}/{name}": np.stack([one[f"{kind}/{name}"] for one in kept], axis)
        for kind, axis in (("snapshot", 1), ("final", 0))
        for name in WEIGHTS
    }
    return {
        "names/rules": names(RULES),
        **_curves(results),
        "snapshot/step": kept[0]["snapshot/step"],
        **stacked,
        "evaluated/trained": np.stack([one["evaluated/trained"] for one in kept]),
        "evaluated/constructed": np.stack([one["evaluated/constructed"] for one in kept]),
        **exact(config),
        **(recent.computed(config.f, config.N) if config.recent else {}),
        **(_of_layers(config, results) if config.train_recent else {}),
    }


def _of_layers(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return, over the layers of `names/layers`,

    layers/trained        [layers, seeds] and layers/constructed [layers], on the same test set
    layers/share          [layers], the loss of the construction, as a share of predicting zero
    layers/oldest         [1], that of DeltaProduct as written (`recent_layers.oldest_first`)
    layers/<id>/<weight>  [seeds, ...], trained, and layers/<id>/tuned-decays [channels]
    """
    own = {id: results[id] for id in LAYERS}
    numbers = {
        f"layers/{name}": np.stack([one[f"evaluated/{name}"] for one in own.values()])
        for name in ("trained", "constructed", "share")
    }
    weights = {
        f"layers/{id}/{name.removeprefix('final/')}": array
        for id, one in own.items()
        for name, array in one.items()
        if name.startswith(("final/", "tuned-"))
    }
    oldest = np.array([recent_layers.oldest_first(config.f, config.N)])
    return {"names/layers": names(own), **numbers, **weights, "layers/oldest": oldest}


def plan(config: Config) -> list[phases.Phase]:
    """Return the trainings, one a rule and one a layer."""
    every = [(rule, partial(_train, config, rule)) for rule in RULES.values()]
    layers = [(layer, partial(_train_layer, config, layer)) for layer in LAYERS.values()]
    return [
        phases.Phase(what.id, config.steps, train, loop.State.curves, label=what.name)
        for what, train in [*every, *(layers if config.train_recent else ())]
    ]


def _curves(results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the rules trained so far; of the one in training as far as it is."""
    steps = max((part["curve/step"] for part in results.values()), key=len, default=None)
    if steps is None:
        return {}
    return {"curve/step": steps} | {
        f"curve/{id}": padded(part["curve/loss"], len(steps)) for id, part in results.items()
    }


def _train(
    config: Config, rule: Rule, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train a rule of all seeds, and evaluate it beside its construction."""
    weights = _moved(window.initial(rule, config.N, _seeds(config)))
    constructed = window.constructed(rule, tuned(rule, config))
    predict = partial(window.predict, rule)
    state, arrays = _end(config, predict, weights, constructed, config.drift, resumed, report)
    snapshots = loop.spread([np.log1p(np.array(state.curve["step"], float))])
    kept = _filled(state.snapshot_arrays(snapshots), config.seeds, len(snapshots))
    return {**arrays, **kept}


def _train_layer(
    config: Config, layer: Layer, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train a recent layer of all seeds, and evaluate it beside its construction."""
    weights = _moved(recent_layers.initial(layer, config.f, _seeds(config)))
    settings, gain, share = recent_layers.tuned(layer, config.f, config.N, config.drift)
    constructed = recent_layers.constructed(layer, settings, gain)
    predict = partial(recent_layers.predict, layer)
    drift = layer.drift(config.f, config.drift)
    _, arrays = _end(config, predict, weights, constructed, drift, resumed, report)
    return {
        **arrays,
        **{f"final/{name}": weight.cpu().numpy() for name, weight in weights.items()},
        **{f"tuned-{name}": setting.numpy() for name, setting in settings.items()},
        "evaluated/share": np.array(share),
    }


def _seeds(config: Config) -> list[int]:
    return list(range(config.seed, config.seed + config.seeds))


def _end(
    config: Config,
    predict: Predict,
    weights: window.Weights,
    constructed: window.Weights,
    drift: Drift,
    resumed: Tensors,
    report: phases.Report,
) -> tuple[loop.State, dict[str, np.ndarray]]:
    """Train what predicts; return the end of the training, and its curves with the losses of what
    is trained and of its construction on the same test set. `weights` change in place."""
    problem = _problem(config, predict, weights, drift)
    evaluations = loop.evaluations(config.steps, *EVALUATIONS)
    state = loop.train(problem, config.steps, evaluations, resumed, report)
    tasks = _tasks(config, TEST_SET, torch.Generator().manual_seed(2**31 + 17), drift)
    return state, {
        **state.curves(),
        "evaluated/trained": _losses(predict, weights, tasks),
        "evaluated/constructed": _losses(predict, _moved(constructed), tasks)[0],
    }


def _filled(arrays: dict[str, np.ndarray], seeds: int, snapshots: int) -> dict[str, np.ndarray]:
    """Return the arrays with NaN for the weights that a rule does not have."""
    for name in WEIGHTS:
        if f"final/{name}" not in arrays:
            arrays[f"final/{name}"] = np.full(seeds, np.nan, np.float32)
            arrays[f"snapshot/{name}"] = np.full((snapshots, seeds), np.nan, np.float32)
    return arrays


def _moved(weights: window.Weights) -> window.Weights:
    """Return the weights on the device."""
    return {name: tensor.to(device.current_device()) for name, tensor in weights.items()}


def _tasks(config: Config, count: int, generator: torch.Generator, drift: Drift) -> Tasks:
    """Return fresh tasks of a setting on the device."""
    tasks = window.draw(config.f, config.N, count, generator, drift)
    return tasks.to(device.current_device())


@torch.no_grad()
def _losses(predict: Predict, weights: window.Weights, tasks: Tasks) -> np.ndarray:
    """Return the loss of every seed, [seeds]."""
    parts = [tasks.part(first, first + PART) for first in range(0, len(tasks), PART)]
    shares = [loss(predict(weights, part), part.y[-1]) * len(part) for part in parts]
    return (torch.stack(shares).sum(0) / len(tasks)).cpu().numpy()


def _problem(
    config: Config, predict: Predict, weights: window.Weights, drift: Drift
) -> loop.Problem:
    """Return what the loop trains; `weights` change in place."""
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    watched = _tasks(config, WATCHED, torch.Generator().manual_seed(2**31 + 19), drift)

    def gradient(step: int) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
        tasks = _tasks(config, config.batch, generator, drift)
        leaves = several_seeds.leaves(weights)
        losses = loss(predict(leaves, tasks), tasks.y[-1])
        return several_seeds.gradients(losses, leaves), {"loss": losses.detach().cpu().numpy()}

    return loop.Problem(
        parameters=weights,
        gradient=gradient,
        evaluate=lambda step: {"loss": _losses(predict, weights, watched)},
        optimiser=partial(torch.optim.Adam, lr=config.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=CEILING * closed_forms.zero_loss(config.f),
    )


def tuned(rule: Rule, config: Config) -> expected.Tuned:
    """Return the settings of a rule that lose least at the drift of the config."""
    if rule is rules.SQUARES:
        x = expected.prompts(config.f, config.N)
        return expected.of_squares(x, [config.drift])[0][0]
    return expected.tuned(rule, config.f, config.N, config.drift)


def exact(config: Config) -> dict[str, np.ndarray]:
    """Return what every rule loses, at the drift of the config and at others, without training."""
    f = config.f
    N = config.N
    drift = config.drift
    x = expected.prompts(f, N)
    drifts = sorted({*DRIFTS, drift})
    every = {rule.id: _over_drifts(rule, f, N, x, drifts) for rule in RULES.values()}
    here = drifts.index(drift)
    own = {id: settings[here] for id, (settings, _) in every.items()}
    kalman = [_after(KALMAN, {"drift": at}, x, at) for at in drifts]
    best = {"drift": drift}
    tokens = [
        *(_traced(rule, own[rule.id], x, drift) for rule in RULES.values()),
        expected.traced_over_prompts(KALMAN, best, x, drift),
    ]
    delta = expected.tuned(rules.DELTA, f, N)
    distances = {
        name: [expected.imitation(rules.DELTA, delta, x, shrunk, scaled) for shrunk in SHRUNK]
        for name, scaled in (("fixed", False), ("scaled", True))
    }
    zero = closed_forms.zero_loss(f)
    settings_by_name = {
        **{f"tuned/{name}": [one.get(name, np.nan) for one in own.values()] for name in SETTINGS},
        "tokens/share": tokens,
        "drift/at": drifts,
        "drift/share": [*(losses for _, losses in every.values()), kalman],
        "drift/decay": [[one.get("decay", 1.0) for one in row] for row, _ in every.values()],
        "batches/share": [expected.in_batches(f, N, b + 1)[1] for b in range(N)],
        "imitation/rate": SHRUNK,
        **{f"imitation/{name}": row for name, row in distances.items()},
        "baseline/one": [expected.one_step(f, N)],
        "baseline/two": [closed_forms.two_steps_free(f, N).loss / zero],
        "baseline/zero": [zero],
    }
    return {name: np.array(value) for name, value in settings_by_name.items()}


def _over_drifts(
    rule: Rule, f: int, N: int, x: Tensor, drifts: list[float]
) -> tuple[list[expected.Tuned], list[float]]:
    """Return the best settings of a rule at every drift, and its losses."""
    if rule is rules.SQUARES:
        both = expected.of_squares(x, drifts)
        return [settings for settings, _ in both], [loss for _, loss in both]
    settings = [expected.tuned(rule, f, N, at) for at in drifts]
    losses = [
        float(expected.traced(rule, tuned_settings, f, N, at)[-1])
        for tuned_settings, at in zip(settings, drifts, strict=True)
    ]
    return settings, losses


def _traced(rule: Rule, settings: expected.Tuned, x: Tensor, drift: float) -> np.ndarray:
    """Return the loss of a rule after 0 to N pairs, [N + 1]."""
    if rule is rules.SQUARES:
        return expected.traced_over_prompts(rule, settings, x, drift)
    return expected.traced(rule, settings, x.shape[1], len(x), drift)


def _after(rule: Rule, settings: expected.Tuned, x: Tensor, drift: float) -> float:
    """Return the loss after all pairs, as a mean over the prompts x."""
    v = rules.coefficients(rule, x, settings)
    m, xi = expected.moments(*expected.pairwise(v, x), x.shape[1], drift)
    return 1 - 2 * xi + m
