"""Figure 2's comparison under four protocols, what is claimed of it, and how it is measured.

The batch is kept as in the authors' notebooks or drawn anew every 100 steps as in the paper's text,
and gradients are clipped as in the text or not: the text and the notebooks differ in both. So one
run trains the model and a linear transformer under each of the four, and what memory gains is
compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run, names
from icl_core.papers.memformers.methods.authors_settings import AS_TEXT, CLIP
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


SETTING = {**AS_TEXT, "preconditioner": "full", "heads": 1}
GAINS_AS_TEXT = Claim(
    id="memory-as-the-text-trains",
    panel="protocols",
    label="Memformer minus linear, the text's protocol",
    kind="paper",
    text="Trained as Section 3.3 says, on batches drawn anew every 100 steps and with gradients "
    "clipped at 0.01, a model with memory ends at a lower log-loss than one without, in the mean "
    "over two to four layers and ten seeds; by 0.02 or more.",
    source="Section 3.3",
    quote="In practice, these parameters further improve performance",
    at=SETTING,
    at_most=-0.02,
)
CLIPPING_DECIDES = Claim(
    id="clipping-decides-the-gap",
    panel="protocols",
    label="gain by memory that clipping takes away",
    kind="ours",
    text="What memory gains in Figure 2 hangs on one line, the clipping of gradients, which the "
    "paper's text has and its notebooks lack: with it the gain is smaller by 0.3 or more in "
    "log-loss, whether batches are kept or not.",
    source="Section 3.3 against the authors' code",
    at=SETTING,
    at_least=0.3,
)
CLAIMS = (GAINS_AS_TEXT, CLIPPING_DECIDES)


def measure(run: Run) -> list[Metric]:
    """Return what memory gains at the text's protocol, and what clipping changes of that gain."""
    if not applies(run.config) or run.config.layers < DEPTHS.stop:
        return []
    gains = {protocol.id: gain(run, protocol.id) for protocol in PROTOCOLS}
    taken = [  # [seeds] each
        gains[CLIPPED.id] - gains[KEPT.id],
        gains[TEXT.id] - gains[RESAMPLED.id],
    ]
    less = taken[int(np.argmin([change.mean() for change in taken]))]
    return [
        Metric.over_seeds(GAINS_AS_TEXT, gains[TEXT.id], reason=_by_protocol(gains)),
        Metric.over_seeds(CLIPPING_DECIDES, less),
    ]


def _by_protocol(gains: Mapping[str, np.ndarray]) -> str:
    """Return the gain under each protocol, in words."""
    means = (f"{protocol.label} {gains[protocol.id].mean():+.2f}" for protocol in PROTOCOLS)
    return f"By protocol: {'; '.join(mean.replace('-', '−') for mean in means)}."
