"""Tokens of a model: from a text to their numbers and back, by the package `tokenizers`. A special
token that someone types stays text."""

import json
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from icl_core.machine.folders import read_regular_file
from icl_core.papers.birth.pretrained.readers.checks import BadModel

# kinds of tokens in GGUF
NORMAL = 1
CONTROL = 3
SIZE = 30 * 2**20  # bytes of tokenizer.json
# by the file's name for it: whether digits are split one by one before pairs are merged
SPLITS = {"smollm": True, "gpt-2": False, "default": False}
MISSING = (
    "a model's tokens need the package tokenizers: pip install -r "
    "icl_core/papers/birth/pretrained/requirements.txt"
)


@runtime_checkable
class Tokens(Protocol):
    """The tokens of a model.

    start     the token before every text
    ordinary  the tokens that stand for text, from which random ones are drawn
    """

    start: int
    ordinary: list[int]

    def encode(self, text: str) -> list[int]: ...
    def decode(self, token: int) -> str: ...


class _ByPackage:
    """What both kinds of file have in common."""

    tokenizer: Any
    start: int
    ordinary: list[int]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text. Raises `BadModel` if they do not spell it: some bytes may
        have no token."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        if self.tokenizer.decode(ids, skip_special_tokens=False) != text:
            raise BadModel(f"this model has no tokens for some characters of {text!r:.60}")
        return ids

    def decode(self, token: int) -> str:
        """Return a token as text."""
        return self.tokenizer.decode([token], skip_special_tokens=False)


class GgufTokens(_ByPackage):
    """The tokens of a GGUF file, by its metadata."""

    def __init__(self, fields: Any, N: int) -> None:
        model = fields.get("tokenizer.ggml.model", str)
        split = fields.get("tokenizer.ggml.pre", str, "default")
        if model != "gpt2" or split not in SPLITS:
            raise BadModel(
                f"tokens must be of the kind gpt2 with one of {', '.join(SPLITS)}, got "
                f"{model!r:.20} with {split!r:.20}"
            )
        texts = fields.items("tokenizer.ggml.tokens", str)
        kinds = fields.items("tokenizer.ggml.token_type", int)
        merges = fields.items("tokenizer.ggml.merges", str)
        if len(kinds) != N or any(merge.count(" ") != 1 for merge in merges):
            raise BadModel(
                f"the file must give the kinds of {N} tokens, and pairs to merge: it is damaged"
            )
        self.tokenizer = _byte_pairs(texts, merges, SPLITS[split])
        self.start = _token(fields.get("tokenizer.ggml.bos_token_id", int), N)
        self.ordinary = [token for token, kind in enumerate(kinds) if kind == NORMAL]


def _byte_pairs(texts: list[str], merges: list[str], digits: bool) -> Any:
    """Return a tokeniser that merges pairs of bytes."""
    try:
        from tokenizers import (  # pyright: ignore[reportMissingImports]
            Tokenizer,
            decoders,
            models,
            pre_tokenizers,
        )
    except ImportError:
        raise BadModel(MISSING) from None
    vocabulary = {text: token for token, text in enumerate(texts)}
    pairs = []
    for merge in merges:
        first, second = merge.split(" ")
        pairs.append((first, second))
    try:
        tokenizer = Tokenizer(models.BPE(vocabulary, pairs))
    except Exception as problem:  # a pair that is no token
        raise BadModel(f"the file's pairs to merge must be tokens: {problem!s:.80}") from None
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
    parts = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*parts, by_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


class JsonTokens(_ByPackage):
    """The tokens of a folder, by its `tokenizer.json`."""

    def __init__(self, path: Path, N: int, start: Any) -> None:
        try:
            from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise BadModel(MISSING) from None
        try:
            content = read_regular_file(path, SIZE)
            self.tokenizer = Tokenizer.from_str(content.decode())
            added = json.loads(content).get("added_tokens", [])
            special = {entry["id"] for entry in added if entry.get("special")}
        except Exception:  # the package has no errors of its own
            raise BadModel(
                f"expected {path.name} in the folder, at most {SIZE // 2**20} MB; it is missing or "
                "damaged"
            ) from None
        self.tokenizer.encode_special_tokens = True  # what is typed is text
        if self.tokenizer.get_vocab_size() > N:
            raise BadModel(
                f"{path.name} must have at most {N} tokens, got {self.tokenizer.get_vocab_size()}"
            )
        self.start = _token(start, N)
        every = self.tokenizer.get_vocab(with_added_tokens=False).values()
        self.ordinary = sorted(set(every) - special)


def _token(value: Any, N: int) -> int:
    if not isinstance(value, int) or not 0 <= value < N:
        raise BadModel(f"the start token must be 0 to {N - 1}, got {value!r:.40}")
    return value
