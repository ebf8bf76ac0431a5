"""A trained model for others' tools: a model organism, of which is known what they may look for. No
torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.run import Run


@dataclass(frozen=True, eq=False)
class Organism:
    """A model in the layout of `transformers`.

    tensors    `model.safetensors`, by name
    config     `config.json`
    tokenizer  `tokenizer.json`
    known      `organism.json`: what is known of the model
    """

    tensors: Mapping[str, np.ndarray]
    config: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    known: Mapping[str, Any]


@dataclass(frozen=True)
class ModelExport:
    """How the runs of an experiment become model organisms.

    check     takes a config, and raises `BadSetting` if its runs cannot be exported
    organism  takes a run and returns its model
    """

    check: Callable[[Any], None]
    organism: Callable[[Run], Organism]
