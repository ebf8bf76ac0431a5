"""How the trainings go: when the parts of each arrive, its losses, its probes (Figures 4 left and
5); uniform or bigram outputs, trained on one and tested on both (Figures 4 center and 6); a
table."""

from functools import partial

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import FAINT, GRID, PAPER, SEAT, TICKS, axis, colour, layout
from icl_core.papers.birth.data.arrivals import (
    BIGRAM,
    LEVEL,
    UNIFORM,
    arrival,
    chosen,
    compared,
    of,
    ordered,
)
from icl_core.papers.birth.data.settings import DATA, OUTPUTS, View
from icl_core.papers.birth.data.style import PROBES, kind, short
from icl_core.papers.birth.data.words import WORDS

# where what never arrives stands, and how far from the next, as shares of the training
BEYOND = 1.05
APART = 0.03
LAWS = {"uniform": None, "bigram": "dash"}  # what is tested on, with its dash
DASHES = {UNIFORM: None, BIGRAM: "dash"}


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
    data = {PROBES[probe][0]: np.round(steps, 1) for probe, steps in arrivals.items()}
    data = pd.DataFrame({"data": list(map(short, rows))} | data)
    return WORDS.panel("arrivals", run, view, figures.seated(figure, figures.WIDE), data=data)


def _keyed(name: str) -> str:
    """Return a row's label, with the colour that its data have in the other panels."""
    label = DATA[name].label if name in DATA else name
    return f'{label} <span style="color:{colour(kind(name))}">■</span> '


def _frame(figure: Figure, rows: list[str], end: float) -> None:
    """Lay out the axes: a row a kind of data, the steps, and beyond the training a place for what
    comes later."""
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
    symbols = [f"{symbol}-open" if late else symbol for late in never]
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
    edge = {"color": [colour(tint) if late else PAPER for late in never], "width": 2}
    size = 10 if symbol in ("circle", "square") else 13
    trace.update(marker={"size": size, "symbol": symbols, "color": colour(tint), "line": edge})
    return trace.update(hovertemplate="%{customdata}<extra></extra>", cliponaxis=False)


def losses(run: Run, view: View) -> Panel:
    """Draw the in-context and the global loss (Figure 4, left)."""
    x = run["curve/step"]
    names = compared(run)
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
    data = _table(run, [*series, *whole])
    return WORDS.panel("losses", run, view, figures.seated(figure), data=data)


def _table(run: Run, series: list[Curve]) -> pd.DataFrame:
    return pd.DataFrame(
        {"step": run["curve/step"]} | {line.name: np.round(line.mean(), 4) for line in series}
    )


def _probe(probe: str, run: Run, view: View) -> Panel:
    """Draw what one matrix recalls, a curve for each kind of data (Figure 5)."""
    x = run["curve/step"]
    names = compared(run)
    series = [Curve(short(name), x, of(run, f"curve/{probe}", name), kind(name)) for name in names]
    level = [("", LEVEL, "floor")]
    figure = figures.curves(
        series, "training step", "recall", y_range=(0, 1.02), height=SEAT, lines=level
    )
    return WORDS.panel(
        "probe",
        run,
        view,
        figures.seated(figure.update_layout(showlegend=False)),
        data=_table(run, series),
        matrix=PROBES[probe][0],
        latest=_latest(run, probe) if run.finished else "",
        says=WORDS.text(probe),
    )


def _latest(run: Run, probe: str) -> str:
    """Return on which data a matrix never comes to the level, or comes last."""
    arrivals = {name: arrival(run, probe, name) for name in compared(run) if chosen(name, probe)}
    never = [short(name) for name, step in arrivals.items() if np.isinf(step)]
    last = max(arrivals, key=lambda name: arrivals[name])
    return WORDS.text("latest", never=", ".join(never), last=short(last), step=arrivals[last])


w_o2, w_k2, w_k1 = (partial(_probe, probe) for probe in list(PROBES)[1:])


def accuracy(run: Run, view: View) -> Panel:
    """Draw the in-context accuracy, trained on either law and tested on both (Figure 4, center)."""
    x = run["curve/step"]
    series = [
        Curve(
            f"{OUTPUTS[name]} → {law}", x, of(run, f"curve/accuracy_{law}", name), kind(name), dash
        )
        for name in OUTPUTS
        for law, dash in LAWS.items()
    ]
    figure = figures.curves(
        series, "training step", "accuracy in context", y_range=(0, 1.02), height=340
    )
    return WORDS.panel("generalise", run, view, figure, data=_table(run, series))


def probes(run: Run, view: View) -> Panel:
    """Draw what the matrices of both trainings recall (Figure 6)."""
    x = run["curve/step"]
    series = [
        Curve(
            f"{PROBES[probe][0]}, {OUTPUTS[name]}",
            x,
            of(run, f"curve/{probe}", name),
            PROBES[probe][1],
            dash,
        )
        for probe in list(PROBES)[1:]
        for name, dash in DASHES.items()
    ]
    figure = figures.curves(series, "training step", "recall", y_range=(0, 1.02), height=340)
    return WORDS.panel("fits", run, view, figure, data=_table(run, series))


def table(run: Run, view: View) -> Panel:
    """Tabulate one row for each kind of data."""
    return WORDS.panel(
        "table",
        run,
        view,
        table=pd.DataFrame([_row(run, name) for name in run.names("data")]),
        kinds=len(run.names("data")),
        seeds=len(run["curve/accuracy"]),
    )


def _row(run: Run, name: str) -> dict[str, str]:
    ends = {
        "accuracy": "accuracy",
        "loss in context": "in_context_loss",
        "global loss": "global_loss",
    }
    measures = {
        label: f"{float(of(run, f'evaluated/{measure}', name).mean()):.2f}"
        for label, measure in ends.items()
    }
    steps = {f"{label}, step": _when(run, probe, name) for probe, (label, _, _) in PROBES.items()}
    return {"data": short(name), **measures, **steps}


def _when(run: Run, probe: str, name: str) -> str:
    if not chosen(name, probe):
        return "no choice"
    step = arrival(run, probe, name)
    return f"{step:.0f}" if np.isfinite(step) else "later"
