"""A GGUF file that a visitor gives: it opens like the models that are here, and of a file that
cannot be read a sentence is said and nothing is kept. Skipped without
tests/requirements-pretrained.txt."""

import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

gguf = pytest.importorskip("gguf")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

from house import house  # noqa: E402
from papers.gguf_names import interleaved, name_in_gguf  # noqa: E402
from test_links import open_page  # noqa: E402

from icl_core import registry  # noqa: E402
from icl_core.command.cli import main  # noqa: E402
from icl_core.contract.experiment import CannotDraw, Run  # noqa: E402
from icl_core.contract.knobs import BadSetting, NotHere  # noqa: E402
from icl_core.contract.settings_io import parse  # noqa: E402
from icl_core.contract.story import resolve_beats  # noqa: E402
from icl_core.jobs import queue, table  # noqa: E402
from icl_core.machine import device  # noqa: E402
from icl_core.papers.birth import weights_facts, weights_file  # noqa: E402
from icl_core.papers.birth.pretrained import given, recall  # noqa: E402
from icl_core.papers.birth.pretrained.own_text import of_view  # noqa: E402
from icl_core.papers.birth.pretrained.planted import CHARACTERS, HIDDEN, planted  # noqa: E402
from icl_core.papers.birth.pretrained.readers import gguf_file, gguf_header  # noqa: E402
from icl_core.papers.birth.pretrained.readers.checks import BadModel, NoRoom  # noqa: E402
from icl_core.papers.birth.pretrained.readers.gguf_file import Facts  # noqa: E402
from icl_core.papers.birth.pretrained.run import compute  # noqa: E402
from icl_core.papers.birth.pretrained.settings import GIVEN, Config, View  # noqa: E402
from icl_core.papers.birth.pretrained.sources import RESIDENT  # noqa: E402
from icl_core.runs import documents  # noqa: E402
from icl_core.runs.request import Request  # noqa: E402
from pages.ui.controls import uploads  # noqa: E402
from tests.recorder import Recorder  # noqa: E402

N = 258  # tokens of the file: a start token, one for every byte, and a pair
SMALL = {"length": 16, "sequences": 1, "asked": 40}
PAGE = "experiment=pretrained&preset=planted&model=given"


def written(
    path: Path,
    architecture: str = "llama",
    entries: Mapping[str, tuple[str, Any]] | None = None,
    **changed: np.ndarray,
) -> bytes:
    """The planted model of Llama's shape as a GGUF file, with a token for every byte; tensors
    `changed` by the file's names, in place of theirs, and `entries` of the metadata, each with the
    format's name of its type."""
    model = planted()
    shape = model.shape
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    letters = [*CHARACTERS[:-1], "Ġ"]  # the last one is the space
    others = [letter for letter in alphabet if letter not in letters]
    pair = others[:2]
    others.append("".join(pair))
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.T)
    writer.add_embedding_length(shape.d)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(shape.heads)
    writer.add_key_length(model.d_H)
    writer.add_layer_norm_rms_eps(model.epsilon)
    writer.add_rope_freq_base(model.base)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*letters, *others])
    writer.add_token_types([3, *[1] * (len(letters) - 1), *[3] * len(others)])
    writer.add_token_merges([" ".join(pair)])
    writer.add_bos_token_id(0)
    for name, weight in model.weights.items():
        values = weight.numpy()
        if name in ("model.embed_tokens.weight", "lm_head.weight"):
            values = np.concatenate([values, np.zeros((len(others), shape.d), np.float32)])
        if ".q_proj." in name or ".k_proj." in name:
            values = interleaved(values, shape.heads)
        values = changed.get(name_in_gguf(name), values)
        writer.add_tensor(name_in_gguf(name), np.ascontiguousarray(values))
    for name, (kind, value) in (entries or {}).items():
        writer.kv_data[0][name] = gguf.GGUFValue(value, gguf.GGUFValueType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    return written(tmp_path_factory.mktemp("given") / "model.gguf")


@pytest.fixture
def own_house(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        yield runs


def files(runs) -> list[str]:
    """The names of all that is kept of weights, folders included."""
    return sorted(path.name for path in (runs.local / "weights").rglob("*"))


def given_file(path: Path, number: int) -> str:
    """The digest of a file that is given under this name; of two numbers two files, of which the
    smaller one is the older."""
    content = written(path, **{"output_norm.weight": np.full(256, 1 + number, np.float32)})
    digest = documents.keep("weights", given.read(content), "a", f"{number}.gguf")
    os.utime(weights_file.path_of(digest), (number, number))
    return digest


def names_of(digests: list[str]) -> list[str]:
    """The names of all that is kept of these weights."""
    return sorted(f"{digest}.{ending}" for digest in digests for ending in ("gguf", "name"))


def run_with_panels(config: Config) -> Run:
    """The run of these settings, every panel of which has a title."""
    run = Run(config, compute(config, Recorder()))
    for drawing in registry.experiment("birth.pretrained").drawings:
        if drawing.applies(config):
            assert drawing.panel(run, View()).title
    return run


def test_a_file_opens_like_the_models_that_are_here(own_house, content):
    digest = documents.keep("weights", given.read(content))
    config = Config(model=GIVEN, weights=digest, **SMALL)
    assert config.size.layers == 3 and config.size.heads == 4 and config.size.N == 64
    run = run_with_panels(config)
    expected = compute(Config(**SMALL), Recorder())
    # the same heads: all but what is said, where there are more tokens
    for name in ("names/strongest", "names/previous", "names/best"):
        np.testing.assert_array_equal(run[name], expected[name])
    for name in ("heads/scores", "best/recall"):
        np.testing.assert_allclose(run[name], expected[name], atol=1e-4)
    # the visitor's text is read by this file's model, not by the planted one
    reading = of_view(run, View(typed="mXk7 bQzmXk7 bQz"))
    assert len(reading.losses) == 16 and RESIDENT.key == digest


def test_a_file_is_named_by_its_content_alone(own_house, content, tmp_path, capsys):
    outside = sorted(tmp_path.rglob("*"))
    digest = documents.keep("weights", given.read(content), name="../../x.gguf")
    assert files(own_house) == names_of([digest])
    new = [path for path in tmp_path.rglob("*") if path not in outside]
    assert all(own_house.local in (path, *path.parents) for path in new)
    assert documents.name_of("weights", digest) == "../../x.gguf"
    path = tmp_path / "mine.gguf"
    path.write_bytes(content)
    assert main(["weights", str(path)]) == 0
    assert f"--set weights={digest}" in capsys.readouterr().out
    assert parse(Config, {"weights": digest}).model == GIVEN


def fail(*_: object) -> None:
    raise OSError("the disk is full")


def test_the_oldest_of_three_files_makes_room(own_house, tmp_path, monkeypatch):
    path = tmp_path / "model.gguf"
    digests = [given_file(path, number) for number in range(3)]
    assert files(own_house) == names_of(digests[1:])
    with pytest.raises(NotHere, match="got one that is not here: give it again"):
        Config(model=GIVEN, weights=digests[0])
    # what cannot be written takes the place of none
    with monkeypatch.context() as full:
        full.setattr(documents, "write_whole", fail)
        with pytest.raises(OSError, match="the disk is full"):
            given_file(tmp_path / "other.gguf", 3)
    assert given.load(digests[1]) and given.load(digests[2])
    # one that is given again is no third one
    documents.keep("weights", given.read(path.read_bytes()))
    assert given.load(digests[1]) and given.load(digests[2])


def test_a_file_that_a_job_waits_for_stays(own_house, tmp_path):
    path = tmp_path / "model.gguf"
    digests = [given_file(path, 0)]
    config = Config(model=GIVEN, weights=digests[0], **SMALL)
    key = queue.submit(Request("birth.pretrained", config))
    digests += [given_file(path, number) for number in (1, 2)]
    assert files(own_house) == names_of(digests)
    queue.cancel(key)
    digests.append(given_file(path, 3))
    assert files(own_house) == names_of(digests[2:])
    assert documents.ENDED == table.ENDED


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def entry(path: Path, name: str, kind: str, value: Any) -> bytes:
    return written(path, entries={name: (kind, value)})


def only_entry(content: bytes, kind: bytes, length: int) -> bytes:
    """The file with one entry, `x`, which is so long."""
    begin = content[:8] + (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    entry = b"\x01\0\0\0\0\0\0\0x" + kind
    return begin + entry + length.to_bytes(8, "little") + bytes(length)


def long_text(content: bytes) -> bytes:
    """A text of 40 million bytes, which the file has."""
    return only_entry(content, (8).to_bytes(4, "little"), 4 * 10**7)


def ordinary(count: int) -> list[int]:
    """The kinds of the file's tokens, of which so many stand for text."""
    return [3, *[1] * count, *[3] * (N - 1 - count)]


def nan(path: Path) -> bytes:
    return written(path, **{"output_norm.weight": np.full(256, np.nan, np.float32)})


def endless(content: bytes) -> bytes:
    """A list of a hundred million bytes, which the file has."""
    return only_entry(content, (9).to_bytes(4, "little") + (0).to_bytes(4, "little"), 10**8)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda content, path: b"", "must begin with GGUF, got 0 bytes"),
        (lambda content, path: b"x" * 100, "must begin with GGUF, got b'xxxx'"),
        (lambda content, path: content[: len(content) // 2], "bytes, got .*: cut off"),
        (lambda content, path: content[:500], "cut off or damaged: its lists leave it"),
        (lambda content, path: content[:200] + b"\xff" * 8 + content[208:], "damaged"),
        (lambda content, path: endless(content), "may have 1,000,000 items together, got 100,"),
        (lambda content, path: nan(path), "output_norm.weight must hold finite numbers"),
        (
            lambda content, path: written(path, "qwen9"),
            "'qwen9' is not known in GGUF; known: .*lla",
        ),
        (lambda content, path: written(path, "qwen2"), "family qwen2; missing: .*q_proj.bias,"),
        (lambda content, path: pickle.dumps(Bomb()), "is pickled, and to open such a file may run"),
        (lambda content, path: save({"x": torch.ones(3)}), "holds no settings and no tokens"),
        (
            lambda content, path: written(path, **{"blk.0.attn_v.weight": np.ones((8, 256), "f4")}),
            r"self_attn.v_proj.weight must have shape \(256, 256\), got \(8, 256\)",
        ),
        (lambda content, path: long_text(content), "may have 33,554,432 bytes together, got 40,"),
        (
            lambda content, path: entry(path, "general.alignment", "FLOAT32", 32.0),
            "general.alignment must be a power of two, got 32.0",
        ),
        (
            lambda content, path: entry(path, "llama.attention.key_length", "UINT32", 63),
            "attention.key_length must be 64, which is what is computed of this family, got 63",
        ),
        (
            lambda content, path: entry(path, "tokenizer.ggml.merges", "ARRAY", [1, 2]),
            r"list tokenizer.ggml.merges must hold texts in UTF-8 alone, got \[1, 2\]",
        ),
        (
            lambda content, path: entry(path, "tokenizer.ggml.tokens", "ARRAY", [1] * N),
            "list tokenizer.ggml.tokens must hold texts",
        ),
        (
            lambda content, path: entry(path, "tokenizer.ggml.token_type", "ARRAY", [1.0] * N),
            "list tokenizer.ggml.token_type must hold whole numbers",
        ),
        (
            lambda content, path: entry(path, "tokenizer.ggml.token_type", "ARRAY", ordinary(19)),
            "at least 20 tokens must stand for text, got 19",
        ),
    ],
)
def test_of_a_file_that_is_refused_nothing_is_kept(own_house, content, tmp_path, change, match):
    changed = change(content, tmp_path / "changed.gguf")
    with pytest.raises(BadSetting, match=match):
        given.read(changed)
    assert files(own_house) == [] and not Path("unpickled").exists()


def test_a_file_that_is_too_large_is_not_even_written(own_house, content, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", lambda *_: pytest.fail("it was written"))
    with pytest.raises(BadSetting, match=r"at most 209,715,200 bytes \(200 MB\), got 209,715,201"):
        given.read(bytes(weights_facts.LIMIT.largest + 1))
    monkeypatch.undo()
    # and what does not fit the memory is not read
    monkeypatch.setattr(device, "release", lambda: 2**20)
    monkeypatch.setattr(gguf_file, "_network", lambda *_: pytest.fail("a tensor was read"))
    with pytest.raises(BadSetting, match="GiB of memory"):
        given.read(content)


def test_a_file_that_has_changed_since_is_not_opened(own_house, content):
    digest = documents.keep("weights", given.read(content))
    weights_file.path_of(digest).write_bytes(content[:-4] + b"\1\1\1\1")
    with pytest.raises(NotHere, match="must be as it was kept, got another: give it again"):
        given.load(digest)


def test_what_a_killed_check_has_left_is_deleted(own_house, content):
    folder = own_house.local / "weights" / ".checked-left"
    folder.mkdir(parents=True)
    (folder / "the file").write_bytes(b"x")
    given.read(content)
    assert folder.exists()  # another visitor's, perhaps
    os.utime(folder, (0, 0))
    given.read(content)
    assert files(own_house) == []


def test_a_check_that_ends_meanwhile_takes_its_folder_along(own_house, content, monkeypatch):
    monkeypatch.setattr(Path, "glob", lambda folder, _: iter([folder / ".checked-gone"]))
    assert given.read(content).facts.layers == 3


def test_one_file_at_a_time_is_checked_against_the_free_memory(own_house, content, monkeypatch):
    checked = gguf_file.read
    locked = []

    def watched(path):
        locked.append(given._checking.locked())
        return checked(path)

    monkeypatch.setattr(gguf_file, "read", watched)
    given.read(content)
    assert locked == [True] and not given._checking.locked()


def test_a_model_without_a_pair_of_heads_is_measured_but_for_the_pair(content, monkeypatch):
    """As every first checkpoint of a series is: only the panels that need the pair say so."""
    for layers, heads in ((1, 2), (2, 1)):
        facts = Facts("llama", layers, heads, 16, 64, 60, 10**6)
        with pytest.raises(BadSetting, match="at least 3 heads in all, got"):
            given._check_enough(facts)
    monkeypatch.setattr(recall, "of_pairs", lambda _, one, other, *__: np.full((4, 4), np.nan))
    config = Config(**SMALL)
    run = Run(config, compute(config, Recorder()))
    experiment = registry.experiment("birth.pretrained")
    silent = []
    for drawing in experiment.drawings:
        if drawing.applies(config):
            try:
                assert drawing.panel(run, View()).title
            except CannotDraw as problem:
                assert "there is no pair to measure" in str(problem)
                silent.append(drawing.name)
    assert silent == ["pairs", "by_offset"]
    beats = [beat.name for beat in resolve_beats(experiment.story, run)]
    assert "pair" not in beats and {"heads", "without"} <= {*beats}


def test_a_model_of_the_fewest_tokens_is_measured(own_house, tmp_path):
    fewest = ("ARRAY", ordinary(given.ORDINARY))
    content = written(tmp_path / "model.gguf", entries={"tokenizer.ggml.token_type": fewest})
    digest = documents.keep("weights", given.read(content))
    config = Config(model=GIVEN, weights=digest, length=48, sequences=1, asked=40)
    run_with_panels(config)


def test_a_refused_file_is_not_checked_again_but_one_without_room_is(monkeypatch):
    contents = []

    def read(content):
        contents.append(content)
        raise (NoRoom if content == b"large" else BadModel)("it is refused")

    kinds = {"weights": replace(weights_file.KIND, read=read)}
    monkeypatch.setattr(registry, "document_kinds", lambda: kinds)
    for content in (b"refused by a test", b"large"):
        for _ in range(2):
            with pytest.raises(BadSetting, match="it is refused"):
                uploads._read("weights", content)
    assert contents == [b"refused by a test", b"large", b"large"]


def test_a_header_with_any_byte_changed_is_read_or_refused(content, tmp_path):
    path = tmp_path / "changed.gguf"
    for at in range(24, 3000, 41):
        path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
        with suppress(BadSetting):
            gguf_header.read(path)


def page_of_weights() -> AppTest:
    """The page, with the group of settings open in which a file is given."""
    app = open_page("birth", PAGE)
    app.session_state["birth.pretrained:more"] = True
    app.session_state["birth.pretrained:group what is asked"] = True
    return app.run()


def texts(elements) -> list[str]:
    return [element.value for element in elements]


def upload(app: AppTest, name: str, content: bytes) -> None:
    (uploader,) = (uploader for uploader in app.file_uploader if "GGUF" in uploader.label)
    uploader.set_value((name, content, "")).run()


def test_a_file_is_given_on_the_page(own_house, content, tmp_path):
    app = page_of_weights()
    assert any("weights must be a GGUF file of your own" in text for text in texts(app.warning))
    upload(app, "torch.bin", pickle.dumps([1]))
    assert any("is pickled" in text for text in texts(app.warning))
    upload(app, "../../mine.gguf", content)
    assert any("3 layers of 4 heads" in text for text in texts(app.markdown))
    assert files(own_house) == []  # until it is used
    next(button for button in app.button if button.label == "Use these weights").click().run()
    assert not app.exception
    digest = "".join(app.query_params["weights"])
    assert files(own_house) == names_of([digest])
    assert any("3 layers of 4 heads" in text for text in texts(app.caption))
    # the field is a new one, and holds no file
    assert [field.value for field in app.file_uploader if "GGUF" in field.label] == [None]


def test_a_read_only_server_takes_no_file_and_says_so(own_house, content, monkeypatch):
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    app = page_of_weights()
    assert not any("GGUF" in field.label for field in app.file_uploader)
    caption = "Weights: none given. This server is read-only: it takes no file."
    assert caption in texts(app.caption)
    with pytest.raises(BadSetting, match="this server is read-only"):
        documents.keep("weights", given.read(content))
    assert files(own_house) == []
