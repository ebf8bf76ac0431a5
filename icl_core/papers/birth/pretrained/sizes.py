"""Models of any name in the folder ICL_MODELS: where one is, and its size, read without a tensor
and without `transformers`."""

from functools import lru_cache
from pathlib import Path

from icl_core.contract.knobs import NotHere
from icl_core.papers.birth.pretrained.checkpoints import FOLDER, place_of
from icl_core.papers.birth.pretrained.readers import folder, gguf_file
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Facts


def path_of(name: str) -> Path:
    """Return the folder or the GGUF file of this name. Raises `NotHere` if there is none."""
    path = place_of(name) if name.strip(".") and "/" not in name and "\\" not in name else None
    if path is None:
        raise NotHere(
            f"the weights of {name or 'a model of your own'!r:.80} are not on this computer. Name "
            f"by {FOLDER} a folder that holds them: a GGUF file, or a folder with config.json, "
            f"tokenizer.json and safetensors, got the name {name!r:.80}"
        )
    return path


def facts_of(name: str) -> Facts:
    """Return what the beginnings of its files say. Raises `NotHere` if they are not there, or not
    what they should be: a stored run of the model stays as it is."""
    path = path_of(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    try:
        stamps = tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
        return _facts(path, stamps)
    except (BadModel, OSError) as problem:
        raise NotHere(str(problem)) from problem


@lru_cache(32)
def _facts(path: Path, stamps: tuple[tuple[Path, int, int], ...]) -> Facts:
    """Return the facts of a model; `stamps` tell its files from later ones."""
    return folder.facts(path) if path.is_dir() else gguf_file.opened(path).facts
