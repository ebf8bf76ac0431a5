"""The theorems on the same prompts, without any training; float64."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.memformers.shared.task import covariances
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.theorems import errata, identities, parameters, stationarity
from icl_core.papers.memformers.theorems.identities import Case, Prompts
from icl_core.papers.memformers.theorems.settings import Config

SHOWN = 12  # prompts of which paths and tables are kept


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`identity/<method>` [L + 1], the largest difference over prompts; `path/*` in the eigenbasis
    of Σ and `table/*`, Γ_j^l, of some prompts; `others/*`, `gradient/*` and `errata/*`: see the
    modules; `count/*` in the order of `names/variants`."""
    progress.enter("the identities")
    prompts = identities.sample(config)
    made = identities.cases(prompts, config.layers, torch.Generator().manual_seed(config.seed))
    found = _identities(made, prompts, covariances(config)[0].rotation)
    found |= {
        f"others/{name}": each for name, each in identities.others(made["cgd"], prompts).items()
    }
    progress.enter("the gradient")
    found |= {f"gradient/{name}": each for name, each in stationarity.gradients(config).items()}
    progress.enter("the errata")
    pairs = errata.measured(config, prompts, found["gradient/steps"])
    found |= {
        f"errata/{name}": torch.tensor(pair, dtype=torch.float64) for name, pair in pairs.items()
    }
    arrays = {name: each.contiguous().numpy() for name, each in found.items()}
    return {**arrays, **_counts(config), "names/methods": names(made), "names/errata": names(pairs)}


def _identities(made: dict[str, Case], prompts: Prompts, turn: Tensor) -> dict[str, Tensor]:
    found = _ground(prompts, turn)
    for name, case in made.items():
        w = identities.by_tokens(case.variant, case.given, prompts)
        found[f"identity/{name}"] = identities.apart(w, case.iterates, prompts.target)
        both = torch.stack([case.iterates, w])[..., :SHOWN]  # [2, L + 1, d, shown]
        found[f"path/{name}"] = torch.einsum("ij,bljp->bpli", turn, both)  # [2, shown, L + 1, d]
        found[f"table/{name}"] = case.table()[..., :SHOWN]
    return found


def _ground(prompts: Prompts, turn: Tensor) -> dict[str, Tensor]:
    """S and w* of the prompts whose paths are kept, in the eigenbasis: for contours of their
    losses."""
    S, target = prompts.S[..., :SHOWN], prompts.target[:, :SHOWN]
    return {
        "path/S": torch.einsum("ia,abp,jb->pij", turn, S, turn),
        "path/target": torch.einsum("ij,jp->pi", turn, target),
        "path/eigenvalues": (turn @ prompts.Sigma @ turn.T).diagonal(),
    }


def _counts(config: Any) -> Tensors:
    stored, used = parameters.counted(config)
    return {
        "names/variants": names(VARIANTS),
        "count/stored": np.array(stored),
        "count/used": np.array(used),
    }
