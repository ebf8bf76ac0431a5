"""What can be drawn of heads with gates: losses on every variance, the gates, where they start, how they learn."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, references
from icl_core.papers.memformers.shared.draw.categories import dots, stacks
from icl_core.papers.memformers.shared.draw.losses import NEUTRAL, roomy, window, written
from icl_core.papers.memformers.shared.experts import RATE
from icl_core.papers.memformers.shared.test_set import log_of
from icl_core.papers.memformers.variances.settings import STARTS, View, met_by, trained_on

# by id: name, colour, marker
METHODS = {
    "gated": ("gates for all heads", "trained", "circle"),
    "scalar": ("best head, one scalar", "layer 2", "square"),
    "last": ("last head, scaled by σ₃²/σ²", "construction", "x"),
    "even": ("equal gates, not learned", "gradient descent", "diamond"),
    "alone": ("best head as it is", "layer 5", "triangle-down"),
}
SHORT = {"even": "equal", "ones": "ones", "zeros": "zero", "last": "last"}  # `STARTS` where there is little room
SHARED = (
    "The left bar is learned, the right one all on the last head, as the authors' code ends. Heads that learned the "
    "same steps can share the work in any way, as long as the blocks add up to 1."
)
PICKED = (
    "The left bar is learned, the right one all on the one head that knows the prompts' covariance: the first for "
    "unseen variances, its own for each seen one. Gates that find it have one block."
)


def losses(run: Run, view: View) -> Panel:
    """The log-loss on every variance, for every method of putting the heads together."""
    d, L = run.config.d, run.config.layers
    logs = _by_method(run)
    floor, cg = (float(log_of(run[f"baseline/{name}"])[-1]) for name in ("floor", "cg"))
    rows = [(*_named(run, method), values) for method, values in logs.items()]
    figure = dots(rows, _variances(run), np.log(d) + 1, [("floor", floor, "floor"), ("CGD", cg, "conjugate gradient")])
    figure.update_xaxes(title={"text": "variance σ² of the prompts"})
    unseen = len(met_by(run.config))
    ends = {method: float(values[:, :unseen].mean()) for method, values in logs.items()}
    table = pd.DataFrame(
        {"σ²": run["test_time/variance"]} | {_named(run, m)[0]: v.mean(0).round(4) for m, v in logs.items()}
    )
    table["floor"], table["CGD"] = round(floor, 4), round(cg, 4)
    return Panel(
        f"Unseen variances: gates {written(ends['gated'])}, one head and one scalar {written(ends['scalar'])}, "
        f"unadapted {_at_best(min(ends['even'], ends['alone']))}",
        f"Log-loss after {L} layers; predicting zero gives log d = {np.log(d):.2f}. Look at blue and green: if three "
        "gates were needed, blue would lie below green. Heads that are not adapted take steps of a wrong size; where "
        "they are too long the loss explodes, and a triangle at the top edge says so (its value is under the pointer). "
        "The floor and CGD know no scale, and are the same for all variances.",
        figure,
        data=table,
        note="Bars reach from the lowest to the highest seed." if run.config.seeds > 1 else "",
    )


def _by_method(run: Run) -> dict[str, np.ndarray]:
    """The logarithms [seeds, V] of what the run has evaluated, and of the best head as it is."""
    logs = {method: _logs(run[f"evaluated/{method}"]) for method in run.names("methods")}
    if run.config.rotations == "own":
        logs.pop("last", None)  # the last head's prompts are of another kind, not of another scale
    return {**logs, "alone": _logs(run["evaluated/head"]).min(-1)}


def _logs(losses: np.ndarray) -> np.ndarray:
    """The logarithm; infinite where the loss has left the numbers."""
    return np.where(np.isfinite(losses), log_of(losses), np.inf)


def _at_best(value: float) -> str:
    return f"{written(value)} at best"


def _named(run: Run, method: str) -> tuple[str, str, str]:
    name, kind, marker = METHODS.get(method, (method, NEUTRAL, "circle"))
    H = len(trained_on(run.config))
    return name.replace("σ₃", "σ" + "₁₂₃₄"[H - 1]), kind, marker


def _variances(run: Run) -> list[str]:
    unseen = len(met_by(run.config))
    return [f"{value:g}<br>{'seen' if i >= unseen else 'unseen'}" for i, value in enumerate(run["test_time/variance"])]


def learned(run: Run, view: View) -> Panel:
    """The gates of each variance, counted in whole steps, beside those that the authors' code ends with."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    trained, variances = trained_on(run.config), run["test_time/variance"]
    gates = run["gate/value"][seed]  # [V, H]
    share = gates * variances[:, None] / np.array(trained)
    common, one = run.config.rotations == "common", _alone(run)  # [V, H]
    value = one * np.array(trained) / variances[:, None]
    figure = stacks([(share, gates, "learned"), (one, value, "one head")], _heads(trained), _variances(run))
    figure.update_layout(references([("a whole step", 1.0, "floor")]))
    figure.update_xaxes(title={"text": "variance σ² of the prompts"})
    columns = {f"gate of the head of {each:g}": gates[:, h].round(4) for h, each in enumerate(trained)}
    total, right = share.sum(1), (share * one).sum(1)
    who = "The last head" if common else "The head that knows U"
    return Panel(
        f"{who} does {written(float(right.mean()))} of a step; all gates together "
        f"{written(float(total.min()))} to {written(float(total.max()))}",
        "Each block is a gate times σ²/σ_h²: what share of a whole step of its head it takes; the gate itself is "
        "written on it. " + (SHARED if common else PICKED),
        figure,
        data=pd.DataFrame({"σ²": variances} | columns | {"whole steps": total.round(4)}),
    )  # fmt: skip


def _alone(run: Run) -> np.ndarray:
    """One step of one head for each variance, [V, H]: the last, or the one that knows the covariance."""
    count, H = len(run["test_time/variance"]), len(trained_on(run.config))
    if run.config.rotations == "common":
        return np.eye(H)[[H - 1] * count]
    return np.eye(H)[[0] * (count - H) + list(range(H))]


def _heads(trained: Sequence[float]) -> list[str]:
    return [f"head of σ² = {each:g}" for each in trained]


def starts(run: Run, view: View) -> Panel:
    """The gates learned from each start, on the last unseen variance."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    trained, variance = trained_on(run.config), met_by(run.config)[-1]
    gates, loss = run["start/gates"][seed], log_of(run["start/loss"])[seed]
    share = gates * variance / np.array(trained)  # [starts, H]
    head, who = (-1, "last head") if run.config.rotations == "common" else (0, "head that knows U")
    right = share[:, head]
    names = run.names("starts")
    labels = [f"{SHORT.get(name, name)}<br>{written(value)}" for name, value in zip(names, loss, strict=True)]
    figure = stacks([(share, gates, "learned")], _heads(trained), labels)
    figure.update_layout(references([("a whole step", 1.0, "floor")]))
    figure.update_xaxes(title={"text": "gates start from; log-loss reached"})
    columns = {f"gate of the head of {each:g}": gates[:, h].round(4) for h, each in enumerate(trained)}
    return Panel(
        f"Four starts end with the {who} at {written(float(right.min()))} to "
        f"{written(float(right.max()))} of a step, and losses {written(float(np.ptp(loss)))} apart",
        f"Prompts of σ² = {variance:g}. If the loss had one best choice of gates, all four bars would be alike. Where "
        "the losses are equal and the bars are not, the gates say where they started, not which head is right.",
        figure,
        data=pd.DataFrame(
            {"start": [STARTS.get(name, name) for name in names]} | columns | {"log-loss": loss.round(4)}
        ),
    )


def test_time(run: Run, view: View) -> Panel:
    """The loss on the prompts met, while the gates are learned."""
    curves = log_of(run["gate/curve"])  # [seeds, V, steps]
    unseen = met_by(run.config)
    x = np.arange(curves.shape[-1])
    series = [Curve(f"σ² = {each:g}", x, curves[:, i], f"layer {i + 1}") for i, each in enumerate(unseen)]
    ends = [mean_of(curves[:, i]) for i in range(len(unseen))]
    figure = figures.curves(series, "step at test time", "log of the mean loss", y_range=window(ends))
    took = max(_arrived(end) for end in ends)
    return Panel(
        f"Gates are learned in {took} steps on {run.config.gate_prompts:,} prompts",
        f"Adam, rate {RATE}, on the loss of the prompts that are met; only the gates change. A mixture that could not "
        "adapt would stay where it starts.",
        roomy(figure),
        data=pd.DataFrame({"step": x} | {f"σ² = {v:g}": end.round(4) for v, end in zip(unseen, ends, strict=True)}),
    )


def _arrived(curve: np.ndarray) -> int:
    """The step from which a curve stays within 0.05 of its end."""
    far = np.flatnonzero(~(np.abs(curve - curve[-1]) <= 0.05))
    return int(far[-1]) + 1 if len(far) else 0


def training(run: Run, view: View) -> Panel:
    """The first head's loss while it is trained; also of a run that is still going."""
    x = run.tensors.get("curve/step", np.array([0]))
    logs = log_of(run.tensors.get("curve/loss", np.full((run.config.seeds, len(x)), np.nan)))
    zero = float(np.log(run.config.d))
    series = [Curve("first head", x, logs)]
    floor = float(log_of(run["baseline/floor"])[-1]) if "baseline/floor" in run.tensors else np.nan
    lines = [("predicting zero", zero, "floor")] + ([("floor", floor, "floor")] if np.isfinite(floor) else [])
    kept = np.minimum(logs, zero + 1.5)
    figure = figures.curves(
        series, "training step", "log of the mean loss", y_range=window([kept, [v for _, v, _ in lines]]), lines=lines
    )
    return Panel(
        _training_title(run, floor),
        "A head that learns nothing stays at predicting zero, log d. All heads learn from the same number of prompts "
        "and differ only in their variance, which the coordinates take out, and in where they start.",
        figure,
        data=pd.DataFrame({"step": x, "first head": mean_of(logs)}).round(4),
    )


def _training_title(run: Run, floor: float) -> str:
    if not run.finished:
        return "The first head's loss so far"
    above = log_of(run["own/loss"]).mean(0) - floor
    return f"On their own prompts the heads end {', '.join(written(float(each)) for each in above)} above the floor"
