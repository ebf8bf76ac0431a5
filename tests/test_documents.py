"""What visitors gave and is kept: listed with what uses it, and deleted."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from house import ROOT
from safetensors.numpy import save
from test_links import open_page
from test_own_matrices import ID, N, T, arrays, d

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.contract.settings_io import parse
from icl_core.jobs import queue
from icl_core.papers.birth.shared import own_matrices, text_counts
from icl_core.papers.birth.shared.text_counts import count, load
from icl_core.runs import documents
from icl_core.runs.request import Request

GIVEN = "the quick brown fox jumps over the lazy dog [x](http://e.x) <b>"


def test_all_that_is_kept_is_listed_and_nothing_else(runs, tmp_path):
    assert documents.all_documents() == []
    digest = documents.keep("text", count(GIVEN))
    (tmp_path / "cache" / "texts" / "notes.json").write_text("{}")
    (document,) = documents.all_documents()
    assert (document.of, document.digest) == ("text", digest)
    assert document.size == document.path.stat().st_size
    assert documents.is_used_by({"text": digest, "N": 9}, document)
    assert not documents.is_used_by({"text": ""}, document)
    documents.delete(document)
    documents.delete(document)  # another window was quicker
    assert documents.all_documents() == []


def test_a_document_keeps_the_name_of_its_file_until_it_is_deleted(runs):
    digest = documents.keep("text", count(GIVEN), name="a\n../poem.txt" + 80 * "x")
    assert documents.name_of("text", digest).startswith("a ../poem.txtxxx")
    assert len(documents.name_of("text", digest)) == documents.MOST_OF_A_NAME
    (document,) = documents.all_documents()
    document.path.with_suffix(".name").write_bytes(b"\xff")
    assert documents.name_of("text", digest) == ""
    documents.delete(document)
    assert list(document.path.parent.iterdir()) == []


def test_the_page_of_runs_names_what_uses_it_and_deletes_it(runs, tmp_path):
    digest = documents.keep("text", count(GIVEN), name="poem <b>.txt")
    config = registry.experiment("birth.induction").config(text=digest, N=20)
    runs.save("birth.induction", config, {"curve/step": np.arange(3)}, {"metrics": []})
    spare = documents.keep("text", count("abcd"))
    (tmp_path / "cache" / "texts" / f"{spare}.json").write_text("damaged")
    app = open_page("runs", "")
    texts = [markdown.value for markdown in app.markdown]
    assert not app.exception and "Given by you (2)" in [header.value for header in app.header]
    used = next(text for text in texts if digest in text)
    assert "Used by 1 run\\: The induction head\\: " in used and "text = your own" in used
    assert "that run is hidden until" in used and "**Text, its counts, poem" in used
    assert "63 characters, 36 different" in used and "](http" not in used and "<b>" not in used
    unused = next(text for text in texts if spare in text and "Used by" not in text)
    assert "No run uses it." in unused
    assert "must be as they were kept, got others\\: give the text again" in unused
    app.button(key=f"delete text {digest}").click().run()
    assert "Given by you (1)" in [header.value for header in app.header] and runs.headers() == []


def test_what_a_training_uses_cannot_be_deleted(runs, monkeypatch):
    monkeypatch.setattr("pages.ui.controls.training.ensure_workers", lambda: None)
    digest = documents.keep("text", count(GIVEN))
    config = registry.experiment("birth.induction").config(text=digest, N=20)
    queue.submit(Request("birth.induction", config))
    button = open_page("runs", "").button(key=f"delete text {digest}")
    assert button.disabled and load(digest).length


def test_the_command_line_checks_a_file_and_says_what_to_set(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "mine.safetensors").write_bytes(save(arrays(W_F=None)))
    assert main(["matrices", str(tmp_path / "mine.safetensors")]) == 0
    output = capsys.readouterr().out
    assert "N = 10, T = 32, d = 16; two layers" in output
    digest = output.split("--set matrices=")[1].strip()
    assert own_matrices.load(digest).fields["d"] == d
    text = documents.keep("text", count("the quick brown fox jumps over the lazy dog"))
    config = registry.experiment(ID).config
    for more, K in (({}, 5), ({"K": "3"}, 3), ({"text": text}, 5)):
        setting = parse(config, {"matrices": digest, **more})
        assert (setting.N, setting.T, setting.d, setting.K) == (N, T, d, K)
        assert setting.feed_forward is False
    with pytest.raises(BadSetting, match="d must be 16, as your matrices have it, got 32"):
        parse(config, {"matrices": digest, "d": "32"})
    with pytest.raises(BadSetting, match="must be ones that were given on this computer"):
        parse(config, {"matrices": "0" * 16})
    assert main(["matrices", str(tmp_path / "none.safetensors")]) == 2
    assert "FILE must be a file that can be read" in capsys.readouterr().err


def test_another_paper_declares_a_kind_that_is_kept_listed_and_deleted(runs, tmp_path, capsys):
    file = tmp_path / "mine.txt"
    file.write_text("0 1\n2 3.5\n")
    assert main(["points", str(file)]) == 0
    first, setting = capsys.readouterr().out.splitlines()
    digest = setting.removeprefix("--set points=")
    assert first == "2 points."
    assert registry.document_kinds()["points"].load(digest).points == ((0.0, 1.0), (2.0, 3.5))
    (document,) = documents.all_documents()
    assert (document.of, document.digest) == ("points", digest)
    app = open_page("runs", "")
    assert not app.exception
    assert any("**Points, mine.txt** · 2 points" in markdown.value for markdown in app.markdown)
    documents.delete(document)
    assert documents.all_documents() == [] and not document.path.exists()
    file.write_text("0 one")
    assert main(["points", str(file)]) == 2
    assert "points must be two numbers a line" in capsys.readouterr().err


def test_a_kind_that_is_broken_or_declared_twice_is_left_out(monkeypatch, caplog):
    paper = registry.papers()["toy"]
    declared = {"points": "none", "text": "points", "numbers": "points"}
    papers = {**registry.papers(), "toy": dataclasses.replace(paper, documents=declared)}
    monkeypatch.setattr(registry, "papers", lambda: papers)
    kinds = list(registry.document_kinds.__wrapped__())
    assert kinds == ["text", "matrices", "weights", "numbers"]
    messages = [record.message for record in caplog.records]
    assert messages == [
        f"the documents {name} of the paper toy are left out" for name in ("points", "text")
    ]


def test_kinds_of_documents_are_read_without_torch_and_without_an_experiment():
    code = (
        "import sys\nfrom icl_core import registry\nassert registry.document_kinds()\n"
        "assert 'torch._C' not in sys.modules\n"
        "assert not any(registry.imported(id) for id in registry.experiment_ids())"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_what_is_larger_than_can_be_given_is_not_read(runs, monkeypatch):
    path = text_counts.path_of(documents.keep("text", count("to be or not")))
    monkeypatch.setattr(text_counts, "LARGEST", path.stat().st_size - 1)
    text_counts._load.cache_clear()
    with pytest.raises(NotHere, match="must be as they were kept"):
        load(path.stem)
