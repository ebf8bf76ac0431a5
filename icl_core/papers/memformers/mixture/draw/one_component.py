"""What can be drawn of prompts of one component each: losses by depth, gates, what they pick, and
how both learn."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture.claims import GATED, LINEAR
from icl_core.papers.memformers.mixture.draw.mixed_prompts import ON_STAGE, SHORT, style_of
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.mixture.words import WORDS
from icl_core.papers.memformers.shared.draw.categories import dots, named, stacks
from icl_core.papers.memformers.shared.draw.losses import (
    SEAT,
    fitted,
    over_layers,
    printed,
    roomy,
    tabled,
    window,
    written,
)
from icl_core.papers.memformers.shared.load_run import log_of


def comparison(run: Run, view: View) -> Panel:
    """Draw the log-loss of the figures' three methods by depth, on fresh prompts and on those that
    gates were learned on."""
    series = _by_depth(run)
    as_printed = claims.PRINTED if claims.LINEAR_WINS.is_at(run.config) else {}
    rings = printed(
        (ON_STAGE[each], curve, style_of(each)[1], None) for each, curve in as_printed.items()
    )
    zero = float(np.log(run["baseline/zero"]))
    y_range = window([*(each.y for each in series), *as_printed.values(), [1.2]])
    figure = over_layers(series, "log-loss", y_range, zero, SEAT).add_traces(rings)
    for trace in figure.data:
        if trace.get("name") == "prompts met":
            trace.update(showlegend=False)
    figure.add_trace(figures.legend_line("prompts met", FAINT, "dot"))
    data = tabled("layers", run["depth/layers"], series)
    return WORDS.panel(
        "gated heads", run, view, fitted(figure), data=data, zero=zero, has_rings=bool(as_printed)
    )


def _by_depth(run: Run) -> list[Curve]:
    x = run["depth/layers"]
    series = []
    for method, name in ON_STAGE.items():
        _, kind, _ = style_of(method)
        series += [
            Curve(name, x, log_of(run[f"evaluated/{method}"]), kind, markers=True),
            Curve("prompts met", x, log_of(run[f"own/{method}"]).mean(0), kind, "dot"),
        ]
    return series


def shares(run: Run, view: View) -> Panel:
    """Draw the gates of every method, as they are: a head's own step is one."""
    row = min(view.depth_shown, run.config.layers) - 1
    seed = min(view.seed_shown, run.config.seeds) - 1
    methods = run.names("methods")
    gates = np.stack([run[f"gate/{method}"][seed, row] for method in methods])  # [methods, H]
    names = [f"head of {each}" for each in mixture_of(run.config).names]
    figure = stacks(
        [(gates, gates, "learned")], names, [SHORT.get(each, (each, each))[0] for each in methods]
    )
    data = pd.DataFrame(gates, methods, names).round(4).reset_index(names="method")
    sums = ", ".join(written(float(total)) for total in gates.sum(1))
    figure = named(figure.update_yaxes(title={"text": "gate"}))
    return WORDS.panel("gates shown", run, view, figure, data=data, sums=sums)


def picked(run: Run, view: View) -> Panel:
    """Draw on each component its head alone, gates learned for it, and the gates that serve all
    (Theorem 4.1)."""
    names = mixture_of(run.config).names
    kinds = run.names("kinds")
    rows = []
    for kind in kinds:
        name = ON_STAGE.get(f"{kind}/gated", kind)
        colour = style_of(f"{kind}/gated")[1]
        head = log_of(run[f"head/{kind}"][:, -1])  # [seeds, M]
        for_all = log_of(run[f"component/{kind}/gated"][:, -1])
        rows += [
            (f"{name}: its head", colour, "circle-open", head),
            (name, colour, "circle", log_of(run[f"picked/{kind}"])),
            (f"{name}: for all", colour, "x", for_all),
        ]
    gaps = [log_of(run[f"picked/{kind}"]) - log_of(run[f"head/{kind}"][:, -1]) for kind in kinds]
    above = max(float(gap.mean(0).max()) for gap in gaps)
    figure = dots(rows, names, max(float(values.max()) for *_, values in rows) + 0.2, [])
    for trace in figure.data:  # of the marks once, of the colours once
        trace.update(showlegend=not trace["name"].startswith(f"{ON_STAGE[GATED]}:"))
    figure.update_xaxes(title={"text": "the prompts' component"})
    data = pd.DataFrame({"component": names} | {name: values.mean(0) for name, *_, values in rows})
    return WORDS.panel(
        "picked", run, view, fitted(figure), data=data.round(4), above=above, is_worse=above > 0.02
    )


def picked_shares(run: Run, view: View) -> Panel:
    """Draw the gates learned for one component alone, counted in whole steps there."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    names = mixture_of(run.config).names
    heads = [f"head of {name}" for name in names]
    kinds = run.names("kinds")
    shares = np.concatenate([claims.picked_shares(run, kind)[seed] for kind in kinds])
    gates = np.concatenate([run[f"pick/{kind}"][seed] for kind in kinds])  # [kinds M, H]
    rows = []
    categories = []
    for kind in kinds:
        rows += [f"{name}, {ON_STAGE.get(f'{kind}/gated', kind)}" for name in names]
        # three short lines: on a narrow screen a bar has little room
        below = "linear" if kind == "linear" else "with Γ"
        parts = [name.replace(", ", ",<br>") for name in names]
        categories += [f"{part}<br>{below}" for part in parts]
    home = shares[np.arange(len(shares)), np.tile(np.arange(len(names)), len(kinds))]
    figure = stacks([(shares, gates, "learned")], heads, categories)
    figure.update_yaxes(title={"text": "gate × Eₘ x² / Eₕ x²"})
    data = pd.DataFrame(shares, rows, heads).round(4).reset_index(names="component")
    return WORDS.panel(
        "picked shares", run, view, named(figure), data=data,
        least=float(home.min()), most=float(home.max()),
    )  # fmt: skip


def test_time(run: Run, view: View) -> Panel:
    """Draw the loss on the prompts met, while gates and Γ are learned."""
    x = run["learning/step"]
    series = []
    for method in run.names("methods"):
        name, kind, dash = style_of(method)
        series.append(Curve(name, x, log_of(run[f"learning/{method}"]), kind, dash))
    still_falls = max(
        float(line.mean()[-len(x) // 10] - line.mean()[-1])
        for method, line in zip(run.names("methods"), series, strict=True)
        if method in (LINEAR, GATED)
    )
    y_range = window([line.y for line in series])
    figure = roomy(figures.curves(series, "step at test time", "log-loss", y_range=y_range))
    return WORDS.panel(
        "gates learning", run, view, figure, data=tabled("step", x, series), still_falls=still_falls
    )
