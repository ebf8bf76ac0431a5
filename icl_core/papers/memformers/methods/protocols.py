"""Figure 2's comparison under four protocols: the batch kept as in the authors' notebooks or drawn
anew every 100 steps as in the paper's text, and gradients clipped as in the text or not.

The paper's text and its notebooks differ in both. So one run trains the model and a linear
transformer under each of the four, and what memory gains is compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run, names
from icl_core.papers.memformers.methods.authors_settings import CLIP
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.train import by_depth
from icl_core.training.phases import Made

MEASURES = ("loss", "train")
LINEAR = {"variant": "linear", "heads": 1, "beside": "none"}  # the model without memory
DEPTHS = slice(1, 4)  # two to four layers: of one layer there is no memory


@dataclass(frozen=True)
class Protocol:
    """How prompts and gradients are treated.

    id       its name in tensors
    label    its name in a legend
    changes  the settings that make it
    """

    id: str
    label: str
    changes: Mapping[str, Any]


KEPT = Protocol("kept", "one batch, not clipped (notebooks)", {"batches": "common", "clip": 0.0})
CLIPPED = Protocol("kept-clipped", "one batch, clipped", {"batches": "common", "clip": CLIP})
RESAMPLED = Protocol("resampled", "new batches, not clipped", {"batches": "resampled", "clip": 0.0})
TEXT = Protocol("text", "new batches, clipped (the text)", {"batches": "resampled", "clip": CLIP})
PROTOCOLS = (KEPT, CLIPPED, RESAMPLED, TEXT)


def applies(config: Any) -> bool:
    """Return whether a run trains the four protocols."""
    return config.beside == "protocols"


def models(config: Any, trained: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configs of those models of the four protocols that are not `trained` anyway, by
    the name of their phases."""
    if not applies(config):
        return {}
    return {
        name.replace("/", "-"): model
        for name, model in _every(config).items()
        if model not in trained.values()
    }


def _every(config: Any) -> dict[str, Any]:
    """Return the configs of all eight models, as "<protocol>/<model>"."""
    every: dict[str, Any] = {}
    for protocol in PROTOCOLS:
        memformer = replace(config, **protocol.changes)
        every[f"{protocol.id}/memformer"] = memformer
        every[f"{protocol.id}/linear"] = replace(memformer, **LINEAR)
    return every


def gathered(config: Any, trained: Mapping[str, Any], results: Made) -> dict[str, np.ndarray]:
    """Return of a run that trains them `names/protocols` and, for each, `protocol/<id>/memformer/*`
    and `protocol/<id>/linear/*`: `loss` and `train`, [seeds, K]. `trained` are the configs of all
    models by the name of their phases."""
    if not applies(config):
        return {}
    tensors = {"names/protocols": names([protocol.id for protocol in PROTOCOLS])}
    for folder, model in _every(config).items():
        name = next(name for name, each in trained.items() if each == model)
        for measure in MEASURES:
            tensors[f"protocol/{folder}/{measure}"] = by_depth(
                results, name, config.layers, measure
            )
    return tensors


def gaps(run: Run, protocol: str) -> np.ndarray:
    """Return the Memformer's log-loss minus the linear transformer's under a protocol, on the same
    fresh prompts, [seeds, K]."""
    own, other = (
        log_from_least(run[f"protocol/{protocol}/{model}/loss"])
        for model in ("memformer", "linear")
    )
    return own - other


def gain(run: Run, protocol: str) -> np.ndarray:
    """Return the mean of `gaps` over two to four layers, [seeds]: below zero, memory helps."""
    return gaps(run, protocol)[:, DEPTHS].mean(1)
