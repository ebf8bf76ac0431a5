"""What a single gradient step can recall, by width and amount of data (Figure 9), and the noise
that it meets; W_O2 trained alone at several widths and learning rates (Figure 8)."""

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of, number_text, visible_characters
from icl_core.figures.line_plots import LEVEL
from icl_core.figures.style import LINE, NONE_TO_ALL, PAPER, TICKS, axis, colourscale, layout
from icl_core.papers.birth.dimension import one_step
from icl_core.papers.birth.dimension.one_step import (
    FROM,
    at_rates,
    at_widths,
    contour,
    fixed,
    halves,
    over_training,
    tuned,
)
from icl_core.papers.birth.dimension.settings import View
from icl_core.papers.birth.dimension.words import WORDS

LEVELS = (0.5, 0.9)  # of theory's contours
STRONG = 0.7  # a share from which the background's colour is legible on the cell
NUMBER = 0.26, 0.36  # half a number's width and height, as shares of its cell
ENDS = 1.02  # the top of axes of shares
SEED = 1  # of the embeddings on the map


def at(run: Run, view: View) -> tuple[int, int]:
    """Return where the chosen number of batches and width stand in the run; `CannotDraw` if they do
    not."""
    widths = run["task/widths"].tolist()
    numbers = run["task/numbers"].tolist()
    if int(view.width_shown) not in widths:
        raise CannotDraw(
            f"d must be one of {', '.join(map(str, widths))} in this run, got {view.width_shown}"
        )
    return numbers.index(int(view.batches_shown)), widths.index(int(view.width_shown))


def heatmap(run: Run, view: View) -> Panel:
    """Draw the share recalled by width and number of batches, with theory's contours."""
    recall = run["one_step/recall"].mean(0)
    numbers = run["task/numbers"]
    widths = run["task/widths"]
    z = recall.T  # [widths, numbers]
    x = np.arange(len(numbers))
    y = np.arange(len(widths))
    figure = Figure(layout=layout(figures.SEAT, showlegend=False))
    scale = {"colorscale": colourscale(NONE_TO_ALL), "zmin": 0, "zmax": 1, "showscale": False}
    texts = [
        [
            f"d = {d}, {n} {'batch' if n == 1 else 'batches'}: {z[row, column]:.0%}"
            for column, n in enumerate(numbers)
        ]
        for row, d in enumerate(widths)
    ]
    hover = {"customdata": texts, "hovertemplate": "%{customdata}<extra></extra>"}
    figure.add_trace(
        Trace("heatmap", x=x, y=y, z=np.ascontiguousarray(z, np.float32), **scale, **hover)
    )
    figure.add_traces(_contours(run, x))
    figure.add_trace(_written(z))
    batch = f"batches of {one_step.SEQUENCES} sequences"
    figure.update_xaxes(
        axis(batch, tickvals=x, ticktext=[str(n) for n in numbers], showgrid=False, ticks="")
    )
    figure.update_xaxes(range=[-0.5, len(x) - 0.5])
    figure.update_yaxes(
        axis("width, d", tickvals=y, ticktext=[str(d) for d in widths], showgrid=False, ticks="")
    )
    figure.update_yaxes(range=[-0.5, len(y) - 0.5])
    data = pd.DataFrame(
        np.round(z, 3), index=widths, columns=[f"{n} batches" for n in numbers]
    ).reset_index(names="d")
    return WORDS.panel(
        "one_step", run, view, figures.seated(figure), data=data, least=z.min(), most=z.max()
    )


def _contours(run: Run, x: np.ndarray) -> list[Trace]:
    """Return where theory's recall passes each level, over a lighter line that keeps it apart from
    the cells; with gaps at the cells' numbers."""
    smallest = np.log2(float(run["task/widths"][0]))
    traces = []
    fine = np.linspace(x[0], x[-1], 40 * (len(x) - 1) + 1)
    for level, dash in zip(LEVELS, ("dot", "dash"), strict=True):
        y = np.interp(fine, x, np.log2(contour(run, level)) - smallest)
        on_number = (np.abs(fine - fine.round()) < NUMBER[0]) & (np.abs(y - y.round()) < NUMBER[1])
        line = {
            "x": fine,
            "y": np.where(on_number, np.nan, y),
            "mode": "lines",
            "hoverinfo": "skip",
        }
        traces.append(Trace(**line, line={"color": PAPER, "width": 6}, opacity=0.6))
        traces.append(
            Trace(
                **line,
                line={"color": LINE, "width": 2.5, "dash": dash},
                name=f"theory: {level:.0%}",
            )
        )
    return traces


def _written(z: np.ndarray) -> Trace:
    """Return every share in its cell, in per cent."""
    rows, columns = np.indices(z.shape)
    colours = [PAPER if share > STRONG else LINE for share in z.ravel()]
    texts = [f"{100 * share:.0f}" for share in z.ravel()]
    font = {"size": TICKS, "color": colours}
    return Trace(
        x=columns.ravel(), y=rows.ravel(), mode="text", text=texts, textfont=font, hoverinfo="skip"
    )


def readings(run: Run, view: View) -> Panel:
    """Draw all readings of the one-step memory, for one draw of embeddings."""
    number, _ = at(run, view)
    generator = torch.Generator().manual_seed(SEED)
    S = torch.tensor(run["one_step/S"][number].astype(np.float64))
    G = one_step.gram(len(S), int(view.width_shown), run.config.scale, generator)
    R = one_step.readings(S, G)  # (N, N)
    shown = visible_characters(run.names("characters"))
    matrix = R.numpy()
    limit = float(np.abs(matrix.diagonal()).mean()) * 1.5
    figure = figures.small_map(
        np.clip(matrix, -limit, limit),
        (shown, shown),
        ("output", "input"),
        "reading",
        limit,
        ("output", "character"),
    )
    return WORDS.panel("readings", run, view, figure, recalled=float(one_step.recall(R)))


def noise(run: Run, view: View) -> Panel:
    """Draw the noise of the readings against the width, simulated and exact, beside the signal."""
    number, width = at(run, view)
    widths = run["task/widths"].astype(float)
    count = run.config.N - 1
    exact, simulated = (np.sqrt(run[f"{kind}/noise"][0, number]) for kind in ("theory", "one_step"))
    error = run["one_step/noise_error"][0, number] / (2 * simulated)
    signal = float(run["one_step/signal"][0, number])
    S = torch.tensor(run["one_step/S"][number].astype(np.float64))
    own = float(one_step.aside(S.square())) ** 0.5
    most = one_step.largest(count) * exact
    series = [
        Curve("largest wrong", widths, most, "layer 4", "dash"),
        Curve("exact", widths, exact, "floor"),
        Curve("simulated", widths, simulated, "trained", error=error, markers=True),
    ]
    limits = 0.6 * min(own, float(exact.min())), 1.6 * max(signal, float(most.max()))
    figure = figures.curves(
        series,
        "width, d",
        "size of a reading",
        log_x=True,
        log_y=True,
        y_range=limits,
        x_range=(14, 590),
        height=figures.SEAT,
        lines=[("right reading (signal)", signal, "layer 3"), ("d = ∞", own, "gradient descent")],
    )
    figure.data[-1].update(line={"width": 0})
    figure.update_xaxes(tickvals=widths.tolist(), ticktext=[f"{d:.0f}" for d in widths])
    data = pd.DataFrame({"d": widths, "exact": exact, "simulated": simulated, "error": error})
    return WORDS.panel(
        "noise",
        run,
        view,
        figures.seated(figure),
        data=data.round(5),
        signal_to_noise=signal / exact[width],
    )


def recalls(run: Run, view: View) -> Panel:
    """Draw the one-step recall by width, simulated beside theory, for every number of batches."""
    # [numbers, widths]
    widths = run["task/widths"]
    recall = run["one_step/recall"].mean(0)
    series = []
    for index, number in enumerate(run["task/numbers"]):
        simulated = run["one_step/recall"][:, index]
        series.append(Curve(f"{number}", widths, simulated, f"layer {index + 1}", markers=True))
        theory = run["theory/recall"].mean(0)[index]
        series.append(Curve(f"{number}, theory", run["theory/fine"], theory, f"layer {index + 1}"))
    limits = 0.9 * widths[0], 1.1 * widths[-1]
    figure = figures.curves(
        series, "width, d", "recalled", log_x=True, y_range=(0, 1.02), x_range=limits, height=360
    )
    for trace in figure.data:
        if trace.get("name", "").endswith("theory"):
            trace.update(showlegend=False)
        elif trace.get("mode") == "lines+markers":
            trace.update(mode="markers")
    figure.update_xaxes(tickvals=widths.tolist(), ticktext=[str(d) for d in widths])
    figure.update_layout(legend={"title": {"text": "batches:", "side": "left"}})
    apart = np.abs(recall - at_widths(run)).max(0)
    rows = dict(zip(map(str, run["task/numbers"]), recall.round(4), strict=True))
    return WORDS.panel(
        "recalls",
        run,
        view,
        figure,
        data=pd.DataFrame({"d": widths} | rows),
        difference=apart.max(),
        difference_from=apart[widths >= FROM].max(),
        from_d=FROM,
    )


def tint(index: int) -> str:
    """Return the colour of a width, by its place."""
    return f"layer {index + 1}"


def at_fixed(run: Run, view: View) -> Panel:
    """Draw the recall over training at one learning rate for all widths."""
    return _recall("fixed", run, view, fixed(run))


def at_tuned(run: Run, view: View) -> Panel:
    """Draw the recall over training at the best learning rate of each width."""
    return _recall("tuned", run, view, tuned(run))


def _recall(name: str, run: Run, view: View, rates: np.ndarray) -> Panel:
    """Draw the recall over training at the `rates`, one for each width."""
    curves = at_rates(run["curve/recall"], rates)  # [seeds, widths, evaluations]
    series = [
        Curve(f"{d}", run["curve/step"], curves[:, index], tint(index))
        for index, d in enumerate(run["task/widths"])
    ]
    ends = [float(mean_of(line.y)[-1]) for line in series]
    figure = figures.curves(
        series, "training step", "recall of W_O²", y_range=(0, ENDS), height=figures.SEAT
    )
    if name != "fixed":  # which stands before the others and names the colours
        figure.update_layout(showlegend=False)
    # says what the legend's numbers are
    figure.update_layout(legend={"title": {"text": "d =", "side": "left"}})
    data = {f"d = {line.name}": np.round(line.mean(), 4) for line in series}
    return WORDS.panel(
        name,
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"step": run["curve/step"]} | data),
        at_least_d=ends[0],
        at_largest_d=ends[-1],
        curves=WORDS.text("curves"),
    )


def rates(run: Run, view: View) -> Panel:
    """Draw the mean recall over the training against the learning rate."""
    means = over_training(run)
    tried = run["task/rates"]
    series = [
        Curve(f"{d}", tried, means[:, index], tint(index), markers=True)
        for index, d in enumerate(run["task/widths"])
    ]
    best = [float(tried[rate]) for rate in tuned(run)]
    marks = [(float(tried[fixed(run)[0]]), "fixed", "floor")]
    limits = float(tried[0]) / 1.3, float(tried[-1]) * 1.3
    figure = figures.curves(
        series,
        "learning rate",
        "mean recall",
        log_x=True,
        y_range=(0, ENDS),
        x_range=limits,
        marks=marks,
        height=figures.SEAT,
    )
    data = {f"d = {line.name}": np.round(line.mean(), 4) for line in series}
    return WORDS.panel(
        "rates",
        run,
        view,
        figures.seated(figure.update_layout(showlegend=False), above=LEVEL),
        data=pd.DataFrame({"rate": tried} | data),
        at_least_d=best[0],
        at_largest_d=best[-1],
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate every width in numbers."""
    best = tuned(run)
    means = over_training(run).mean(0)
    steps = {"fixed": halves(run, fixed(run)).mean(0), "tuned": halves(run, best).mean(0)}
    rows = [
        {
            "d": int(d),
            "best rate": f"{run['task/rates'][best[index]]:.3g}",
            **{f"half recalled, {how}": _step(values[index], run) for how, values in steps.items()},
            "mean recall, fixed": number_text(float(means[index, fixed(run)[0]]), 2),
            "mean recall, tuned": number_text(float(means[index, best[index]]), 2),
        }
        for index, d in enumerate(run["task/widths"])
    ]
    seeds = len(run["curve/recall"])
    return WORDS.panel("table", run, view, table=pd.DataFrame(rows), seeds=seeds)


def _step(step: float, run: Run) -> str:
    return f"step {step:.0f}" if np.isfinite(step) else f"later than {run['curve/step'][-1]}"
