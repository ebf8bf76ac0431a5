"""Where the heads look on a short sequence, and what the model says: drawn from arrays alone,
without torch, by the stage from what a model reads and by the front page from what a run holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import Predictions
from icl_core.figures.outlines import Box

LONGEST = 64  # characters of a map on the stage


@dataclass(frozen=True, eq=False)
class Heads:
    """What a model makes of the characters shown: both maps [T, T] (layer 1's None if it has none),
    what it predicts, and `truth`, what follows each character where the context tells it, else
    None."""

    shown: Sequence[str]
    attention1: np.ndarray | None
    attention2: np.ndarray
    predicted: Predictions
    truth: Sequence[str | None]

    @property
    def where(self) -> list[Box]:
        """The cells to outline: at each query whose next character the context tells, where that
        stood before."""
        return [
            (query, key, "correct output")
            for query, follows in enumerate(self.truth)
            for key in range(1, query + 1)
            if self.shown[key - 1] == self.shown[query] and self.shown[key] == follows
        ]

    @property
    def right(self) -> tuple[int, int]:
        """How many of the characters that the context tells are predicted, and how many
        there are."""
        known = np.asarray(self.predicted.known, bool)
        return int(np.asarray(self.predicted.right, bool)[known].sum()), int(known.sum())


def at_snapshot(run: Run, index: int) -> Heads:
    """Return what the run's example showed at a snapshot. `CannotDraw` for a run made before runs
    held it."""
    if "reading/attention2" not in run.tensors:
        raise CannotDraw(
            "this run was made before runs kept where their example looks: train it again"
        )
    characters = run.names("characters")
    first = run.tensors.get("reading/attention1")
    predicted = run["reading/predicted"][index]
    truth = run["example/truth"]
    known = run["example/in_context"]
    best = [characters[token] for token in predicted]
    told = Predictions(
        best, run["reading/probability"][index].astype(np.float32), predicted == truth, known
    )
    follows = [
        characters[token] if known else None for token, known in zip(truth, known, strict=True)
    ]
    return Heads(
        run.names("sequence"),
        None if first is None else first[index],
        run["reading/attention2"][index],
        told,
        follows,
    )


def first(heads: Heads, replaced: str = "") -> Panel:
    """Layer 1's attention; `replaced` names what of the layer is not the trained model's."""
    if heads.attention1 is None:
        raise CannotDraw("this model has one layer")
    back = float(np.mean(np.diagonal(heads.attention1, -1)))
    return Panel(
        f"Layer 1, {replaced} replaced: finds {back:.0%}"
        if replaced
        else f"Layer 1 finds what came before: {back:.0%}",
        "Each row shows where one character looks. A layer that finds the previous character "
        "has a stripe beside the diagonal; the title has the share of attention on it. Without "
        "learning a row is spread over many characters.",
        figures.small_attention(heads.attention1, heads.shown),
    )


def second(heads: Heads, replaced: str = "") -> Panel:
    """Draw the last layer's attention, and the predicted characters; `replaced` as in `first`."""
    layer = "Layer 1" if heads.attention1 is None else "Layer 2"
    (hits, count) = heads.right
    found = f"finds what followed: {hits} of {count}" if count else "has nothing to find"
    if replaced:
        found = f"{hits} of {count} right" if count else "nothing to find"
    return Panel(
        f"{layer}, {replaced} replaced: {found}" if replaced else f"{layer} {found}",
        "An outlined cell is what followed the same character earlier. An induction head looks "
        "there and predicts it; the predictions stand at the right, each with a mark. Without a "
        f"head the rows are spread out. Of a longer sequence you see the first {LONGEST} "
        "characters.",
        figures.small_attention(heads.attention2, heads.shown, heads.where, heads.predicted),
    )
