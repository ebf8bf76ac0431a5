"""The library: runs from Python, in the same store and queue as all others."""

import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from house import ROOT, TOY, house_that_trains

import icl_core as icl
from icl_core.command import cli
from icl_core.jobs import terminal
from icl_core.runs import store
from icl_core.runs.request import Request

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
DOCUMENTS = [
    path
    for folder in (".github", "icl_core", "pages", "tests")
    for path in sorted((ROOT / folder).rglob("*.md"))
    if BLOCK.search(path.read_text(encoding="utf-8"))
]
if BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8")):
    DOCUMENTS.append(ROOT / "README.md")


@pytest.fixture(scope="module")
def run() -> icl.LibraryRun:
    return icl.run("birth.induction", d=64, K=3)


def test_import_is_light_and_names_are_late():
    code = (
        "import sys, icl_core as icl\n"
        "from icl_core.machine import late_imports\n"
        "own = [name for name in sys.modules if name.startswith('icl_core')]\n"
        "light = {'icl_core', 'icl_core.machine', 'icl_core.machine.late_imports'}\n"
        "assert set(own) <= light, own\n"
        "assert not {'numpy', 'plotly', 'tqdm', 'streamlit'} & sys.modules.keys()\n"
        "assert set(icl.__all__) <= set(dir(icl))\n"
        "assert all(getattr(icl, name) for name in icl.__all__)\n"
        "assert not any(map(late_imports.is_imported, ('torch', 'pandas')))\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    with pytest.raises(AttributeError, match="nope"):
        icl.nope  # noqa: B018


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_of_a_document_runs(document, tmp_path, monkeypatch):
    """The blocks of a document are one program. Files that they open are shipped runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("plotly.io.show", lambda *_, **__: None)
    header = store.default().preset("birth.induction", "fastest")
    assert header is not None
    code = "\n".join(BLOCK.findall(document.read_text(encoding="utf-8")))
    for name in re.findall(r'"([\w-]+\.safetensors)"', code):
        (tmp_path / name).write_bytes(store.default().content(header))
    exec(compile(code, str(document), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: icl.run("nope"), "no experiment 'nope'; there are birth.induction"),
        (lambda: icl.run("birth.inducton"), "did you mean 'birth.induction'"),
        (lambda: icl.run("birth.induction", dd=3), r"no setting 'dd' \(did you mean 'd'\?\)"),
        (lambda: icl.run("birth.induction", d=8), "whole number from 16 to 512, got 8"),
        (lambda: icl.run("birth.induction", d="64"), "whole number from 16 to 512, got '64'"),
        (lambda: icl.run("birth.induction", "no"), "preset must be one of 'fastest'"),
        (lambda: icl.run(5), "no experiment '5'; there are birth.induction"),
        (lambda: icl.sweep("birth.induction", {}), "over 1 to 4 knobs, got 0"),
        (lambda: icl.sweep("birth.induction", ["d"]), r"over lists such as .*, got \['d'\]"),
        (lambda: icl.sweep("birth.induction", {5: [64]}), "no setting '5'"),
        (lambda: icl.sweep("birth.induction", {"d": 64}), "d must be a list of values .* got 64"),
        (lambda: icl.sweep("birth.induction", {"d": np.array(64)}), "d must be a list of values"),
        (lambda: icl.sweep("birth.induction", {"K": "13"}), "K must be a list of .* got '13'"),
        (lambda: icl.sweep("birth.induction", {"K": ["3"]}), "number from 1 to 10, got '3'"),
        (lambda: icl.sweep("birth.induction", {"K": [True]}), "number from 1 to 10, got True"),
        (lambda: icl.sweep("birth.induction", {"triggers": ["random,fixed"]}), "random,fixed"),
        (lambda: icl.sweep("birth.induction", {"K": [3]}, dd=64), "no setting 'dd'"),
        (lambda: icl.sweep("birth.induction", {"K": [3]}, seeds="1"), "from 1 to 5, got '1'"),
        (lambda: icl.sweep("birth.induction", {"K": [3]}, jobs="1"), "at least 1, got '1'"),
        (lambda: icl.sweep("birth.induction", {"d": [8]}), "from 16 to 512, got 8"),
    ],
)
def test_bad_input_says_what_was_expected_and_what_came(call, message):
    with pytest.raises(icl.BadSetting, match=message):
        call()


def test_a_run_gives_its_files_numbers(run):
    contracts = run.run
    assert icl.run("birth.induction", d=np.int64(64), K=3).run.digest == contracts.digest
    curve = run.curves["accuracy"]
    np.testing.assert_array_equal(curve.to_numpy().T, contracts["curve/accuracy"])
    np.testing.assert_array_equal(curve.index, contracts["curve/step"])
    for record in run.header.info["metrics"]:
        assert run.metrics.loc[record["claim"], "value"] == record["value"]
    for step in (0, run.steps[1] + 1, None):
        index = -1 if step is None else max(i for i, at in enumerate(run.steps) if at <= step)
        expected = contracts["final/W_K2"] if step is None else contracts.snapshot("W_K2", index)
        np.testing.assert_array_equal(run.weights(step)["W_K2"], expected)
    np.testing.assert_array_equal(run.weights(0)["P"], contracts["frozen/P"])
    name = run.drawings[0]
    assert run.plot(name, step=0).to_dict() == run.panel(name, step=0).figure.plotly().to_dict()
    with pytest.raises(icl.BadSetting, match="the drawing must be one of second, "):
        run.plot("nope")
    with pytest.raises(icl.BadSetting, match="step must be 0 or more, got -1"):
        run.weights(-1)
    with pytest.raises(icl.BadSetting, match="the drawing must be one of second, "):
        run.panel("nope")
    seen_at_1 = run.plot("memories", snapshot=np.int64(1)).to_dict()
    assert seen_at_1 == run.plot("memories", step=run.steps[1]).to_dict()
    for ask in (run.plot, run.panel):
        with pytest.raises(icl.BadSetting, match="there is no setting 'foo'; the settings are"):
            ask("memories", foo=1)


@pytest.mark.parametrize("step", [float("nan"), "5", [3]])
def test_what_is_no_step_is_refused(run, step):
    message = re.escape(f"step must be a number, got {step!r}")
    widget = run.widget()
    for ask in (
        lambda: run.weights(step),
        lambda: run.plot("memories", step=step),
        lambda: run.panel("memories", step=step),
        lambda: run.report(step=step),
        lambda: setattr(widget, "step", step),
    ):
        with pytest.raises(icl.BadSetting, match=message):
            ask()


def test_a_run_that_keeps_no_earlier_weights_says_so():
    late = icl.run("birth.transformer")
    assert set(late.weights()) == set(late.weights(late.steps[-1]))
    with pytest.raises(icl.BadSetting, match=r"step must be the last, 800, .* got 100"):
        late.weights(100)


def test_trains_what_is_not_stored_and_sweeps(tmp_path, monkeypatch):
    monkeypatch.setattr("icl_core.jobs.terminal._PAUSE", 0.0)
    monkeypatch.setattr("icl_core.sweeps.terminal.PAUSE", 0.0)
    with house_that_trains(tmp_path, monkeypatch):
        walk = icl.run(TOY, steps=20)
        assert walk.config.steps == 20
        assert store.default().find(Request(TOY, walk.config)) is not None
        table = icl.sweep(TOY, {"steps": np.array([20, 30])}, seeds=np.int64(1), jobs=1)
        assert list(table["steps"]) == [20, 30] and set(table["status"]) == {"done"}
        for claim, row in walk.metrics.iterrows():
            assert table.loc[0, claim] == row["value"]


def test_a_notebook_has_a_progress_bar_where_a_file_has_none(monkeypatch):
    """Its stderr is no terminal; without ipywidgets the bar is a line of text."""
    kernel = SimpleNamespace(kernel=object())
    monkeypatch.setattr(terminal, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal._bar("birth.induction") as bar:
        assert bar.disable
    ipython = SimpleNamespace(get_ipython=lambda: kernel)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with terminal._bar("birth.induction") as bar:
        assert not bar.disable
    assert "birth.induction" in sys.stderr.getvalue()


def test_compare_has_the_difference_and_its_error(run):
    other = icl.run("birth.induction")
    comparison = icl.compare(run, other)
    assert comparison.settings.loc["d"].tolist() == [64, 128]
    assert "T" not in comparison.settings.index
    claim = comparison.metrics.index[0]
    row = comparison.metrics.loc[claim]
    assert row["difference"] == pytest.approx(other.metrics["value"][claim] - row["a"])
    errors = (run.metrics["error"][claim], other.metrics["error"][claim])
    if not any(map(pd.isna, errors)):
        assert row["difference_error"] == pytest.approx(np.hypot(*errors))
    assert (icl.compare(other, other).metrics["difference"] == 0).all()


def test_the_stage_as_a_page_holds_every_snapshot_and_asks_no_server(
    run, tmp_path, monkeypatch, capsys
):
    page = run.html()
    data = {}
    for name in ("settings", "stage"):
        text = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)
        assert text is not None
        data[name] = json.loads(text[1])
    stage = data["stage"]
    assert data["settings"]["settings"]["d"] == 64
    assert stage["steps"] == run.steps and len(stage["headlines"]) == len(run.steps)
    moving = [panel for panel in stage["panels"] if panel["frames"]]
    assert moving and all(len(panel["frames"]) == len(run.steps) for panel in moving)
    assert not re.search(r'<(script|link)[^>]*(src|href)="http', page)
    contents, _ = run._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in contents
    assert contents["text/plain"] == repr(run)
    monkeypatch.setattr("icl_core.library.find_spec", lambda name: None)  # without anywidget
    assert "srcdoc=" in run._repr_mimebundle_()["text/html"]
    with pytest.raises(icl.BadSetting, match="pip install anywidget"):
        run.widget()
    out = tmp_path / "stage.html"
    words = ["stage", "birth.induction", "--set", "d=64", "K=3", "--out", str(out)]
    assert cli.main(words) == 0 and out.read_text(encoding="utf-8") == page
    assert cli.main([*words, "--dark"]) == 1
    assert "--step and --dark are for a picture" in capsys.readouterr().err


def test_a_text_of_a_run_cannot_end_the_pages_script():
    from icl_core.share import stage_page

    assert "<" not in stage_page.script_json({"title": "</script><script>alert(1)</script>"})
