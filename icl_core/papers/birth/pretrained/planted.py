"""A small random model of Llama's shape in which one induction head is constructed: head 1.2 looks
at the previous token and copies it, and head 3.3 looks for its own token among the copies (eq. 7).

The stream has a place for each: the token's own code, the copy of the previous token's, what is to
be said, and a constant. Codes are random unit vectors. All other heads and the feed-forward layers
are small and random.
"""

import string

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.pretrained.readers.llama import Llama

LAYERS = 3
HEADS = 4
WIDTH = 256
D_H = 64
HIDDEN = 64
POSITIONS = 512
BASE = 1e6  # of the rotations' frequencies
EPSILON = 1e-5
CODE = 32  # dimensions of a code
# where in the stream they stand
TOKEN, PREVIOUS, OUTPUT = slice(0, CODE), slice(CODE, 2 * CODE), slice(2 * CODE, 3 * CODE)
CONSTANT = 3 * CODE  # a coordinate that is 1 for every token
# layer and head
PREVIOUS_HEAD = (1, 2)
INDUCTION_HEAD = (3, 3)
SPREAD = 0.02  # standard deviation of random entries
# factors of scores and of what is said
SHARP_BACK = 16.0
SHARP_MATCH = 30.0
LOUD = 1.0
CHARACTERS = "▸" + string.ascii_lowercase + string.ascii_uppercase + string.digits + " "  # N


class LetterTokens:
    """The tokens of the planted model: single characters."""

    def __init__(self) -> None:
        self.start = 0
        self.ordinary = list(range(1, len(CHARACTERS)))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; characters that have none are left out."""
        return [CHARACTERS.index(character) for character in text if character in CHARACTERS[1:]]

    def decode(self, token: int) -> str:
        """Return a token as text."""
        return CHARACTERS[token]


def planted(seed: int = 0) -> Llama:
    """Return the model."""
    generator = torch.Generator().manual_seed(seed)
    return Llama(_weights(generator), LAYERS, HEADS, D_H, POSITIONS, BASE, EPSILON)


def _codes(generator: torch.Generator) -> Float[Tensor, "N code"]:
    codes = torch.randn(len(CHARACTERS), CODE, generator=generator)
    return codes / codes.norm(dim=1, keepdim=True)


def _random(generator: torch.Generator) -> dict[str, Tensor]:
    """Return small random weights by their names; norms have gains of 1."""
    d = WIDTH
    inside = {
        "input_layernorm": (d,),
        "self_attn.q_proj": (HEADS * D_H, d),
        "self_attn.k_proj": (HEADS * D_H, d),
        "self_attn.v_proj": (HEADS * D_H, d),
        "self_attn.o_proj": (d, HEADS * D_H),
        "post_attention_layernorm": (d,),
        "mlp.gate_proj": (HIDDEN, d),
        "mlp.up_proj": (HIDDEN, d),
        "mlp.down_proj": (d, HIDDEN),
    }
    N = len(CHARACTERS)
    sizes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (N, d), "model.norm": (d,)}
    for layer in range(LAYERS):
        sizes |= {f"model.layers.{layer}.{name}": size for name, size in inside.items()}
    sizes["lm_head"] = (N, d)
    weights = {}
    for name, size in sizes.items():
        is_norm = len(size) == 1
        values = torch.ones(size) if is_norm else SPREAD * torch.randn(size, generator=generator)
        weights[f"{name}.weight"] = values
    return weights


def _rows(head: int) -> slice:
    """Return the rows of a head's queries, keys or values among those of its layer."""
    return slice((head - 1) * D_H, head * D_H)


def _match() -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values of the induction head, [d_H, d] each: queries read the token,
    keys the copy of the previous one, both in the planes that hardly turn."""
    query, key, value = torch.zeros(3, D_H, WIDTH).unbind()
    places = torch.arange(CODE)
    slow = torch.cat([torch.arange(16, 32), torch.arange(48, 64)])  # where the 32 rows go
    query[slow, places] = SHARP_MATCH**0.5  # from TOKEN
    key[slow, CODE + places] = SHARP_MATCH**0.5  # from PREVIOUS
    value[places, places] = 1.0
    return query, key, value


def _written(place: slice, factor: float) -> Float[Tensor, "d d_H"]:
    """Return W_O that puts the first `CODE` dimensions of z into a place of the stream."""
    output = torch.zeros(WIDTH, D_H)
    output[place, :CODE] = factor * torch.eye(CODE)
    return output


def _value() -> Float[Tensor, "d_H d"]:
    """Return W_V that reads the token's code."""
    value = torch.zeros(D_H, WIDTH)
    value[:CODE, TOKEN] = torch.eye(CODE)
    return value


def _turned_back(fast: int = 16) -> tuple[Tensor, Tensor]:
    """Return a query and a key, [d_H] each, that are alike once the key is turned on by one
    position, in the `fast` quickest planes of rotation."""
    half = D_H // 2
    query = torch.zeros(D_H)
    query[:fast] = SHARP_BACK**0.5
    speeds = BASE ** (-torch.arange(fast) / half)
    key = torch.zeros(D_H)
    key[:fast] = SHARP_BACK**0.5 * speeds.cos()
    key[half : half + fast] = SHARP_BACK**0.5 * speeds.sin()
    return query, key


def _weights(generator: torch.Generator) -> dict[str, Tensor]:
    codes = _codes(generator)
    weights = _random(generator)
    embeddings = weights["model.embed_tokens.weight"]
    embeddings[:, TOKEN] = codes
    embeddings[:, CONSTANT] = 1.0
    weights["lm_head.weight"][:, OUTPUT] = LOUD * codes
    query, key = torch.zeros(2, D_H, WIDTH).unbind()
    query[:, CONSTANT], key[:, CONSTANT] = _turned_back()
    match_query, match_key, match_value = _match()
    heads = {
        PREVIOUS_HEAD: (query / 4, key / 4, _value(), _written(PREVIOUS, 0.1)),
        INDUCTION_HEAD: (match_query / 4, match_key / 4, match_value, _written(OUTPUT, 0.2)),
    }
    for (layer, head), (*inputs, output) in heads.items():
        name = f"model.layers.{layer - 1}.self_attn"
        for part, matrix in zip("qkv", inputs, strict=True):
            weights[f"{name}.{part}_proj.weight"][_rows(head)] = matrix
        weights[f"{name}.o_proj.weight"][:, _rows(head)] = output
    return weights
