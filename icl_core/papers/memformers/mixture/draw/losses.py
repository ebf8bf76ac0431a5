"""What can be drawn of heads on a Gaussian mixture: losses, gates, and how they are learned."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.mixture.train import KINDS
from icl_core.papers.memformers.shared.draw.categories import dots, stacks
from icl_core.papers.memformers.shared.draw.losses import roomy, window, written
from icl_core.papers.memformers.shared.logarithms import log_of

# of the figures: tensor, name, colour, dash
METHODS = (
    ("linear/gated", "linear, gates (Fig. 9)", "layer 2", None),
    ("lfom/gated", "Memformer, gates (Fig. 10 grey)", "layer 1", "dash"),
    ("lfom/adapted", "Memformer, gates, Γ (Fig. 10 black)", "trained", "dot"),
)
SCALAR, ALONE = "one head, one scalar", "best head as it is"
EVEN, OWN = "equal gates, not learned", "trained on the mixture"


def depth(run: Run, view: View) -> Panel:
    """The log-loss of all methods against layers."""
    x = run["depth/layers"]
    found = [(name, log_of(run[f"judged/{key}"]), kind, dash) for key, name, kind, dash in METHODS]
    found += [
        (SCALAR, log_of(run["judged/linear/scalar"]), "layer 3", None),
        (EVEN, log_of(run["judged/linear/even"]), "gradient descent", None),
        (OWN, log_of(run["judged/linear/mixture"]), "layer 5", "dot"),
    ]
    floor = log_of(run["baseline/floor"])
    series = [Curve(name, x, logs, kind, dash, markers=True) for name, logs, kind, dash in found]
    series.append(Curve("floor", x, floor, "floor"))
    kept = [np.minimum(logs, 1.5) for _, logs, _, _ in found]
    figure = figures.curves(
        series, "layers", "log of the mean loss", x_range=(0.85, x[-1] + 0.15), y_range=window([*kept, floor, [0.0]]),
        lines=[("predicting zero", 0.0, "floor")], height=430,
    )  # fmt: skip
    figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x])
    ends = [float(logs[:, -1].mean()) for _, logs, _, _ in found[:3]]
    table = pd.DataFrame({"layers": x} | {name: mean_of(logs) for name, logs, _, _ in found} | {"floor": floor})
    return Panel(
        f"With gates: linear transformer {written(ends[0])}, Memformer {written(ends[1])}; with Γ learned too "
        f"{written(ends[2])}",
        "Fresh prompts of the mixture; heads of their own for every depth. If Γ had overfit to its component, the "
        "dashed line of the Memformer would lie above that of the linear transformer. Heads that are put together "
        "unlearned are off by a factor, and lose far more. CGD is not drawn: with one dimension its first step solves "
        f"every prompt, and what is left is rounding (a loss of {float(run['baseline/cg'][0]):.0e}).",
        roomy(figure),
        data=table.round(4),
        note=_error_note(run),
    )


def _error_note(run: Run) -> str:
    error = float(run["error/linear/gated"][:, -1].mean())
    return f"Natural logarithms, standard error at {run.config.layers} layers ± {error:.2g}, on the same fresh prompts."


def _row(run: Run, view: View) -> int:
    return min(view.depth_shown, run.config.layers) - 1


def methods(run: Run, view: View) -> Panel:
    """Both kinds of head side by side, for all methods of putting them together, at one depth."""
    row = _row(run, view)
    categories = {
        "gated": "gates", "adapted": "gates<br>+ Γ", "scalar": "one<br>scalar", "even": "equal",
        "alone": "best<br>head", "mixture": "own<br>training",
    }  # fmt: skip
    logs = {kind: {method: _of(run, kind, method, row) for method in categories} for kind in KINDS}
    styles = {"linear": ("layer 2", "circle"), "lfom": ("trained", "diamond")}
    rows = [(KINDS[k], *styles[k], np.stack(list(logs[k].values()), 1)) for k in KINDS]
    floor = float(log_of(run["baseline/floor"])[row])
    figure = dots(rows, list(categories.values()), 1.0, [("floor", floor, "floor")])
    apart = {method: float((logs["lfom"][method] - logs["linear"][method]).mean()) for method in ("gated", "scalar")}
    table = pd.DataFrame({KINDS[k]: [float(v.mean()) for v in logs[k].values()] for k in KINDS}, list(WRITTEN.values()))
    return Panel(
        f"The Memformer's heads are {written(apart['gated'])} off the linear ones with gates, "
        f"{written(apart['scalar'])} with one scalar",
        f"Log-loss of {row + 1} layers on fresh prompts of the mixture; predicting zero gives 0. Look at how far a "
        "circle is from its diamond: that is what memory costs, or gains. “Own training” is a model trained on the "
        "mixture itself. A triangle at the top edge stands for a loss beyond it.",
        figure,
        data=table.round(4).reset_index(names="way"),
        note="Bars reach from the lowest to the highest seed." if run.config.seeds > 1 else "",
    )


WRITTEN = {
    "gated": "gates", "adapted": "gates and Γ", "scalar": SCALAR, "even": EVEN, "alone": ALONE, "mixture": OWN,
}  # fmt: skip


def _of(run: Run, kind: str, method: str, row: int) -> np.ndarray:
    """Logarithms [seeds]; NaN where a kind has no such method."""
    if method == "alone":
        return log_of(run[f"judged/{kind}/head"][:, row]).min(-1)
    name = f"judged/{kind}/{method}"
    return log_of(run[name][:, row]) if name in run.tensors else np.full(run.config.seeds, np.nan)


def gates(run: Run, view: View) -> Panel:
    """The gates, in shares of a whole step."""
    row, seed = _row(run, view), min(view.seed_shown, run.config.seeds) - 1
    mixture = mixture_of(run.config)
    ratio = np.array([mixture.second / each.second for each in mixture.components])
    found = np.stack([run[f"gate/{key}"][seed, row] for key, *_ in METHODS])  # [methods, H]
    names = [f"head of N({m:g}, {v:g})" for m, v in zip(mixture.means, mixture.variances, strict=True)]
    share = found * ratio
    figure = stacks([(share, found, "learned")], names, ["linear", "Memformer", "Memformer,<br>Γ learned too"])
    figure.update_yaxes(title_text="gate × E x² / E_h x²")
    sums = [written(float(each)) for each in share.sum(1)]
    return Panel(
        f"Gates add up to {sums[0]}, {sums[1]} and {sums[2]} whole steps",
        f"A gate of the model of {row + 1} layers times the factor by which its head is off, E x² of the mixture over "
        "that of the component; the gate itself is written on the block. Look at the height of a whole bar: it "
        "should be about one step, whichever heads make it up. Without gates it would be the sum of all factors.",
        figure,
        data=pd.DataFrame(found, ["linear", "Memformer", "Memformer, Γ too"], names).round(4).reset_index(names="way"),
    )


def test_time(run: Run, view: View) -> Panel:
    """The loss on the prompts met, while gates and Γ are learned."""
    logs = {name: log_of(run[f"learning/{key}"]) for key, name, *_ in METHODS}
    x = np.arange(next(iter(logs.values())).shape[1])
    series = [Curve(name, x, logs[name], kind, dash) for _, name, kind, dash in METHODS]
    figure = figures.curves(series, "step at test time", "log of the mean loss", y_range=window([*logs.values()]))
    met = {name: float(each[:, -1].mean()) for name, each in logs.items()}
    fresh = {name: float(log_of(run[f"judged/{key}"])[:, -1].mean()) for key, name, *_ in METHODS}
    last = METHODS[-1][1]
    return Panel(
        f"With Γ: {written(met[last])} on the {run.config.gate_prompts:,} prompts met, "
        f"{written(fresh[last])} on fresh ones",
        f"Adam on the prompts met at test time, {run.config.layers} layers. The lower end of a line is what these "
        "prompts show, not what fresh ones do: a wide gap says that what is learned is these prompts. With gates alone "
        f"it is {written(met[METHODS[1][1]])} here and {written(fresh[METHODS[1][1]])} on fresh ones: most of the loss "
        "is in rare prompts, of which these are too few.",
        roomy(figure),
        data=pd.DataFrame({"step": x} | {name: mean_of(each) for name, each in logs.items()}).round(4),
    )


def training(run: Run, view: View) -> Panel:
    """The loss of every head of the deepest models while it is trained; also of a run that is still going."""
    mixture = mixture_of(run.config)
    x = run.tensors.get("curve/step", np.array([0]))
    rows = [f"N({m:g}, {v:g})" for m, v in zip(mixture.means, mixture.variances, strict=True)] + ["mixture"]
    series, table = [], {"step": x}
    for kind, dash in (("linear", "solid"), ("lfom", "dash")):
        for row, name in enumerate(rows):
            logs = log_of(run.tensors.get(f"curve/{kind} {row}", np.full((run.config.seeds, len(x)), np.nan)))
            label = f"{name}{', Γ' if kind == 'lfom' else ''}"
            colour = f"layer {row + 1}" if row < len(rows) - 1 else "conjugate gradient"
            series.append(Curve(label, x, logs, colour, dash))
            table[label] = mean_of(logs).round(4)
    kept = np.concatenate([np.ravel(np.minimum(curve.y, 1.5)) for curve in series])
    figure = figures.curves(
        series, "training step", "log of the mean loss", y_range=window([kept, [0.0]]), height=430,
        lines=[("predicting zero", 0.0, "floor")],
    )  # fmt: skip
    return Panel(
        _training_title(run, series, len(rows)),
        f"Models of {run.config.layers} layers on prompts of their own distribution; full lines without memory, "
        "dashed ones with Γ. A line that stays at 0 learns nothing. The narrower the distribution of S, the "
        "deeper a line ends.",
        roomy(figure),
        data=pd.DataFrame(table),
    )


def _training_title(run: Run, series: list[Curve], rows: int) -> str:
    if not run.finished:
        return "The heads' losses so far"
    ends = np.array([mean_of(each.y)[-1] for each in series])
    apart = float(np.abs(ends[:rows] - ends[rows:]).max())
    return f"On their own distribution heads with and without Γ end within {written(apart)} of each other"
