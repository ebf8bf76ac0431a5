"""Take the three steps on batches and in exact expectation, try every order and other widths, check
the lemmas."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.shared import proof_model
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.behaviour import average, on_followers, on_previous
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall, recalls
from icl_core.papers.birth.shared.proof_model import MATRICES, Drawn, sample
from icl_core.papers.birth.shared.task import Task, make_task
from icl_core.papers.birth.shared.train import held_out
from icl_core.papers.birth.steps import gradient_steps, lemmas
from icl_core.papers.birth.steps.gradient_steps import (
    begun,
    exactly,
    on_batches,
    seeds_of,
    task_of,
    walk,
)
from icl_core.papers.birth.steps.lemmas import shares
from icl_core.papers.birth.steps.settings import (
    CHECKED,
    LEMMAS,
    ORDERS,
    THEN,
    THEOREM,
    WAYS,
    Config,
)
from icl_core.training import phases
from icl_core.training.loop import State

EVALUATED = 4096  # sequences that no step saw
HELD_OUT = 2**31 + 17  # their seed
EVALUATED_WHOLE = 128  # of the whole model
WIDTHS = (32, 64, 128, 256, 512)
PLACES = ("none", "values", "keys", "query", "all")  # which part of the stream holds positions


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Take the steps of every seed, with all that is measured of them. Return:

    curve/recall_<matrix>_<way>  [seeds, 4] beside `curve/step` 0 to 3; also with `_paper` as eq. 9
                                 has it, and for W_K1 with `_asked`
    curve/<measure>_<way>        [seeds, 4], what the model achieves
    step/<way>_<matrix>          of the first seed, the coefficients of its gradient (in the whole
                                 model the gradient); of the others seed/<number>/step/…

    and in the proof's setting:

    orders/recall, orders/size   [seeds, orders, 3]
    sweep/…, toy/…               [seeds, widths]
    lemma/…, spurious/ratio      [seeds]
    places/accuracy              [seeds, places]
    law/shares                   [2]

    names/… are the ids of all these. Raises `Cancelled`.
    """
    plan = [
        phases.Phase(
            f"seed {seed_config.seed}",
            1,
            partial(_seed, seed_config),
            label=f"seed {number} of {config.seeds}",
        )
        for number, seed_config in enumerate(seeds_of(config), 1)
    ]
    tensors = phases.run(plan, progress, lambda tensors: {})
    rows = [tensors[phase.name] for phase in plan]
    stacked = {
        name: np.stack([row[name] for row in rows])
        for name in rows[0]
        if not name.startswith("step/")
    }
    steps_of = [
        {name: array for name, array in row.items() if name.startswith("step/")} for row in rows
    ]
    steps = np.arange(4)
    others = [{**gradients, "snapshot/step": steps} for gradients in steps_of[1:]]
    stacked |= steps_of[0] | other_seeds(dict(enumerate(others, 2)), in_half=False)
    stacked |= {"curve/step": steps, "snapshot/step": steps, "names/matrices": names(MATRICES)}
    stacked |= {
        "names/ways": names(_ways(config)),
        "names/orders": names(ORDERS),
        "names/lemmas": names(LEMMAS),
    }
    stacked["names/places"] = names(PLACES)
    sizes = {"sweep/width": np.array(WIDTHS), "law/shares": np.array(shares(config.N, config.T))}
    return {**stacked, **(sizes if config.setup == "proof" else {})}


def _ways(config: Config) -> list[str]:
    return list(WAYS) if config.setup == "proof" else ["batch"]


def _seed(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    """Return all tensors of one seed: a phase of a single step, of which there is nothing to
    save."""
    report(State(), dict)
    order = config.order.split(THEN)
    cache: dict[tuple[str, ...], Tensor] = {}  # the coefficients of steps on batches, by path
    tensors: dict[str, np.ndarray] = {}
    gradients = {"batch": on_batches(config), "exact": exactly}
    for way in _ways(config):
        steps = walk(config, gradients[way], order, cache if way == "batch" else None)
        tensors |= _followed(config, way, [begun(config), *(weights for _, weights in steps)])
        for name, (coefficients, _) in zip(order, steps, strict=True):
            tensors[f"step/{way}_{name}"] = coefficients.float().numpy()
    if config.setup == "whole":
        return tensors
    return {
        **tensors,
        **_orders(config, cache),
        **_widths(config),
        **_lemmas(config),
        **_stored(config, cache),
    }


def _followed(config: Config, way: str, states: list[Weights]) -> dict[str, np.ndarray]:
    """Return the recalls, and what the model makes of sequences, at every state: before the first
    step and after each, [4]."""
    task = task_of(config)
    rows = []
    for weights in states:
        shares_right = recalls(weights, task)
        row = {f"recall_{name}": shares_right[name] for name in MATRICES}
        row |= {f"recall_{name}_paper": shares_right[f"{name}_paper"] for name in ("W_K2", "W_K1")}
        row["recall_W_K1_asked"] = _asked(weights, task)
        rows.append({**row, **_measured(config, task, weights)})
    return {
        f"curve/{name}_{way}": np.array([row[name] for row in rows], np.float32) for name in rows[0]
    }


def _asked(weights: Weights, task: Task) -> float:
    """Return the recall of W_K1 without its last pair: position T looks back at T − 1, where next
    to no trigger stands."""
    S = memory_scores("W_K1", weights, task).matrix
    counted = torch.ones(len(S)).index_fill_(0, torch.tensor(len(S) - 1), 0.0)
    return recall(S, OVER["W_K1"], counted)


def _measured(config: Config, task: Task, weights: Weights) -> Mapping[str, float]:
    if config.setup == "whole":
        return _measured_whole(weights, task)
    return proof_model.measures(weights, _held_out(config, EVALUATED))


@torch.no_grad()
def _measured_whole(weights: Weights, task: Task) -> dict[str, float]:
    """Return of the whole model of Section 4.2 what `proof_model.measures` returns, over all
    in-context positions, with followers in place of the one output. What has no counterpart is
    NaN."""
    batch = held_out(task, EVALUATED_WHOLE, "cpu")
    logits, first, second = forward(weights, batch.inputs)
    assert first is not None
    inside = batch.in_context
    return {
        "accuracy": float(hits(logits, batch.targets)[inside].double().mean()),
        "trigger": float(hits(logits, batch.inputs)[inside].double().mean()),
        "on_output": float(average(on_followers(second, batch.inputs), inside)),
        "from_trigger": float("nan"),
        "previous": float(average(on_previous(first))),
    }


def _held_out(config: Config, sequences: int) -> Drawn:
    """Return sequences that no step saw."""
    return sample(config.N, config.T, sequences, torch.Generator().manual_seed(HELD_OUT))


def _orders(config: Config, cache: dict[tuple[str, ...], Tensor]) -> dict[str, np.ndarray]:
    """Return the recalls at the end of every order, and the Euclidean norms of the matrices,
    [orders, matrices] each."""
    task = task_of(config)
    shares_right = []
    sizes = []
    for order in ORDERS:
        _, weights = walk(config, on_batches(config), order.split(THEN), cache)[-1]
        end_recalls = recalls(weights, task)
        shares_right.append([end_recalls[name] for name in MATRICES])
        sizes.append([float(weights[name].norm()) for name in MATRICES])
    return {
        "orders/recall": np.array(shares_right, np.float32),
        "orders/size": np.array(sizes, np.float32),
    }


def _widths(config: Config) -> dict[str, np.ndarray]:
    """Return the recalls after the theorem's three steps at every width, and what Section 6's
    example makes there, [widths] each."""
    shares_right = []
    examples = []
    for d in WIDTHS:
        config_at_d = replace(config, d=d)
        weights = walk(config_at_d, on_batches(config_at_d), THEOREM.split(THEN))[-1][1]
        end_recalls = recalls(weights, task_of(config_at_d))
        generator = torch.Generator().manual_seed(config.seed)
        steps = [
            gradient_steps.noise_step(weights, variant, config.batch, generator)
            for variant in gradient_steps.KNOWN
        ]
        shares_right.append([end_recalls[name] for name in MATRICES])
        examples.append([[step.accuracy, step.signal, step.noise] for step in steps])
    by_matrix = np.array(shares_right, np.float32).T  # (matrices, widths)
    tensors = {f"sweep/recall_{name}": row for name, row in zip(MATRICES, by_matrix, strict=True)}
    by_variant = np.array(examples, np.float32)  # (widths, variants, measures)
    for i, variant in enumerate(gradient_steps.KNOWN):
        for j, measure in enumerate(("accuracy", "signal", "noise")):
            tensors[f"toy/{measure}_{variant}"] = by_variant[:, i, j]
    return tensors


def given(config: Config) -> lemmas.Given:
    """Return what the lemmas are checked on: Shakespeare's bigrams for the first, and sequences
    that no step saw. What stands for W_O2 and W_K2 is their construction, as the lemmas hold
    whatever they are."""
    weights = construct(begun(config), task_of(config), logit=1.0, output_scale=1.0)
    bigram = make_task(config.N, 1, config.T).bigram
    return lemmas.Given(weights.to(torch.float64), _held_out(config, CHECKED), bigram)


def _lemmas(config: Config) -> dict[str, np.ndarray]:
    """Return how far each lemma's formula is from autograd, as a share of the largest entry."""
    inputs = given(config)
    return {
        f"lemma/{name}": np.array(lemmas.apart(lemma(inputs)))
        for name, lemma in lemmas.LEMMAS.items()
    }


def _stored(config: Config, cache: dict[tuple[str, ...], Tensor]) -> dict[str, np.ndarray]:
    """Return what else the theorem's steps have stored: how strong the pairs of W_O2 are with what
    layer 1 makes of a character, beside the right ones; and the share of right answers where the
    stream holds positions."""
    weights = walk(config, on_batches(config), THEOREM.split(THEN), cache)[-1][1]
    right, mean = (strengths - strengths.mean() for strengths in proof_model.both_stored(weights))
    ratio = float(mean.diagonal().mean() / right.diagonal().mean())
    accuracies = proof_model.with_positions(weights, _held_out(config, EVALUATED))
    return {
        "spurious/ratio": np.array(ratio, np.float32),
        "places/accuracy": np.array([accuracies[name] for name in PLACES], np.float32),
    }
