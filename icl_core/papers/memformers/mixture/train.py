"""Trains both kinds of head at every depth, and then gates on prompts of the mixture."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.memformers.mixture import evaluation, protocol
from icl_core.papers.memformers.mixture.heads import KINDS, training_phase
from icl_core.papers.memformers.mixture.settings import Config
from icl_core.papers.memformers.mixture.test_time import METHODS, adapted, references
from icl_core.training import phases


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train both kinds of head at every depth K, then learn gates on prompts of the mixture.

    `curve/<kind>/<row>` [seeds, evaluations] of the deepest heads; the rest as `evaluated.results`
    and `of_tokens` say.
    """
    return (
        of_components(config, progress)
        if config.prompts == "components"
        else of_tokens(config, progress)
    )


def of_components(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Prompts of one component each, as in the authors' code."""
    made = phases.run(protocol.plan(config), progress, partial(_curves, config))
    return {**_curves(config, made), **evaluation.results(config, made)}


def of_tokens(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Prompts whose tokens are of all components.

    For each of `names/methods`, a kind of `names/kinds` and what is done with its heads,
    `evaluated/<id>` [seeds, K], and where it learns or is drawn `error/<id>`, the standard error of
    its logarithm, `gate/<id>` [seeds, K, H], `learning/<id>` [seeds, steps] of the deepest and
    `shape/<id>` [seeds, points] over `shape/at`. Each head alone: `evaluated/<kind>/head` and
    `head_scalar` [seeds, K, H]. `density/S` [H + 1, bins] over `density/at`; `baseline/*` [K];
    `curve/<kind>/<row>`, the mixture's row last.
    """
    depths = range(1, config.layers + 1)
    plan = [training_phase(config, kind, depth) for depth in reversed(depths) for kind in KINDS]
    made = phases.run(plan, progress, partial(_curves, config))
    found = [adapted(config, made, depth) for depth in depths]
    deepest = {
        name: array
        for name, array in found[-1].items()
        if name.split("/")[0] in ("learning", "shape")
    }
    stacked = {
        name: np.stack([each[name] for each in found], 1)
        for name in found[0]
        if name not in deepest
    }
    own = {"depth/layers": np.array(depths), "names/methods": names(METHODS)}
    return {**own, **_curves(config, made), **stacked, **deepest, **references(config)}


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """`curve/<kind>/<row>` of the deepest models."""
    found = {"names/kinds": names(KINDS)}
    for kind in KINDS:
        part = made.get(f"{kind} {config.layers}", {})
        if "curve/loss" in part:
            rows = {
                f"curve/{kind}/{row}": part["curve/loss"][:, row]
                for row in range(part["curve/loss"].shape[1])
            }
            found |= {"curve/step": part["curve/step"], **rows}
    return found
