"""What each matrix has stored in the end, on the data chosen (Figure 7)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, literal, visible_characters
from icl_core.figures.heatmaps import add_map
from icl_core.figures.map_grid import AXIS, BAR, TITLE, diverging, subplots
from icl_core.figures.series import axis_range
from icl_core.figures.style import axis, colour, layout, legend
from icl_core.papers.birth.data.arrivals import by_case, by_position, correlation, of, unevenness
from icl_core.papers.birth.data.settings import View
from icl_core.papers.birth.data.style import kind, short, signed
from icl_core.papers.birth.data.words import WORDS
from icl_core.papers.birth.shared.draw import KINDS, NAMES

HELD = {  # what rows and columns are, as on the other pages
    "W_K1": ("position", "position"),
    "W_K2": ("character", "character before"),
    "W_O2": ("output", "character"),
}


BRIGHT = 0.6  # of the largest reading, at which colours end: so that weak pairs can be seen, too


def index_of(run: Run, view: View) -> int:
    """Return where the chosen data stands in the run; `CannotDraw` if it is not there."""
    names = run.names("data")
    if view.data_shown not in names:
        raise CannotDraw(
            f"data must be one of {', '.join(map(short, names))}, got {short(view.data_shown)}"
        )
    return names.index(view.data_shown)


def readings(run: Run, name: str, index: int) -> np.ndarray:
    """Return all readings of a matrix on one kind of data, the first seed's."""
    return run[f"map/{name}"][index].astype(np.float32) * run[f"scale/{name}"][index]


def maps(run: Run, view: View) -> Panel:
    """Draw the readings of all pairs of all three matrices, each as a multiple of its own noise."""
    index = index_of(run, view)
    characters = visible_characters(run.names("characters"))
    ratios = {name: readings(run, name, index) / run[f"aside/{name}"][0, index] for name in HELD}
    height = 390
    plot = 390 - BAR - TITLE - AXIS
    scale = diverging(
        BRIGHT * figures.largest_magnitude(*ratios.values()),
        "times the noise",
        1 + (TITLE + 8) / plot,
    )
    figure = Figure(layout=layout(height, {"t": BAR + TITLE, "b": AXIS - 10}, coloraxis=scale))
    for (name, matrix), subplot in zip(
        ratios.items(), subplots([NAMES[name] for name in ratios], 3, plot), strict=True
    ):
        labels = (characters, characters) if name != "W_K1" else _places(len(matrix))
        add_map(figure, matrix, labels, HELD[name], "times the noise", subplot)
    K1, K2, O2 = (run[f"diagonal/{name}"][:, index] for name in HELD)  # (seeds, pairs) each
    early, late = (float(values.mean()) for values in by_position(K1, run.config.T))
    capital, lower = (float(values.mean()) for values in by_case(K2, run.names("characters")))
    return WORDS.panel(
        "maps",
        run,
        view,
        figure,
        data_shown=short(view.data_shown),
        early_stored=early > 0,
        late_of_early=max(0.0, late) / early if early > 0 else 0.0,
        lowercase_stored=lower > 0,
        capitals_of_lowercase=max(0.0, capital) / lower if lower > 0 else 0.0,
        unevenness=float(unevenness(O2).mean()),
    )


def _places(count: int) -> tuple[list[str], list[str]]:
    places = [str(position) for position in range(1, count + 2)]
    return places[1:], places[:-1]


def positions(run: Run, view: View) -> Panel:
    """Draw how strongly W_K1 stores each position, on all kinds of data."""
    T = run.config.T
    x = np.arange(2, T + 1)
    series = [
        Curve(
            short(name),
            x,
            smoothed(of(run, "diagonal/W_K1", name) / of(run, "aside/W_K1", name)[:, None]),
            kind(name),
        )
        for name in run.names("data")
    ]
    late = {name: by_position(of(run, "diagonal/W_K1", name), T) for name in run.names("data")}
    most = max(late, key=lambda name: float((late[name][1] / late[name][0]).mean()))
    figure = figures.curves(
        series, "position", "times the noise", lines=[("noise", 1.0, "floor")], height=340
    )
    data = pd.DataFrame({"position": x} | {line.name: np.round(line.mean(), 3) for line in series})
    return WORDS.panel("positions", run, view, figure, data=data, furthest=short(most))


def smoothed(rows: np.ndarray, over: int = 5) -> np.ndarray:
    """Return means over neighbouring positions, fewer at the ends; [seeds, positions]."""
    count = rows.shape[-1]
    ends = [(max(0, at - over // 2), min(count, at + over // 2 + 1)) for at in range(count)]
    return np.stack([rows[..., low:high].mean(-1) for low, high in ends], -1)


def frequencies(run: Run, view: View) -> Panel:
    """Draw how strongly W_K2 and W_O2 store each character, by how often it occurs."""
    index = index_of(run, view)
    often = run["task/often"]
    characters = visible_characters(run.names("characters"))
    figure = Figure(layout=layout(340, {"t": 36}, legend=legend(1.0)))
    strengths = {}
    for name in ("W_K2", "W_O2"):
        ratio = run[f"diagonal/{name}"][:, index] / run[f"aside/{name}"][:, index, None]
        strengths[name] = ratio.mean(0)  # (characters,)
        figure.add_traces(_letters(name, often, strengths[name], [*map(literal, characters)]))
    figure.update_xaxes(
        axis("frequency of the character (log scale)", **axis_range(_around(often), True))
    )
    figure.update_yaxes(axis("times the noise"))
    columns = {NAMES[name]: np.round(values, 2) for name, values in strengths.items()}
    return WORDS.panel(
        "frequencies",
        run,
        view,
        figure,
        data=pd.DataFrame({"character": characters, "frequency": np.round(often, 5)} | columns),
        W_K2=signed(correlation(often, columns[NAMES["W_K2"]]), 2),
        W_O2=signed(correlation(often, columns[NAMES["W_O2"]]), 2),
    )


def _letters(
    name: str, often: np.ndarray, strength: np.ndarray, characters: list[str]
) -> list[Trace]:
    """Return the characters as text, and a mark for the legend."""
    tint = colour(KINDS[name])
    x = often.astype(np.float32)
    y = strength.astype(np.float32)
    font = {"size": 13, "color": tint, "family": "DejaVu Sans Mono, Menlo, Consolas, monospace"}
    hover = f"%{{text}}: {NAMES[name]} %{{y:.1f}} times the noise<extra></extra>"
    text = Trace(
        x=x, y=y, mode="text", text=characters, textfont=font, name=NAMES[name], showlegend=False
    )
    mark = Trace(
        x=x[:1],
        y=y[:1],
        mode="markers",
        name=NAMES[name],
        marker={"color": tint, "size": 9},
        visible="legendonly",
    )
    return [text.update(hovertemplate=hover), mark]


def _around(often: np.ndarray) -> tuple[float, float]:
    return 0.7 * float(often[often > 0].min()), 1.4 * float(often.max())
