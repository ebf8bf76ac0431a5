"""Tokens of a model: from a text to their numbers and back, by the package `tokenizers`. A special
token that someone types stays text, a text is read whole, and every token has its own label."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from icl_core.machine.folders import read_regular_file
from icl_core.papers.birth.pretrained.readers.checks import INSTALL, BadModel
from icl_core.papers.birth.pretrained.readers.gguf_header import Header

# kinds of tokens in GGUF
NORMAL = 1
USER_DEFINED = 4
SIZE = 2**26  # bytes of tokenizer.json
BYTE = re.compile(r"<0x([0-9A-F]{2})>")  # a piece that stands for one byte
SPACE = "▁"  # in pieces of SentencePiece
# by the file's name for it: how a text is split before pairs of bytes are merged, beside those that
# `transformers` knows
PLAIN_SPLITS = ("gpt-2", "default")
BY_DIGIT = ("smollm",)
MISSING = f"a model's tokens need the packages tokenizers and transformers: {INSTALL}"


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


class FileTokens:
    """The tokens of a model's files.

    tokenizer  of the package `tokenizers`
    ordinary   numbers of the tokens that stand for text
    """

    def __init__(self, tokenizer: Any, start: int, ordinary: list[int]) -> None:
        tokenizer.no_truncation()  # a text is read whole, and nothing is added to it
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # what is typed is text
        self.tokenizer = tokenizer
        self.start = start
        self.ordinary = ordinary
        content = json.loads(tokenizer.to_str())
        self._added = {each["id"]: each["content"] for each in content["added_tokens"]}
        self._bytes_of = _bytes_of_letters() if "ByteLevel" in str(content["decoder"]) else {}

    @classmethod
    def of_gguf(cls, header: Header, family: str) -> "FileTokens":
        """Return the tokens of a GGUF file, by its metadata. Raises `BadModel`."""
        try:
            from tokenizers import pre_tokenizers  # pyright: ignore[reportMissingImports]
            from transformers.integrations.gguf.gguf_tokenizer_mapping import (  # pyright: ignore
                GGUF_PRE_TOKENIZER_SPLITS,
                convert_gguf_tokenizer,
            )
        except ImportError:
            raise BadModel(MISSING) from None
        entries = header.entries
        kind = entries.get("tokenizer.ggml.model")
        split = entries.get("tokenizer.ggml.pre", "default")
        known = (*PLAIN_SPLITS, *BY_DIGIT, *GGUF_PRE_TOKENIZER_SPLITS)
        if kind not in ("gpt2", "llama") or split not in known:
            raise BadModel(
                f"tokens must be of the kind gpt2 or llama with one of {', '.join(known)}, got "
                f"{kind!r:.20} with {split!r:.20}"
            )
        texts = listed_items(entries, "tokens", str)
        kinds = listed_items(entries, "token_type", int)
        if len(texts) != len(kinds) or len({*texts}) != len(texts):
            raise BadModel(
                f"the file must give {len(kinds)} different tokens, as many as kinds: it is damaged"
            )
        given = {
            "tokenizer_type": kind,
            "pre_tokenizer_type": split,
            "tokens": texts,
            # special tokens stay text, and other kinds are not looked for in it
            "token_type": [each if each == USER_DEFINED else NORMAL for each in kinds],
        }
        if "tokenizer.ggml.merges" in entries:
            given["merges"] = listed_items(entries, "merges", str)
        elif kind == "gpt2":
            given["merges"] = []  # of single bytes
        else:
            given["scores"] = listed_items(entries, "scores", float)
        if any(merge.count(" ") != 1 for merge in given.get("merges", ())):
            raise BadModel("the file's pairs to merge must be two tokens each: it is damaged")
        try:
            tokenizer, _ = convert_gguf_tokenizer(family, given)
        except Exception as problem:  # the package has no errors of its own
            raise BadModel(f"the file's tokens cannot be read: {problem!s:.80}") from None
        if split in BY_DIGIT:
            digits = pre_tokenizers.Digits(individual_digits=True)
            by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, by_bytes])
        start = _start(entries.get("tokenizer.ggml.bos_token_id"), len(texts))
        return cls(tokenizer, start, [at for at, each in enumerate(kinds) if each == NORMAL])

    @classmethod
    def of_folder(cls, folder: Path, N: int, settings: Mapping[str, Any]) -> "FileTokens":
        """Return the tokens of a folder, by its `tokenizer.json`. Raises `BadModel`."""
        try:
            from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise BadModel(MISSING) from None
        path = folder / "tokenizer.json"
        try:
            content = read_regular_file(path, SIZE)
            tokenizer = Tokenizer.from_str(content.decode())
        except Exception:  # the package has no errors of its own
            raise BadModel(
                f"expected {path.name} in the folder, at most {SIZE // 2**20} MB; it is missing or "
                "damaged"
            ) from None
        if tokenizer.get_vocab_size() > N:
            raise BadModel(
                f"{path.name} must have at most {N} tokens, got {tokenizer.get_vocab_size()}"
            )
        added = tokenizer.get_added_tokens_decoder()
        special = {token for token, each in added.items() if each.special}
        every = tokenizer.get_vocab(with_added_tokens=False)
        ordinary = [at for text, at in every.items() if not BYTE.fullmatch(text)]
        value = settings.get("bos_token_id")
        value = settings.get("eos_token_id") if value is None else value
        start = _start(value[0] if isinstance(value, list) and value else value, N)
        return cls(tokenizer, start, sorted({*ordinary} - special))

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text. Raises `BadModel` if they spell something else, but for a
        space before it: some characters may have no token."""
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        spelled = b"".join(self._content(token) for token in tokens).decode(errors="replace")
        if spelled not in (text, f" {text}"):
            raise BadModel(
                f"this model has no tokens for some characters of {text!r:.60}: it would read "
                f"{spelled!r:.60}"
            )
        return tokens

    def decode(self, token: int) -> str:
        """Return a token as text; a part of a character as its bytes, and a row of the embedding
        that is no token as its number."""
        content = self._content(token)
        piece = self.tokenizer.id_to_token(token)
        if piece is None:
            return f"<{token}>"
        if BYTE.fullmatch(piece) and not content.isspace():
            return piece
        try:
            return content.decode()
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in content)

    def _content(self, token: int) -> bytes:
        """Return the bytes that a token stands for."""
        if token in self._added:
            return self._added[token].encode()
        piece = self.tokenizer.id_to_token(token) or ""
        if self._bytes_of:
            return b"".join(self._bytes_of.get(letter, letter.encode()) for letter in piece)
        if byte := BYTE.fullmatch(piece):
            return bytes([int(byte[1], 16)])
        return piece.replace(SPACE, " ").encode()


def _bytes_of_letters() -> dict[str, bytes]:
    """Return the byte that each letter of a byte-level token stands for: printable ones stand for
    themselves, the others for letters from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): bytes([byte]) for byte in plain}
    return letters | {chr(256 + at): bytes([byte]) for at, byte in enumerate(others)}


def listed_items(entries: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """Return the items of a list of tokens, all of one kind. Raises `BadModel`."""
    every = entries.get(f"tokenizer.ggml.{name}")
    if not isinstance(every, list) or not all(type(item) is kind for item in every):
        what = {str: "texts in UTF-8", int: "whole numbers", float: "numbers"}[kind]
        raise BadModel(
            f"the file's list tokenizer.ggml.{name} must hold {what} alone, got {every!r:.60}"
        )
    return every


def _start(value: Any, N: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < N:
        raise BadModel(f"the start token must be 0 to {N - 1}, got {value!r:.40}")
    return value
