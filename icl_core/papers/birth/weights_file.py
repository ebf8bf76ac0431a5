"""A file of weights as a kind of document: its words. No torch:
the command line names the kind before a worker imports torch. What reads a file is imported once
one is read.
"""

from types import ModuleType
from typing import Any

from icl_core.contract.document import DocumentKind
from icl_core.machine import device
from icl_core.papers.birth.weights_facts import KEPT, LIMIT, TYPES, path_of


def _given() -> ModuleType:
    """Return the module that reads files; with it comes the experiment, whose presets are not
    checked."""
    with device.no_memory_check():
        from icl_core.papers.birth.pretrained import given

        return given


def _read(content: bytes) -> Any:
    return _given().read(content)


def _describe(model: Any) -> list[str]:
    return _given().describe(model)


def _load(digest: str) -> Any:
    return _given().load(digest)


KIND = DocumentKind(
    title="Weights",
    subject=LIMIT.subject,
    largest=LIMIT.largest,
    most=KEPT,
    read=_read,
    describe=_describe,
    path_of=path_of,
    load=_load,
    plural="weights",
    are="weights are",
    this="these weights",
    in_use="These weights are in use.",
    away="The weights {} are not on this computer.",
    command="check a GGUF file of a language model of yours and keep it; prints the setting",
    file=f"at most {LIMIT.largest // 2**20} MB",
    upload=f"Choose a GGUF file, up to {LIMIT.largest // 2**20} MB",
    instructions="A GGUF file of any family that transformers reads, its numbers stored as "
    f"{', '.join(TYPES)}. All of it is checked, which takes seconds; nothing in it is "
    f"run. The last {KEPT} files that were given are kept on this computer. A model as safetensors "
    "needs its settings and tokens beside it: name its folder by `ICL_MODELS` where the dashboard "
    "starts.",
)
