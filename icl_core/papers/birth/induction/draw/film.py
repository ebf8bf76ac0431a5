"""The whole training as a film: recall curves, the memories and both attention maps, from snapshot to snapshot."""

import numpy as np

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Attending, Curve, Moving
from icl_core.papers.birth.induction.draw.curves import memory
from icl_core.papers.birth.induction.read_run import weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import Scores, memory_scores
from icl_core.papers.birth.shared.sequence import Shown, boxes, choose, read
from icl_core.papers.birth.shared.train import task_of

PLAYED = 32  # positions of the sequence: more are too small to read in motion
PLAYED_MAPS = ("W_O2", "W_K2", "W_K1")


def draw(run: Run, view: View) -> Panel:
    """Plays in the browser; every frame is a snapshot of the trained matrices."""
    weights = [weights_at(run, snapshot) for snapshot in range(len(run.snapshot_steps))]
    task = task_of(run.config)
    names = [name for name in PLAYED_MAPS if f"snapshot/{name}" in run.tensors]
    maps = [_moving(name, [memory_scores(name, each, task) for each in weights]) for name in names]
    heads = _heads(choose(task, view), weights, run.config.layers)
    # of the first seed, which alone has snapshots
    series = [memory(run, name, f"recall_{name}", seeds=1) for name in run.names("probes")]
    series.append(Curve("accuracy", run["curve/step"], run["curve/accuracy"][:1], "trained"))
    figure = figures.film(run.snapshot_steps, series, maps, heads, "recall, accuracy", (0, 1.02))
    return Panel(
        f"From random weights to step {run.snapshot_steps[-1]}: press play",
        "Above, how much each memory recalls; below, the memories themselves and where the two layers look. A memory "
        "that has formed shows a bright diagonal; an induction head shows bright boxed cells in layer 2. The frames "
        "are log-spaced in training: most of them lie early, where most happens.",
        figure,
    )


def _heads(sequence: Shown, weights: list[Weights], layers: int) -> list[Attending]:
    readings = [read(each, sequence, layers) for each in weights]
    tokens, last = sequence.characters[:PLAYED], [box for box in boxes(sequence) if max(box[:2]) < PLAYED]
    second = Attending("layer 2 attention", _cut([r.attention2 for r in readings]), tokens, last)
    if layers == 1:
        return [second]
    return [Attending("layer 1 attention", _cut([r.attention1 for r in readings]), tokens), second]


def _moving(name: str, frames: list[Scores]) -> Moving:
    return Moving(NAMES[name], np.stack([f.matrix.numpy() for f in frames]), frames[0].rows, frames[0].columns)


def _cut(maps: list) -> np.ndarray:
    return np.stack([each[:PLAYED, :PLAYED] for each in maps])
