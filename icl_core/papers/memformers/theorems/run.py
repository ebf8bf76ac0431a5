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
from icl_core.papers.memformers.theorems.settings import LEMMA, Config

SHOWN = 12  # prompts of which paths and tables are kept


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Return `identity/<method>` and `identity/lemma` [L + 1], the largest difference over prompts;
    `path/*` in the eigenbasis of Σ and `table/*`, Γ_j^l, of some prompts; `others/*`, `gradient/*`,
    `errata/*` and `code/*`: see the modules; `count/*` in the order of `names/variants`."""
    progress.enter("the identities")
    prompts = identities.sample(config)
    cases = identities.cases(prompts, config.layers, torch.Generator().manual_seed(config.seed))
    tensors = _identities(cases, prompts, covariances(config)[0].rotation)
    tensors[f"identity/{LEMMA}"] = _lemma(config, prompts)
    for name, tensor in identities.others(cases["cgd"], prompts).items():
        tensors[f"others/{name}"] = tensor
    progress.enter("the gradient")
    for name, tensor in stationarity.gradients(config).items():
        tensors[f"gradient/{name}"] = tensor
    progress.enter("the errata")
    pairs = errata.measured(config, prompts, tensors["gradient/steps"])
    for name, pair in pairs.items():
        tensors[f"errata/{name}"] = torch.tensor(pair, dtype=torch.float64)
    five_runs = errata.five_runs(prompts, config.layers)
    tensors["code/five-runs"] = torch.tensor(five_runs, dtype=torch.float64)
    arrays = {name: tensor.contiguous().numpy() for name, tensor in tensors.items()}
    return {
        **arrays,
        **_counts(config),
        "names/methods": names(cases),
        "names/errata": names(pairs),
    }


def _lemma(config: Config, prompts: Prompts) -> Tensor:
    """Return how far the tokens are from Lemma 2.1's method after each layer, [L + 1]."""
    generator = torch.Generator().manual_seed(2**31 + 79 + config.seed)
    case = identities.lemma(prompts, config.layers, generator)
    w = identities.by_tokens(case.variant, case.given, prompts)
    return identities.apart(w, case.iterates, prompts.target)


def _identities(cases: dict[str, Case], prompts: Prompts, turn: Tensor) -> dict[str, Tensor]:
    """Return `identity/*`, `path/*` and `table/*`; `turn` [d, d] leads to the eigenbasis of Σ."""
    tensors = _ground(prompts, turn)
    for name, case in cases.items():
        w = identities.by_tokens(case.variant, case.given, prompts)
        tensors[f"identity/{name}"] = identities.apart(w, case.iterates, prompts.target)
        both = torch.stack([case.iterates, w])[..., :SHOWN]  # [2, L + 1, d, shown]
        tensors[f"path/{name}"] = torch.einsum("ij,bljp->bpli", turn, both)  # [2, shown, L + 1, d]
        tensors[f"table/{name}"] = case.table()[..., :SHOWN]
    return tensors


def _ground(prompts: Prompts, turn: Tensor) -> dict[str, Tensor]:
    """Return S and w* of the prompts whose paths are kept, in the eigenbasis: for contours of
    their losses."""
    S = prompts.S[..., :SHOWN]
    target = prompts.target[:, :SHOWN]
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
