"""The command line as people expect one: names, streams, Ctrl-C, exit codes, JSON, checks before
the work."""

import dataclasses
import io
import json
import os
import sys
from importlib import metadata

import pytest
from house import ROOT, TOY, house_that_trains

from icl_core import registry
from icl_core.command import guard
from icl_core.command.cli import main
from icl_core.command.printing import print_json
from icl_core.contract.experiment import CannotDraw, Panel
from icl_core.contract.message import did_you_mean
from icl_core.jobs import queue
from icl_core.machine import device
from icl_core.runs import store

FAST = ["--set", "steps=20", "d=3"]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house_that_trains(tmp_path, monkeypatch) as own_store:
        yield own_store


def strict(text: str) -> object:
    """Return what JSON says; fail for NaN and Infinity, which are no JSON."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("typed", "names", "meant"),
    [
        ("sedes", ("seeds", "steps"), "seeds"),
        ("Seeds", ("seeds", "steps"), "seeds"),
        ("k", ("K", "d"), "K"),
        ("colour", ("seeds", "steps"), ""),
        ("", ("seeds",), ""),
    ],
)
def test_the_nearest_name_is_meant(typed, names, meant):
    assert did_you_mean(typed, names) == (f" (did you mean {meant!r}?)" if meant else "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lst"], "there is no command 'lst' (did you mean 'list'?)"),
        (["xyz"], "there is no command 'xyz'; the commands are list, show, run"),
        (["--versoin"], "there is no option '--versoin' (did you mean '--version'?)"),
        (["run", TOY, "--jsno"], "there is no option '--jsno' (did you mean '--json'?)"),
        (["figure", TOY, "--ouut=x.html"], "'--ouut' (did you mean '--out'?)"),
        (["-v"], "there is no option '-v'; the options are -h, --help, --version"),
        (["claims", "--xyz"], "there is no option '--xyz'; the options are -h, --help, --json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_command_or_option_is_answered(capsys, words, message):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == guard.BAD_VALUE and message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "toy.wlak"], "there is no experiment 'toy.wlak' (did you mean 'toy.walk'?)"),
        (["show", "walk"], "(did you mean 'toy.walk'?)"),
        (["show", "tpy.walk"], "(did you mean 'toy.walk'?)"),
        (["show", "toy.none"], "there is no experiment 'toy.none'; there are "),
        (["run", TOY, "--preset", "Clasroom"], "(did you mean 'classroom'?)"),
        (["run", TOY, "--set", "sedes=2"], "no setting 'sedes' (did you mean 'seeds'?)"),
        (["sweep", TOY, "--over", "rte=.1"], "no setting 'rte' (did you mean 'rate'?)"),
        (["figure", TOY, "--out", "x.json", "--drawing", "wights"], "(did you mean 'weights'?)"),
        (["figure", TOY, "--out", "x.json", "--view", "snapshto=0"], "'snapshot'?)"),
        (["build", TOY, "--preset", "paper size"], "(did you mean 'paper'?)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_name_is_answered_before_anything_is_done(capsys, words, message):
    assert main(words) == guard.BAD_VALUE
    streams = capsys.readouterr()
    assert message in streams.err and not streams.out and queue.states() == []


def test_the_version_is_that_of_the_project_with_python_and_torch(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    (line,) = capsys.readouterr().out.splitlines()
    declared = (ROOT / "pyproject.toml").read_text().split('\nversion = "')[1].split('"')[0]
    assert ended.value.code == guard.DONE and line.startswith(f"icl-dashboard {declared} (Python ")
    assert line.endswith(f", torch {metadata.version('torch')})")


def test_the_help_documents_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    output = capsys.readouterr().out
    readme = (ROOT / "icl_core" / "command" / "README.md").read_text()
    assert sorted(guard.EXIT_CODES) == [0, 1, 2, 3, 4, 130, 141]
    for code, meaning in guard.EXIT_CODES.items():
        assert f"\n  {code:<4} {meaning}" in output and f"\n| {code} | {meaning}" in readme


def test_every_command_that_prints_data_prints_json(capsys, tmp_path):
    points = tmp_path / "points.txt"
    points.write_text("1 2\n3 4\n")
    notes = tmp_path / "notes.txt"
    notes.write_text("the quick brown fox jumps over the lazy dog, and the dog sleeps. " * 20)
    commands = [
        ["list"],
        ["show", TOY],
        ["run", TOY, *FAST],
        ["sweep", TOY, *FAST, "--over", "rate=0.1,0.2"],
        ["claims"],
        ["build", TOY, "--preset", "classroom"],
        ["points", str(points)],
        ["text", str(notes)],
    ]
    readme = (ROOT / "icl_core" / "command" / "README.md").read_text()
    for words in commands:
        assert main([*words, "--json"]) == guard.DONE, words
        value = strict(capsys.readouterr().out)
        first = value[0] if isinstance(value, list) else value
        assert first and not [key for key in first if f"`{key}`" not in readme], words
    assert main(["points", str(points), "--json"]) == guard.DONE
    digest = strict(capsys.readouterr().out)["digest"]
    assert main(["points", str(points)]) == guard.DONE
    assert capsys.readouterr().out.splitlines()[-1] == f"--set points={digest}"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_json_is_json_in_every_encoding_and_has_null_for_what_is_not_finite(encoding, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json([{"x": float("nan"), "y": (float("inf"), 1.5), "η": "é𝕏"}])
    stream.flush()
    printed = stream.buffer.getvalue().decode(encoding)
    assert strict(printed) == [{"x": None, "y": [None, 1.5], "η": "é𝕏"}]


def test_the_panels_that_can_be_drawn_are_written_and_the_others_named(
    capsys, tmp_path, change_toy
):
    def refuse(run, view):
        raise CannotDraw("This run has no such layer.")

    first, *_ = registry.experiment(TOY).drawings
    absent = dataclasses.replace(first, name="absent", applies=lambda config: False)
    layer = dataclasses.replace(first, name="layer", draw=refuse)
    change_toy(drawings=(first, layer, absent))
    out = tmp_path / "all.json"
    assert main(["figure", TOY, *FAST, "--out", str(out)]) == guard.FAILED
    assert capsys.readouterr().err == (
        "the drawing layer could not be made: This run has no such layer.\n"
    )
    assert [panel["drawing"] for panel in strict(out.read_text("utf-8"))] == [first.name]
    out.unlink()
    assert main(["figure", TOY, *FAST, "--drawing", "layer", "--out", str(out)]) == guard.FAILED
    assert "no such layer" in capsys.readouterr().err and not out.exists()
    assert main(["figure", TOY, *FAST, "--drawing", "absent", "--out", str(out)]) == 2
    assert f"must be one of {first.name}, layer at these settings" in capsys.readouterr().err


def test_a_panel_whose_numbers_are_not_finite_is_json(tmp_path, change_toy):
    import numpy as np
    import pandas as pd

    from icl_core import figures

    curve = figures.Curve("loss", np.arange(3), np.array([[1.0, np.nan, np.inf]]))
    figure = figures.curves([curve], "step", "loss")
    table = pd.DataFrame({"x": [1.0, float("nan")]})
    first, *_ = registry.experiment(TOY).drawings
    panel = Panel("t", "c", figure, table=table)
    change_toy(drawings=(dataclasses.replace(first, draw=lambda *_: panel),))
    out = tmp_path / "x.json"
    assert main(["figure", TOY, *FAST, "--out", str(out)]) == guard.DONE
    (written,) = strict(out.read_text("utf-8"))
    assert written["table"] == [{"x": 1.0}, {"x": None}]


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("none/x.html", "--out must be in a folder that is there, got "),
        ("file/x.html", "--out must be in a folder that is there, got "),
        ("x.html", "--out must be a file, got the folder "),
        ("x.png", "--out must end in .html or .json, got "),
    ],
)
def test_where_a_figure_goes_is_checked_before_it_is_trained(capsys, tmp_path, out, message):
    (tmp_path / "file").touch()
    (tmp_path / "x.html").mkdir()
    assert main(["figure", TOY, *FAST, "--out", str(tmp_path / out)]) == guard.BAD_VALUE
    assert message in capsys.readouterr().err and queue.states() == []


def test_a_folder_that_cannot_be_written_is_noticed_before_the_training(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["figure", TOY, *FAST, "--out", str(tmp_path / "x.html")]) == guard.BAD_VALUE
    assert "--out must be a file that can be written" in capsys.readouterr().err
    for command in ("build", "gallery"):
        assert main([command, TOY]) == guard.FAILED
        assert "must be a folder that this user may write to" in capsys.readouterr().err
    assert queue.states() == []


def test_a_cache_that_cannot_be_written_is_one_exit_code_and_a_sentence(
    capsys, tmp_path, monkeypatch
):
    """Of every command: it is not the command that is wrong."""
    (tmp_path / "points.txt").write_text("1 2\n")
    locked = tmp_path / "locked"
    locked.touch()
    monkeypatch.setenv("ICL_CACHE_DIR", str(locked))
    store.default.cache_clear()
    for words in (
        ["points", str(tmp_path / "points.txt")],
        ["run", TOY],
        ["sweep", TOY, "--over", "d=2,3"],
        ["figure", TOY, "--out", str(tmp_path / "x.html")],
        ["build", TOY],
    ):
        assert main(words) == guard.FAILED, words
        errors = capsys.readouterr().err
        assert str(locked) in errors and "FILE" not in errors, words
        assert len(errors.splitlines()) == 1, errors


@pytest.mark.parametrize("name", ["none.txt", "folder"])
def test_a_file_that_cannot_be_read_is_a_wrong_value(capsys, tmp_path, name):
    (tmp_path / "folder").mkdir()
    path = tmp_path / name
    assert main(["text", str(path)]) == guard.BAD_VALUE
    assert capsys.readouterr().err.startswith(
        f"FILE must be a file that can be read, got {str(path)!r}: "
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("ICL_PRECISION", "foo"), ("ICL_SCHEDULER", "foo"), ("ICL_READ_ONLY", "1")],
)
def test_what_refuses_every_run_is_said_once_before_any_is_asked_for(
    capsys, monkeypatch, name, value
):
    for words in (["build", TOY], ["sweep", TOY, "--over", "d=2,3,4"]):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert main(words) == guard.BAD_VALUE, words
        streams = capsys.readouterr()
        assert not streams.out and streams.err.count("\n") == streams.err.count(name) == 1, streams
        assert queue.states() == []


def test_a_gallery_card_that_was_named_and_cannot_be_drawn_is_a_failure(capsys):
    for names, code in (([TOY], guard.FAILED), ([], guard.DONE)):
        assert main(["gallery", *names]) == code
        assert f"{TOY} has no shipped run to draw" in capsys.readouterr().err.splitlines()


def test_a_word_behind_two_dashes_is_no_option(capsys, tmp_path, monkeypatch):
    (tmp_path / "-points.txt").write_text("1 2\n")
    monkeypatch.chdir(tmp_path)
    assert main(["points", "--", "-points.txt"]) == guard.DONE
    assert "--set points=" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["points", "-points.txt"])
    assert "there is no option '-points.txt'" in capsys.readouterr().err


def test_a_home_is_meant_by_its_sign_in_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["figure", TOY, *FAST, "--drawing", "loss", "--out=~/x.json"]) == guard.DONE
    assert (tmp_path / "x.json").exists()


def test_a_sweep_none_of_whose_runs_is_made_says_why(capsys):
    words = ["sweep", TOY, "--set", "steps=200", "--over", "rate=10"]
    assert main(words) == guard.FAILED
    assert "failed: it diverged at step" in capsys.readouterr().out


def test_what_was_kept_is_named_even_if_the_output_is_lost(capsys, tmp_path, monkeypatch):
    (tmp_path / "points.txt").write_text("1 2\n")

    class Full:
        encoding = "utf-8"

        def write(self, text):
            raise OSError(28, "No space left on device")

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OSError, match="No space"):
        main(["points", str(tmp_path / "points.txt")])
    digest = capsys.readouterr().err.strip().removeprefix("--set points=")
    assert registry.document_kinds()["points"].path_of(digest).exists()


def test_no_control_characters_and_no_bar_where_it_is_piped(capfd):
    assert store.default().headers(TOY) == []
    assert main(["run", TOY, *FAST]) == main(["sweep", TOY, *FAST, "--over", "rate=0.2"]) == 0
    streams = capfd.readouterr()
    assert streams.err == ""
    assert not [sign for sign in streams.out if not (sign.isprintable() or sign == "\n")]


def test_of_a_stored_run_it_is_said_with_which_precision_it_was_made(capsys, monkeypatch):
    assert main(["run", TOY, *FAST]) == 0 and capsys.readouterr().err == ""
    precision = device.precision()
    monkeypatch.setenv("ICL_PRECISION", "high")
    assert main(["run", TOY, *FAST]) == 0
    assert f"made at precision {precision}" in capsys.readouterr().err
