"""The numbers in words.md, and which answers are right."""

from dataclasses import replace
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.pretrained.load_run import (
    ROLES,
    asked_count,
    best_pair,
    chance,
    group_index,
    half_losses,
    halves_by_layer,
    head_shown,
    layers_without_map,
    looking_head,
    losses_alone,
    losses_without_group,
    milestones,
    needed_head,
    pair_recall,
    place_of,
    role_of,
    roles,
    says_attended,
    scores_over_steps,
)
from icl_core.papers.birth.pretrained.settings import (
    GRAFTS,
    MODELS,
    PLANTED,
    SCORES,
    TEXTS,
    Config,
    View,
)
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

HALF = 0.5
EXAMPLE = Example(
    (
        ("▸ ", ""),
        ("cab", "trigger"),
        (" lid", "output"),
        (" oak", ""),
        (" pen", ""),
        (" … ", ""),
        ("cab", "trigger"),
    ),
    " lid",
)


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _without(run: Run, head: str) -> float:
    """Return the loss of the second half without one head alone."""
    return float(losses_alone(run).mean(0)[place_of(run, head)])


def _which_needed(run: Run, view: Any) -> int:
    """Return 0 if the head that looks most at what followed is needed most, 1 if a previous-token
    head is, 2 if another one."""
    needed = needed_head(run)
    if needed == looking_head(run):
        return 0
    return 1 if roles(run)[needed] == PREVIOUS else 2


def _random_quantile(run: Run, share: float) -> float:
    """Return this quantile, over all random sets, of the loss of the second half without as many
    heads as the group has."""
    return float(np.quantile(losses_without_group(run)[1][..., 1], share))


def _heads_of(run: Run, kind: str) -> int:
    """Return how many heads have a role."""
    return list(roles(run).values()).count(kind)


def _random_again(run: Run) -> np.ndarray:
    """Return what a repeated random token costs, read after each layer."""
    return halves_by_layer(run, View())[1]


def _at_layer(half: int, **fields: Any) -> Reading:
    """Return the reading of what a token costs if the stream is read after the layer shown: the
    first time (half 0) or said again (1)."""
    return lambda run, view: halves_by_layer(run, replace(view, **fields))[half][
        run.snapshot_at(view)
    ]


def _at_readable(ahead: int) -> Reading:
    """Return the reading of what a repeated token costs `ahead` of the readable layer."""
    return lambda run, view: _random_again(run)[_layer(run) + ahead]


def _best_score(measure: str) -> Reading:
    """Return the reading of the largest score of any head of a series at the step shown."""
    return lambda run, view: scores_over_steps(run, measure)[run.snapshot_at(view)].max()


def _readable_layer(run: Run) -> float | None:
    """Return the layer after which the loss of repeated tokens has fallen half of the way from its
    largest value behind layer 1 to its last."""
    second = _random_again(run)
    middle = (second[1:].max() + second[-1]) / 2
    is_above = np.flatnonzero(second > middle)
    return float(run["snapshot/step"][is_above[-1] + 1]) if len(is_above) else None


def _last_with_heads(run: Run) -> float | None:
    """Return the last layer; None for a model without heads."""
    return float(run["snapshot/step"][-1]) if "heads/scores" in run.tensors else None


def _last_with_pair(run: Run) -> float | None:
    """Return the last layer; None for a model in which no pair of heads is found."""
    last = _last_with_heads(run)
    return last if last and run.names("best") else None


def _layer(run: Run) -> int:
    return int(_readable_layer(run) or 0)


def _does(run: Run, view: Any) -> int:
    """Return 1 if the head shown finds the previous token, 2 if it finds what followed, else 0."""
    role = role_of(run, *place_of(run, head_shown(run, view)))
    return {PREVIOUS: 1, INDUCTION: 2}.get(role, 0)


def _appeared(run: Run, view: Any) -> int:
    """Return 0 if no kind of head appears in a series, 1 for previous-token heads alone, 2 for
    induction heads alone, and 3 for both."""
    steps = milestones(run)
    return (SCORES["previous"] in steps) + 2 * (SCORES["followers"] in steps)


def _which_number(run: Run, view: Any) -> int:
    induction = _heads_of(run, INDUCTION)
    return 0 if induction <= 1 else 1 if induction / len(roles(run)) < 0.2 else 2


def _which_cost(run: Run, view: Any) -> int:
    """Return which third of the way from the second half's loss to the first's is lost."""
    first, second = map(_mean, half_losses(run))
    share = (_mean(losses_without_group(run)[0][:, 1]) - second) / (first - second)
    return 0 if share < 1 / 3 else 1 if share < 2 / 3 else 2


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # what is shown
        "step": lambda run, view: run.step(view),  # of a series; otherwise the layer
        "text_shown": lambda run, view: TEXTS[view.passage],
        "kind": lambda run, view: SCORES[view.score],
        "head_shown": head_shown,
        "does": _does,
        "model_name": lambda run, view: MODELS[run.config.model],
        "typed_kind": lambda run, view: SCORES[view.typed_score],
        "is_replaced": lambda run, view: view.graft != "none",
        "graft_name": lambda run, view: GRAFTS[view.graft],
        # what a token costs in nats, the first time and said again: of random tokens over all draws
        "once": lambda run, view: _mean(half_losses(run)[0]),
        "again": lambda run, view: _mean(half_losses(run)[1]),
        "group": lambda run, view: int(run["ablation/heads"][group_index(run)]),
        "again_without_strongest": lambda run, view: _mean(losses_without_group(run)[0][:, 1]),
        "again_without_random": lambda run, view: _random_quantile(run, 0.5),
        # without one head alone
        "looking_head": lambda run, view: looking_head(run),
        "needed_head": lambda run, view: needed_head(run),
        "without_looking": lambda run, view: _without(run, looking_head(run)),
        "without_needed": lambda run, view: _without(run, needed_head(run)),
        "alone_whole": lambda run, view: run["alone/whole"][:, 1].mean(),
        # without as many random heads
        "random_low": lambda run, view: _random_quantile(run, 0.1),
        "random_high": lambda run, view: _random_quantile(run, 0.9),
        "random_sets": lambda run, view: losses_without_group(run)[1][..., 1].size,
        # of one text, read after a layer: of the text shown, after the layer shown
        "once_at_layer": _at_layer(0),
        "again_at_layer": _at_layer(1),
        "is_last_layer": lambda run, view: run.snapshot_at(view) == len(run.snapshot_steps) - 1,
        "random_once_at_layer": _at_layer(0, passage="random"),
        "random_again_at_layer": _at_layer(1, passage="random"),
        # of random tokens, where they become readable
        "readable_layer": lambda run, view: _layer(run),
        "layer_before": lambda run, view: _layer(run) - 1,
        "again_before": _at_readable(-1),
        "again_readable": _at_readable(0),
        "again_last": lambda run, view: _random_again(run)[-1],
        # numbers of heads
        "heads": lambda run, view: len(roles(run)),
        "induction_heads": lambda run, view: _heads_of(run, INDUCTION),
        "previous_heads": lambda run, view: _heads_of(run, PREVIOUS),
        "heads_of_kind": lambda run, view: _heads_of(run, ROLES[view.score]),
        "lacks_maps": lambda run, view: bool(layers_without_map(run)),
        "without_map": lambda run, view: ", ".join(map(str, layers_without_map(run))),
        "has_windows": lambda run, view: "layers/window" in run.tensors,
        "window": lambda run, view: int(np.max(run.tensors.get("layers/window", 0))),
        # the best pair
        "writer": lambda run, view: best_pair(run)[0],
        "asker": lambda run, view: best_pair(run)[1],
        "pair_recall": lambda run, view: _mean(pair_recall(run)),
        "pair_times_chance": lambda run, view: _mean(pair_recall(run)) / chance(run),
        "tokens_asked": lambda run, view: asked_count(run),
        "offset": lambda run, view: int(run["pairs/offset"]),
        "chance": lambda run, view: chance(run),
        # what the strongest heads copy
        "strongest_head": lambda run, view: run.names("strongest")[0],
        "copied_directly": lambda run, view: _mean(run["copy/directly"][:, 0]),
        "says_attended": lambda run, view: _mean(says_attended(run)),
        # of a series of checkpoints
        "best_previous": _best_score("previous"),
        "best_induction": _best_score("followers"),
        "appeared": _appeared,
        "previous_step": lambda run, view: milestones(run)[SCORES["previous"]],
        "induction_step": lambda run, view: milestones(run)[SCORES["followers"]],
    },
    of_config={"is_planted": lambda config: config.model == PLANTED},
    at={
        "readable_layer": _readable_layer,
        "last_with_heads": _last_with_heads,
        "last_with_pair": _last_with_pair,
    },
    right={
        "heads": _which_number,
        "without": _which_cost,
        "alone": _which_needed,
    },
    example=EXAMPLE,
)
