"""Where the heads look on a short sequence, and what the model predicts, drawn from arrays alone,
without torch: by the stage from what a model reads, by the front page from what a run holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import Predictions
from icl_core.figures.map_grid import Box
from icl_core.papers.birth.shared.words import WORDS

LONGEST = 64  # characters of a map on the stage


@dataclass(frozen=True, eq=False)
class Heads:
    """What a model makes of the characters shown.

    attention1, attention2  both maps [T, T]; layer 1's is None if the model has none
    predicted               what the model predicts after each character
    truth                   what follows each character where the context tells it, else None
    """

    shown: Sequence[str]
    attention1: np.ndarray | None
    attention2: np.ndarray
    predicted: Predictions
    truth: Sequence[str | None]

    @property
    def where(self) -> list[Box]:
        """Return the cells to outline: for each query whose next character the context tells, where
        that character stood before."""
        cells: list[Box] = []
        for query, output in enumerate(self.truth):
            for key in range(1, query + 1):
                if self.shown[key - 1] == self.shown[query] and self.shown[key] == output:
                    cells.append((query, key, "correct output"))
        return cells

    @property
    def right(self) -> tuple[int, int]:
        """Return how many of the characters that the context tells are predicted, and how many
        there are."""
        is_known = np.asarray(self.predicted.known, bool)  # (T)
        right = np.asarray(self.predicted.right, bool)  # (T)
        return int(right[is_known].sum()), int(is_known.sum())


def at_snapshot(run: Run, index: int) -> Heads:
    """Return what the run's example shows at a snapshot. Raises `CannotDraw` for a run from before
    runs held it."""
    if "reading/attention2" not in run.tensors:
        raise CannotDraw(
            "this run was made before runs kept where their example looks: train it again"
        )
    characters = run.names("characters")
    attention1 = run.tensors.get("reading/attention1")  # (snapshots, T, T)
    predicted = run["reading/predicted"][index]  # (T), tokens
    truth = run["example/truth"]  # (T), tokens
    in_context = run["example/in_context"]  # (T)
    predictions = Predictions(
        [characters[token] for token in predicted],
        run["reading/probability"][index].astype(np.float32),
        predicted == truth,
        in_context,
    )
    outputs = [
        characters[token] if is_known else None
        for token, is_known in zip(truth, in_context, strict=True)
    ]
    return Heads(
        run.names("sequence"),
        None if attention1 is None else attention1[index],
        run["reading/attention2"][index],
        predictions,
        outputs,
    )


def first_map(heads: Heads, replaced: str = "") -> Panel:
    """Return the panel of layer 1's attention. Raises `CannotDraw` for a model of one layer.

    replaced  names what of the layer is not the trained model's
    """
    if heads.attention1 is None:
        raise CannotDraw("this model has one layer")
    previous = float(np.mean(np.diagonal(heads.attention1, -1)))
    figure = figures.small_attention(heads.attention1, heads.shown)
    return WORDS.panel("first", figure=figure, replaced=replaced, share=previous)


def second_map(heads: Heads, replaced: str = "") -> Panel:
    """Return the panel of the last layer's attention and the predicted characters; `replaced` as in
    `first`."""
    hits, count = heads.right
    return WORDS.panel(
        "second",
        figure=figures.small_attention(heads.attention2, heads.shown, heads.where, heads.predicted),
        layer=1 if heads.attention1 is None else 2,
        replaced=replaced,
        hits=hits,
        count=count,
        longest=LONGEST,
    )
