"""What is on stage: losses by depth, one prompt's paths, and the learned method as a triangle
beside CGD's."""

from dataclasses import replace
from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Bowl, Curve, Track, mean_of
from icl_core.figures.drawn_paths import window
from icl_core.figures.style import COLOURS, PAPER
from icl_core.papers.memformers.methods import decode as decoded
from icl_core.papers.memformers.methods import printed_curves
from icl_core.papers.memformers.methods.draw import depth as by_depth
from icl_core.papers.memformers.methods.draw import optimiser, trajectory
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import over_layers, written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.shared.load_run import depth_of, end, log_of
from icl_core.papers.memformers.shared.test_set import PROMPTS, WATCHED
from icl_core.papers.memformers.shared.variants import VARIANTS

DRAWN = ("gradient descent", "construction", "CGD", "trained")  # of the paths
# of a loss: its name, colour and dash
BATCH = {
    "baseline/cg": ("CGD, fresh", "conjugate gradient", "solid"),
    "baseline/cg_train": ("CGD, batch", "conjugate gradient", "dot"),
    "evaluated/loss": ("fresh prompts", "trained", "solid"),
    "evaluated/train": ("its own batch", "trained", "dot"),
}

GIVEN = "Given Σ⁻¹ too (“CGD with Σ⁻¹”), it beats any fixed steps. "


def keeps_its_batch(config: Any) -> bool:
    """Return whether a model may learn its prompts by heart."""
    return config.batches != "fresh"


def _width(run: Run) -> int:
    """Return how many pixels a legend may take: of three seats in a row, or of two."""
    return figures.THIRD if keeps_its_batch(run.config) else figures.HALF


def now(run: Run, view: View) -> float:
    """Return the deepest model's log-loss on fresh prompts at the step shown, the mean over
    seeds."""
    if run.snapshot_at(view) == len(run.snapshot_steps) - 1:
        return end(run, "evaluated/loss")
    return float(np.interp(run.step(view), run["curve/step"], mean_of(log_of(run["curve/loss"]))))


def depth(run: Run, view: View) -> Panel:
    """Draw the log-loss for every number of layers; a dot is the deepest model at the step
    shown."""
    x = run["depth/layers"]
    L = run.config.layers
    reached = now(run, view)
    key, _ = losses.floor_of(run.config)
    snapshot = run.snapshot_at(view)
    # Models of all depths are trained at the end alone; NaN hides them before.
    ended = 1.0 if snapshot == len(run.snapshot_steps) - 1 else np.nan
    # A question asks what can be reached: it is hidden before the first training step.
    begun = 1.0 if snapshot else np.nan
    series = [
        Curve("CGD", x, log_of(run["baseline/cg"]), "conjugate gradient", markers=True),
        Curve(
            "CGD with Σ⁻¹",
            x,
            begun * log_of(run["baseline/pcg"]),
            "conjugate gradient",
            "dash",
            markers=True,
        ),
        Curve("trained", x, ended * log_of(run["evaluated/loss"]), "trained", markers=True),
        *(
            Curve(name, x, ended * y, kind, "dash", markers=True)
            for name, x, y, kind in _beside(run, x)
        ),
        Curve("floor", x, begun * log_of(run[f"baseline/{key}"]), "floor"),
        *by_depth.ridge(run),
    ]
    zero = float(np.log(run.config.d))
    figure = over_layers(series, "log-loss", by_depth.limits(run, zero), zero, HEIGHT)
    figure.add_traces(by_depth.rings(run))
    return Panel(
        f"{L} layer{'s' * (L > 1)} reach{'es' * (L == 1)} log-loss {written(reached)}, CGD "
        f"{written(end(run, 'baseline/cg'))}",
        "Log-loss is the logarithm of the squared error: one less is an error 2.7 times "
        "smaller. The large dot is the deepest model as it trains. Blue and dashed lines, "
        "models trained for each depth, are drawn when training ends. Conjugate gradient (CGD) "
        "computes new steps for every prompt. "
        + GIVEN
        * _beats_fixed_steps(run)
        + "Dotted is the floor, the least error that fixed steps can reach whose lengths and one "
        "matrix are the same for all prompts. “CGD with Σ⁻¹” and the floor are drawn from the "
        "first step on. Without training the dot stays at predicting zero."
        + by_depth.RINGS
        * bool(printed_curves.fresh(run)),
        fitted(figure.add_trace(_dot(L, reached)), _width(run)),
    )


def _beats_fixed_steps(run: Run) -> bool:
    """Return whether conjugate gradient that is given Σ⁻¹ is ahead of all fixed steps: not where it
    fits noise in the labels, nor of layers that move the covariates."""
    return not run.config.noise and not VARIANTS[run.config.variant].moves_covariates


def _beside(run: Run, x: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray, str]]:
    short = {
        "linear transformer": "linear",
        "learned in original coordinates": "original coordinates",
        "learned in whitened coordinates": "whitened coordinates",
    }
    return [
        (short.get(name, name), x, logs, kind)
        for name, logs, kind in losses.reference_curves(run, "beside/{}/loss")
    ]


def _dot(x: float, y: float) -> Trace:
    marker = {"size": 16, "color": COLOURS["trained"], "line": {"color": PAPER, "width": 2}}
    return Trace(
        x=[x],
        y=[y],
        mode="markers",
        marker=marker,
        cliponaxis=False,
        name="step shown",
        showlegend=False,
        hovertemplate="at the step shown: %{y:.3g}<extra></extra>",
    )


def batch(run: Run, view: View) -> Panel:
    """Draw the loss on fresh prompts beside that on the batch that was kept."""
    x = run["depth/layers"]
    zero = float(np.log(run.config.d))
    styles = {key: style for key, style in BATCH.items() if key in run.tensors}
    series = [
        Curve(name, x, log_of(run[key]), kind, dash, markers=True)
        for key, (name, kind, dash) in styles.items()
    ]
    fresh = [log_of(run[key]) for key in ("baseline/cg", "evaluated/loss")]
    y_range = losses.window([*fresh, [zero]], [curve.y for curve in series])
    ends = [end(run, f"evaluated/{name}") for name in ("train", "loss")]
    own, new = map(written, ends)
    as_printed = printed_curves.own_batch(run.config)
    points = (
        (styles[key][0], curve, styles[key][1], None)
        for key, curve in as_printed.items()
        if key in styles
    )
    figure = over_layers(series, "log-loss", y_range, zero, HEIGHT).add_traces(
        losses.printed(points)
    )
    return Panel(
        f"Log-loss is {own} on its batch, {new} on fresh prompts",
        "The finished models. Full lines are fresh prompts, dotted ones those of the training. "
        "Had the model learned the task, and not its prompts by heart, the two blue lines would "
        "be one."
        + " Rings are the paper's points; the paper shows the batch alone." * bool(as_printed)
        + " The line of its own batch goes on below the axis." * (ends[0] < y_range[0]),
        fitted(figure),
    )


def loss(run: Run, view: View) -> Panel:
    """Draw the deepest model's loss on fresh prompts as it trains."""
    x = run["curve/step"]
    logs = log_of(run["curve/loss"])
    zero = float(np.log(run.config.d))
    y_range = losses.window([mean_of(logs), [zero]])
    reached = float(np.interp(run.step(view), x, mean_of(logs)))
    figure = figures.curves(
        [Curve("fresh prompts", x, logs)],
        "training step",
        "log-loss",
        y_range=y_range,
        lines=[("predicting zero", zero, "floor")],
        at=run.step(view),
        height=HEIGHT,
    )
    return Panel(
        f"At step {run.step(view):,} log-loss is {written(reached)} on fresh prompts",
        f"The deepest model trains on one batch and is evaluated on {WATCHED:,} fresh prompts (on "
        f"all {PROMPTS:,} the log-loss differs a little). Where the curve rises, the model learns "
        "its batch by heart.",
        fitted(figure),
    )


def learned(run: Run, view: View) -> Panel:
    """Draw the trained model's coefficients on past gradients."""
    table, _ = optimiser.learned(run, view.seed_shown, depth_of(run, view), run.snapshot_at(view))
    return Panel(
        f"{decoded.memory(table):.0%} of the step is from earlier gradients",
        "The model as a method: row l says how much of each gradient, at the start and after "
        "every earlier layer, the step of layer l uses. What stands left of the diagonal is "
        "memory, in the title as a share of all; gradient descent and a transformer without "
        "memory have nothing there.",
        _triangle(run, view, table),
    )


def preconditioned(run: Run, view: View) -> Panel:
    """Draw conjugate gradient's coefficients on past gradients, given Σ⁻¹."""
    table = optimiser.references(run, depth_of(run, view))[optimiser.PRE]
    return Panel(
        f"CGD with Σ⁻¹ takes {decoded.memory(table):.0%} from earlier ones",
        "The same for conjugate gradient that is given Σ⁻¹. It has a table of its own for every "
        "prompt; this is their mean. The learned method has one table for all prompts.",
        _triangle(run, view, table),
    )


def _triangle(run: Run, view: View, table: np.ndarray) -> Figure:
    """Return a table's lower triangle, on the scale of the finished model and CGD's."""
    depth = depth_of(run, view)
    final, _ = optimiser.learned(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    # a run in training has no references yet
    references = [optimiser.references(run, depth)[optimiser.PRE]] if run.finished else []
    limit = figures.largest_magnitude(final, *references)
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))
    triangle = np.where(np.tri(depth, dtype=bool), table, np.nan)
    titles = ("after layer", "gradient at iterate")
    figure = figures.small_map(triangle, (after, past), titles, "Λ", limit)
    if depth <= optimiser.WRITTEN:
        figure.data[0].update(text=_texts(triangle), texttemplate="%{text}", textfont={"size": 14})
        return figure.update_layout(coloraxis={"showscale": False}, margin={"r": 12})
    return figure


def _texts(table: np.ndarray) -> list[list[str]]:
    return [[written(value) if np.isfinite(value) else "" for value in row] for row in table]


def path(run: Run, view: View) -> Panel:
    """Draw one prompt's paths over the contours of its loss."""
    depth = depth_of(run, view)
    plane = list(trajectory.axes(run.config.d, view))
    problem, paths = trajectory.solved(run, view, depth)
    _, finished = trajectory.solved(run, replace(view, snapshot=len(run.snapshot_steps) - 1), depth)
    if "construction" in paths and not run.snapshot_at(view):
        # A question asks what can be reached: before the first training step the path is a point.
        built = paths["construction"]  # [depth + 1, d, 1]
        paths = {**paths, "construction": built[:1].expand_as(built)}
    names = [name for name in DRAWN if name in paths]
    lost = {name: problem.losses(paths[name]) for name in names}
    tracks = [_track(name, paths[name], plane, lost[name]) for name in names]
    ends = [_track(name, finished[name], plane, lost[name]) for name in names]
    goal = problem.target[plane, 0].double().numpy()
    centre = tuple(problem.fitted[plane, 0].tolist())
    bowl = Bowl(problem.S[plane][:, plane, 0].double().numpy(), centre)
    titles = [
        f"eigenvector {axis + 1} (λ = {float(problem.eigenvalues[axis]):.3g})" for axis in plane
    ]
    corners = window([track.points() for track in ends], tracks[0].points()[0], goal)
    own, cg = (f"{lost[name][-1]:.2g}" for name in ("trained", "CGD"))
    figure = figures.paths(
        tracks, bowl, titles[0], titles[1], at=depth, corners=corners, target=tuple(goal.tolist())
    )
    return Panel(
        f"One prompt's error is {own}, with CGD {cg}",
        "Each dot is a layer's guess at the hidden weights, from the start to the star w*, in "
        "the plane of two eigenvectors of Σ; rings are lines of equal error. A method that "
        "knows Σ⁻¹ heads straight for the star. Gradient descent falls down the steep side, "
        "then creeps along the valley. The construction, a model with the best fixed steps put "
        "in, is drawn from the first training step on. Without training the blue path misses "
        "the star." + trajectory.NOISY * bool(run.config.noise),
        fitted(figure, _width(run)),
    )


def _track(name: str, points: Any, plane: list[int], lost: np.ndarray) -> Track:
    x, y = (points[:, axis, 0].numpy() for axis in plane)
    return Track(name, x, y, trajectory.KINDS.get(name, name), lost)
