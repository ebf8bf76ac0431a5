"""Three recorded texts: their attention maps, and what the model would say after each layer (the
logit lens)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.contract.experiment import names
from icl_core.papers.birth.pretrained import repeated
from icl_core.papers.birth.pretrained.readers.model import Reader, forward
from icl_core.papers.birth.pretrained.readers.tokens import Tokens

SENTENCE = " A small brown dog sleeps under the old table."
PATTERN = "abcXabcXab"
MOST = 256  # tokens of a visitor's own text
SHOWN = 11  # random tokens, said twice: as many as a map on the stage has room for


def recorded(
    tokens: Tokens, generator: torch.Generator, own: str = "", most: int = MOST
) -> dict[str, Int[Tensor, "T"]]:
    """Return the texts by name, each after the start token; a visitor's `own`, of which the first
    `most` tokens are read, if there is one. Raises `BadModel` for characters that the model has no
    tokens for."""
    letters = {}
    for letter in dict.fromkeys(PATTERN):
        letters[letter] = tokens.encode(letter)[0]
    sentence = tokens.encode(SENTENCE)[:SHOWN]  # of a model of single characters, its beginning
    texts = {
        "random": repeated.sequences(tokens, 1, SHOWN, generator)[0, 1:].tolist(),
        "sentence": sentence * 2,
        "pattern": [letters[letter] for letter in PATTERN],
    }
    if own:
        texts["own"] = tokens.encode(own)[:most]
    return {name: torch.tensor([tokens.start, *text]) for name, text in texts.items()}


@torch.no_grad()
def record(
    model: Reader, tokens: Tokens, generator: torch.Generator, own: str = ""
) -> dict[str, np.ndarray]:
    """Return of every text, under `text/<name>/`

    attention    [layers, heads, T (T + 1) / 2], the maps' lower halves row by row in parts of 255
    loss         [layers + 1, T - 1], what each next token costs, in nats, after each layer
    said         [layers + 1, T], the likeliest next token, an index into `names/said`
    probability  [layers + 1, T], its probability

    and `names/text/<name>`, its tokens as text.
    """
    arrays = {}
    ids: list[int] = []  # of all tokens that are said
    most = min(MOST, model.shape.T - 1)  # the start token has a position, too
    for name, text in recorded(tokens, generator, own, most).items():
        outcome = forward(model, text[None], keep=True)
        read = [_lens(model, stream[0], text) for stream in outcome.streams]
        losses, said, probabilities = (np.stack(parts) for parts in zip(*read, strict=True))
        ids += np.unique(said).tolist()
        arrays |= {
            f"text/{name}/attention": packed(outcome.attention),
            f"text/{name}/loss": losses.astype(np.float16),
            f"text/{name}/said": said,
            f"text/{name}/probability": probabilities.astype(np.float16),
            f"names/text/{name}": names(tokens.decode(token) for token in text.tolist()),
        }
    kept = sorted(set(ids))
    for name in [name for name in arrays if name.endswith("/said")]:
        arrays[name] = np.searchsorted(kept, arrays[name]).astype(np.int16)
    return arrays | {"names/said": names(tokens.decode(token) for token in kept)}


def packed(attention: list[Float[Tensor, "1 H T T"]]) -> np.ndarray:
    """Return the lower halves of a text's maps row by row in parts of 255, [layers, H,
    T (T + 1) / 2]."""
    rows, columns = np.tril_indices(attention[0].shape[-1])
    layers = [maps[0].numpy()[:, rows, columns] for maps in attention]
    return np.rint(255 * np.stack(layers)).astype(np.uint8)


def _lens(
    model: Reader, stream: Float[Tensor, "T d"], text: Int[Tensor, "T"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what each next token costs, the likeliest one and its probability, where the stream is
    read as if it were that after the last layer."""
    logits = model.unembed(stream)  # (T, N)
    losses = F.cross_entropy(logits[:-1], text[1:], reduction="none")
    probabilities, said = logits.softmax(-1).max(-1)
    return losses.numpy(), said.numpy(), probabilities.numpy()
