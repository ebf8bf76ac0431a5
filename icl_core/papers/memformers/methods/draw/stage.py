"""What is on stage: losses by depth, on a model's own batch and over the training, what memory
gains under four protocols, and one prompt, the iterates of methods in the plane of two eigenvectors
of Σ."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Bowl, Curve, Track, mean_of
from icl_core.figures.drawn_paths import window
from icl_core.figures.style import COLOURS, PAPER
from icl_core.papers.memformers.methods import iterates
from icl_core.papers.memformers.methods.claims import four_protocols, printed_curves
from icl_core.papers.memformers.methods.draw import depth
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS, log_loss_shown
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, over_layers
from icl_core.papers.memformers.shared.load_run import depth_of, end, log_of

# of a loss: its name, colour and dash
BATCH = {
    "baseline/cg": ("CGD, fresh", "conjugate gradient", "solid"),
    "baseline/cg_train": ("CGD, batch", "conjugate gradient", "dot"),
    "evaluated/loss": ("fresh prompts", "trained", "solid"),
    "evaluated/train": ("its own batch", "trained", "dot"),
}
KINDS = {"common": "layer 2", "resampled": "layer 3"}  # of batches, their colour


def keeps_its_batch(config: Any) -> bool:
    """Return whether a model may learn its prompts by heart."""
    return config.batches != "fresh"


def seat_of(config: Any) -> int:
    """Return how many pixels a legend may take: of three seats in a row, or of two."""
    return figures.THIRD if keeps_its_batch(config) else figures.HALF


def by_depth(run: Run, view: View) -> Panel:
    """Draw the log-loss for every number of layers; a dot is the deepest model at the step
    shown."""
    x = run["depth/layers"]
    L = run.config.layers
    reached = log_loss_shown(run, view)
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
        *depth.ridge(run),
    ]
    zero = float(np.log(run.config.d))
    figure = over_layers(series, "log-loss", depth.limits(run, zero), zero, SEAT)
    figure.add_traces(depth.rings(run))
    return WORDS.panel(
        "by_depth", run, view, fitted(figure.add_trace(_dot(L, reached)), seat_of(run.config))
    )


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
    as_printed = printed_curves.own_batch(run.config)
    points = (
        (styles[key][0], curve, styles[key][1], None)
        for key, curve in as_printed.items()
        if key in styles
    )
    figure = over_layers(series, "log-loss", y_range, zero, SEAT).add_traces(losses.printed(points))
    return WORDS.panel(
        "batch",
        run,
        view,
        fitted(figure),
        ringed=bool(as_printed),
        beyond=end(run, "evaluated/train") < y_range[0],
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
        height=SEAT,
    )
    return WORDS.panel("loss", run, view, fitted(figure), reached=reached)


def by_protocol(run: Run, view: View) -> Panel:
    """Draw the Memformer's log-loss minus the linear transformer's by depth, a line a protocol."""
    x = run["depth/layers"]
    gaps = {
        protocol.id: four_protocols.gaps(run, protocol.id) for protocol in four_protocols.PROTOCOLS
    }
    series = [
        Curve(
            protocol.label,
            x,
            gaps[protocol.id],
            KINDS[protocol.changes["batches"]],
            "solid" if protocol.changes["clip"] else "dash",
            markers=True,
        )
        for protocol in four_protocols.PROTOCOLS
    ]
    y_range = losses.window([*gaps.values(), [0.0]])
    figure = figures.curves(
        series,
        "layers",
        "log-loss, with memory minus without",
        x_range=(0.85, x[-1] + 0.15),
        y_range=y_range,
        lines=[("no gain", 0.0, "floor")],
        height=SEAT,
    )
    figure.update_xaxes(tickvals=x, ticktext=[str(layers) for layers in x])
    return WORDS.panel(
        "protocols",
        run,
        view,
        fitted(losses.roomy(figure)),
        data=pd.DataFrame(
            {"layers": x}
            | {protocol.label: gaps[protocol.id].mean(0) for protocol in four_protocols.PROTOCOLS}
        ),
        notebooks=-four_protocols.gain(run, four_protocols.KEPT.id).mean(),
        text=-four_protocols.gain(run, four_protocols.TEXT.id).mean(),
    )


DRAWN = ("gradient descent", "construction", "CGD", "trained")  # of the paths
# of a path, its colour where that has another name
PATH_KINDS = {"Nesterov": "nesterov", "CGD": "conjugate gradient"}


def path(run: Run, view: View) -> Panel:
    """Draw one prompt's paths over the contours of its loss."""
    depth = depth_of(run, view)
    plane = list(iterates.axes(run.config.d, view))
    problem, paths = iterates.solved(run, view, depth)
    _, finished = iterates.solved(run, replace(view, snapshot=len(run.snapshot_steps) - 1), depth)
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
    figure = figures.paths(
        tracks, bowl, titles[0], titles[1], at=depth, corners=corners, target=tuple(goal.tolist())
    )
    return WORDS.panel(
        "path",
        run,
        view,
        fitted(figure, seat_of(run.config)),
        own=lost["trained"][-1],
        cg=lost["CGD"][-1],
    )


def _track(name: str, points: Any, plane: list[int], lost: np.ndarray) -> Track:
    x, y = (points[:, axis, 0].numpy() for axis in plane)
    return Track(name, x, y, PATH_KINDS.get(name, name), lost)


def trajectory_panel(run: Run, view: View) -> Panel:
    """Draw the paths of all methods over the contours of this prompt's loss in the plane of two
    eigenvectors."""
    depth = load_run.depth_of(run, view)
    across, up = iterates.axes(run.config.d, view)
    problem, paths = iterates.solved(run, view, depth)
    layers = min(view.after, depth)
    losses = {name: problem.losses(path) for name, path in paths.items()}
    tracks = [
        Track(
            name,
            path[:, across, 0].numpy(),
            path[:, up, 0].numpy(),
            PATH_KINDS.get(name, name),
            losses[name],
        )
        for name, path in paths.items()
    ]
    plane = [across, up]
    values = problem.eigenvalues.tolist()
    centre = tuple(problem.fitted[plane, 0].tolist())
    bowl = Bowl(problem.S[plane][:, plane, 0].double().numpy(), centre)
    names = [f"along eigenvector {axis + 1} of Σ (eigenvalue {values[axis]:.3g})" for axis in plane]
    target = tuple(problem.target[plane, 0].tolist())
    figure = figures.paths(tracks, bowl, *names, at=layers, target=target)
    after = {name: loss[layers] for name, loss in losses.items()}
    return WORDS.panel(
        "trajectory",
        run,
        view,
        figure,
        data=_table(paths, losses, plane),
        layers_shown=layers,
        own=after["trained"],
        has_construction="construction" in after,
        construction=after.get("construction"),
        cg=after["CGD"],
        gd=after["gradient descent"],
        knows_covariance=load_run.knows_covariance(run.config),
    )


def _table(paths: iterates.Paths, losses: dict[str, np.ndarray], plane: list[int]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for name, path in paths.items():
        for layer, point in enumerate(path):
            across, up = (float(point[axis, 0]) for axis in plane)
            loss = float(losses[name][layer])
            rows.append({"method": name, "layer": layer, "across": across, "up": up, "loss": loss})
    return pd.DataFrame(rows).round(6)
