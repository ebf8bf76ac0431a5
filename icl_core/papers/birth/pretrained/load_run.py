"""What is read from a run: what its heads do, the losses of both halves, the texts."""

import math
from itertools import pairwise

import numpy as np

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.message import printable
from icl_core.contract.statistics import first_crossing
from icl_core.figures.character_labels import isolated
from icl_core.papers.birth.pretrained.settings import SCORES, TEXTS, View
from icl_core.papers.birth.shared.behaviour import INDUCTION, MOST, PREVIOUS, role

MAPPED = 64  # tokens of an attention map on the stage
LETTERS = 5  # of a token in a label
LONG = 20  # and in a table
FOLLOWED = 8  # of the strongest heads, which are drawn by distance
QUANTILES = (0.1, 0.5, 0.9)  # of random sets
ROLES = {"previous": PREVIOUS, "followers": INDUCTION}  # of heads, by their measure


def half_losses(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of the first half, and of the second without its first token, which nothing
    announces, [draws] each."""
    losses = run["repeated/loss"]  # (draws, 2 L)
    half = losses.shape[1] // 2
    return losses[:, :half].mean(1), losses[:, half + 1 :].mean(1)


def group_index(run: Run) -> int:
    """Return the index in `ablation/heads` of the number of heads that are taken away together:
    the group of the strongest, or the most of them that were taken away."""
    counts = run["ablation/heads"].tolist()
    return counts.index(min(int(run["ablation/group"]), counts[-1]))


def losses_without_group(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of both halves without the group of the strongest heads, [draws, 2], and
    without as many random ones, [draws, sets, 2]."""
    at = group_index(run)
    return run["ablation/strongest"][:, at], run["ablation/random"][:, :, at]


def losses_alone(run: Run) -> np.ndarray:
    """Return the loss of the second half without each head alone, [draws, layers, H]."""
    return run["alone/losses"][..., 1]


def needed_head(run: Run) -> str:
    """Return the id of the head without which alone the second half costs most."""
    costs = losses_alone(run).mean(0)  # (layers, H)
    return max(roles(run), key=lambda head: costs[place_of(run, head)])


def looking_head(run: Run) -> str:
    """Return the id of the head that looks most at what followed."""
    looks = scores(run, "followers")  # (layers, H)
    return max(roles(run), key=lambda head: looks[place_of(run, head)])


def sees_all(run: Run) -> np.ndarray:
    """Return of each layer whether its heads see all positions before them, [layers] of bool."""
    count = run["heads/scores"].shape[2]
    return run.tensors.get("layers/window", np.zeros(count)) == 0


def best_pair(run: Run) -> list[str]:
    """Return the ids of the pair of which W_K² recalls most. `CannotDraw` if there is none, as in
    a model that has learned no such heads yet."""
    pair = run.names("best")
    if not pair:
        raise CannotDraw(
            "of this model's heads, none that looks at the token before is in a layer before one "
            "that looks at what followed: there is no pair to measure"
        )
    return pair


def pair_recall(run: Run) -> np.ndarray:
    """Return the recall of the best pair at the offset of the map of pairs, [draws]."""
    best_pair(run)
    at = run["best/offset"].tolist().index(int(run["pairs/offset"]))
    return run["best/recall"][:, at]


def says_attended(run: Run) -> np.ndarray:
    """Return how often the model says the token that the strongest heads are made to attend to,
    [draws]."""
    return run["copy/says"][:, run.names("moved").index("strongest")]


def asked_count(run: Run) -> int:
    """Return how many tokens memories were asked for."""
    return min(run.config.asked, run.config.size.N - 1)


def chance(run: Run) -> float:
    """Return the recall of a memory that holds nothing."""
    return 1 / asked_count(run)


def scores(run: Run, measure: str) -> np.ndarray:
    """Return a measure of every head, means over draws, [layers, H]: "previous", "followers" beyond
    chance, or "uniformity"."""
    measures = dict(zip(run.names("measures"), run["heads/scores"].mean(0), strict=True))
    if measure != "followers":
        return measures[measure]
    return (measures["followers"] - measures["even"]) / (1 - measures["even"])


def error_of(run: Run, measure: str, head: str) -> float:
    """Return the standard error over draws of a head's measure."""
    layer, number = place_of(run, head)
    values = run["heads/scores"][:, run.names("measures").index(measure), layer, number]
    return float(values.std(ddof=1) / len(values) ** 0.5)


def role_of(run: Run, layer: int, number: int) -> str:
    """Return what a head does, one of `behaviour`'s roles; both counted from 0."""
    names = run.names("measures")
    values = run["heads/scores"][:, :, layer, number].mean(0).tolist()
    measures = dict(zip(names, values, strict=True))
    return role(
        measures["previous"], measures["followers"], measures["even"], measures["uniformity"]
    )


def attention_lost(run: Run) -> np.ndarray:
    """Return how much less attention each of `names/readers` has on what followed, with the mean
    output in the place of each of `names/previous`, [previous, readers], means over draws."""
    measure = run.names("measures").index("followers")
    whole = []
    for name in run.names("readers"):
        layer, number = place_of(run, name)
        whole.append(float(run["heads/scores"][:, measure, layer, number].mean()))
    return np.array(whole) - run["patch/followers"].mean(0)


def roles(run: Run) -> dict[str, str]:
    """Return what every head does, by its id; of layers with attention maps alone."""
    layers, heads = run["heads/scores"].shape[2:]
    without_map = layers_without_map(run)
    by_head = {}
    for layer in range(layers):
        for number in range(heads):
            if layer + 1 not in without_map:
                by_head[head_id(layer, number)] = role_of(run, layer, number)
    return by_head


def layer_labels(run: Run) -> list[str]:
    """Return the layers by their numbers; those that see all positions are marked where others do
    not."""
    is_global = sees_all(run)
    marked = not is_global.all()
    without_map = layers_without_map(run)
    labels = []
    for layer, sees in enumerate(is_global, 1):
        mark = " –" if layer in without_map else " ●" if marked and sees else ""
        labels.append(f"{layer}{mark}")
    return labels


def layers_without_map(run: Run) -> list[int]:
    """Return the layers, counted from 1, that have no attention to read."""
    return run.tensors.get("layers/without_map", np.empty(0, int)).tolist()


def check_heads(run: Run) -> None:
    """Raise `CannotDraw` if the model has no heads that can be read."""
    if "heads/scores" not in run.tensors:
        raise CannotDraw(
            "no layer of this model attends through the interface that is read here: there are no "
            "attention maps. Its losses and what the stream says after each layer are measured all "
            "the same"
        )


def head_id(layer: int, number: int) -> str:
    """Return a head's id, layer.head, by its layer and number, counted from 0."""
    return f"{layer + 1}.{number + 1}"


def place_of(run: Run, head: str) -> tuple[int, int]:
    """Return a head's layer and number, counted from 0, by its id. `CannotDraw` for what is
    none."""
    check_heads(run)
    layers, heads = run["heads/scores"].shape[2:]
    layer, _, number = head.partition(".")
    if not (layer.isdecimal() and number.isdecimal() and layer.isascii() and number.isascii()):
        raise CannotDraw(f"a head must be named as layer.head, such as 2.1, got {head!r}")
    if not (1 <= int(layer) <= layers and 1 <= int(number) <= heads):
        raise CannotDraw(
            f"this model has layers 1 to {layers} of heads 1 to {heads}, got head {head}"
        )
    return int(layer) - 1, int(number) - 1


def head_shown(run: Run, view: View) -> str:
    """Return the id of the head whose attention is shown."""
    return view.shown or run.names("strongest")[0]


def tokens_of(run: Run, view: View) -> list[str]:
    """Return the tokens of the text shown, the start token first. `CannotDraw` if the run has not
    recorded it."""
    if f"names/text/{view.passage}" not in run.tensors:
        raise CannotDraw(
            "this run has no text of your own: give one under “What is asked”, with a model whose "
            "weights are here"
            if view.passage == "own"
            else f"this model has no tokens for the text: {TEXTS[view.passage]}"
        )
    return run.names(f"text/{view.passage}")


def said_again(tokens: list[str]) -> np.ndarray:
    """Return for every token after the first whether it has followed the one before it earlier in
    the text, too: only there can what followed be repeated, [T - 1] of bool."""
    pairs = list(pairwise(tokens))
    return np.array([pair in pairs[:index] for index, pair in enumerate(pairs)])


def halves_by_layer(run: Run, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Return what a token costs if the stream is read after each layer, [layers + 1] each: the mean
    over tokens that are not, and that are said again after the same token. `CannotDraw` for a text
    that has none of these."""
    again = said_again(tokens_of(run, view))
    if not again.any():
        raise CannotDraw("in this text no token is said again after the same token as before")
    losses = run[f"text/{view.passage}/loss"].astype(np.float64)  # (layers + 1, T - 1)
    return losses[:, ~again].mean(1), losses[:, again].mean(1)


def token_labels(tokens: list[str], letters: int = LETTERS) -> list[str]:
    """Return tokens as labels, which need not differ: a space as ␣, and the first `letters`."""
    labels = []
    for token in tokens:
        label = printable(token.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥"))
        labels.append(isolated(label[:letters] + "…" * (len(label) > letters)))
    return labels


def attention(run: Run, view: View) -> np.ndarray:
    """Return the attention of the head shown on the text shown, on its first MAPPED tokens."""
    layer, number = place_of(run, head_shown(run, view))
    packed = run[f"text/{view.passage}/attention"][layer, number]  # (T (T + 1) / 2,)
    return unpacked(packed)[:MAPPED, :MAPPED]


def unpacked(packed: np.ndarray) -> np.ndarray:
    """Return the map [n, n] of a lower half that is stored row by row in parts of 255."""
    n = math.isqrt(2 * len(packed))  # len is n (n + 1) / 2
    attention = np.zeros((n, n), np.float32)
    attention[np.tril_indices(n)] = packed.astype(np.float32) / 255
    return attention


def scores_over_steps(run: Run, measure: str) -> np.ndarray:
    """Return a measure of every head at every step of a series, the mean over draws, [steps,
    layers, H]; on what followed beyond even attention."""
    values = dict(
        zip(run.names("measures"), run["series/scores"].mean(1).swapaxes(0, 1), strict=True)
    )
    if measure == "previous":
        return values["previous"]
    return (values["followers"] - values["even"]) / (1 - values["even"])


def milestones(run: Run) -> dict[str, float]:
    """Return the steps of a series at which the first head of either kind scores high."""
    steps = {}
    if run.config.is_series:
        for measure in ROLES:
            best = scores_over_steps(run, measure).max((1, 2))
            step = first_crossing(run["snapshot/step"], best, MOST)
            if np.isfinite(step):
                steps[SCORES[measure]] = float(step)
    return steps
