"""The circuit of a trained model on the sequence of the stage: streams, arrows, paths, and what its
matrices read."""

from functools import partial

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction.draw.matrices import shown
from icl_core.papers.birth.induction.load_run import at_step, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared import circuit
from icl_core.papers.birth.shared.blocks import SHOWN, blocks_of, drawn
from icl_core.papers.birth.shared.circuit import simplified
from icl_core.papers.birth.shared.draw import on_stage
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.sequence import Reading, Shown, read
from icl_core.papers.birth.shared.train import task_of


def _reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the trained model makes of the stage's sequence, as much of it as a diagram can
    name; the model, and the sequence."""
    sequence = on_stage(task_of(run.config), view, circuit.NAMED)
    weights = weights_at(run, run.snapshot_at(view))
    return read(weights, sequence, run.config.layers), weights, sequence


def streams(run: Run, view: View) -> Panel:
    """Draw the streams on the sequence, and the arrows that end in one position."""
    outcome, weights, sequence = _reading(run, view)
    at = circuit.followed(sequence, view.followed)
    linear = simplified(weights, sequence.inputs, run.config.layers)
    best = outcome.probabilities.argmax(1).tolist()
    return circuit.arrows(circuit.traced(linear, best, sequence, at), at_step(run, view))


def paths(run: Run, view: View) -> Panel:
    """Draw what every path adds to two logits."""
    _, weights, sequence = _reading(run, view)
    linear = simplified(weights, sequence.inputs, run.config.layers)
    at = circuit.followed(sequence, view.followed)
    return circuit.paths(linear, sequence, at, at_step(run, view), "")


def blocks(run: Run, view: View) -> Panel:
    """Draw a matrix read with all that it meets."""
    weights, end = (
        weights_at(run, at) for at in (run.snapshot_at(view), len(run.snapshot_steps) - 1)
    )
    name = shown(run, view.read)
    task = task_of(run.config)
    last = blocks_of(name, end, task, SHOWN)
    return drawn(name, partial(blocks_of, name, weights, task), task, at_step(run, view), last)
