"""How soon each training arrives: the steps of its parts, its losses, its probes (Figures 4 left
and 5)."""

from functools import partial

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import FAINT, GRID, PAPER, SEAT, TICKS, axis, colour, layout
from icl_core.papers.birth.data.arrivals import BIGRAM, LEVEL, arrival, chosen, of
from icl_core.papers.birth.data.draw.style import PROBES, kind, short
from icl_core.papers.birth.data.settings import DATA, View

# where what never arrives stands, and how far from the next, as shares of the training
BEYOND = 1.05
APART = 0.03


def shown(run: Run) -> list[str]:
    """Return the kinds of data that are compared: all with uniform outputs."""
    return [name for name in run.names("data") if name != BIGRAM]


def ordered(run: Run) -> list[str]:
    """Return the same, the one that is right in context soonest first; those that never are by
    their last accuracy."""
    last = {name: float(of(run, "curve/accuracy", name)[:, -1].mean()) for name in shown(run)}
    return sorted(shown(run), key=lambda name: (arrival(run, "accuracy", name), -last[name]))


def when(step: float, run: Run) -> str:
    """Return a step in words."""
    return f"at step {step:.0f}" if np.isfinite(step) else f"not by step {run['curve/step'][-1]}"


def arrivals(run: Run, view: View) -> Panel:
    """Draw a row a kind of data, with the steps at which each part comes to 40%."""
    rows = ordered(run)
    end = float(run["curve/step"][-1])
    arrivals = {
        probe: [arrival(run, probe, name) if chosen(name, probe) else np.nan for name in rows]
        for probe in PROBES
    }
    figure = Figure(layout=layout(SEAT, hovermode="closest"))
    for place, (probe, steps) in enumerate(arrivals.items()):
        figure.add_trace(_marks(probe, np.array(steps), place, [short(name) for name in rows], end))
    _frame(figure, rows, end)
    first = rows[0]
    last = rows[-1]
    return Panel(
        f"{LEVEL:.0%} are right with {short(first)} {when(arrivals['accuracy'][0], run)}, with "
        f"{short(last)} {when(arrivals['accuracy'][-1], run)}",
        "A row for each kind of triggers; outputs are uniform. A mark is the step at which our "
        f"level for comparison, {LEVEL:.0%}, is reached: of the predictions in context "
        "(diamond), or of the pairs that a matrix has to store. Hollow marks at the right edge "
        "are not reached in this training. If the data did not matter, all rows would look "
        "alike. With one fixed trigger W_K² has nothing to choose, so it has no mark.",
        figures.seated(figure, figures.WIDE),
        data=pd.DataFrame(
            {"data": list(map(short, rows))}
            | {PROBES[p][0]: np.round(s, 1) for p, s in arrivals.items()}
        ),
    )


def _keyed(name: str) -> str:
    """Return a row's label, with the colour that its data have in the other panels."""
    label = DATA[name].label if name in DATA else name
    return f'{label} <span style="color:{colour(kind(name))}">■</span> '


def _frame(figure: Figure, rows: list[str], end: float) -> None:
    """The axes: a row a kind of data, the steps, and beyond the training a place for what comes
    later."""
    ticks = {0.0: "0", end / 2: f"{end / 2:.0f}", (BEYOND + 1.5 * APART) * end: f"> {end:.0f}"}
    figure.update_xaxes(axis("training step", range=[0, 1.18 * end], showgrid=False, tickangle=0))
    figure.update_xaxes(tickvals=list(ticks), ticktext=list(ticks.values()))
    figure.update_yaxes(
        axis("", range=[len(rows) - 0.5, -0.5], tickvals=list(range(len(rows))), showgrid=False)
    )
    figure.update_yaxes(ticktext=[_keyed(name) for name in rows], tickfont={"size": TICKS + 1})
    for row in range(1, len(rows)):
        line = {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": row - 0.5,
            "y1": row - 0.5,
            "layer": "below",
        }
        figure.add_shape(**line, line={"color": GRID, "width": 1})
    line = {
        "type": "line",
        "x0": end,
        "x1": end,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
    }
    figure.add_shape(**line, line={"color": GRID, "width": 2, "dash": "dot"})


def _marks(probe: str, steps: np.ndarray, place: int, rows: list[str], end: float) -> Trace:
    """Return the marks of one part, a little apart from those of the others; hollow where it never
    arrives."""
    name, tint, symbol = PROBES[probe]
    never = np.isinf(steps)
    y = np.arange(len(rows)) + (place - (len(PROBES) - 1) / 2) * 0.2
    symbols = [f"{symbol}-open" if each else symbol for each in never]
    labels = [
        f"{row}: {name} {'later' if late else f'at step {step:.0f}'}"
        for row, late, step in zip(rows, never, steps, strict=True)
    ]
    trace = Trace(
        x=np.where(never, (BEYOND + place * APART) * end, steps),
        y=y,
        mode="markers",
        name=name,
        customdata=labels,
    )
    edge = {"color": [colour(tint) if each else PAPER for each in never], "width": 2}
    size = 10 if symbol in ("circle", "square") else 13
    trace.update(marker={"size": size, "symbol": symbols, "color": colour(tint), "line": edge})
    return trace.update(hovertemplate="%{customdata}<extra></extra>", cliponaxis=False)


def losses(run: Run, view: View) -> Panel:
    """In-context and global loss (Figure 4, left)."""
    x = run["curve/step"]
    names = shown(run)
    series = [
        Curve(short(name), x, of(run, "curve/in_context_loss", name), kind(name)) for name in names
    ]
    whole = [
        Curve(f"{short(name)}, global", x, of(run, "curve/global_loss", name), kind(name), "dot")
        for name in names
    ]
    figure = figures.curves(
        [*series, *whole], "training step", "loss, nats", y_range=(0, 5), height=SEAT
    )
    for trace in figure.data:  # the rows of the marks name the colours
        trace.update(showlegend=False)
    figure.add_trace(figures.legend_line("in context", FAINT))
    figure.add_trace(figures.legend_line("global", FAINT, "dot"))
    return Panel(
        f"Loss is {_range(series)} in context, else {_range(whole)}"
        if run.finished
        else "Losses so far",
        "Solid: the loss where only the context tells what comes. Dotted: the global loss, where "
        "bigrams tell. The dotted lines fall first and lie together, whichever the triggers. The "
        "solid ones fall when the induction head forms; without one they would stay high.",
        figures.seated(figure),
        data=_table(run, [*series, *whole]),
    )


def _range(series: list[Curve]) -> str:
    """Return the least and the largest value at the end."""
    ends = [float(mean_of(curve.y)[-1]) for curve in series]
    return f"{min(ends):.1f} to {max(ends):.1f}"


def _table(run: Run, series: list[Curve]) -> pd.DataFrame:
    return pd.DataFrame(
        {"step": run["curve/step"]} | {each.name: np.round(each.mean(), 4) for each in series}
    )


SAYS = {
    "recall_W_O2": "The share of characters that W_O² turns into themselves. Few outputs to learn "
    "from, with one random trigger or with rare ones, make it slow.",
    "recall_W_K2": "The share of characters whose copy W_K² tells from all others. With fixed "
    "triggers it is asked for these alone: an easier question, and with one of them none at all.",
    "recall_W_K1_early": "The share of early positions at which W_K¹ finds the one before. It is "
    "the same for every character, so it comes with all data, later where little is copied.",
}


def _probe(probe: str, run: Run, view: View) -> Panel:
    """Draw what one matrix recalls, a curve for each kind of data (Figure 5)."""
    x = run["curve/step"]
    names = shown(run)
    label = PROBES[probe][0]
    series = [Curve(short(name), x, of(run, f"curve/{probe}", name), kind(name)) for name in names]
    level = [("", LEVEL, "floor")]
    figure = figures.curves(
        series, "training step", "recall", y_range=(0, 1.02), height=SEAT, lines=level
    )
    return Panel(
        f"{label} {_latest(run, probe)}" if run.finished else f"{label}, so far",
        f"{SAYS[probe]} The mean over seeds with its spread; dotted is the level of the marks "
        "above, whose rows name the colours. Random matrices stay near zero.",
        figures.seated(figure.update_layout(showlegend=False)),
        data=_table(run, series),
    )


def _latest(run: Run, probe: str) -> str:
    """On which data a matrix never comes to the level, or comes last."""
    arrivals = {name: arrival(run, probe, name) for name in shown(run) if chosen(name, probe)}
    never = [short(name) for name, step in arrivals.items() if np.isinf(step)]
    if never:
        return f"never gets there: {', '.join(never)}"
    last = max(arrivals, key=lambda name: arrivals[name])
    return f"is last with {short(last)}, step {arrivals[last]:.0f}"


w_o2, w_k2, w_k1 = (partial(_probe, probe) for probe in list(PROBES)[1:])
