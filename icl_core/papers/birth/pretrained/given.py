"""A GGUF file of weights that a visitor gives. It is checked whole, tensor by tensor, before it is
kept under its digest; nothing is kept of a file that is refused."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock

from icl_core.contract.document import digest_of
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.papers.birth.pretrained.checkpoints import file_digest
from icl_core.papers.birth.pretrained.readers import gguf_file
from icl_core.papers.birth.pretrained.readers.checks import BadModel, NoRoom
from icl_core.papers.birth.pretrained.readers.model import Facts
from icl_core.papers.birth.weights_facts import KEPT, LIMIT, path_of

ORDINARY = 20  # tokens that stand for text, at least: as many as are asked for at least
UNNAMED = "the file"  # its name while it is checked, which sentences say
CHECKED = ".checked-"  # begins the name of the folder that it is then in
HEADS = 3  # at least: a third of them are looked at further
LEFT = 3600.0  # seconds after which such a folder is of a process that was killed
_checking = Lock()  # two files at once would be checked against the same free memory


class GivenModel:
    """A file of weights, whose `content` is read only where it is asked for.

    digest  names its content
    facts   what its beginning says of its model
    """

    def __init__(self, digest: str, facts: Facts, content: bytes | None = None) -> None:
        self.digest = digest
        self.facts = facts
        self._content = content

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return path_of(self.digest).read_bytes() if self._content is None else self._content


def read(content: bytes) -> GivenModel:
    """Return what a file holds, once all of it has been checked. Raises `BadSetting`."""
    LIMIT.check(len(content))
    if _is_safetensors(content):
        raise BadModel(
            "a safetensors file alone holds no settings and no tokens: put it into a folder with "
            "config.json and tokenizer.json, which the variable ICL_MODELS names, or convert the "
            "model to GGUF"
        )
    try:
        with _checking, _folder() as folder:
            (folder / UNNAMED).write_bytes(content)
            facts = gguf_file.opened(folder / UNNAMED).facts
            _check_enough(facts)
            gguf_file.read(folder / UNNAMED)
    except OSError as problem:
        raise NoRoom(f"the file cannot be checked here: {problem.strerror}") from problem
    return GivenModel(digest_of(content), facts, content)


def _check_enough(facts: Facts) -> None:
    """Refuse a model of which too little could be measured."""
    if facts.tokens < ORDINARY:
        raise BadModel(f"at least {ORDINARY} tokens must stand for text, got {facts.tokens}")
    if facts.layers * facts.heads < HEADS:
        raise BadModel(
            f"a model must have at least {HEADS} heads in all, got {facts.layers} layers of "
            f"{facts.heads}"
        )


def _is_safetensors(content: bytes) -> bool:
    """Return whether a file begins with the length of a list in braces, as safetensors does."""
    return int.from_bytes(content[:8], "little") <= len(content) and content[8:9] == b"{"


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a folder for a file that is checked, which is deleted afterwards; so are those that a
    killed process has left."""
    parent = path_of("").parent
    for each in (parent.parent, parent):  # for their owner alone
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    for former in parent.glob(f"{CHECKED}*"):
        with suppress(FileNotFoundError):  # another check has ended meanwhile
            if time.time() - former.stat().st_mtime > LEFT:
                shutil.rmtree(former, ignore_errors=True)
    folder = mkdtemp(prefix=CHECKED, dir=parent)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def describe(model: GivenModel) -> list[str]:
    """Return what was read of a file, in sentences for whoever gave it."""
    facts = model.facts
    return [
        f"Family {facts.architecture}: {facts.layers} layers of {facts.heads} heads, d = "
        f"{facts.d}, N = {facts.N:,} tokens; {facts.numbers / 1e6:,.1f} million parameters."
    ]


def load(digest: str) -> GivenModel:
    """Return what the file with this digest holds; `NotHere` if it is not kept on this computer, or
    cannot be read here."""
    try:
        status = path_of(digest).stat()
        return _load(path_of(digest), (status.st_mtime_ns, status.st_size))
    except OSError as problem:
        raise NotHere(
            f"the weights {digest} must be a file that was given on this computer, got one that "
            "is not here: give it again"
        ) from problem
    except BadSetting as problem:
        raise NotHere(f"the weights {digest} cannot be read: {problem}") from problem


@lru_cache(maxsize=KEPT)
def _load(path: Path, stamp: tuple[int, int]) -> GivenModel:
    """Return what a file holds; `stamp`, its time and size, tells it from a later one."""
    LIMIT.check(stamp[1])
    if file_digest(path) != path.stem:
        raise BadModel("the file must be as it was kept, got another: give it again")
    return GivenModel(path.stem, gguf_file.opened(path).facts)
