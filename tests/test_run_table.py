"""The table of runs: what differs from a preset, filters, order, groups; a run's file that is
given; and the page that shows them."""

import json
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from house import TOY, house
from safetensors.numpy import load, save
from test_links import open_page

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.knobs import BadSetting
from icl_core.evidence import run_table
from icl_core.evidence.run_table import RunFilter
from icl_core.figures.svg import HEIGHT, WIDTH, sparklines
from icl_core.runs import header, store
from icl_core.runs.file import pack, unpack
from icl_core.runs.store import Store
from icl_core.share import uploaded_run
from pages.ui.controls import filters
from pages.ui.runs import run_filters, run_list
from tests.recorder import short_run


def shipped_rows() -> list[run_table.RunRow]:
    """Without those that other tests have made."""
    rows = run_table.all_rows(store.default())
    return [row for row in rows if row.origin != "local"]


def count_differences(row: run_table.RunRow, preset) -> int:
    config = header.typed_config(row.header)
    names = knobs.knobs_of(type(config)).keys() - {"seeds"}
    return sum(getattr(config, name) != getattr(preset.config, name) for name in names)


def test_a_row_names_the_preset_that_the_fewest_settings_differ_from():
    rows = shipped_rows()
    assert {row.origin for row in rows} == {"shipped", "atlas"}
    for row in rows:
        presets = registry.experiment(row.header.experiment).presets
        named = [preset.name for preset in presets if preset.full_title == row.preset]
        counts = {preset.name: count_differences(row, preset) for preset in presets}
        assert row.differs.count("(preset ") in [counts[name] for name in named]
        assert row.differs.count("(preset ") == min(counts.values())
        assert row.differs == "" if row.header.info.get("presets") else row.origin == "atlas"


def test_a_filter_takes_what_a_look_at_every_setting_takes():
    rows = shipped_rows()
    chosen = RunFilter(("birth",), ("birth.induction",), ("atlas",), {"d": ("64", "32")})
    filtered = run_table.filtered(rows, chosen)
    atlas = store.default().atlases.headers("birth.induction").values()
    expected = [header.key for header in atlas if header.config["d"] in (32, 64)]
    assert sorted(row.header.key for row in filtered) == sorted(expected) and expected
    settings = run_table.settings_of(filtered)
    assert "d" in settings and "optimiser" not in settings
    sizes = run_table.texts_of(rows, "d")
    assert sizes == sorted(sizes, key=int) and {"2", "10", "128"} <= set(sizes)
    assert run_table.filtered(rows, RunFilter()) == rows


def test_rows_stand_in_order_and_those_without_the_value_last():
    rows = shipped_rows()
    for by in run_table.SORTS:
        falling = run_table.ordered(rows, by, falling=True)
        assert len(falling) == len(rows) and set(falling) == set(rows)
    falling = run_table.ordered(rows, "number", falling=True, claim="accuracy-random")
    metrics = [row.number("accuracy-random") for row in falling]
    values = [metric.value for metric in metrics if metric is not None]
    assert values and values == sorted(values, reverse=True)
    assert metrics[: len(values)].count(None) == 0


def test_groups_hold_every_row_once_and_one_number_only_where_all_have_it():
    rows = [row for row in shipped_rows() if row.header.experiment == "gdssm.layer"]
    for by in (*run_table.GROUPS, "f"):
        groups = run_table.grouped(rows, by)
        assert sorted(map(id, rows)) == sorted(id(row) for group in groups for row in group.rows)
    (whole,) = run_table.grouped(rows, "paper")
    measured = [row for row in rows if row.number("nd-reaches-gd") is not None]
    assert len(whole.numbers("nd-reaches-gd")) == len(measured)
    groups = {group.value: group for group in run_table.grouped(shipped_rows(), "experiment")}
    assert groups["birth.induction"].numbers() == ()  # one layer has another headline


def test_headers_are_read_once_and_again_only_when_a_file_changes(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        for seed in range(3):
            runs.save(TOY, registry.experiment(TOY).config(seed=seed), {"x": np.zeros(2)}, {})
        first = run_table.all_rows(runs)
        reads: list[Path] = []
        read = header.read_record
        monkeypatch.setattr(header, "read_record", lambda path: reads.append(path) or read(path))
        assert run_table.all_rows(runs) == first and reads == []  # the very rows
        runs.save(TOY, registry.experiment(TOY).config(seed=7), {"x": np.zeros(2)}, {})
        assert len(run_table.all_rows(runs)) == 4 and len(reads) == 1


def test_curves_become_lines_from_their_least_to_their_largest_number():
    curves = {
        "curve/step": np.arange(5),
        "curve/accuracy": np.array([[0.0, 0.5, 1.0], [0.0, 0.7, 1.0]]),
        "curve/accuracy_error": np.ones((1, 3)),
        "curve/kl": np.array([[np.nan, 3.0, 1.0, np.inf]]),
        "curve/loss": np.array([[4.0, 2.0]]),
        "final/weights": np.ones(3),
    }
    lines = sparklines(curves, 3, dark=False)
    assert [(line.name, line.last) for line in lines] == [("loss", 2), ("accuracy", 1), ("kl", 1)]
    assert f'points="2.0,2.0 {WIDTH - 2}.0,{HEIGHT - 2}.0"' in lines[0].svg
    assert lines[1].svg.count(",") == 3 and "nan" not in lines[2].svg
    assert sparklines(curves, 1, dark=True)[0].svg != lines[0].svg
    assert sparklines({"curve/loss": np.zeros((1, 1))}, 3, dark=False) == []


@pytest.fixture
def store_and_file(tmp_path, monkeypatch):
    """A store with a run of seed 1, and the file of a run of seed 2 that another store made."""
    experiment = registry.experiment(TOY)
    configs = [experiment.config(seed=seed) for seed in (1, 2)]
    results = [short_run(experiment.run, config).tensors for config in configs]
    with house(tmp_path, monkeypatch) as runs:
        runs.save(TOY, configs[0], results[0], {"metrics": []})
        other = Store(tmp_path / "none", tmp_path / "other")
        info = {"metrics": [], "seconds": 1.5, "presets": ["classroom"]}
        yield runs, other.content(other.save(TOY, configs[1], results[1], info))
        other.close()


def test_a_given_run_is_kept_and_its_numbers_are_measured_anew(store_and_file):
    runs, content = store_and_file
    header = uploaded_run.store_upload(content, "walk\u202e.safetensors", runs)
    assert header.config["seed"] == 2 and header.info["seconds"] == 1.5
    assert "presets" not in header.info and "\u202e" not in header.info["given"]
    numbers = {metric["claim"]: metric["value"] for metric in header.info["metrics"]}
    assert numbers["toy.exact"] == runs.load(header)["curve/loss"][:, -1].mean()
    (row,) = [row for row in run_table.all_rows(runs) if row.origin == "given"]
    assert row.differs == "first seed = 2 (preset 0)"
    with pytest.raises(BadSetting, match="is here already, with the same numbers"):
        uploaded_run.store_upload(content, "walk", runs)


def repacked(content: bytes, tensors=None, **changes) -> bytes:
    """The file with other tensors and another record, whose hashes are right."""
    record, old = unpack(content)
    return pack(old if tensors is None else tensors, {**record, **changes, "shared": {}})


def changed(content: bytes, name: str, array: np.ndarray | None) -> bytes:
    tensors = {**unpack(content)[1], name: array}
    return repacked(content, {key: tensor for key, tensor in tensors.items() if tensor is not None})


def with_setting(content: bytes, **setting) -> bytes:
    return repacked(content, config={**unpack(content)[0]["config"], **setting})


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def of_a_foreigner(content: bytes) -> bytes:
    return save(load(content), {"run": json.dumps({"experiment": TOY})})


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda content: b"", "the file must be a run as this app gives it"),
        (lambda content: content[:-4], "the file must be a run as this app gives it: expected"),
        (flipped, "the content has changed"),
        (of_a_foreigner, "the file must be a run as this app gives it"),
        (lambda content: repacked(content, experiment="toy.run"), "there is no experiment"),
        (lambda content: repacked(content, version=99), "of version 1 of toy.walk, got version 99"),
        (
            lambda content: with_setting(content, d=99),
            "d must be a whole number from 1 to 64, got 99",
        ),
        (lambda content: with_setting(content, x=1), "expected settings of toy.walk, got others"),
        (
            lambda content: repacked(content, config={"seed": 2}),
            "the settings must be those of toy.walk, each once",
        ),
        (lambda content: changed(content, "final/teacher", None), "must have the tensor"),
        (lambda content: changed(content, "final/more", np.zeros(2)), "must not have the tensor"),
        (
            lambda content: changed(content, "final/weights", np.zeros((1, 9), np.float32)),
            r"'final/weights' must be float32 of shape \(1, 8\) at its settings, got float32 of",
        ),
        (
            lambda content: changed(content, "snapshot/weights", np.zeros((2, 1, 8), np.float32)),
            "must have a row for each of",
        ),
        (
            lambda content: changed(content, "final/weights", np.full((1, 8), np.nan, np.float32)),
            "must hold finite numbers",
        ),
    ],
)
def test_a_given_file_that_is_not_such_a_run_says_why_and_is_not_kept(
    store_and_file, spoil, sentence
):
    runs, content = store_and_file
    with pytest.raises(BadSetting, match=sentence):
        uploaded_run.store_upload(spoil(content), "walk", runs)
    assert [header.config["seed"] for header in runs.headers()] == [1]
    assert run_table.all_rows(runs)[0].origin == "local"


def test_a_run_without_a_twin_must_be_measured_and_drawn(store_and_file):
    """A run of other sizes has no run here to compare shapes with: its numbers must come out."""
    runs, content = store_and_file
    wrong = changed(with_setting(content, d=4), "final/teacher", np.zeros((1, 3), np.float32))
    with pytest.raises(BadSetting, match=r"cannot be measured and drawn \(ValueError\)"):
        uploaded_run.store_upload(wrong, "walk", runs)


def test_where_a_link_names_settings_they_come_back():
    where = {"d": ("64", "128"), "text": ("a;b=c%", "1, 2")}
    pairs = parse_qsl(run_filters.where_text(where), separator=";")
    assert pairs == [("d", "64"), ("d", "128"), ("text", "a;b=c%"), ("text", "1, 2")]


def test_an_empty_page_of_runs_says_so_and_a_deleted_run_too(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        app = open_page("runs", "")
        assert "There is no run yet." in " ".join(text.value for text in app.markdown)
        config = registry.experiment(TOY).config(seed=3)
        header = runs.save(TOY, config, {"x": np.zeros(2)}, {"metrics": []})
        app = open_page("runs", f"run={header.key}")
        assert list(app.dataframe[0].value["Nearest preset"]) == ["In class"]
        other_server = Store(tmp_path / "artifacts", tmp_path / "cache")
        other_server.delete(header)
        app.button(key=f"delete {header.key}").click().run()
        assert not app.exception and not app.error
        assert "This run is not here" in " ".join(text.value for text in app.markdown)
        other_server.close()


def test_the_address_chooses_the_runs_and_a_button_shows_all_again():
    app = open_page("runs", "experiment=birth.induction&origin=atlas&where=d=64;K=3&sort=-number")
    values = list(app.dataframe[0].value["Value"])
    rows = run_table.filtered(
        shipped_rows(), RunFilter((), ("birth.induction",), ("atlas",), {"d": ("64",), "K": ("3",)})
    )
    assert values == sorted(values, reverse=True) and len(values) == len(rows) > 1
    next(button for button in app.button if button.label == "Show all runs").click().run()
    assert len(app.dataframe[0].value) == len(run_table.all_rows(store.default()))
    app = open_page("runs", "where=d=63")
    assert "No run has these settings." in [text.value for text in app.markdown]
    app = open_page("runs", "experiment=birth.inductoin")
    assert "did you mean" in app.warning[0].value and not app.exception


def test_a_group_opens_its_runs(monkeypatch):
    app = open_page("runs", "experiment=gdssm.layer&group=f")
    groups = app.dataframe[0].value
    every = run_table.all_rows(store.default())
    whole = [row for row in every if row.header.experiment == "gdssm.layer"]
    assert groups["Runs"].sum() == len(whole)
    assert list(groups["Group"]) == run_table.texts_of(whole, "f")
    written: list[dict[str, str]] = []
    monkeypatch.setattr(filters, "put", lambda **fields: written.append(fields))
    chosen = run_filters.Choice("", RunFilter(where={"N": ("10",)}), "-date", "f", "")
    run_filters.narrow(chosen, "f", "3")
    run_filters.narrow(chosen, "paper", "birth")
    assert written == [{"where": "N=10;f=3", "group": ""}, {"paper": "birth", "group": ""}]


def test_a_long_table_is_shown_in_parts_that_the_address_names(monkeypatch):
    monkeypatch.setattr(run_list, "MOST_LINES", 150)
    ordered = run_table.ordered(run_table.all_rows(store.default()), "seeds", falling=True)
    assert len(ordered) > 300
    for query, part in (("", ordered[:150]), ("&lines=2", ordered[150:300])):
        app = open_page("runs", f"sort=-seeds{query}")
        assert list(app.dataframe[0].value["Seeds"]) == [row.seeds for row in part]
        assert list(app.dataframe[0].value["Made (UTC)"]) == [row.date for row in part]
    choice = next(box for box in app.selectbox if box.label == "Lines")
    assert choice.value == "2" and choice.options[:2] == ["1 to 150", "151 to 300"]
    app = open_page("runs", "sort=-seeds&lines=99&experiment=gdssm.layer")
    assert not app.exception and len(app.dataframe[0].value) < 150
    assert "Lines" not in [box.label for box in app.selectbox]
