"""The numbers in words.md, which answers are right, and when half of the pairs are learned."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.figures import mean_of
from icl_core.papers.birth.laboratory.load_run import at, halves, milestones, place, waiting
from icl_core.papers.birth.laboratory.settings import HEADS, Config, View

WIDTH = 64  # of which the question on the capacity speaks
MANY = 512  # pairs, which 64 dimensions cannot hold


def _recalled(run: Run, width: int, pairs: int) -> float:
    """Return the share of pairs that one matrix recalls, mean over seeds."""
    return float(at(run, "capacity/equal", width=width, capacity=pairs).mean())


def _half_recalled(run: Run) -> float:
    """Return the number of pairs at which half are recalled by a matrix of WIDTH."""
    return float(halves(run)[place(run, "width", WIDTH)])


def _typical(run: Run, view: View) -> float:
    """Return the root mean square of the inner products of two random vectors, at the width
    shown."""
    return float(at(run, "near/independent", near=view.width).mean())


def _by_heads(run: Run, kind: str, taken: int = 0) -> float:
    """Return the share of 64 pairs that eight heads recall which have 128 dimensions together."""
    return float(at(run, f"form/{kind}", width=128, pairs=64, taken=taken).mean())


def _right(run: Run, view: View) -> np.ndarray:
    """Return whether each pair is learned at the snapshot shown, [N] of 0 or 1."""
    return run["snapshot/right"][run.snapshot_at(view)]


def _learned_in_part(run: Run, view: View) -> bool:
    right = _right(run, view)
    return bool(right.any() and not right.all())


def _times_later(run: Run, view: Any) -> float:
    """Return how many times as late a pair is learned that is half as frequent."""
    return 2.0 ** -float(np.nanmean(waiting(run)))


def _ratio(kind: str) -> Reading:
    """Return the reading of how many times as strong frequent pairs are as rare ones in the end."""
    return lambda run, view: float(mean_of(run[f"curve/ratio_{kind}"])[-1])


def _many(run: Run, view: Any) -> int:
    """Return the index of the choice that says of how many pairs half are recalled: about d, some
    multiple of d, about d²."""
    return int(np.digitize(_half_recalled(run), (2 * WIDTH, WIDTH**2 / 2)))


def _better(run: Run, view: Any) -> int:
    """Return the index of the choice that recalls more: every head stores all pairs, each stores a
    share, both alike."""
    gain = _by_heads(run, "shared") - _by_heads(run, "split")
    return 2 if abs(gain) < 0.05 else int(gain < 0)


def _late(run: Run, view: Any) -> int:
    """Return the index of the choice that says how much later a pair is learned that is half as
    frequent: as soon, twice as late, four times as late."""
    return int(np.digitize(_times_later(run, view), (1.5, 3.0)))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # of one matrix: the share recalled of the pairs shown, at the width shown
        "recalled": lambda run, view: _recalled(run, view.width, view.pairs),
        "holds_more": lambda run, view: (
            _recalled(run, view.width, view.pairs) * view.pairs > view.width
        ),
        # and at width 64
        "half_recalled_at_64": lambda run, view: _half_recalled(run),
        "recalled_of_64": lambda run, view: _recalled(run, WIDTH, WIDTH),
        "typical": _typical,
        "inverse_root": lambda run, view: view.width**-0.5,
        # 64 pairs in eight heads
        "recalled_if_shared": lambda run, view: _by_heads(run, "shared"),
        "recalled_if_split": lambda run, view: _by_heads(run, "split"),
        "recalled_with_half_gone": lambda run, view: _by_heads(run, "shared", taken=HEADS // 2),
        # the learned memory
        "step": lambda run, view: run.step(view),
        "learned": lambda run, view: int(_right(run, view).sum()),
        "learnable": lambda run, view: len(_right(run, view)),
        "learned_in_part": _learned_in_part,
        "times_later": _times_later,
        "ratio_plain": _ratio("plain"),
        "ratio_norm": _ratio("norm"),
    },
    at={"half": lambda run: milestones(run).get("half")},
    right={"many": _many, "heads": _better, "order": _late},
    done={"mixed": lambda view: view.pairs >= MANY},
    example=Example(
        (
            ("u₁", "x"),
            ("v₁", "y"),
            ("u₂", "x"),
            ("v₂", "y"),
            ("u₃", "x"),
            ("v₃", "y"),
            ("u₂", "query"),
        ),
        "v₂",
    ),
)
