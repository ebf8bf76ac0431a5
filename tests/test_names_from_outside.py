"""Names out of files, as a terminal and a page show them: no name turns around or moves what stands
beside it."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import printable, printable_lines
from icl_core.evidence import run_table
from icl_core.figures.character_labels import shown_name
from icl_core.papers.birth.shared.own_matrices import describe, read
from icl_core.runs import documents, file
from icl_core.runs.header import Header
from pages.ui.look.escape import escape_markdown
from tests.inputs.matrices import make

MARKED = "\u2068א\u05d0bc 123\u2069\u200e"


def test_no_name_opens_or_closes_an_isolation():
    assert printable(MARKED) == r"\u2068אאbc 123\u2069\u200e"
    assert shown_name("abc", 2) == "ab"
    matrices = read(save({**make.ordinary(), MARKED: np.zeros(3), "a" + 60 * "א": np.zeros(3)}))
    sentence = describe(matrices)[1]
    isolated = "\u200e\u2068\\u2068אאbc 123\\u2069\\u200e\u2069"
    long = f"\u200e\u2068a{39 * 'א'}\u2069"
    assert sentence == f"Not read: {long}, {isolated}."
    assert printable_lines(sentence) == sentence
    assert escape_markdown(sentence).count("\u2068") == 2
    with pytest.raises(BadSetting, match=r"got \u200e\u2068\\u2068אאbc 123") as raised:
        read(save({MARKED: np.zeros(3)}))
    assert printable_lines(raised.value) == str(raised.value)
    with pytest.raises(file.Damaged, match=r"\u200e\u2068.*א.*\u2069$"):
        file.unpack(file.pack({}, {"experiment": "a", "version": 1, "config": [], MARKED: 1}))


def test_what_goes_out_keeps_whole_isolations_only():
    whole = "of \u200e\u2068א\u2069, 3%\nand \u200e\u2068אב\u2069"
    assert printable_lines(whole) == whole
    for open_one in ("\u200e\u2068א", "\u2068א\u2069", "א\u2069", "\u200e\u2068א\n\u2069"):
        assert "\u2068" not in printable_lines(open_one)
        assert "\u2069" not in printable_lines(open_one)
    assert printable_lines("\u200e\u2068\u200e\u2068א\u2069") == "\\u200e\\u2068\u200e\u2068א\u2069"


def test_the_name_of_a_document_holds_no_mark(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    matrices = read(save(make.ordinary()))
    digest = documents.keep("matrices", matrices, name=f"{MARKED}.safetensors")
    assert documents.name_of("matrices", digest) == f"{printable(MARKED)}.safetensors"


def test_what_a_runs_header_says_is_isolated():
    header = Header("toy.walk", "0", {}, {"device": f"א{MARKED}"}, "", "local", Path(__file__))
    row = run_table.RunRow(header, "", {}, 1, (), 0)
    assert row.device == f"\u200e\u2068א{printable(MARKED)}\u2069"


def test_a_workers_reason_is_isolated(tmp_path, monkeypatch, capsys):
    pool = pytest.importorskip("icl_core.cluster.pool")
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    workers = pool.WorkerPool(None, lambda: False, lambda: False)
    workers._refuse("tcp://a:1", f"KeyError: {MARKED}\nmore")
    refusal = f"is refused: \u200e\u2068KeyError: {printable(MARKED)}\u2069\n"
    assert capsys.readouterr().err == f"the worker tcp://a:1 {refusal}"
