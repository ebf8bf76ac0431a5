"""One matrix: the inner products of its random vectors, what it recalls against how many pairs it
stores, and what gradient descent learns: strengths against frequency, and when each pair is
recalled."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.contract.statistics import standard_error
from icl_core.figures import Curve, mean_of
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, layout, legend
from icl_core.papers.birth.laboratory.load_run import at, halves, place
from icl_core.papers.birth.laboratory.run import half_at, one_step, without_cross_talk
from icl_core.papers.birth.laboratory.settings import View
from icl_core.papers.birth.laboratory.words import WORDS
from icl_core.papers.birth.shared.draw import GREY
from icl_core.papers.birth.shared.expected_recall import first_order

NAMES = {
    "independent": "uᵀv: two vectors",
    "itself": "uᵀu",
    "remapped": "uᵀW₀u: one and its remapping",
    "other": "vᵀW₀u",
}
KINDS = {"independent": "layer 1", "remapped": "layer 4", "other": "layer 3", "itself": "layer 2"}


def near(run: Run, view: View) -> Panel:
    """Draw how inner products are spread at the width shown."""
    d = view.width
    edges = run["axis/bin"]
    middle = (edges[1:] + edges[:-1]) / 2
    figure = Figure(layout=layout(figures.SEAT, bargap=0, barmode="overlay"))
    for name in ("independent", "itself"):
        bars = Trace(
            "bar",
            x=middle,
            y=at(run, f"near/share_{name}", near=d).mean(0),
            name=NAMES[name].split(":")[0],
        )
        bars.update(marker={"color": figures.colour(KINDS[name]), "line": {"width": 0}})
        figure.add_trace(bars.update(hovertemplate="%{x:.2f}: %{y:.1%}<extra></extra>"))
    remapped = {"color": figures.colour(KINDS["remapped"]), "width": 2, "shape": "hvh"}
    outline = at(run, "near/share_remapped", near=d).mean(0)
    figure.add_trace(
        Trace(x=middle, y=outline, mode="lines", name="uᵀW₀u", line=remapped, hoverinfo="skip")
    )
    bell = np.exp(-(middle**2) * d / 2) * np.sqrt(d / (2 * np.pi)) * (edges[1] - edges[0])
    line = {"color": figures.colour("floor"), "width": 2, "dash": "dot"}
    figure.add_trace(
        Trace(x=middle, y=bell, mode="lines", name="N(0, 1/d)", line=line, hoverinfo="skip")
    )
    figure.update_xaxes(axis("inner product", range=[-1, 1.5], showgrid=False))
    figure.update_yaxes(axis("share", range=[0, 1.15 * float(bell.max())], tickformat=".0%"))
    within = float(at(run, "near/within", near=d).mean())
    return WORDS.panel(
        "near",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"inner product": middle, "normal": bell}).round(4),
        within=within,
        nearness=0 if within > 0.4 else 1 if within > 0.2 else 2,
    )


def spread(run: Run, view: View) -> Panel:
    """Draw the root mean square of inner products against the width."""
    widths = run["axis/near"]
    series = [Curve("1/√d", widths, 1 / np.sqrt(widths), "floor")]
    for name in run.names("near"):
        label = NAMES.get(name, name)
        kind = KINDS.get(name, GREY)
        series.append(Curve(label, widths, run[f"near/{name}"], kind, markers=True))
    figure = figures.curves(series, "width d", "root mean square", log_x=True, log_y=True)
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    data = pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel("spread", run, view, figure, data=data)


def norms(run: Run, view: View) -> Panel:
    """Draw the lengths of vectors and of remapped ones."""
    widths = run["axis/near"]
    series = [
        Curve("u", widths, run["near/norm"], "layer 1", markers=True),
        Curve("remapped, W₀u", widths, run["near/norm_remapped"], "layer 4", markers=True),
    ]
    figure = figures.curves(
        series,
        "width d",
        "mean length",
        log_x=True,
        y_range=(0.8, 1.1),
        lines=[("1", 1.0, "floor")],
    )
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    remapped = float(np.mean(at(run, "near/norm_remapped", near=view.width)))
    data = pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel("norms", run, view, figure, data=data, remapped=remapped)


ZIPF = {  # by id: label, colour
    "equal": ("all equally strong", "layer 1"),
    "zipf": ("strong by frequency: pairs", "layer 4"),
    "asked": ("strong by frequency: as asked", "layer 3"),
}


def capacity_panel(run: Run, view: View) -> Panel:
    """Draw recall against stored pairs, a curve a width, with the formula's."""
    pairs = run["axis/capacity"]
    series = []
    for index, width in enumerate(run["axis/width"]):
        shares = at(run, "capacity/equal", width=width)  # [seeds, pairs]
        series.append(Curve(f"d = {width}", pairs, shares, f"layer {index + 1}", markers=True))
        series.append(Curve(f"formula, d = {width}", pairs, run["theory/equal"][index], "floor"))
    figure = _over_pairs(series, pairs, figures.SEAT, view.pairs)
    _dots_over_lines(figure)
    error = standard_error(at(run, "capacity/equal", width=view.width, capacity=view.pairs))
    row = place(run, "width", view.width)
    column = place(run, "capacity", view.pairs)
    return WORDS.panel(
        "capacity",
        run,
        view,
        figures.seated(figure, figures.WIDE),
        data=_table(run, "equal"),
        spread=100 * error if error and error >= 0.005 else 0.0,  # 0: would not show in percent
        by_formula=float(run["theory/equal"][row, column]),
        variance=first_order(view.width, view.pairs),
    )


def _over_pairs(series: list[Curve], pairs: np.ndarray, height: int, shown: float) -> Figure:
    figure = figures.curves(
        series, "stored pairs, P", "recall", log_x=True, y_range=(0, 1.04), height=height
    )
    ticks = pairs[::2]
    line = {"type": "line", "x0": shown, "x1": shown, "yref": "paper", "y0": 0, "y1": 1}
    figure.add_shape(**line, line={"color": figures.colour("trigger"), "width": 1.5})
    return figure.update_xaxes(tickvals=ticks, ticktext=[f"{count:,}" for count in ticks])


def _dots_over_lines(figure: Figure) -> None:
    """Make dots with bars of the simulations, and dotted lines of the formulas, of which the first
    alone is in the legend."""
    first = True
    for trace in figure.data:
        name = trace.get("name", "")
        if name.startswith("formula"):
            # its rank puts it behind all widths
            trace.update(name="formula", legendgroup="formula", legendrank=2000, showlegend=first)
            first = False
        elif trace.get("mode") == "lines+markers":
            trace.update(mode="markers", marker={"size": 9, "color": trace["line"]["color"]})


def _table(run: Run, name: str) -> pd.DataFrame:
    columns = {}
    for index, width in enumerate(run["axis/width"]):
        columns[f"d = {width}"] = mean_of(run[f"capacity/{name}"][:, index])
        columns[f"formula, d = {width}"] = run[f"theory/{name}"][index]
    return pd.DataFrame({"pairs": run["axis/capacity"], **columns}).round(4)


def zipf(run: Run, view: View) -> Panel:
    """Draw recall at the width shown where pairs are as strong as they are frequent."""
    pairs = run["axis/capacity"]
    index = place(run, "width", view.width)
    series = []
    for name, (label, kind) in ZIPF.items():
        series.append(Curve(label, pairs, run[f"capacity/{name}"][:, index], kind, markers=True))
        series.append(Curve(f"formula, {label}", pairs, run[f"theory/{name}"][index], "floor"))
    figure = _over_pairs(series, pairs, 380, view.pairs)
    _dots_over_lines(figure)
    of_pairs, as_asked = (
        at(run, f"capacity/{name}", width=view.width, capacity=view.pairs).mean()
        for name in ("zipf", "asked")
    )
    return WORDS.panel(
        "zipf",
        run,
        view,
        figure,
        data=_table(run, "zipf"),
        of_pairs=of_pairs,
        as_asked=as_asked,
    )


def half(run: Run, view: View) -> Panel:
    """Draw the number of pairs at which half are recalled, against the width."""
    widths = run["axis/width"]
    seeds = range(len(run["capacity/equal"]))
    counts = np.array([halves(run, seed) for seed in seeds])  # (seeds, widths)
    series = [
        Curve("d², the numbers in W", widths, widths.astype(float) ** 2, "floor"),
        Curve("half recalled", widths, counts, "trained", markers=True),
        Curve("d, the dimensions", widths, widths, "gradient descent"),
    ]
    figure = figures.curves(series, "width d", "pairs", log_x=True, log_y=True)
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    count = halves(run)[place(run, "width", view.width)]
    return WORDS.panel(
        "half",
        run,
        view,
        figure.update_yaxes(axis("pairs (log scale)") | figure.layout["yaxis"]),
        data=pd.DataFrame({"d": widths, "pairs at half recall": halves(run)}).round(1),
        count=count,
        entries=view.width**2 / count,
    )


def strengths(run: Run, view: View) -> Panel:
    """Draw the strength of each pair against its frequency, beside the closed forms."""
    index = run.snapshot_at(view)
    step = run.snapshot_steps[index]
    often = run["learned/often"]
    rate = run.config.learning_rate
    strength = run["snapshot/strength"][index]  # [N]
    right = run["snapshot/right"][index] > 0.5
    top = 1.12 * float(run["snapshot/strength"].max())
    figure = Figure(layout=layout(figures.SEAT))
    line = Trace(
        x=often,
        y=np.minimum(step * one_step(often, rate), 2 * top),
        mode="lines",
        name="step 1",
    )
    figure.add_trace(
        line.update(
            line={"color": figures.colour("floor"), "width": 2, "dash": "dot"}, hoverinfo="skip"
        )
    )
    alone = Trace(
        x=often,
        y=without_cross_talk(often, rate, step),
        mode="lines",
        name="no cross-talk",
    )
    figure.add_trace(
        alone.update(line={"color": figures.colour("construction"), "width": 2}, hoverinfo="skip")
    )
    for name, is_shown, colour in (
        ("recalled", right, "trained"),
        ("not yet", ~right, "gradient descent"),
    ):
        marker = {
            "size": 8,
            "color": figures.colour(colour),
            "line": {"color": PAPER, "width": 0.5},
        }
        y = np.where(is_shown, strength, np.nan)
        dots = Trace(x=often, y=y, mode="markers", name=name, marker=marker)
        figure.add_trace(dots.update(hovertemplate="frequency %{x:.3f}: %{y:.2f}<extra></extra>"))
    figure.update_xaxes(
        axis("frequency (log scale)", **axis_range((0.85 * often.min(), 1.2 * often.max()), True))
    )
    figure.update_yaxes(axis("strength", range=[-0.06 * top, top]))
    data = pd.DataFrame({"frequency": often, "strength": strength, "recalled": right})
    return WORDS.panel("strengths", run, view, figures.seated(figure), data=data.round(4))


def recall(run: Run, view: View) -> Panel:
    """Draw what the learned memory recalls over the training."""
    steps = run["curve/step"]
    at = run.step(view)
    series = [
        Curve("as asked, by frequency", steps, run["curve/asked"], "layer 3"),
        Curve("of all pairs", steps, run["curve/recall"], "trained"),
    ]
    as_asked, of_pairs = (float(np.interp(at, steps, curve.mean())) for curve in series)
    data = pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series})
    figure = figures.curves(series, "training step", "recall", y_range=(0, 1.04), at=at)
    return WORDS.panel(
        "recall", run, view, figure, data=data.round(4), of_pairs=of_pairs, as_asked=as_asked
    )


def first(run: Run, view: View) -> Panel:
    """Draw the step from which on each pair is predicted, against its frequency."""
    often = run["learned/often"]
    steps = run["learned/first"]  # [seeds, N]
    is_drawn = np.isfinite(steps) & (steps > 0)
    figure = Figure(layout=layout(380, {"t": 40}, legend=legend(1.0)))
    marker = {"size": 8, "color": figures.colour("trained"), "opacity": 0.7}
    x = np.broadcast_to(often, steps.shape)[is_drawn]
    dots = Trace(x=x, y=steps[is_drawn], mode="markers", name="a pair")
    figure.add_trace(
        dots.update(marker=marker, hovertemplate="frequency %{x:.4f}: step %{y:.0f}<extra></extra>")
    )
    alone = half_at(often, run.config.learning_rate)
    line = {"color": figures.colour("construction"), "width": 2}
    figure.add_trace(
        Trace(x=often, y=alone, mode="lines", name="no cross-talk", line=line, hoverinfo="skip")
    )
    ends = 0.8, 1.5 * max(2.0, run.config.steps, alone.max())
    figure.update_xaxes(
        axis("frequency (log scale)", **axis_range((0.85 * often.min(), 1.2 * often.max()), True))
    )
    figure.update_yaxes(axis("step (log scale)", **axis_range(ends, True)))
    data = pd.DataFrame({"frequency": often, "step": mean_of(steps)}).round(5)
    return WORDS.panel("first", run, view, figure, data=data)


def evened(run: Run, view: View) -> Panel:
    """Draw how much more strongly frequent pairs are stored than rare ones, with layer norm and
    without."""
    steps = run["curve/step"]
    series = [
        Curve("without", steps, run["curve/ratio_plain"], "trained"),
        Curve("with layer norm", steps, run["curve/ratio_norm"], "layer 2"),
    ]
    top = float(np.nanmax([np.nanmax(curve.mean()[len(steps) // 40 :]) for curve in series]))
    lines = [("all alike", 1.0, "floor")]
    data = pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series})
    figure = figures.curves(
        series, "training step", "frequent / rare", lines=lines, y_range=(0, 1.05 * top)
    )
    return WORDS.panel("evened", run, view, figure, data=data.round(4))
