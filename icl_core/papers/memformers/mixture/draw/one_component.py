"""What can be drawn of prompts of one component each: losses by depth, gates, what they pick, and
how both learn."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.memformers.mixture import claims, metrics
from icl_core.papers.memformers.mixture.draw.losses import ADAPTED, GATED, LINEAR, SHORT, style_of
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.shared.draw.categories import dots, stacks
from icl_core.papers.memformers.shared.draw.losses import (
    over_layers,
    printed,
    roomy,
    tabled,
    window,
    written,
)
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted, named
from icl_core.papers.memformers.shared.load_run import end, log_of

METHODS = {LINEAR: "linear", GATED: "Memformer", ADAPTED: "Memformer, Γ too"}


def comparison(run: Run, view: View) -> Panel:
    """Draw the log-loss of the figures' three methods by depth, on fresh prompts and on those that
    gates were learned on."""
    series = _by_depth(run)
    as_printed = claims.PRINTED if claims.LINEAR_WINS.is_at(run.config) else {}
    rings = printed(
        (METHODS[each], curve, style_of(each)[1], None) for each, curve in as_printed.items()
    )
    zero = float(np.log(run["baseline/zero"]))
    y_range = window([*(each.y for each in series), *as_printed.values(), [1.2]])
    figure = over_layers(series, "log-loss", y_range, zero, HEIGHT).add_traces(rings)
    for trace in figure.data:
        if trace.get("name") == "prompts met":
            trace.update(showlegend=False)
    figure.add_trace(figures.legend_line("prompts met", FAINT, "dot"))
    linear, gated = (written(end(run, f"evaluated/{each}")) for each in (LINEAR, GATED))
    return Panel(
        f"Log-loss is {linear} (linear), {gated} (Memformer)",
        "Each prompt comes from one component. Each depth has heads of its own, put together by "
        "learned gates. Full lines are fresh prompts, dotted ones those that the gates were "
        "learned on. Log-loss is the logarithm of the error: one less is 2.7 times smaller. "
        f"Predicting zero gives {written(zero)}, beyond the axis. If Γ did no harm, the "
        "Memformer's line would not lie above the other."
        + " Rings are the paper's points, on the dotted lines' prompts."
        * bool(as_printed),
        fitted(figure),
        data=tabled("layers", run["depth/layers"], series),
    )


def _by_depth(run: Run) -> list[Curve]:
    x = run["depth/layers"]
    series = []
    for method, name in METHODS.items():
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
    sums = ", ".join(written(float(each)) for each in gates.sum(1))
    return Panel(
        f"Gates of all heads sum to {sums}",
        f"The gates of the model of {row + 1} layers, learned from zero. They cannot be right for "
        "all prompts: each comes from one component, and the same three numbers serve all. One "
        "gate at 1 and the others at 0 would be Theorem 4.1's choice for that component.",
        named(figure.update_yaxes(title={"text": "gate"})),
        data=pd.DataFrame(gates, methods, names).round(4).reset_index(names="method"),
    )


def picked(run: Run, view: View) -> Panel:
    """Draw on each component its head alone, gates learned for it, and the gates that serve all
    (Theorem 4.1)."""
    names = mixture_of(run.config).names
    kinds = run.names("kinds")
    rows = []
    for kind in kinds:
        name = METHODS.get(f"{kind}/gated", kind)
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
        trace.update(showlegend=not trace["name"].startswith(f"{METHODS[GATED]}:"))
    relation = "no worse than" if above <= 0.02 else f"{written(above)} above"
    return Panel(
        f"Gates for one component: {relation} its head",
        "One gate at 1 and the others at 0 is that head alone (open marks), as Theorem 4.1 says. "
        "Gates learned from zero on prompts of that component (full marks) do better where the "
        "heads are not trained to their end, and worse where they settle on another head. Gates "
        "that serve all three components at once (crosses) pay for it. Lower is better.",
        fitted(figure.update_xaxes(title={"text": "the prompts' component"})),
        data=pd.DataFrame(
            {"component": names} | {name: values.mean(0) for name, *_, values in rows}
        ).round(4),
    )


def picked_shares(run: Run, view: View) -> Panel:
    """Draw the gates learned for one component alone, counted in whole steps there."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    names = mixture_of(run.config).names
    heads = [f"head of {name}" for name in names]
    kinds = run.names("kinds")
    shares = np.concatenate([metrics.picked_shares(run, kind)[seed] for kind in kinds])
    gates = np.concatenate([run[f"pick/{kind}"][seed] for kind in kinds])  # [kinds M, H]
    rows = []
    categories = []
    for kind in kinds:
        rows += [f"{name}, {METHODS.get(f'{kind}/gated', kind)}" for name in names]
        # three short lines: on a narrow screen a bar has little room
        below = "linear" if kind == "linear" else "with Γ"
        parts = [name.replace(", ", ",<br>") for name in names]
        categories += [f"{part}<br>{below}" for part in parts]
    home = shares[np.arange(len(shares)), np.tile(np.arange(len(names)), len(kinds))]
    figure = stacks([(shares, gates, "learned")], heads, categories)
    return Panel(
        f"The head at home takes {written(float(home.min()))} to {written(float(home.max()))} of "
        "a step",
        "Gates learned from zero on prompts of one component. Each block is a gate times Eₘ x² / "
        "Eₕ x²: the share of a whole step that its head takes on component m; the gate itself is "
        "written on it. Had the gates found Theorem 4.1's choice, each bar would be one block, of "
        "the head at home. But in one dimension every head is another one at another scale, and "
        "Adam moves all gates alike: the head whose unit gate is the longest step gets there "
        "first.",
        named(figure.update_yaxes(title={"text": "gate × Eₘ x² / Eₕ x²"})),
        data=pd.DataFrame(shares, rows, heads).round(4).reset_index(names="component"),
    )


def test_time(run: Run, view: View) -> Panel:
    """Draw the loss on the prompts met, while gates and Γ are learned."""
    x = run["learning/step"]
    series = []
    for method in run.names("methods"):
        name, kind, dash = style_of(method)
        series.append(Curve(name, x, log_of(run[f"learning/{method}"]), kind, dash))
    still = {
        name: series[i].mean()[-len(x) // 10] - series[i].mean()[-1]
        for i, name in enumerate(run.names("methods"))
    }
    return Panel(
        f"With gates alone, the last tenth of {run.config.gate_steps:,} steps still lowers the "
        f"log-loss by {written(max(float(still[LINEAR]), float(still[GATED])))}",
        f"The loss on the {run.config.gate_prompts:,} prompts met, as Adam (rate "
        f"{run.config.gate_rate:g}) learns the gates of {run.config.layers} layers from zero. A "
        "line that still falls at its end would go lower with more steps.",
        roomy(
            figures.curves(
                series, "step at test time", "log-loss", y_range=window([s.y for s in series])
            )
        ),
        data=tabled("step", x, series),
    )
