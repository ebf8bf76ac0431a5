"""The sentence above the stage while something stands in place of matrices."""

from contextlib import suppress

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.seeds import of_seed, seed_shown
from icl_core.contract.visitor import in_words
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.draw import stage
from icl_core.papers.birth.induction.settings import View

WHOLE = 40  # letters that a list of what is replaced may have


def headline(run: Run, view: View, when: str) -> str:
    """Return what the model achieves with the view's replacements: on the test set at the last
    snapshot, and where that is known; else on the sequence of the stage. It is the model of the
    seed that the view shows. `when` begins the sentence."""
    run = of_seed(run, seed_shown(run, view))
    parts = grafted.replaced(run.config, view)
    what = in_words(parts)
    if len(what) > WHOLE:
        what = f"{len(parts)} matrices replaced"
    start = f"{when}, with {what}"
    with suppress(CannotDraw):  # the panels say what cannot be read
        accuracy = grafted.known_accuracy(run, view)
        if accuracy is not None:
            before = grafted.achieved(run, View(snapshot=view.snapshot))["accuracy"]
            return f"{start}, {accuracy:.0%} are right in context (trained: {before:.0%})."
        hits, count = stage.heads(run, view).right
        return f"{start}, {hits} of {count} are right in the sequence below."
    return f"{start}."
