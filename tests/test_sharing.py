"""What is given away: a short link that shows the same, its QR code, and a run's file with the
Python that reads it anywhere."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlencode

import pytest
from cells import shipped
from house import ROOT

from icl_core import registry
from icl_core.contract import knobs
from icl_core.evidence import measurements
from icl_core.runs import store
from icl_core.runs.file import Damaged
from icl_core.share.run_file import open_run
from pages.ui.controls import sharing
from pages.ui.link import address, lesson_rules, pending_address, visitors

LONGEST = 300  # characters of a short link
SERVER = "http://dashboard.example.org:8501"
MANY = {  # about as much as anybody changes at once
    "birth": "d=96&K=3&N=40&T=48&layers=2&batch=256&steps=500&learning_rate=0.05&optimiser=sgd"
    "&seed=7&seeds=3&sequence=abcXabcXab&step=31&drawer=Your own sequence&cell=w_k2:12:13",
    "memformers": "layers=3&heads=2&d=6&n=12&condition=9&steps=400&learning_rate=0.01&seed=5"
    "&seeds=3&step=100&drawer=All curves",
    "gdssm": "f=8&N=12&r=2.5&layers=2&steps=400&learning_rate=0.001&seed=5&seeds=3&step=100",
}

SHOW = """import plotly.graph_objects as go
go.Figure.show = lambda figure: print("z", float(figure.data[0].z[1][0]))
"""


@pytest.fixture
def query(monkeypatch):
    """The address, and no page."""
    query: dict[str, str] = {}
    context = SimpleNamespace(url=f"{SERVER}/birth")
    fake = SimpleNamespace(query_params=query, session_state={}, context=context, caption=print)
    for module in (address, lesson_rules, pending_address, sharing):
        monkeypatch.setattr(module, "st", fake)
    return query


def read(query: dict[str, str], paper: str, fields: dict[str, str]) -> address.Setting:
    query.clear()
    query.update(fields)
    return address.read(registry.papers()[paper])


@pytest.mark.parametrize("paper", MANY)
def test_a_short_link_shows_the_same_and_holds_no_more_than_what_differs(paper, query):
    for name in registry.papers()[paper].experiments:
        for preset in registry.experiment(f"{paper}.{name}").presets:
            plain = {"experiment": name, "preset": preset.name}
            for changed in ({}, dict(parse_qsl(MANY[paper]))):
                setting = read(query, paper, plain | changed)
                expected = {**knobs.values(setting.config), **knobs.values(setting.view)}
                link = sharing._link(sharing.differing_fields(setting))
                assert len(link) <= LONGEST, link
                fields = dict(parse_qsl(link.partition("?")[2]))
                assert not {"version", "at_once"} & fields.keys() and (changed or len(fields) <= 2)
                again = read(query, paper, fields)
                assert (again.id, again.preset) == (setting.id, setting.preset)
                assert {**knobs.values(again.config), **knobs.values(again.view)} == expected


def test_the_first_preset_needs_no_fields_and_a_link_stays_readable(query):
    setting = read(query, "birth", {"experiment": "induction", "d": "96", "K": "3"})
    assert sharing._link(sharing.differing_fields(setting)) == f"{SERVER}/birth?K=3&d=96"
    setting = read(query, "birth", {"cell": "w_k2:2:3"})
    assert sharing._link(sharing.differing_fields(setting)).endswith("/birth?cell=w_k2:2:3")


@pytest.mark.parametrize(
    "url, is_open",
    [
        ("http://localhost:8501/birth", False),
        ("http://127.0.0.1:8501", False),
        ("http://127.1.2.3", False),
        ("http://[::1]:8501", False),
        ("http://0.0.0.0:8501", False),
        ("http://icl.localhost", False),
        ("", False),
        ("http://192.168.1.7:8501/birth", True),
        ("https://icl.example.org/birth", True),
    ],
)
def test_a_code_is_drawn_where_others_can_open_the_link(url, is_open, query, monkeypatch):
    assert visitors.is_open_to_others(url) is is_open
    links = []
    captions = []
    monkeypatch.setattr(sharing, "_LINK", lambda key, data: links.append(data))
    monkeypatch.setattr(sharing.st, "caption", captions.append)
    sharing.st.context.url = url
    sharing.share_link(read(query, "birth", {}))
    assert bool(links[0]["code"]) is is_open and bool(captions) is not is_open


def test_a_code_has_its_margin_and_is_black_on_white_in_any_theme():
    code = sharing.qr_code(f"{SERVER}/birth?K=3&d=96")
    assert code.startswith("<svg") and 'fill="#fff"' in code and 'stroke="#000"' in code
    assert "<script" not in sharing.qr_code("</svg><script>") and "?xml" not in code


@pytest.fixture
def stranger(tmp_path):
    """Runs Python in a folder that holds what is put there, with no runs of this computer."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    own = {name: str(tmp_path / name) for name in ("ICL_CACHE_DIR", "ICL_ARTIFACTS")}
    environment = {**os.environ, **own, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    environment.pop("ICL_PAPERS", None)

    def run(code: str, *options: str) -> str:
        (folder / "code.py").write_text(code, encoding="utf-8")
        command = [sys.executable, *options, "code.py"]
        return subprocess.run(
            command, cwd=folder, env=environment, check=True, capture_output=True, text=True
        ).stdout

    run.folder = folder  # type: ignore[attr-defined]
    return run


@pytest.mark.long
def test_the_python_of_export_prints_the_pages_numbers_in_an_empty_folder(query, stranger):
    setting = read(query, "birth", {"step": "31", "measure": "new"})
    header = store.default().preset("birth.induction", "fastest")
    assert header is not None
    (stranger.folder / "run.safetensors").write_bytes(store.default().content(header))
    code = sharing.snippet(setting, setting.config, "run.safetensors")
    assert "measure='new'" in code and "step=31" in code
    printed = stranger(SHOW + code)
    run = shipped("birth.induction", "fastest")
    index = sum(step <= 31 for step in run.snapshot_steps) - 1
    view = setting.experiment.view(snapshot=index, measure="new")
    assert setting.experiment.headline(run, view) in printed
    findings = measurements.of_run(header)
    assert len(findings) > 3
    for finding in findings:
        line = next(text for text in printed.splitlines() if finding.metric.claim.label in text)
        assert line.endswith(finding.verdict) and f"{finding.metric.value:.6g}" in line
    figure = setting.experiment.drawings[0].draw(run, view).figure
    z = next(float(line[2:]) for line in printed.splitlines() if line.startswith("z "))
    # another process may round the last digit otherwise
    assert figure is not None and z == pytest.approx(figure.data[0]["z"][1, 0], rel=1e-6)
    # without the project: -I leaves out PYTHONPATH
    plain = stranger(sharing.plain_snippet("run.safetensors"), "-I")
    for finding in findings:
        assert str((finding.metric.claim.id, finding.metric.value, finding.verdict)) in plain


def test_a_file_that_is_no_run_or_has_changed_is_refused(tmp_path):
    preset = registry.experiment("gdssm.layer").presets[0]
    header = store.default().preset("gdssm.layer", preset.name)
    assert header is not None
    content = store.default().content(header)
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    run_file = open_run(path)
    assert run_file.header.digest == header.digest and "gdssm.layer" in run_file.report()
    assert run_file.view(step=-1).snapshot == 0 and run_file.panel("state").figure is not None
    for bad in (b"", b"\x00" * 64, content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(bad)
        with pytest.raises(Damaged):
            open_run(path)


def test_a_run_of_the_atlas_can_be_opened_too(tmp_path):
    header = next(iter(store.default().atlases.headers("gdssm.layer").values()))
    path = tmp_path / "run.safetensors"
    path.write_bytes(store.default().content(header))
    assert open_run(path).report().count("\n") >= len(measurements.of_run(header)) > 0


def test_the_link_of_every_setting_stays_for_archives(query):
    setting = read(query, "birth", {"d": "96"})
    fields = sharing.all_fields(setting)
    assert fields["version"] and len(urlencode(fields)) > LONGEST
    assert read(query, "birth", fields).config == setting.config


def test_the_settings_as_json_and_the_references_name_what_is_on_screen(query):
    setting = read(query, "birth", {"K": "3", "step": "31"})
    exported = sharing.settings_of(setting, setting.config)
    assert exported["settings"]["K"] == 3 and exported["experiment"] == "birth.induction"
    assert exported["link"] == {"K": "3", "step": "31"}
    assert json.loads(json.dumps(exported)) == exported
    header = store.default().preset("birth.induction", "fastest")
    assert header is not None
    entries = sharing.bibtex(setting, header)
    assert "eprint = {2306.00802v2}" in entries and "@software{icl-dashboard," in entries
    assert f"year = {{{header.info['date'][:4]}}}" in entries and "version = {1.0.0}" in entries
    assert entries.count("{") == entries.count("}")
