"""The same three steps in the whole model of Section 4.2, on Shakespeare: what it achieves after
each."""

import torch

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.behaviour import average, on_followers, on_previous
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.train import held_out

SEQUENCES = 128  # that no step saw


@torch.no_grad()
def measures(weights: Weights, task: Task) -> dict[str, float]:
    """Return what `proof_model.measures` returns, over all in-context positions, with followers in
    place of the one output. What has no counterpart is NaN."""
    batch = held_out(task, SEQUENCES, "cpu")
    logits, first, second = forward(weights, batch.inputs)
    assert first is not None
    inside = batch.in_context
    return {
        "accuracy": float(hits(logits, batch.targets)[inside].double().mean()),
        "trigger": float(hits(logits, batch.inputs)[inside].double().mean()),
        "on_output": float(average(on_followers(second, batch.inputs), inside)),
        "from_trigger": float("nan"),
        "previous": float(average(on_previous(first))),
    }
