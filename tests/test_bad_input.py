"""What is typed at the command line, given as a file, found in the cache or in the environment: a
result or a sentence.

Nothing is trained here: a run that would be is only asked for.
"""

import json
import os
import string

import numpy as np
import pytest
from fuzz import EVIL, NASTY, shows_as_text, texts, tries
from house import TOY, house
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import save
from test_own_matrices import arrays as matrices

from icl_core import build, registry
from icl_core.cluster import dispatcher
from icl_core.command import cli
from icl_core.contract.document import digest_of
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of
from icl_core.jobs import terminal
from icl_core.jobs.faults import Failed
from icl_core.machine import device, limits
from icl_core.papers.birth.pretrained import sources
from icl_core.papers.birth.shared import own_matrices, text_counts
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.runs import documents, store
from icl_core.runs.request import Request
from icl_core.training import segments
from pages.ui.look.escape import escape_markdown

CONFIG = registry.experiment(TOY).config
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(10), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise Failed("it was asked for")

    monkeypatch.setattr(terminal, "train_or_load", refuse)
    monkeypatch.setattr("icl_core.sweeps.terminal.carry_out", refuse)
    monkeypatch.setattr(build, "build_runs", refuse)
    monkeypatch.setattr(dispatcher, "work", lambda *_: None)
    monkeypatch.setenv("ICL_SCHEDULER", "")
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


def check_sentence(problem: BadSetting) -> None:
    assert 0 < len(str(problem)) < 1500 and shows_as_text(escape_markdown(problem))


NAMES = st.sampled_from([TOY, "toy", "toy.none", "birth.induction", ""]) | texts(20)
PAIRS = st.builds(
    "{}={}".format, st.sampled_from([*knobs_of(CONFIG), "snapshot"]) | texts(10), texts()
)
WORDS = texts(20).filter(lambda word: not word.startswith("-"))
FLAGS = st.one_of(
    st.tuples(st.sampled_from(["--set", "--over", "--view"]), PAIRS | WORDS),
    st.tuples(
        st.sampled_from(
            ["--seeds", "--jobs", "--slots", "--server", "--preset", "--drawing", "--out"]
        ),
        WORDS,
    ),
    st.tuples(st.sampled_from(["--json", "--once", "--none", "-x"])),
    st.tuples(texts(20)),
)
COMMANDS = st.sampled_from(
    ["list", "show", "run", "sweep", "figure", "text", "matrices", "work", "build", "none", ""]
)


@tries(150)
@given(command=COMMANDS, name=NAMES, flags=st.lists(FLAGS, max_size=4))
@example(command="text", name="\0", flags=[])
@example(command="figure", name="toy.walk", flags=[("--out", "\0")])
def test_the_command_line_does_it_or_says_in_a_line_what_was_expected(
    command, name, flags, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = [command, name, *(word for flag in flags for word in flag)]
    usage = False
    try:
        code = cli.main(arguments)
    except SystemExit as end:
        code = end.code
        usage = True
    errors = capsys.readouterr().err
    assert code in (0, 1, 2) and "Traceback" not in errors
    if code == 2 and not usage:
        assert errors.count("\n") == 1 and errors.strip() and len(errors) < 1500
    if code == 2 and usage:
        assert "error: " in errors


@tries(60)
@given(
    st.binary(max_size=200)
    | texts(200).map(lambda text: text.encode())
    | texts(40).map(lambda t: t.encode("utf-16"))
)
def test_any_bytes_are_a_text_or_refused(content):
    try:
        counts = text_counts.read(content)
    except BadSetting as problem:
        check_sentence(problem)
    else:
        assert counts.length == counts.unigram.sum() > 0
        assert counts.bigram.sum() <= counts.length - 1
        assert all(
            shows_as_text(escape_markdown(sentence)) for sentence in text_counts.describe(counts)
        )


WHOLE = save(matrices())


def header_with(**changes) -> bytes:
    """The file of matrices with another header."""
    length = int.from_bytes(WHOLE[:8], "little")
    header = {**json.loads(WHOLE[8 : 8 + length]), **changes}
    encoded = json.dumps({name: part for name, part in header.items() if part is not None}).encode()
    return len(encoded).to_bytes(8, "little") + encoded + WHOLE[8 + length :]


def mutated(whole: bytes) -> st.SearchStrategy[bytes]:
    """A file with some bytes changed, cut off, put in or taken out, most often at its head."""
    at = st.integers(0, min(len(whole), 600)) | st.integers(0, len(whole))
    change = st.tuples(at, st.integers(0, 8), st.binary(max_size=8))

    def changed(changes):
        content = whole
        for start, drop, more in changes:
            content = content[:start] + more + content[start + drop :]
        return content

    return st.lists(change, min_size=1, max_size=3).map(changed)


ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F16", "I64", "F8_E4M3", "x"]) | JSON,
        "shape": st.lists(st.integers(-1, 2**70), max_size=3) | JSON,
        "data_offsets": st.lists(st.integers(-1, 2**64), max_size=3) | JSON,
    }
)


@tries(80)
@given(
    mutated(WHOLE)
    | st.binary(max_size=64)
    | st.builds(lambda entry: header_with(W_E=entry), ENTRY | JSON)
)
def test_any_bytes_are_matrices_or_refused(content):
    try:
        document = own_matrices.read(content)
    except BadSetting as problem:
        check_sentence(problem)
    else:
        assert all(np.isfinite(array).all() for array in document.named.values())
        assert all(
            shows_as_text(escape_markdown(sentence)) for sentence in own_matrices.describe(document)
        )
        assert own_matrices.read(document.content).digest == document.digest


@tries(60)
@given(
    JSON.map(json.dumps).map(str.encode)
    | st.binary(max_size=60)
    | st.sampled_from([b"[" * 99999, b'{"a":' * 9999])
)
def test_any_file_of_counts_in_the_cache_is_whole_or_not_here(content):
    """By its own digest, as somebody who can write to the cache would name it."""
    path = text_counts.path_of(digest_of(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(NotHere):
        text_counts.load(path.stem)
    assert path.stem in [document.digest for document in documents.all_documents()]


COUNTED = json.loads(text_counts.count("abcabd").content)


@pytest.mark.parametrize(
    "change",
    [
        {"unigram_counts": [1, 2]},
        {"unigram_counts": [[1], [1], [1], [1]]},
        {"unigram_counts": [-1, 2, 1, 1]},
        {"unigram_counts": [float("nan"), 1, 1, 1]},
        {"unigram_counts": ["a", "b", "c", "d"]},
        {"bigram_counts": []},
        {"bigram_counts": [[1e308] * 4] * 4},
        {"characters": [1, 2, 3, 4]},
        {"characters": ["<b>", "b", "c", "d"]},
        {"characters": "abcd"},
        {"characters": ["a", "a", "b", "c"]},
        {"more": 1},
        {"characters": []},
    ],
    ids=str,
)
def test_counts_that_no_text_has_are_not_taken(change):
    content = json.dumps({**COUNTED, **change}, separators=(",", ":")).encode()
    path = text_counts.path_of(digest_of(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(NotHere, match="must be as they were kept"):
        text_counts.load(path.stem)


def test_any_bytes_in_the_place_of_a_run_are_a_run_or_passed_over(runs):
    config = CONFIG(steps=20)
    info = {"seconds": 1.0, "metrics": []}
    path = runs.save(TOY, config, {"curve/step": np.arange(3.0)}, info).path
    whole = path.read_bytes()

    @tries(40)
    @given(mutated(whole) | st.binary(max_size=64))
    def hold(content):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        header = runs.find(Request(TOY, config))
        run = runs.load(header) if header else None
        assert run is None or run.config == config
        assert all(shows_as_text(escape_markdown(message)) for message in runs.messages())

    hold()


READERS = {
    "ICL_MAX_QUEUED": lambda: limits.check_queued(1),
    "ICL_MAX_HOURS": lambda: limits.check_length(9.0),
    "ICL_READ_ONLY": limits.read_only,
    "ICL_PRECISION": device.precision,
    "ICL_COMPILE": train.compiling_wanted,
    "ICL_FAST": segments.wanted,
    "ICL_MODELS": lambda: sources._path("gpt2"),
    "ICL_MAX_GIVEN": lambda: documents._check_room(5, "visitor", []),
}
# what the commands name, in a test of their own
OTHERS = ["ICL_CACHE_LIMIT", "ICL_CACHE_DIR", "ICL_ARTIFACTS", "ICL_DEVICE", "ICL_SCHEDULER"]
SETTABLE = [word for word in NASTY if "\x00" not in word]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("value", SETTABLE, ids=range(len(SETTABLE)))
def test_any_value_of_a_variable_is_taken_or_named(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    try:
        READERS[name]()
    except BadSetting as problem:
        check_sentence(problem)
        assert any(word in str(problem) for word in (name, "limit", "may take"))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "value",
    ["", "½", "9" * 400, "9" * 5000, "..", "/etc/passwd", EVIL, "\n", "1e400"],
    ids=range(9),
)
def test_commands_name_a_variable_that_says_nothing(name, value, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    store.default.cache_clear()
    device.current_device.cache_clear()
    try:
        assert cli.main(["claims"]) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err
    finally:
        monkeypatch.undo()
        device.current_device.cache_clear()


def test_every_variable_is_tried():
    """Or known to be tried elsewhere: `OTHERS`, and where more papers are."""
    variables = set()
    for folder, _, files in os.walk(registry.__file__.rpartition("/")[0]):
        for file in files:
            if file.endswith(".py"):
                with open(f"{folder}/{file}", encoding="utf-8") as source:
                    variables |= {word for word in _words(source.read()) if word.startswith("ICL_")}
    assert variables == {*READERS, *OTHERS, "ICL_PAPERS"}


def _words(text: str) -> list[str]:
    return "".join(c if c in string.ascii_uppercase + "_" else " " for c in text).split()
