"""The drawings: over the training, how far the predictions are from each strategy's, where the
heads look, and losses; of one sequence, its maps and next states; and how the numbers of these are
made: an attention weight from its score, a prediction from counts or logits."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import PRODUCT, Explanation, Map, Term, softmax
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, attention_maps, mean_of
from icl_core.figures.style import axis, layout
from icl_core.papers.birth.counting.load_run import (
    NAMES,
    Reading,
    at_step,
    next_state,
    parameters_at,
    read,
    spans,
)
from icl_core.papers.birth.counting.model import LETTERS
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.words import WORDS
from icl_core.papers.birth.shared.explanations import attended

KINDS = {
    "uniform": "layer 4",
    "unigram": "layer 2",
    "bigram": "layer 3",
}  # the colours of the strategies, by id
GREY = "#7f7f7f"  # of an id that is none of today's
SHADE = 0.13


def distances(run: Run, view: View) -> Panel:
    """Draw the divergence from each strategy over training, with the background in the colour of
    the nearest."""
    ids = run.names("strategies")
    series = [_curve(run, name) for name in ids]
    if view.single_seeds:
        steps = run["curve/step"]
        for name in ids:
            for seed, curve in enumerate(run[f"curve/kl_{name}"]):
                series.append(Curve(f"{NAMES[name]}, seed {seed}", steps, curve, "seed"))
    top = max(float(np.nanmax(run[f"curve/kl_{name}"])) for name in ids)
    figure = figures.curves(
        series,
        "training step",
        "distance (KL), nats",
        y_range=(0, 1.08 * top),
        at=_at(run, view),
        height=figures.SEAT,
    )
    for name, start, end in spans(run):
        shade = {
            "type": "rect",
            "x0": start,
            "x1": end,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
        }
        figure.add_shape(
            **shade,
            line={"width": 0},
            fillcolor=figures.colour(KINDS.get(name, GREY)),
            opacity=SHADE,
        )
    data = _table(run, [f"kl_{name}" for name in ids])
    return WORDS.panel("distances", run, view, figures.seated(figure, figures.WIDE), data=data)


def _curve(run: Run, name: str) -> Curve:
    return Curve(
        NAMES.get(name, name), run["curve/step"], run[f"curve/kl_{name}"], KINDS.get(name, GREY)
    )


def looks(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the position before, and the last layer's on what followed the
    same state."""
    at = _at(run, view)
    series = [
        Curve("layer 1: previous", run["curve/step"], run["curve/previous"], "layer 1"),
        Curve(
            f"layer {run.config.layers}: followers",
            run["curve/step"],
            run["curve/followers"],
            "layer 2",
            "dash",
        ),
    ]
    even = {"even": "previous", "even, followers": "followers"} if run.finished else {}
    lines = [
        (label, float(run[f"baseline/even_{name}"][0]), "floor") for label, name in even.items()
    ]
    figure = figures.curves(
        series,
        "training step",
        "attention",
        y_range=(0, 1.02),
        lines=lines,
        at=at,
        height=figures.SEAT,
    )
    share = at_step(run, "previous", at) if at is not None else np.nan
    data = _table(run, ["previous", "followers"])
    return WORDS.panel("looks", run, view, figures.seated(figure), data=data, share=share)


def losses(run: Run, view: View) -> Panel:
    """Draw the loss over training, beside that of a uniform guess."""
    series = [Curve("trained", run["curve/step"], run["curve/loss"])]
    lines = [("ln k", float(np.log(run.config.k)), "floor")]
    figure = figures.curves(series, "training step", "loss, nats", at=_at(run, view), lines=lines)
    return WORDS.panel("losses", run, view, figure, data=_table(run, ["loss"]))


def positions(run: Run, view: View) -> Panel:
    """Draw the loss by position after training, of the model and the strategies."""
    x = np.arange(1, run.config.T + 1)
    series = []
    for name in run.names("strategies"):
        loss = smoothed(run[f"baseline/loss_{name}_at"])  # [T]
        series.append(Curve(NAMES[name], x, loss, KINDS.get(name, GREY), "dash"))
    series.append(Curve("trained", x, smoothed(run["evaluated/loss_at"])))
    chain = float(run["baseline/loss_chain"][0])
    figure = figures.curves(
        series, "position", "loss, nats", lines=[("chain known", chain, "floor")]
    )
    data = pd.DataFrame({"position": x} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel("positions", run, view, figure, data=data.round(4))


def smoothed(rows: np.ndarray, over: int = 9) -> np.ndarray:
    """Return means over neighbouring positions, fewer at the ends; [..., T] to [..., T]."""
    T = rows.shape[-1]
    ends = [(max(0, t - over // 2), min(T, t + over // 2 + 1)) for t in range(T)]
    return np.stack([rows[..., low:high].mean(-1) for low, high in ends], -1)


def _at(run: Run, view: View) -> float | None:
    return run.step(view) if run.snapshot_steps else None


def _table(run: Run, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {"step": run["curve/step"], **{name: mean_of(run[f"curve/{name}"]) for name in names}}
    ).round(5)


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    reading = read(run, view)
    share = float(np.mean(np.diagonal(reading.attention[0], -1)))
    figure = figures.small_attention(reading.attention[0], reading.letters)
    return WORDS.panel("first", run, view, figure, share=share)


def second(run: Run, view: View) -> Panel:
    """Draw the last layer's attention on the sequence; in the row shown, what followed the same
    state before."""
    reading = read(run, view)
    at = reading.at(view)
    weights = reading.attention[-1]
    keys = _followers(reading, at)
    boxes = [(at, key, "correct output") for key in keys]
    return WORDS.panel(
        "second",
        run,
        view,
        figures.small_attention(weights, reading.letters, boxes),
        has_followers=bool(keys),
        share=weights[at, keys].sum(),
    )


def _followers(reading: Reading, at: int) -> list[int]:
    """Return the keys after an earlier occurrence of the state at a position."""
    return [key for key in range(1, at + 1) if reading.tokens[key - 1] == reading.tokens[at]]


def following(run: Run, view: View) -> Panel:
    """Draw the model's prediction after the position shown, beside those of the strategies."""
    rows = next_state(run, view)  # [k] each
    bars = {"trained": ("trained", rows.pop("model"))}  # by label: colour, probabilities
    bars |= {NAMES.get(name, name): (KINDS.get(name, GREY), row) for name, row in rows.items()}
    states = list(LETTERS[: run.config.k])
    data = {"next": states} | {name: np.round(row, 4) for name, (_, row) in bars.items()}
    return WORDS.panel("next", run, view, _bars(states, bars), data=pd.DataFrame(data))


def _bars(states: list[str], bars: dict[str, tuple[str, np.ndarray]]) -> Figure:
    traces = [
        Trace(
            "bar",
            x=states,
            y=np.asarray(row, np.float32),
            name=name,
            marker={"color": figures.colour(kind)},
            hovertemplate=f"{name}, %{{x}} next: %{{y:.2f}}<extra></extra>",
        )
        for name, (kind, row) in bars.items()
    ]
    axes = {
        "xaxis": axis("next state", type="category", showgrid=False),
        "yaxis": axis("probability", range=[0, 1.02]),
    }
    return figures.seated(Figure(traces, layout(figures.SEAT, bargap=0.25, **axes)))


SAYS = (
    "Here a · b stands for (W_Q a)ᵀ (W_K b) / √d, and a · r(3) for (W_Q a)ᵀ r_3 / √d, the key's "
    "distance being 3."
)
# the parts of the stream, by sign
CALLED = {
    "w_E": "state",
    "o¹": "copy by layer 1",
    "o²": "output of layer 2",
}
ONE_LAYER = {"o¹": "output of layer 1"}
COUNTED = {
    "uniform": "A uniform guess gives each of {k} states the same.",
    "unigram": "{j} is {n} of {total} states so far. With one more of each state that makes "
    "({n} + 1) / ({total} + {k}).",
    "bigram": "{j} is {n} of {total} states that followed {i} so far. With one more of each "
    "state that makes "
    "({n} + 1) / ({total} + {k}).",
}
MODEL = (
    "The model gives every next state a logit, the sum of what the parts of the stream say for "
    "it; the softmax makes probabilities of the logits."
)


def _attention_cells(first: bool, run: Run, view: View) -> list[Map]:
    """Return the map of layer 1, or of the last layer."""
    reading = read(run, view)
    parameters = _double(run, view)
    layer = 1 if first else run.config.layers
    # those that have been written before the layer
    parts = dict(list(streams(parameters, reading).items())[:layer])
    shown = reading.attention[layer - 1].copy()
    shown[np.triu_indices(len(shown), 1)] = np.nan
    labels = attention_maps.position_names(reading.letters)
    explain = _explains(reading.letters, parts, parameters, layer)
    return [Map(f"Layer {layer}", shown, ("query", "key"), labels, labels, explain)]


first_cells = partial(_attention_cells, True)
second_cells = partial(_attention_cells, False)


def _double(run: Run, view: View) -> dict[str, Tensor]:
    """Return the parameters at the snapshot shown, float64, without the axis of seeds."""
    return {
        name: parameter[0].double()
        for name, parameter in parameters_at(run, run.snapshot_at(view)).items()
    }


def streams(parameters: dict[str, Tensor], reading: Reading) -> dict[str, Tensor]:
    """Return the parts whose sum the stream is in the end, by sign, [T, d] each; before layer l it
    is the sum of the first l."""
    parts = {"w_E": parameters["W_E"][reading.tokens]}
    for layer, weights in enumerate(reading.attention, 1):
        x = torch.stack(list(parts.values())).sum(0)
        mix = torch.from_numpy(weights).double() @ x  # (T, d)
        parts["o" + "¹²"[layer - 1]] = mix @ parameters[f"W_V{layer}"] @ parameters[f"W_O{layer}"]
    return parts


def _explains(
    letters: list[str], parts: dict[str, Tensor], parameters: dict[str, Tensor], layer: int
) -> Callable[[int, int], Explanation]:
    """Return the function that explains a weight of a layer by what the layer reads."""
    W_Q, W_K, R = (parameters[f"{name}{layer}"] for name in ("W_Q", "W_K", "R"))
    W_Q = W_Q / math.sqrt(len(W_Q))

    def explain(query: int, key: int) -> Explanation:
        queries = {part: stream[query] @ W_Q for part, stream in parts.items()}  # (d,) each
        keys = {part: stream @ W_K for part, stream in parts.items()}  # (T, d) each
        terms = [
            Term(
                f"{_sign(a, letters, query)} · {_sign(b, letters, key)}",
                float(queries[a] @ keys[b][key]),
                f"query's {CALLED[a]} × key's {CALLED[b]}",
            )
            for a, b in product(parts, parts)
        ]
        distance = query - key
        terms += [
            Term(
                f"{_sign(a, letters, query)} · r({distance})",
                float(queries[a] @ R[distance]),
                f"query's {CALLED[a]} × distance",
            )
            for a in parts
        ]
        whole_query = torch.stack(list(queries.values())).sum(0)  # (d,)
        whole_keys = torch.stack(list(keys.values())).sum(0)  # (T, d)
        scores = (whole_keys[: query + 1] + R[: query + 1].flip(0)) @ whole_query  # (query + 1,)
        return attended(letters, query, key, terms, scores.numpy(), SAYS)

    return explain


def _sign(part: str, letters: list[str], at: int) -> str:
    """Return a part of the stream at a position, as the terms write it."""
    return f"w_E({letters[at]})" if part == "w_E" else f"{part}({at + 1})"


def following_cells(run: Run, view: View) -> list[Map]:
    """Return one map, what is predicted after the position shown: a row for the model and for each
    strategy."""
    reading = read(run, view)
    k = run.config.k
    at = reading.at(view)
    ids = list(reading.strategies)
    # (1 + strategies, k)
    shown = np.array(
        [reading.model[at], *(reading.strategies[name][at] for name in ids)], np.float32
    )
    parameters = _double(run, view)
    logits = {  # [k] each
        part: (stream[at] @ parameters["W_U"].T).numpy()
        for part, stream in streams(parameters, reading).items()
    }

    def explain(row: int, state: int) -> Explanation:
        title = f"{LETTERS[state]} after {reading.letters[at]} at {at + 1}"
        return (
            _said(title, logits, state)
            if row == 0
            else _counted(title, reading, at, ids[row - 1], state, k)
        )

    rows = ["trained", *(NAMES.get(name, name) for name in ids)]
    return [
        Map("Next state", shown, ("prediction", "next state"), rows, list(LETTERS[:k]), explain)
    ]


def _said(title: str, logits: dict[str, np.ndarray], state: int) -> Explanation:
    """Explain a probability of the model by its logit."""
    labels = CALLED | (ONE_LAYER if len(logits) == 2 else {})
    terms = tuple(
        Term(f"W_U({LETTERS[state]})ᵀ {part}", float(row[state]), labels[part])
        for part, row in logits.items()
    )
    total = np.sum(list(logits.values()), axis=0)
    share, competitors = softmax([f"next {LETTERS[j]}" for j in range(len(total))], total, state)
    return Explanation(
        f"The model: {title}", MODEL, share, terms, share=share, competitors=competitors
    )


def _counted(title: str, reading: Reading, at: int, name: str, state: int, k: int) -> Explanation:
    """Explain a probability of a strategy by its counts."""
    here = reading.tokens[at]
    tokens = reading.tokens[: at + 1]
    if name == "bigram":
        tokens = [after for before, after in pairwise(tokens) if before == here]
    n = tokens.count(state)
    total = len(tokens)
    j = LETTERS[state]
    says = COUNTED[name].format(n=n, total=total, k=k, i=LETTERS[here], j=j)
    terms = (
        Term(f"{n} + 1", n + 1.0, f"how often {j} was counted, and one"),
        Term(
            f"1 / ({total} + {k})", 1 / (total + k), "all that were counted, and one of each state"
        ),
    )
    if name == "uniform":
        terms = (Term("1 / k", 1 / k, "one of k states"),)
    value = float(reading.strategies[name][at][state])
    return Explanation(f"{NAMES[name].capitalize()}: {title}", says, value, terms, PRODUCT)
