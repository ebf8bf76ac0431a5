"""The whole training as a film: recall curves, the memories and both attention maps, from snapshot to snapshot."""

import numpy as np

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Attending, Curve, Moving, characters
from icl_core.papers.birth.induction.draw.curves import PROBES
from icl_core.papers.birth.shared.draw.memories import NAMES
from icl_core.papers.birth.shared.probes import Scores, memory_scores
from icl_core.papers.birth.shared.read_run import boxes, read, shown, weights_at
from icl_core.papers.birth.shared.settings import View
from icl_core.papers.birth.shared.train import task_of

PLAYED = 32  # positions of the sequence: more are too small to read in motion


def draw(run: Run, view: View) -> Panel:
    """Plays in the browser; every frame is a snapshot of the trained matrices."""
    weights = [weights_at(run, snapshot) for snapshot in range(len(run.snapshot_steps))]
    task = task_of(run.config)
    names = [name for name in ("W_O2", "W_K2", "W_K1") if name != "W_K1" or run.config.layers == 2]
    maps = [_moving(name, [memory_scores(name, each, task) for each in weights]) for name in names]
    sequence = shown(run, view)
    readings = [read(each, sequence, run.config.layers) for each in weights]
    tokens, last = sequence.characters[:PLAYED], [box for box in boxes(sequence) if max(box[:2]) < PLAYED]
    heads = [Attending("layer 2 attention", _cut([r.attention2 for r in readings]), tokens, last)]
    if run.config.layers == 2:
        heads.insert(0, Attending("layer 1 attention", _cut([r.attention1 for r in readings]), tokens))
    probes = [probe for probe in PROBES if probe[0] in names or (probe[0] == "W_K1_early" and "W_K1" in names)]
    series = [
        Curve(label, run["curve/step"], run[f"curve/recall_{name}"][:1], kind, dash=dash)
        for name, label, kind, dash in probes
    ]
    series.append(Curve("accuracy", run["curve/step"], run["curve/accuracy"][:1], "trained"))
    figure = figures.film(run.snapshot_steps, series, maps, heads, "recall, accuracy", (0, 1.02))
    return Panel(
        f"From random weights to step {run.snapshot_steps[-1]}: press play",
        "Above, how much each memory recalls; below, the memories themselves and where the two layers look. A memory "
        "that has formed shows a bright diagonal; an induction head shows bright boxed cells in layer 2. The frames "
        "are log-spaced in training: most of them lie early, where most happens.",
        figure,
    )


def _moving(name: str, frames: list[Scores]) -> Moving:
    rows, columns = characters(frames[0].rows), characters(frames[0].columns)
    return Moving(NAMES[name], np.stack([frame.matrix.numpy() for frame in frames]), rows, columns)


def _cut(maps: list) -> np.ndarray:
    return np.stack([each[:PLAYED, :PLAYED] for each in maps])
