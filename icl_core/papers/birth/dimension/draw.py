"""What a single gradient step can recall, by width and amount of data (Figure 9), and the noise
that it meets."""

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, visible_characters
from icl_core.figures.style import LINE, NONE_TO_ALL, PAPER, TICKS, axis, colourscale, layout
from icl_core.papers.birth.dimension import one_step
from icl_core.papers.birth.dimension.settings import View
from icl_core.papers.birth.dimension.tuned_rates import FROM, at_widths, contour

LEVELS = (0.5, 0.9)  # of theory's contours
STRONG = 0.7  # a share from which the background's colour is legible on the cell
NUMBER = 0.26, 0.36  # half a number's width and height, as shares of its cell
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


def batches(count: str) -> str:
    """Return a number of batches in words."""
    return f"{count} batch{'es' * (count != '1')}"


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
    said = [
        [f"d = {d}, {batches(str(n))}: {z[row, column]:.0%}" for column, n in enumerate(numbers)]
        for row, d in enumerate(widths)
    ]
    hover = {"customdata": said, "hovertemplate": "%{customdata}<extra></extra>"}
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
    return Panel(
        f"One step recalls {z.min():.0%} to {z.max():.0%} of the pairs",
        "The share of pairs that a single gradient step on W_O² recalls (Figure 9), the mean over "
        "embeddings and seeds. Lines: where theory expects one half (dotted) and 90% (dashed), "
        "from the exact mean and variance of every reading. If overlaps did not matter, all rows "
        "would be alike; if data did not, all columns.",
        figures.seated(figure),
        data=pd.DataFrame(
            np.round(z, 3), index=widths, columns=[f"{n} batches" for n in numbers]
        ).reset_index(names="d"),
    )


def _contours(run: Run, x: np.ndarray) -> list[Trace]:
    """Return where theory's recall passes each level, over a lighter line that keeps it apart from
    the cells; with gaps at the cells' numbers."""
    smallest = np.log2(float(run["task/widths"][0]))
    found = []
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
        found.append(Trace(**line, line={"color": PAPER, "width": 6}, opacity=0.6))
        found.append(
            Trace(
                **line,
                line={"color": LINE, "width": 2.5, "dash": dash},
                name=f"theory: {level:.0%}",
            )
        )
    return found


def _written(z: np.ndarray) -> Trace:
    """Return every share in its cell, in per cent."""
    rows, columns = np.indices(z.shape)
    colours = [PAPER if each > STRONG else LINE for each in z.ravel()]
    texts = [f"{100 * each:.0f}" for each in z.ravel()]
    font = {"size": TICKS, "color": colours}
    return Trace(
        x=columns.ravel(), y=rows.ravel(), mode="text", text=texts, textfont=font, hoverinfo="skip"
    )


def readings(run: Run, view: View) -> Panel:
    """Draw all readings of the one-step memory, for one draw of embeddings."""
    number, _ = at(run, view)
    generator = torch.Generator().manual_seed(SEED)
    S = torch.tensor(run["one_step/S"][number].astype(np.float64))
    found = one_step.readings(
        S, one_step.gram(len(S), int(view.width_shown), run.config.scale, generator)
    )
    shown = visible_characters(run.names("characters"))
    matrix = found.numpy()
    limit = float(np.abs(matrix.diagonal()).mean()) * 1.5
    return Panel(
        f"d = {view.width_shown}, {batches(view.batches_shown)}: "
        f"{float(one_step.recall(found)):.0%} are recalled",
        "Each row is an output: how strongly the one-step memory answers with it to every "
        "character that could have been attended to. The diagonal is what it should store. All "
        "else is noise: from too little data and from overlapping random vectors. Without "
        "learning there would be no diagonal.",
        figures.small_map(
            np.clip(matrix, -limit, limit),
            (shown, shown),
            ("output", "input"),
            "reading",
            limit,
            ("output", "character"),
        ),
    )


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
    return Panel(
        f"d = {view.width_shown}, {batches(view.batches_shown)}: signal is "
        f"{signal / exact[width]:.1f} × noise",
        "Root mean square of the wrong readings at each width: simulated with its standard "
        "error, and exact. The pair is recalled if the right reading exceeds the largest wrong "
        "one (orange). With d the noise falls as 1/√d, down to what the data leave (grey). If "
        "vectors did not overlap, it would lie on the grey line.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"d": widths, "exact": exact, "simulated": simulated, "error": error}
        ).round(5),
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
    return Panel(
        f"Theory within {apart.max():.2f} of simulation, from d = {FROM} within "
        f"{apart[widths >= FROM].max():.2f}",
        "Dots: simulated, one colour for each number of batches. Lines: what independent Gaussian "
        "readings with the exact mean and variance would recall. At small d readings are not "
        "Gaussian, and theory is off. If the variance missed some of the noise, the lines would "
        "lie above the dots.",
        figure,
        data=pd.DataFrame(
            {"d": widths} | dict(zip(map(str, run["task/numbers"]), recall.round(4), strict=True))
        ),
    )
