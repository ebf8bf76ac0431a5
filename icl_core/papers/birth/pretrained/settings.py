"""Which model is measured and on what, what is drawn of it, and the settings to begin with."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import DIGEST, BadSetting, choice, document, settings, slider, text
from icl_core.machine import device
from icl_core.papers.birth.pretrained import checkpoints, given, sizes
from icl_core.papers.birth.pretrained.checkpoints import place_of

ASKED = "what is asked"
REPEATS = "repetition"
SMOLLM2 = "smollm2"
GEMMA3 = "gemma3"
PLANTED = "planted"
SERIES = "series"
GIVEN = "given"
LOCAL = "local"
MODELS = {
    SMOLLM2: "SmolLM2-135M-Instruct, 4 bits",
    GEMMA3: "Gemma 3, 270M, 4 bits",
    "gpt2": "GPT-2, 124M",
    "pythia-70m": "Pythia-70M",
    "pythia-160m": "Pythia-160M",
    PLANTED: "a planted head, 12 heads",
    SERIES: "a series of checkpoints",
    GIVEN: "a GGUF file of your own",
    LOCAL: "a model in the folder ICL_MODELS",
}


class Size(NamedTuple):
    """Millions of parameters, and numbers of tokens, of layers and of heads per layer."""

    millions: float
    N: int
    layers: int
    heads: int


SIZES = {
    SMOLLM2: Size(135, 49_152, 30, 9),
    GEMMA3: Size(268, 262_144, 18, 4),
    "gpt2": Size(163, 50_257, 12, 12),
    "pythia-70m": Size(71, 50_304, 6, 8),
    "pythia-160m": Size(163, 50_304, 12, 12),
    PLANTED: Size(1, 64, 3, 4),
    SERIES: Size(163, 50_304, 12, 12),  # at most, as for Pythia-160M
}
TEXTS = {
    "random": "random tokens, twice",
    "sentence": "a sentence, twice",
    "pattern": "abcXabcXab",
    "own": "your own text",
}
GRAFTS = {
    "none": "nothing",
    "zero": "zero",
    "mean": "the mean output",
    "constructed": "the construction",
}
GRAFTED = {"strongest": "the strongest heads", "pair": "the best pair", "one": "the head shown"}
DISTANCES = (8, 32, 128, 480, 544, 1024, 2000)  # on both sides of 512, the window of many models
AGAIN = 32  # tokens that are said again at a distance, at most
SCORES = {"followers": "induction", "previous": "previous token"}


def _content_here(model: str, name: str) -> str:
    """Return the digest of the series of checkpoints, or of the model with this name, that is on
    this computer; empty if there is none."""
    path = place_of(SERIES if model == SERIES else name)
    with suppress(BadSetting, OSError):  # it says why when it is to be measured
        if path:
            return checkpoints.content_of(path) if model == SERIES else checkpoints.all_of(path)
    return ""


def _weights_field() -> Any:
    """Return the field of a visitor's file, which matters where such a model is chosen."""
    return document(
        "weights",
        "none given",
        of="weights",
        group=ASKED,
        added=True,
        shown_if="is_given",
        fit=_fit,
        about=_about,
    )


def _fit(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set where a file is chosen."""
    return {"model": GIVEN}


def _about(chosen: Mapping[str, Any]) -> str:
    return given.describe(given.load(chosen["weights"]))[0]


@settings
class Config:
    """A language model, and the random tokens on which it is measured, in five draws."""

    MAIN = ("model", "length", "asked")

    model: str = choice(
        "model",
        MODELS,
        default=PLANTED,
        group=ASKED,
        help="all but the planted one need weights: shipped runs show SmolLM2 and Gemma 3 without",
    )
    weights: str = _weights_field()
    length: int = slider("random tokens, said twice, L", 8, 512, default=32, step=8, group=ASKED)
    sequences: int = slider("sequences per draw", 1, 8, default=4, group=ASKED)
    asked: int = slider(
        "tokens that memories are asked for, n",
        given.ORDINARY,
        1000,
        default=500,
        step=20,
        group=ASKED,
        help="of a model that has fewer, all",
    )
    own: str = text(
        "your own text",
        256,
        default="",
        group=ASKED,
        added=True,
        help="recorded beside the others: choose it under “View”",
    )
    named: str = text(
        "its folder or GGUF file in ICL_MODELS",
        60,
        default="",
        group=ASKED,
        added=True,
        shown_if="is_local",
        help="the name alone; any family that transformers has, of any size that fits the memory",
    )
    content: str = text(
        "what the folder holds, by its digest",
        16,
        default="",
        group=ASKED,
        added=True,
        shown_if="is_of_folder",
        help="empty: what it holds now",
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)

    @property
    def is_series(self) -> bool:
        """Whether a series of checkpoints is measured."""
        return self.model == SERIES

    @property
    def is_given(self) -> bool:
        """Whether a visitor's file is measured."""
        return self.model == GIVEN

    @property
    def is_local(self) -> bool:
        """Whether a model is measured that has its own name in ICL_MODELS."""
        return self.model == LOCAL

    @property
    def is_of_folder(self) -> bool:
        """Whether what is measured is what a folder holds now."""
        return self.is_series or self.is_local

    @property
    def source(self) -> str:
        """Which weights are read: the model's name, that of a folder or file as `local/name`, or
        the digest of a visitor's file."""
        return f"{LOCAL}/{self.named}" if self.is_local else self.weights or self.model

    @property
    def size(self) -> Size:
        """The size of the model; `NotHere` if it is a file or a folder that is not here."""
        if not self.weights and not self.is_local:
            return SIZES[self.model]
        facts = sizes.facts_of(self.named) if self.is_local else given.load(self.weights).facts
        # only tokens that stand for text are asked for, and the start token stands before them
        return Size(facts.numbers / 1e6, facts.tokens + 1, facts.layers, facts.heads)

    def check(self) -> None:
        """Name what is in the folder now, where nothing is named: a run is kept under it. Refuse a
        file that is not here, and a model that does not fit the memory: its weights in single
        precision with the largest of them twice, the logits and maps of a draw, or the maps of a
        layer at the largest distance, and the streams of all tokens asked for."""
        if self.is_of_folder and not self.content:
            object.__setattr__(self, "content", _content_here(self.model, self.named))
        if self.content and not DIGEST.fullmatch(self.content):
            raise BadSetting(
                f"content must be a digest of 16 digits from 0 to f, or empty, got {self.content!r}"
            )
        if self.is_given and not self.weights:
            raise BadSetting(
                "weights must be a GGUF file of your own, got none: give one under “What is asked”"
            )
        millions, N, layers, heads = self.size
        positions = self.sequences * (2 * self.length + 1)
        logits = positions + heads * (2 * self.length + 1) // 4  # those of copies stand once
        maps = layers * heads * positions * (2 * self.length + 1)
        largest = DISTANCES[-1] + AGAIN + 1  # positions of a repeat
        maps = max(maps, 2 * heads * largest**2)
        width = 1000
        needed = 4 * (
            int(1_200_000 * millions) + 4 * logits * N + 3 * maps + self.asked * layers * width
        )
        device.check_memory(needed, f"model {self.model}")


@settings
class View:
    """What is drawn of a model."""

    snapshot: int = slider("after layer", 0, 100, default=100)
    passage: str = choice("text", TEXTS, default="random")
    score: str = choice("heads coloured by", SCORES, default="followers")
    shown: str = text("head shown, as layer.head (empty: the strongest)", 6, default="")
    typed: str = text(
        "your own text",
        4000,
        default="",
        help="at most 1,024 tokens; needs the model's weights on this computer. Repeat something, "
        "so that there is something to learn from the context",
    )
    typed_score: str = choice("heads coloured by", SCORES, default="followers")
    typed_head: str = text("head, as layer.head (empty: the strongest)", 6, default="")
    graft: str = choice("put in the place of heads", GRAFTS, default="none")
    grafted: str = choice("of which heads", GRAFTED, default="strongest")
    grafted_count: int = slider("how many of the strongest, k", 1, 24, default=12)


PRESETS = (
    Preset(
        "smollm2",
        "SmolLM2-135M",
        Config(model=SMOLLM2),
        "A real language model of 270 heads. Which of them are the paper's head?",
    ),
    Preset(
        "gemma3",
        "Gemma 3, 270M",
        Config(model=GEMMA3),
        "72 heads, of which 12 see all positions. One of these alone carries the repeat.",
    ),
    Preset(
        "planted",
        "A planted head",
        Config(model=PLANTED),
        "Twelve random heads, among them two that the paper's formulas wrote. No weights needed.",
    ),
)
