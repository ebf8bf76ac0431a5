"""One sequence on stage: where the layers look, and what is predicted next."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import axis, layout
from icl_core.papers.birth.counting.draw.curves import GREY, KINDS
from icl_core.papers.birth.counting.load_run import Reading, read
from icl_core.papers.birth.counting.markov_chains import LETTERS
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.strategy import NAMES


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    reading = read(run, view)
    share = float(np.mean(np.diagonal(reading.attention[0], -1)))
    return Panel(
        f"Layer 1 finds the previous state: {share:.0%}",
        "Each row shows where one state of the sequence looks. A layer that finds the previous "
        "state has a stripe beside the diagonal. Without learning a row is spread over all that "
        "came before.",
        figures.small_attention(reading.attention[0], reading.letters),
    )


def second(run: Run, view: View) -> Panel:
    """Draw the last layer's attention on the sequence; in the row shown, what followed the same
    state before."""
    reading = read(run, view)
    at = reading.at(view)
    weights = reading.attention[-1]
    keys = _followers(reading, at)
    boxes = [(at, key, "correct output") for key in keys]
    finding = (
        f"finds followers of {reading.letters[at]}: {weights[at, keys].sum():.0%}"
        if keys
        else "has nothing to count yet"
    )
    return Panel(
        f"Layer {run.config.layers} {finding}",
        "In the row of the position shown, the outlined cells are the states that followed the "
        "same state earlier. A head that counts pairs looks at all of them alike, and at nothing "
        "else. Without it the row is spread out.",
        figures.small_attention(weights, reading.letters, boxes),
    )


def _followers(reading: Reading, at: int) -> list[int]:
    """Return the keys after an earlier occurrence of the state at a position."""
    return [key for key in range(1, at + 1) if reading.tokens[key - 1] == reading.tokens[at]]


def following(run: Run, view: View) -> Panel:
    """Draw the model's prediction after the position shown, beside those of the strategies."""
    reading = read(run, view)
    at = reading.at(view)
    bars = {"trained": ("trained", reading.model[at])}  # by label: colour, probabilities [k]
    bars |= {
        NAMES.get(name, name): (KINDS.get(name, GREY), rows[at])
        for name, rows in reading.strategies.items()
    }
    states = list(LETTERS[: run.config.k])
    bigrams = reading.strategies["bigram"][at]
    best = int(bigrams.argmax())
    return Panel(
        f"After {reading.letters[at]} comes {LETTERS[best]}: model {reading.model[at, best]:.0%}, "
        f"bigrams {bigrams[best]:.0%}",
        "The probability of each next state after the position shown: the model's, and what each "
        "strategy makes of the same states. The blue bars start at uniform, then follow unigrams, "
        "then bigrams. Without learning they would all have the same height.",
        _bars(states, bars),
        data=pd.DataFrame(
            {"next": states} | {name: np.round(row, 4) for name, (_, row) in bars.items()}
        ),
    )


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
