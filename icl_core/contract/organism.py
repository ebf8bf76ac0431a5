"""A trained model for others' tools: a model organism, of which is known what they may look for. No
torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


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
