"""A visitor's own matrices of the simplified transformer (Section 4.2), from a safetensors file.

The file has, in float16, bfloat16, float32 or float64:

    W_E [N, d]   embeddings of characters, as rows
    P [T, d]     embeddings of positions, as rows
    W_U [N, d]   embeddings of the output, as rows
    R1 [d, d]    W_O1 W_V1: what layer 1 makes of the token it attends to
    V2 [d, d]    W_V2: the values of layer 2
    W_K2 [d, d]  W_O2 [d, d]
    W_K1 [d, d]  may be left out: then the model has one layer
    W_F [d, d]   may be left out: then it has no feed-forward layer

Matrices act on columns, and the score of a query x and a key y is x^T W_K y / sqrt d. Row i of W_E
and of W_U stands for the i-th of the N most frequent characters of the text, in the order of
Unicode. The file of a trained run has the same matrices under final/ and frozen/, and is taken too,
with the task that the run was trained on.

Matrices are kept in float32 and in C order, by the digest of the file's bytes, as
<cache>/matrices/<digest>.safetensors. No torch.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from icl_core.contract.document import DocumentKind, digest_of
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of, values
from icl_core.contract.number_text import power_of_ten, significant
from icl_core.figures.character_labels import shown_name
from icl_core.machine.folders import cache_folder, read_regular_file
from icl_core.papers.birth.shared.task_knobs import KnownTask

LARGEST = 64 * 2**20  # bytes of a file
SHAPES = {
    "W_E": ("N", "d"),
    "P": ("T", "d"),
    "W_U": ("N", "d"),
    "R1": ("d", "d"),
    "V2": ("d", "d"),
    "W_K1": ("d", "d"),
    "W_K2": ("d", "d"),
    "W_O2": ("d", "d"),
    "W_F": ("d", "d"),
}
OPTIONAL = ("W_K1", "W_F")
SIZES = {"N": (4, 256), "T": (32, 256), "d": (16, 512)}  # smallest and largest
DECIDED = ("N", "T", "d", "layers", "feed_forward")  # settings of a config
LARGEST_PRODUCT = 34  # exponent of ten of what a model may compute; float32 ends at 38
_DTYPES = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}
_ALLOWED_DTYPES = "float16, bfloat16, float32 or float64"
_RUN_FOLDERS = ("final", "frozen")  # of a run's file
_TASK = tuple(knobs_of(KnownTask))
# metadata of a file that is kept, and of a run's
_KEPT_TASK = "task"
_RUN_RECORD = "run"
_FEW = 8  # names in a sentence
_LONGEST_REASON = 200  # characters
_OF_THE_SETTING = "K, triggers, outputs and text are those of the setting."


@dataclass(frozen=True, eq=False)
class Matrices:
    """Matrices by name, in float32.

    task          the settings of the task that they were trained on, those of KnownTask, if the
                  file said so

    Of a file just read also what was not taken:

    left_out      what else was in it
    unasked_task  why the task that it names cannot be asked here; empty if it can, or names none
    """

    named: Mapping[str, np.ndarray]
    task: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    unasked_task: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The settings of a config that the matrices decide, those of DECIDED."""
        N, d = self.named["W_E"].shape
        return {
            "N": N,
            "T": len(self.named["P"]),
            "d": d,
            "layers": 2 if "W_K1" in self.named else 1,
            "feed_forward": "W_F" in self.named,
        }

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file that is kept; equal matrices of equal tasks have equal bytes."""
        metadata = {_KEPT_TASK: json.dumps(self.task, sort_keys=True)} if self.task else None
        return save(dict(self.named), metadata)

    @cached_property
    def digest(self) -> str:
        """The digest by which the matrices are kept."""
        return digest_of(self.content)


def read(content: bytes) -> Matrices:
    """Return the matrices in the bytes of a file.

    `BadSetting` says what was expected and what came.
    """
    KIND.check_size(len(content))
    try:
        parts = dict(deserialize(content))
    except SafetensorError as problem:
        content_name = f"{len(content):,} bytes that are none" if content else "an empty file"
        reason = f" ({shown_name(problem, 120)})"
        if content.startswith((b"PK\x03\x04", b"\x93NUMPY")):
            content_name = "a NumPy file or another archive"
            reason = ": save the arrays with safetensors.numpy.save_file"
        raise BadSetting(
            f"matrices must be a whole safetensors file, got {content_name}{reason}"
        ) from problem
    names_in_file = _names_in_file(parts)
    missing = [name for name in SHAPES if name not in names_in_file and name not in OPTIONAL]
    if missing:
        present = _first_few(sorted(parts)) or "none"
        raise BadSetting(
            f"matrices must be named {', '.join(SHAPES)}; missing: {', '.join(missing)}; got "
            f"{present}"
        )
    matrix_parts = {name: parts[names_in_file[name]] for name in SHAPES if name in names_in_file}
    _check_shapes({name: tuple(part["shape"]) for name, part in matrix_parts.items()})
    arrays = {name: _float32(name, part) for name, part in matrix_parts.items()}
    _check_products(arrays)
    task, unasked_task = _task(content)
    left_out = _left_out(parts, names_in_file.values())
    return Matrices(arrays, task, left_out, unasked_task)


def _names_in_file(parts: Iterable[str]) -> dict[str, str]:
    """Return what each matrix is called in a file: its name, or that in the file of a run."""
    names: dict[str, str] = {}
    for name in sorted(parts):
        folder, _, rest = name.rpartition("/")
        short = rest if folder in _RUN_FOLDERS else name
        if short in names:
            both = _first_few([names[short], name], " and ")
            raise BadSetting(f"{shown_name(short, 80)} must be there once, got {both}")
        if short in SHAPES:
            names[short] = name
    return names


def _left_out(names: Iterable[str], read_names: Collection[str]) -> tuple[str, ...]:
    """Return what is not read: by name, but the many tensors of a run's file together."""
    is_run = any(name.partition("/")[0] in _RUN_FOLDERS for name in read_names)
    others = sorted(name for name in names if name not in read_names)
    single = [name for name in others if not (is_run and "/" in name)]
    if len(single) < len(others):
        single.append("the rest of the run's file")
    return tuple(single)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if len(shape) != 2:
            raise BadSetting(
                f"{name} must be a matrix [{', '.join(SHAPES[name])}], got the shape {list(shape)}"
            )
    sizes = {"N": shapes["W_E"][0], "T": shapes["P"][0], "d": shapes["W_E"][1]}
    sources = {"N": "rows of W_E", "T": "rows of P", "d": "columns of W_E"}
    for letter, (low, high) in SIZES.items():
        if not low <= sizes[letter] <= high:
            raise BadSetting(
                f"{letter}, the {sources[letter]}, must be from {low} to {high}, got "
                f"{sizes[letter]}"
            )
    for name, shape in shapes.items():
        expected = [sizes[letter] for letter in SHAPES[name]]
        if list(shape) != expected:
            letters = ", ".join(SHAPES[name])
            raise BadSetting(
                f"{name} must have the shape [{letters}] = {expected}, got {list(shape)}"
            )


def _float32(name: str, part: Mapping[str, Any]) -> np.ndarray:
    """Return a tensor of a file in float32; `BadSetting` if a number of it is not finite."""
    if part["dtype"] not in _DTYPES:
        raise BadSetting(f"{name} must be {_ALLOWED_DTYPES}, got {part['dtype']}")
    raw = np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"])
    if part["dtype"] == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        array = raw.astype(np.float32)
    count = int((~np.isfinite(array)).sum())
    if count:
        kind = "NaN" if np.isnan(array).any() else "infinite, or too large for float32"
        raise BadSetting(
            f"every number of {name} must be finite, got {count:,} that "
            f"{'is' if count == 1 else 'are'} {kind}"
        )
    return array


def _check_products(named: Mapping[str, np.ndarray]) -> None:
    """Refuse matrices of which single precision cannot hold what the model computes.

    The bound is the product of the matrices' norms along the longest path to a logit or a score.
    """
    norms = {name: float(np.linalg.norm(array.astype(np.float64))) for name, array in named.items()}
    stream = (1 + norms["W_E"] + norms["P"]) * (1 + norms["R1"])
    output = (1 + norms["V2"]) * (1 + norms["W_O2"]) * (1 + norms.get("W_F", 0.0))
    scores = stream**2 * (1 + max(norms["W_K2"], norms.get("W_K1", 0.0)))
    largest = max(scores, stream * output * (1 + norms["W_U"]))
    if largest > 10.0**LARGEST_PRODUCT:
        raise BadSetting(
            f"what a model computes must stay below {power_of_ten(LARGEST_PRODUCT)} to be measured "
            f"in single precision, got matrices whose scores or logits may reach "
            f"{significant(largest, 2)}"
        )


def _task(content: bytes) -> tuple[dict[str, Any], str]:
    """Return the settings of the task that a file's header names, a run's or one kept here, and why
    they cannot be asked here. Both are empty if it names none."""
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = header.get("__metadata__", {})
        if _KEPT_TASK in metadata:
            settings = json.loads(metadata[_KEPT_TASK])
        else:
            # a run's file leaves out a text that is Tiny Shakespeare
            settings = {"text": ""} | json.loads(metadata[_RUN_RECORD])["config"]
        return values(KnownTask(**{name: settings[name] for name in _TASK})), ""
    except BadSetting as problem:
        return {}, str(problem)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, ""  # no run of a task: the setting's own is asked


def describe(matrices: Matrices) -> list[str]:
    """Return what was read of a file and what was not, in sentences for whoever gave it."""
    fields = matrices.fields
    layers = "one layer, as there is no W_K¹" if fields["layers"] == 1 else "two layers"
    feed_forward = (
        "a feed-forward layer"
        if fields["feed_forward"]
        else "no feed-forward layer, as there is no W_F"
    )
    sentences = [
        f"{', '.join(matrices.named)}: N = {fields['N']}, T = {fields['T']}, d = {fields['d']}; "
        f"{layers}; {feed_forward}."
    ]
    if matrices.left_out:
        sentences.append(f"Not read: {_first_few(matrices.left_out)}.")
    if matrices.task:
        settings = {name: value for name, value in matrices.task.items() if value}
        sentences.append(f"Trained with {_task_words(settings)}.")
    elif matrices.unasked_task:
        sentences.append(
            "The task that the file names cannot be asked here "
            f"({shown_name(matrices.unasked_task, _LONGEST_REASON)}): {_OF_THE_SETTING}"
        )
    else:
        sentences.append(f"The file does not say on what task they were trained: {_OF_THE_SETTING}")
    return sentences


def _task_words(task: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {shown_name(value, 40) or 'none'}" for name, value in task.items())


def other_task(matrices: Matrices, chosen: Mapping[str, Any]) -> str:
    """Return a sentence if the `chosen` settings ask for another task than the matrices were
    trained on, else an empty text."""
    others = {name: value for name, value in matrices.task.items() if chosen[name] != value}
    return f"Trained with {_task_words(others)}; here they are asked otherwise." * bool(others)


def _first_few(names: Iterable[str], between: str = ", ") -> str:
    labels = [shown_name(name, 40) for name in names]
    more = f" and {len(labels) - _FEW} more" if len(labels) > _FEW else ""
    return between.join(labels[:_FEW]) + more


def path_of(digest: str) -> Path:
    """Return the file of the matrices with this digest, whether it is there or not."""
    return cache_folder() / "matrices" / f"{digest}.safetensors"


def load(digest: str) -> Matrices:
    """Return the matrices with this digest; `NotHere` if they are not kept on this computer."""
    try:
        status = path_of(digest).stat()
        return _load(path_of(digest), (status.st_mtime_ns, status.st_size))
    except OSError as problem:
        raise NotHere(
            f"the matrices {digest} must be ones that were given on this computer, got ones that "
            "are not here"
        ) from problem
    except ValueError as problem:
        raise NotHere(
            f"the matrices {digest} must be as they were kept, got others: give the file again"
        ) from problem


@lru_cache(maxsize=4)
def _load(path: Path, stamp: tuple[int, int]) -> Matrices:
    """Return the matrices of a file; `stamp`, its time and size, tells it from a later one."""
    content = read_regular_file(path, LARGEST)
    if digest_of(content) != path.stem:
        raise ValueError(f"the digest must be {path.stem}, got {digest_of(content)}")
    matrices = read(content)
    for array in matrices.named.values():
        array.flags.writeable = False
    return matrices


_SHAPES = ", ".join(f"`{name}` [{', '.join(letters)}]" for name, letters in SHAPES.items())
_SIZES = ", ".join(f"{letter} from {low} to {high}" for letter, (low, high) in SIZES.items())
KIND = DocumentKind(
    title="Matrices",
    subject="matrices",
    largest=LARGEST,
    read=read,
    describe=describe,
    path_of=path_of,
    load=load,
    plural="matrices",
    are="matrices are",
    this="these matrices",
    in_use="These matrices are in use.",
    away="The matrices {} are not on this computer.",
    command="check a safetensors file of matrices of yours and keep them; prints the setting",
    file=f"at most {LARGEST // 2**20} MB",
    upload=f"Choose a file, up to {LARGEST // 2**20} MB",
    instructions=f"It is a safetensors file with {_SHAPES}; {_SIZES}. You can leave out "
    f"{' and '.join(f'`{name}`' for name in OPTIONAL)}: then the model has one layer, or no "
    "feed-forward layer. `R1` is W_O¹ W_V¹, `V2` is W_V². Matrices act on columns; a query x "
    "scores a key y by xᵀ W_K y / √d. Row i of `W_E` and `W_U` is the i-th of the N most frequent "
    "characters of the text, in Unicode's order. The file of a run, under ⋯, is taken too, with "
    "its task. Save arrays in C order (`np.ascontiguousarray`): safetensors 0.8.0 scrambles those "
    "in Fortran order (its issue 825). The matrices are kept on this computer.",
)
