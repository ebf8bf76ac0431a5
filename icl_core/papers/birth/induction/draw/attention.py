"""Where both layers look on a sequence, and what is predicted there (Figure 2)."""

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import visible_characters
from icl_core.papers.birth.induction.load_run import at_step, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import maps, right, table
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes, choose_first, read
from icl_core.papers.birth.shared.train import task_of


def draw(run: Run, view: View) -> Panel:
    """Both attention maps with their boxes, over the strip of predicted next characters."""
    sequence = choose_first(task_of(run.config), view)
    snapshot = run.snapshot_at(view)
    reading = read(weights_at(run, snapshot), sequence, run.config.layers)
    return Panel(
        _title(reading, sequence, at_step(run, view)),
        "Each row shows where one character looks. In layer 1 look for the stripe beside the "
        "diagonal: every character attends to the one before it. In layer 2 look along the rows "
        "of repeated characters: an induction head attends to what followed them earlier, the "
        "outlined cells. In an untrained model the rows are spread out.",
        maps(reading, sequence),
        data=table(reading, sequence),
        note=_note(sequence),
    )


def _title(reading: Reading, sequence: Shown, step: str) -> str:
    inside = sequence.in_context.numpy()
    if not inside.any():
        return f"{step}: no trigger comes twice here"
    layer = "the layer" if reading.attention1 is None else "layer 2"
    hits = int(right(reading, sequence)[inside].sum())
    looked = sum(
        reading.attention2[q, k]
        for q, k, kind in boxes(sequence)
        if kind == "correct output" and inside[q]
    )
    return (
        f"{step}: {layer} puts {looked / inside.sum():.0%} of its attention on the right output; "
        f"{hits} of {int(inside.sum())} predictions are right"
    )


def _note(sequence: Shown) -> str:
    if not len(sequence.triggers):
        return "No character of this sequence comes again."
    triggers = sequence.triggers.tolist()
    known = [
        sequence.task.characters[sequence.truth[t]] if t in sequence.truth else "" for t in triggers
    ]
    pairs = zip(
        visible_characters([sequence.task.characters[t] for t in triggers]),
        visible_characters(known),
        strict=True,
    )
    return "Triggers and what follows them here: " + ", ".join(
        f"{a} → {b}" if b else a for a, b in pairs
    )
