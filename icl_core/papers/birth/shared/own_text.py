"""The text whose unigrams and bigrams are the task: Tiny Shakespeare, or a visitor's own, by its
counts' digest."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from icl_core.contract.knobs import BadSetting, NotHere, document, slider
from icl_core.papers.birth.shared import text_counts
from icl_core.papers.birth.shared.task import RARE_FROM

NAME = "Tiny Shakespeare"
ALPHABET = 65
FREE = 2  # characters that must be left beside the triggers
_LISTED = 12  # characters in a sentence


def text_field(group: str) -> Any:
    """Return the field `text` of a config."""
    return document("text", NAME, of="text", group=group, fit=_fit, about=_about, added=True)


def size_field(default: int, group: str, *, added: bool = False) -> Any:
    """Return the field `N` of a config, which has the property `alphabet`; `added` where there are
    runs from before it."""
    return slider(
        "vocabulary, N",
        text_counts.LEAST,
        text_counts.MOST,
        default=default,
        at_most="alphabet",
        group=group,
        added=added,
        help="the N most frequent characters of the text",
    )


def alphabet(config: Any) -> int:
    """Return how many different characters the text of a config has; `NotHere` if its counts are
    not on this computer."""
    return len(text_counts.load(config.text).characters) if config.text else ALPHABET


def is_here(digest: str) -> bool:
    """Return whether a text's counts are on this computer, as those of Tiny Shakespeare are."""
    try:
        return not digest or bool(text_counts.load(digest))
    except NotHere:
        return False


def check(config: Any) -> None:
    """Refuse a text that is not here, and what it cannot give."""
    most = alphabet(config)
    if most < config.N:
        owner = "your text" if config.text else NAME
        raise BadSetting(
            f"N must be at most {most}, as many different characters as {owner} has, got {config.N}"
        )
    if _most_triggers(config) < 1:
        raise BadSetting(
            f"N must be at least {RARE_FROM + 1} where triggers are rare ones, got {config.N}"
        )
    if _most_triggers(config) < config.K:
        raise BadSetting(
            f"K must be at most {_most_triggers(config)} where N is {config.N}, got {config.K}"
        )


def _most_triggers(config: Any) -> int:
    """Return how many triggers N allows."""
    rare = getattr(config, "triggers", "") == "fixed rare"
    return config.N - (RARE_FROM if rare else FREE)


def fitting_K(chosen: Mapping[str, Any]) -> int:
    """Return as many triggers as are chosen, where N allows so many."""
    return max(1, min(chosen["K"], _most_triggers(SimpleNamespace(**chosen))))


def _fit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set where a text is chosen: all its characters, and no more triggers
    than these allow."""
    adapted = SimpleNamespace(**chosen)
    adapted.N = alphabet(adapted)
    return {"N": adapted.N, "K": fitting_K({**chosen, "N": adapted.N})}


def _about(chosen: Mapping[str, Any]) -> str:
    """Return what a text of a visitor's has, and what its N most frequent characters leave out."""
    counts = text_counts.load(chosen["text"])
    N = chosen["N"]
    sentence = f"{len(counts.characters)} different characters, {counts.length:,} in all."
    rare = counts.frequent(len(counts.characters))[N:]
    if not rare:
        return sentence
    share = sum(occurrences for _, occurrences in rare) / counts.length
    rarest = text_counts.shown_characters([character for character, _ in rare], _LISTED)
    return (
        f"{sentence} N = {N} leaves out the {len(rare)} rarest, {text_counts.percent(share)} of "
        f"the text: {rarest}."
    )
