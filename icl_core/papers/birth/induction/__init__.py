"""The induction head, learned by a transformer of two layers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Theory
from icl_core.contract.visitor import InTab, Replacements
from icl_core.papers.birth.induction import claims, grafted
from icl_core.papers.birth.induction.atlas import ATLAS, CLAIMS
from icl_core.papers.birth.induction.draw import behaviour, curves, matrices, schedules, sequence
from icl_core.papers.birth.induction.load_run import milestones
from icl_core.papers.birth.induction.settings import FASTEST, PRESETS, Config, View
from icl_core.papers.birth.induction.train import completed, compute, one_layer, opposite
from icl_core.papers.birth.induction.words import WORDS, headline
from icl_core.papers.birth.shared.circuit import CIRCUIT
from icl_core.papers.birth.shared.diagram import model_diagram
from icl_core.papers.birth.shared.draw import TYPED
from icl_core.papers.birth.shared.expected_recall import recalled
from icl_core.papers.birth.shared.train import EVALUATED, EVALUATIONS, WATCHED
from icl_core.training.loop import evaluations


def cost(config: Config) -> float:
    """Return the giga-operations of a run: its trainings, those of the opposite freezing, and one
    of a single layer."""
    of_a_seed = _training(config) + (_training(other) if (other := opposite(config)) else 0)
    return (
        config.seeds * of_a_seed
        + (_training(one_layer(config)) if config.layers == 2 and config.trains else 0)
    ) / 1e9


def _training(config: Config) -> float:
    """Return the operations of one training and of its evaluations on held-out sequences: forward
    alone, a third of a step."""
    whole = _per_token(replace(config, positions="all"))
    looks = len(evaluations(config.updates, *EVALUATIONS))
    looking = (looks * WATCHED * (1.5 if config.positions == "all" else 1) + EVALUATED) * whole / 3
    return config.T * (config.batch * config.updates * _per_token(config) + looking)


def _per_token(config: Config) -> float:
    """Return the operations for a token of a batch: queries with keys, tokens with matrices,
    outputs with W_U."""
    # the share of positions where layer 2 and the loss are needed
    counted = 1.0 if config.positions == "all" else 0.3
    maps = config.T * config.d * ((4 if config.layers == 2 else 0) + 6 * counted)
    return maps + 16 * config.d**2 + 6 * config.N * config.d * counted


def _trains(config: Config) -> bool:
    """Return whether there are curves: a visitor's own matrices have a single evaluation."""
    return config.trains


# the drawers
GRAFT = "Graft"
OWN = "Your own sequence"
BESIDE = "Trained beside constructed"
CURVES = "All curves"

SEQUENCE = ("sequence", "marked", "seed_shown")
SEED = ("seed_shown",)


def expected_recall_share(config: Config) -> float:
    """Return the share of N random pairs, all as strong, that a matrix of this width recalls: it
    has d² numbers for them."""
    return float(recalled(config.d, np.ones(config.N)).mean())


def _counts(config: Config) -> Mapping[str, Any]:
    """Return the characters of Tiny Shakespeare and their counts, for a training in the tab."""
    path = Path(__file__).parents[1] / "shared" / "shakespeare_counts.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    counts = {"unigram": raw["unigram_counts"], "bigram": raw["bigram_counts"]}
    return {"characters": raw["characters"], **counts}


EXPERIMENT = Experiment(
    name="induction",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=(*claims.ALL, *CLAIMS),
    metrics=claims.measure,
    drawings=(
        Drawing(
            "second",
            sequence.second,
            (*SEQUENCE, *grafted.GRAFTS),
            explanations=sequence.second_cells,
        ),
        Drawing(
            "first",
            sequence.first,
            (*SEQUENCE, grafted.FIELDS["W_K1"], "strength"),
            applies=lambda config: config.layers == 2,
            explanations=sequence.first_cells,
        ),
        Drawing(
            "w_k1",
            sequence.w_k1,
            (grafted.FIELDS["W_K1"], "strength", *SEED),
            applies=lambda config: config.layers == 2,
            explanations=sequence.w_k1_cells,
        ),
        Drawing(
            "w_k2",
            sequence.w_k2,
            (grafted.FIELDS["W_K2"], "strength", *SEED),
            explanations=sequence.w_k2_cells,
        ),
        Drawing(
            "w_o2",
            sequence.w_o2,
            (grafted.FIELDS["W_O2"], "strength", *SEED),
            explanations=sequence.w_o2_cells,
        ),
        Drawing(
            "accuracy",
            curves.accuracy,
            ("measure", "single_seeds", *grafted.FIELDS.values()),
            live=True,
            applies=_trains,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing(
            "probes", behaviour.probes_panel, applies=lambda config: not config.trains, moving=False
        ),
        Drawing(
            "graft",
            matrices.surgery,
            (*grafted.GRAFTS, *SEED),
            GRAFT,
        ),
        Drawing(
            "score",
            matrices.score,
            (),
            GRAFT,
            applies=lambda config: config.layers == 2,
            wide=True,
        ),
        Drawing("attention", sequence.attention, (*SEQUENCE, "sample", "length"), OWN, wide=True),
        Drawing("forward", sequence.forward, (*SEQUENCE, "sample", "length", "position"), OWN),
        Drawing(
            "streams",
            sequence.streams,
            (*SEQUENCE, "followed"),
            CIRCUIT,
            applies=lambda config: config.layers == 2,
        ),
        Drawing("paths", sequence.paths, (*SEQUENCE, "followed"), CIRCUIT),
        Drawing(
            "blocks",
            sequence.blocks,
            ("read", *SEED),
            CIRCUIT,
            applies=lambda config: config.layers == 2,
        ),
        Drawing("matrix", matrices.matrices, ("memory", "raw", "wrong", *SEED), BESIDE, wide=True),
        Drawing("spectrum", matrices.spectrum, SEED, BESIDE),
        Drawing(
            "memories",
            curves.memories,
            ("orientation", "weighted"),
            CURVES,
            live=True,
            applies=_trains,
        ),
        Drawing("losses", curves.losses, (), CURVES, live=True, applies=_trains),
        Drawing(
            "rows",
            curves.rows,
            (),
            CURVES,
            live=True,
            applies=lambda c: c.trains and c.layers == 2,
        ),
        Drawing(
            "schedules", schedules.schedules, (), CURVES, applies=schedules.is_figure_3, wide=True
        ),
        Drawing(
            "opposite",
            curves.opposite,
            (),
            CURVES,
            applies=lambda config: opposite(config) is not None,
        ),
        Drawing(
            "outputs",
            curves.outputs,
            (),
            CURVES,
            live=True,
            applies=lambda c: c.trains and c.positions == "all",
        ),
        Drawing(
            "feed_forward",
            curves.feed_forward,
            (),
            CURVES,
            live=True,
            applies=lambda c: c.trains and c.feed_forward,
        ),
        Drawing("gradients", curves.gradients_panel, (), CURVES, applies=_trains),
        Drawing("looks", behaviour.attention_on_followers, (), CURVES),
        Drawing(
            "errors",
            behaviour.errors,
            (),
            CURVES,
            applies=lambda config: config.layers == 2,
        ),
        Drawing("stripe", behaviour.stripe, (), CURVES, applies=lambda config: config.layers == 2),
        Drawing("copying", behaviour.copying, (), CURVES),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: config.trains,
    theory=(Theory("share of N random pairs that one matrix recalls", expected_recall_share),),
    diagram=lambda config: model_diagram(
        config,
        "trained" if config.trains else "given",
        ("matrix", {"memory": "W_F"}),
        "accuracy" if config.trains else "probes",
    ),
    atlas=ATLAS,
    picture=("second",),
    preview=completed,
    typed=TYPED,
    replaced=Replacements(grafted.GRAFTS, grafted.replaced),
    in_tab=InTab(
        Path(__file__).with_name("tab.js"),
        "InductionHead",
        replace(FASTEST, d=96, batch=32),
        {
            "K": (1, 2, 3, 4, 5, 6, 8, 10),
            "d": (16, 32, 48, 64, 96, 128),
            "T": (32, 64, 96, 128),
            "layers": (1, 2),
            "learning_rate": (0.02, 0.05, 0.1, 0.2, 0.5),
        },
        "Batches of 32 sequences here, 128 in the dashboard; width 96 at first, 128 there.",
        _counts,
    ),
)
