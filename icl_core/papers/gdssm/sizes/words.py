"""The numbers in words.md, and which answers are right."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.words import Words
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.sizes.claims import worst
from icl_core.papers.gdssm.sizes.settings import BASE, Config, View


def _loss(run: Run, f: int, N: int) -> float:
    """Return the loss of the layer of that size, as the mean over seeds."""
    return float(run["evaluated/scaled"][:, (run["size/f"] == f) & (run["size/N"] == N)].mean())


def _share(run: Run, f: int) -> float:
    """Return the loss of the layer for so many features as a share of predicting zero."""
    zero = float(run["baseline/zero"][(run["size/f"] == f) & (run["size/N"] == BASE)][0])
    return _loss(run, f, BASE) / zero


def _most_pairs(run: Run) -> int:
    return int(run["size/N"].max())


def _most_features(run: Run) -> int:
    return int(run["size/f"].max())


def _fourfold(run: Run, view: Any) -> int:
    ratio = _loss(run, BASE, _most_pairs(run)) / _loss(run, BASE, BASE)
    return 0 if ratio < 0.3 else 1 if ratio < 0.5 else 2


def _wider(run: Run, view: Any) -> int:
    grown = _share(run, _most_features(run)) / _share(run, BASE)
    return 0 if grown < 0.9 else 1 if grown < 1.1 else 2


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "sizes": lambda run, view: len(run["size/N"]),
        "farthest": lambda run, view: worst(run),
        "base": lambda run, view: BASE,
        "most_pairs": lambda run, view: _most_pairs(run),
        "most_features": lambda run, view: _most_features(run),
        "loss_of_base": lambda run, view: _loss(run, BASE, BASE),
        "loss_of_most_pairs": lambda run, view: _loss(run, BASE, _most_pairs(run)),
        "share_of_base": lambda run, view: _share(run, BASE),
        "share_of_most_features": lambda run, view: _share(run, _most_features(run)),
    },
    of_config={"vectors": lambda config: config.model == "N-D"},
    right={"more": _fourfold, "wider": _wider},
    example=EXAMPLE,
)
