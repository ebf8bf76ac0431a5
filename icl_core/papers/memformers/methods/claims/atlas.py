"""The atlas of learned methods: how many dimensions, how ill conditioned, how deep, with which
memory; and from which condition number on fixed steps win."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from icl_core.contract.experiment import Atlas, Claim, Metric
from icl_core.papers.memformers.methods.claims.training_end import BEATS_CGD
from icl_core.papers.memformers.methods.settings import LFOM, Config

SHAPED = replace(LFOM, spectrum="geometric")
MODELS = "variant=linear,cgd,lfom"
DEEP = 4  # layers
FROM = Claim(
    id="beats-cgd-from", label="condition number from which CGD is beaten", kind="ours",
    text="Conjugate gradient per prompt has to find the directions of small variance, which "
         "preconditioned steps know from training: from condition number 16 on, steps that are "
         "the same for all prompts beat it with one to four layers. The number is where the gap "
         "in log-loss passes zero, d = 5 or 10, whichever is later.",
    source="not in the paper, whose Σ has condition number 16",
    setting="the atlas: 48 runs of four and six layers, one seed each", at_most=16.0,
)  # fmt: skip


def findings(measured: Sequence[tuple[Config, Mapping[str, float]]]) -> list[Metric]:
    """Return the condition number at which the gap to conjugate gradient passes zero, a geometric
    mean over models, of the d where it is larger; its error is that over models."""
    deep = [(config, values[BEATS_CGD.id]) for config, values in measured
            if config.spectrum == "geometric" and config.layers >= DEEP]  # fmt: skip
    crossings = {
        d: _crossings([each for each in deep if each[0].d == d])
        for d in {config.d for config, _ in deep}
    }
    latest = max(crossings.values(), key=np.mean)
    condition = float(np.exp(latest.mean()))
    error = float(np.exp(latest.mean()) * latest.std(ddof=1) / len(latest) ** 0.5)
    return [Metric(FROM, condition, error)]


def _crossings(runs: Sequence[tuple[Config, float]]) -> np.ndarray:
    """Return for every model, a variant and a depth, the log of the condition number at which its
    gap passes zero, [models]."""
    models = sorted({(config.variant, config.layers) for config, _ in runs})
    return np.array(
        [
            _crossing([each for each in runs if (each[0].variant, each[0].layers) == model])
            for model in models
        ]
    )


def _crossing(runs: Sequence[tuple[Config, float]]) -> float:
    """Return the log of the condition number at which one model's gap passes zero; between two
    condition numbers the gap is taken to fall along a line."""
    condition, gap = np.array(sorted((np.log(config.condition), value) for config, value in runs)).T
    return float(np.interp(0.0, -gap, condition))  # the gap falls as the condition grows


ATLAS = Atlas(
    (
        (SHAPED, ("d=5,10", "condition=4,16,64,256", "layers=2,4,6", MODELS)),
        (LFOM, ("d=5,10", "layers=2,4,6", MODELS)),
    ),
    findings,
)
CLAIMS = (FROM,)
