"""Takes the three steps on batches and in exact expectation, tries every order and other widths,
checks the lemmas."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.shared import proof_model
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall, recalls
from icl_core.papers.birth.shared.proof_data import Drawn, sample
from icl_core.papers.birth.shared.proof_model import MATRICES
from icl_core.papers.birth.shared.task import Task, make_task
from icl_core.papers.birth.steps import lemmas, noise_example, whole_model
from icl_core.papers.birth.steps.exact_expectation import shares
from icl_core.papers.birth.steps.gradient_steps import (
    begun,
    exactly,
    on_batches,
    seeds_of,
    task_of,
    walk,
)
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

EVALUATED, HELD_OUT = 4096, 2**31 + 17  # sequences that no step saw, and their seed
WIDTHS = (32, 64, 128, 256, 512)
PLACES = ("none", "values", "keys", "query", "all")  # which part of the stream holds positions


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`curve/step` 0 to 3 and [seeds, 4], by way: `curve/recall_<matrix>_<way>`, with `_paper` as
    eq. 9 has it and for W_K1 `_asked`, and `curve/<measure>_<way>`; `step/<way>_<matrix>` of the
    first seed, the coefficients of its gradient (in the whole model the gradient), and of the
    others as `seed/<number>/step/…`. In the proof's
    setting also [seeds, orders, 3] `orders/recall` and `orders/size`, `sweep/*` and `toy/*` [seeds,
    widths], `lemma/*` and `spurious/ratio` [seeds], `places/accuracy` [seeds, places],
    `law/shares`; `names/*` of what these are."""
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
    others = [{**each, "snapshot/step": steps} for each in steps_of[1:]]
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
    """All of one seed: a phase of a single step, of which there is nothing to save."""
    report(State(), dict)
    order, cache, tensors = config.order.split(THEN), {}, {}
    gradients = {"batch": on_batches(config), "exact": exactly}
    for way in _ways(config):
        walked = walk(config, gradients[way], order, cache if way == "batch" else None)
        tensors |= _followed(config, way, [begun(config), *(weights for _, weights in walked)])
        tensors |= {f"step/{way}_{n}": _small(C) for n, (C, _) in zip(order, walked, strict=True)}
    if config.setup == "whole":
        return tensors
    return {
        **tensors,
        **_orders(config, cache),
        **_widths(config),
        **_lemmas(config),
        **_stored(config, cache),
    }


def _small(coefficients: Tensor) -> np.ndarray:
    """As it is kept."""
    return coefficients.float().numpy()


def _followed(config: Config, way: str, states: list[Weights]) -> dict[str, np.ndarray]:
    """What each step has changed: recalls, and what the model makes of sequences."""
    task, rows = task_of(config), []
    for weights in states:
        recalled = recalls(weights, task)
        row = {f"recall_{name}": recalled[name] for name in MATRICES}
        row |= {f"recall_{name}_paper": recalled[f"{name}_paper"] for name in ("W_K2", "W_K1")}
        row["recall_W_K1_asked"] = _asked(weights, task)
        rows.append({**row, **_measured(config, task, weights)})
    return {
        f"curve/{name}_{way}": np.array([row[name] for row in rows], np.float32) for name in rows[0]
    }


def _asked(weights: Weights, task: Task) -> float:
    """The recall of W_K1 without its last pair: position T looks back at T − 1, where next to no
    trigger stands."""
    S = memory_scores("W_K1", weights, task).matrix
    return recall(S, OVER["W_K1"], torch.ones(len(S)).index_fill_(0, torch.tensor(len(S) - 1), 0.0))


def _measured(config: Config, task: Task, weights: Weights) -> Mapping[str, float]:
    if config.setup == "whole":
        return whole_model.measures(weights, task)
    return proof_model.measures(weights, _held_out(config, EVALUATED))


def _held_out(config: Config, sequences: int) -> Drawn:
    """Sequences that no step saw."""
    return sample(config.N, config.T, sequences, torch.Generator().manual_seed(HELD_OUT))


def _orders(config: Config, cache: dict[tuple[str, ...], Tensor]) -> dict[str, np.ndarray]:
    """The recalls at the end of every order, and how long the matrices are."""
    task, recalled, sizes = task_of(config), [], []
    for order in ORDERS:
        _, weights = walk(config, on_batches(config), order.split(THEN), cache)[-1]
        end_recalls = recalls(weights, task)
        recalled.append([end_recalls[name] for name in MATRICES])
        sizes.append([float(weights[name].norm()) for name in MATRICES])
    return {
        "orders/recall": np.array(recalled, np.float32),
        "orders/size": np.array(sizes, np.float32),
    }


def _widths(config: Config) -> dict[str, np.ndarray]:
    """The recalls after the theorem's three steps at every width, and Section 6's example at it."""
    recalled, example = [], []
    for d in WIDTHS:
        config_at_d = replace(config, d=d)
        weights = walk(config_at_d, on_batches(config_at_d), THEOREM.split(THEN))[-1][1]
        end_recalls, generator = (
            recalls(weights, task_of(config_at_d)),
            torch.Generator().manual_seed(config.seed),
        )
        steps = [
            noise_example.step(weights, variant, config.batch, generator)
            for variant in noise_example.KNOWN
        ]
        recalled.append([end_recalls[name] for name in MATRICES])
        example.append([[step.accuracy, step.signal, step.noise] for step in steps])
    sweep = {
        f"sweep/recall_{n}": np.array(recalled, np.float32)[:, i] for i, n in enumerate(MATRICES)
    }
    toys = {
        f"toy/{measure}_{variant}": np.array(example, np.float32)[:, i, j]
        for i, variant in enumerate(noise_example.KNOWN)
        for j, measure in enumerate(("accuracy", "signal", "noise"))
    }
    return {**sweep, **toys}


def given(config: Config) -> lemmas.Given:
    """What the lemmas are checked on: Shakespeare's bigrams for the first, and sequences that no
    step saw. What stands for W_O2 and W_K2 is their construction, as the lemmas hold whatever they
    are."""
    weights = construct(begun(config), task_of(config), logit=1.0, output_scale=1.0).to(
        torch.float64
    )
    return lemmas.Given(
        weights, _held_out(config, CHECKED), make_task(config.N, 1, config.T).bigram
    )


def _lemmas(config: Config) -> dict[str, np.ndarray]:
    """How far each lemma's formula is from autograd, as a share of the largest entry."""
    checked = given(config)
    return {
        f"lemma/{name}": np.array(lemmas.apart(lemma(checked)))
        for name, lemma in lemmas.LEMMAS.items()
    }


def _stored(config: Config, cache: dict[tuple[str, ...], Tensor]) -> dict[str, np.ndarray]:
    """What else the theorem's steps have stored: how strong the pairs of W_O2 are with what layer 1
    makes of a character, beside the right ones; and the share of right answers where the stream
    holds positions."""
    weights = walk(config, on_batches(config), THEOREM.split(THEN), cache)[-1][1]
    right, mean = (strengths - strengths.mean() for strengths in proof_model.both_stored(weights))
    placed = proof_model.with_positions(weights, _held_out(config, EVALUATED))
    return {
        "spurious/ratio": np.array(
            float(mean.diagonal().mean() / right.diagonal().mean()), np.float32
        ),
        "places/accuracy": np.array([placed[name] for name in PLACES], np.float32),
    }
