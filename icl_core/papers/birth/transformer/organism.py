"""A run as a model organism: its model in the layout of GPT-2, with what is known of it.

Under layer norm the full transformer is GPT-2 with ReLU, without biases and with an unembedding of
its own; where it has no feed-forward layers theirs are zero. The weights are those that the run
keeps, in half precision, as single precision: the logits are those of the run's own model.
"""

import math
from typing import Any

import numpy as np
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.organism import ModelExport, Organism
from icl_core.contract.settings_io import to_stored
from icl_core.papers.birth.shared.full.model import WIDER, Weights, layers_of
from icl_core.papers.birth.shared.full.probes import OVER, readings, recalls
from icl_core.papers.birth.shared.probes import recall, recalled
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.load_run import final_weights, heads_shown

EPSILON = 1e-5  # of torch's layer norm
REACHED = 0.5  # recall from which a matrix counts as stored
STORES = {
    "W_K1": "W_Q¹ of position t reads W_K¹ of position t − 1",
    "W_K2": "W_Q² of a character reads W_K² W_O¹ W_V¹ of the same character, its copy by layer 1",
    "W_O2": "W_O² W_V² of a character writes the unembedding of the same character",
}


def check(config: Any) -> None:
    """Raise `BadSetting` for a model without layer norm."""
    if not config.layer_norm:
        raise BadSetting(
            "layer_norm must be true for an export, as GPT-2 has layer norm, got False"
        )


def organism(run: Run) -> Organism:
    """Return the model organism of a run's first seed, which has layer norm."""
    weights = final_weights(run)
    task = task_of(run.config)
    return Organism(gpt2_tensors(weights), _config(run.config, task), _tokenizer(task), known(run))


def gpt2_tensors(weights: Weights) -> dict[str, np.ndarray]:
    """Return the weights under GPT-2's names and in its orientation: a row an input."""
    d = weights["W_E"].shape[1]
    zeros = torch.zeros
    ones = torch.ones(d)
    tensors = {
        "wte.weight": weights["W_E"],
        "wpe.weight": weights["P"],
        "ln_f.weight": weights["gain_out"],
        "ln_f.bias": weights["bias_out"],
        "lm_head.weight": weights["W_U"],
    }
    for layer in range(1, layers_of(weights) + 1):
        projections = [weights[f"{name}{layer}"] for name in ("W_Q", "W_K", "W_V")]
        W_in = weights.get(f"W_in{layer}", zeros(WIDER * d, d))
        W_out = weights.get(f"W_out{layer}", zeros(d, WIDER * d))
        parts = {
            "ln_1.weight": weights[f"gain_attention{layer}"],
            "ln_1.bias": weights[f"bias_attention{layer}"],
            "attn.c_attn.weight": torch.cat(projections).T,  # (d, 3 d)
            "attn.c_attn.bias": zeros(3 * d),
            "attn.c_proj.weight": weights[f"W_O{layer}"].T,
            "attn.c_proj.bias": zeros(d),
            "ln_2.weight": weights.get(f"gain_mlp{layer}", ones),
            "ln_2.bias": weights.get(f"bias_mlp{layer}", zeros(d)),
            "mlp.c_fc.weight": W_in.T,
            "mlp.c_fc.bias": zeros(WIDER * d),
            "mlp.c_proj.weight": W_out.T,
            "mlp.c_proj.bias": zeros(d),
        }
        tensors |= {f"h.{layer - 1}.{name}": tensor for name, tensor in parts.items()}
    return {name: tensor.contiguous().numpy() for name, tensor in tensors.items()}


def known(run: Run) -> dict[str, Any]:
    """Return what is known of the model, as JSON: how it was trained, what its matrices store and
    what its heads do, from which training step on, and what was measured of it."""
    return {
        "format": 1,
        "experiment": "birth.transformer",
        "version": registry.version("birth.transformer"),
        "settings": to_stored(run.config),
        "seed": run.config.seed,
        "characters": run.names("characters"),
        "accuracy_in_context": float(run["evaluated/accuracy"][0]),
        "matrices": _matrices(run),
        "heads": _heads(run),
    }


def _matrices(run: Run) -> dict[str, Any]:
    """Return of every matrix the pairs that it is to store, each with whether it is recalled (a
    share where several readings are equally large), and the step from which half of them are.

    Empty unless there are two layers: only then it is known what each must store.
    """
    weights = final_weights(run)
    task = task_of(run.config)
    recall_of = recalls(weights, task, run.config.heads)
    matrices: dict[str, Any] = {}
    for name, S in readings(weights, task, run.config.heads).items():
        over = OVER[name]
        best = max(range(len(S)), key=lambda head: recall(S[head], over))
        shares = recalled(S[best], over).tolist()
        pairs = zip(_names_of(name, run, task), shares, strict=True)
        matrices[name] = {
            "stores": STORES[name],
            "recall": recall_of[name],
            "head": best + 1 if len(S) > 1 else None,
            "half_from_step": _half_from(run, name),
            "pairs": [{"of": label, "recalled": float(share)} for label, share in pairs],
        }
    return matrices


def _names_of(name: str, run: Run, task: Task) -> list[Any]:
    """Return what the pairs of a matrix are of: positions t from 2 on, or characters."""
    if name == "W_K1":
        return list(range(2, task.T + 1))
    characters = run.names("characters")
    if name == "W_K2" and task.fixed_triggers is not None:
        return [characters[token] for token in task.fixed_triggers.tolist()]
    return characters


def _half_from(run: Run, name: str) -> int | None:
    """Return the first evaluated step from which a matrix's recall stays at REACHED or more."""
    curve = run[f"curve/recall_{name}"][0]  # [evaluations]
    below = np.flatnonzero(~(curve >= REACHED))
    first = int(below[-1]) + 1 if len(below) else 0
    return int(run["curve/step"][first]) if first < len(curve) else None


def _heads(run: Run) -> list[dict[str, Any]]:
    """Return of every head what it does after the training, how much, and the first snapshot's step
    from which it does it to the end."""
    by_snapshot = [heads_shown(run, index) for index in range(len(run.snapshot_steps))]
    heads = []
    for index, head in enumerate(by_snapshot[-1]):
        roles = [snapshot_heads[index].role for snapshot_heads in by_snapshot]
        others = [snapshot for snapshot, role in enumerate(roles) if role != head.role]
        layer, number = head.name.split(".")
        heads.append(
            {
                "layer": int(layer),
                "head": int(number),
                "role": head.role,
                "does": head.does,
                "attention_on_previous": _or_null(head.previous),
                "attention_on_followers_at_triggers": _or_null(head.triggers),
                "of_uniform_attention": _or_null(head.triggers_even),
                "from_step": run.snapshot_steps[others[-1] + 1 if others else 0],
            }
        )
    return heads


def _or_null(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if math.isnan(value) else value


def _config(config: Any, task: Task) -> dict[str, Any]:
    """Return `config.json`. A text begins with a line break, if the model knows it."""
    characters = list(task.characters)
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": "relu",
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_embd": config.d,
        "n_inner": WIDER * config.d,
        "n_positions": config.T,
        "vocab_size": config.N,
        "layer_norm_epsilon": EPSILON,
        "tie_word_embeddings": False,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "bos_token_id": characters.index("\n") if "\n" in characters else 0,
        "eos_token_id": None,  # else GPT-2's, 50256, which is no token here
    }


def _tokenizer(task: Task) -> dict[str, Any]:
    """Return `tokenizer.json`: a token a character, byte pairs without merges."""
    vocabulary = {character: token for token, character in enumerate(task.characters)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


EXPORT = ModelExport(check, organism)
