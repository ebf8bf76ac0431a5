"""A small random model of each shape in which one induction head is constructed: head 1.2 looks at
the previous token and copies it, and head 3.3 looks for its own token among these copies (eq. 7).

The stream has a place for each: the token's own code, the copy of the previous token's, what is to
be said, and positions or a constant. Codes are random unit vectors. All other heads and the
feed-forward layers are small and random.
"""

import string
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.pretrained.readers import gpt2, llama, neox
from icl_core.papers.birth.pretrained.readers.model import Reader, Shape

LAYERS = 3
HEADS = 4
WIDTH = 256
D_H = 64
HIDDEN = 64
POSITIONS = 512
CODE = 32  # dimensions of a code
# where in the stream they stand
TOKEN, PREVIOUS, OUTPUT, POSITION = (
    slice(0, CODE),
    slice(CODE, 2 * CODE),
    slice(2 * CODE, 3 * CODE),
    slice(3 * CODE, 3 * CODE + 2 * CODE),
)
CONSTANT = 3 * CODE  # a coordinate that is 1 for every token, in Llama's shape
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
    """The tokens of the planted models: single characters."""

    def __init__(self) -> None:
        self.start = 0
        self.ordinary = list(range(1, len(CHARACTERS)))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; characters that have none are left out."""
        return [CHARACTERS.index(character) for character in text if character in CHARACTERS[1:]]

    def decode(self, token: int) -> str:
        """Return a token as text."""
        return CHARACTERS[token]


def planted(architecture: str = "llama", seed: int = 0) -> Reader:
    """Return the model in the layout of "llama", "gpt2" or "gpt_neox"."""
    generator = torch.Generator().manual_seed(seed)
    rotations = {"llama": (1e6, D_H), "gpt2": (0.0, 0), "gpt_neox": (1e4, D_H // 4)}
    base, rotated = rotations[architecture]
    shape = Shape(
        architecture,
        LAYERS,
        HEADS,
        HEADS,
        WIDTH,
        D_H,
        HIDDEN,
        len(CHARACTERS),
        POSITIONS,
        1e-5,
        base,
        rotated,
        tied=False,
        activation={"llama": "silu", "gpt2": "gelu_new", "gpt_neox": "gelu"}[architecture],
        parallel=architecture == "gpt_neox",
    )
    makers: dict[str, Callable[[Shape, torch.Generator], Reader]] = {
        "llama": _llama,
        "gpt2": _gpt2,
        "gpt_neox": _neox,
    }
    return makers[architecture](shape, generator)


def _codes(generator: torch.Generator) -> Float[Tensor, "N code"]:
    codes = torch.randn(len(CHARACTERS), CODE, generator=generator)
    return codes / codes.norm(dim=1, keepdim=True)


def _random(
    sizes: dict[str, tuple[int, ...]], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Return small random weights; norms have gains of 1 and no bias."""
    weights = {}
    for name, size in sizes.items():
        is_norm = "norm" in name or ".ln_" in name or name.startswith("ln_f")
        if is_norm and name.endswith("weight"):
            weights[name] = torch.ones(size)
        elif name.endswith("bias"):
            weights[name] = torch.zeros(size)
        else:
            weights[name] = SPREAD * torch.randn(size, generator=generator)
    return weights


def _rows(head: int) -> slice:
    """Return the rows of a head's queries, keys or values among those of its layer."""
    return slice((head - 1) * D_H, head * D_H)


def _match(first: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values of the induction head, [d_H, d] each: queries read the token,
    keys the copy of the previous one, both into `CODE` dimensions from `first` on."""
    query, key, value = torch.zeros(3, D_H, WIDTH).unbind()
    places = torch.arange(CODE)
    at = (first + places) % D_H
    query[at, places] = SHARP_MATCH**0.5  # from TOKEN
    key[at, CODE + places] = SHARP_MATCH**0.5  # from PREVIOUS
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


def _turned_back(shape: Shape, fast: int) -> tuple[Tensor, Tensor]:
    """Return a query and a key, [d_H] each, that are alike once the key is turned on by one
    position, in the `fast` quickest planes of rotation."""
    half = shape.rotated // 2
    query = torch.zeros(D_H)
    query[:fast] = SHARP_BACK**0.5
    speeds = shape.base ** (-torch.arange(fast) / half)
    key = torch.zeros(D_H)
    key[:fast] = SHARP_BACK**0.5 * speeds.cos()
    key[half : half + fast] = SHARP_BACK**0.5 * speeds.sin()
    return query, key


def _llama(shape: Shape, generator: torch.Generator) -> Reader:
    codes = _codes(generator)
    weights = _random(llama.expected(shape), generator)
    embeddings = weights["model.embed_tokens.weight"]
    embeddings[:, TOKEN] = codes
    embeddings[:, CONSTANT] = 1.0
    weights["lm_head.weight"][:, OUTPUT] = LOUD * codes
    query, key = torch.zeros(2, D_H, WIDTH).unbind()
    query[:, CONSTANT], key[:, CONSTANT] = _turned_back(shape, fast=16)
    # the slow planes: dimensions 48 to 63, and 16 to 31
    match_query, match_key, match_value = _slow(_match(0))
    heads = {
        PREVIOUS_HEAD: (query / 4, key / 4, _value(), _written(PREVIOUS, 0.1)),
        INDUCTION_HEAD: (match_query / 4, match_key / 4, match_value, _written(OUTPUT, 0.2)),
    }
    for (layer, head), (*inputs, output) in heads.items():
        name = f"model.layers.{layer - 1}.self_attn"
        for part, matrix in zip("qkv", inputs, strict=True):
            weights[f"{name}.{part}_proj.weight"][_rows(head)] = matrix
        weights[f"{name}.o_proj.weight"][:, _rows(head)] = output
    return llama.Llama(shape, weights)


def _slow(matrices: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries and keys in the planes that hardly turn, and the values as they are."""
    query, key, value = matrices
    order = torch.cat([torch.arange(16, 32), torch.arange(48, 64)])  # where the 32 rows go
    moved = []
    for matrix in (query, key):
        rows = torch.zeros_like(matrix)
        rows[order] = matrix[:CODE]
        moved.append(rows)
    return moved[0], moved[1], value


def _gpt2(shape: Shape, generator: torch.Generator) -> Reader:
    codes = _codes(generator)
    weights = _random(gpt2.expected(shape), generator)
    weights["wte.weight"][:, TOKEN] = codes
    speeds = 1e2 ** (-torch.arange(CODE) / CODE)
    angles = torch.arange(POSITIONS)[:, None] * speeds  # (T, CODE)
    weights["wpe.weight"][:, POSITION] = torch.cat([angles.cos(), angles.sin()], 1) / CODE**0.5
    weights["lm_head.weight"][:, OUTPUT] = LOUD * codes
    query, key = torch.zeros(2, D_H, WIDTH).unbind()
    query[:, POSITION] = 4 * SHARP_BACK * torch.eye(D_H)
    back = torch.zeros(D_H, D_H)  # turns the position of a key on by one
    places = torch.arange(CODE)
    back[places, places] = back[CODE + places, CODE + places] = speeds.cos()
    back[places, CODE + places] = -speeds.sin()
    back[CODE + places, places] = speeds.sin()
    key[:, POSITION] = SHARP_BACK**0.5 * back
    match_query, match_key, match_value = _match(0)
    heads = {
        PREVIOUS_HEAD: (query / 2, key / 2, _value(), _written(PREVIOUS, 0.1)),
        INDUCTION_HEAD: (match_query / 4, match_key / 4, match_value, _written(OUTPUT, 0.2)),
    }
    for (layer, head), (*inputs, output) in heads.items():
        fused = weights[f"h.{layer - 1}.attn.c_attn.weight"]
        for index, matrix in enumerate(inputs):
            first = index * WIDTH + (head - 1) * D_H
            fused[:, first : first + D_H] = matrix.T
        weights[f"h.{layer - 1}.attn.c_proj.weight"][_rows(head)] = output.T
    return gpt2.GPT2(shape, weights)


def _neox(shape: Shape, generator: torch.Generator) -> Reader:
    codes = _codes(generator)
    weights = _random(neox.expected(shape), generator)
    weights["gpt_neox.embed_in.weight"][:, TOKEN] = codes
    weights["embed_out.weight"][:, OUTPUT] = LOUD * codes
    none = torch.zeros(D_H, WIDTH)
    query, key = _turned_back(shape, fast=8)
    # the dimensions that do not turn
    match_query, match_key, match_value = _match(shape.rotated)
    heads = {
        PREVIOUS_HEAD: (none, none, _value(), _written(PREVIOUS, 0.1)),
        INDUCTION_HEAD: (match_query / 4, match_key / 4, match_value, _written(OUTPUT, 0.2)),
    }
    for (layer, head), (*inputs, output) in heads.items():
        name = f"gpt_neox.layers.{layer - 1}.attention"
        # head by head queries, keys, values
        fused = weights[f"{name}.query_key_value.weight"].view(HEADS, 3, D_H, WIDTH)
        fused[head - 1] = torch.stack(inputs)
        weights[f"{name}.dense.weight"][:, _rows(head)] = output
    layer, head = PREVIOUS_HEAD
    bias = weights[f"gpt_neox.layers.{layer - 1}.attention.query_key_value.bias"]
    by_head = bias.view(HEADS, 3, D_H)
    by_head[head - 1, 0] = 4 * query  # a head that only knows how far away a key is
    by_head[head - 1, 1] = 4 * key
    return neox.NeoX(shape, weights)
