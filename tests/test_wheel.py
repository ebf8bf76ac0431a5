"""The wheel: what is in it, where an installed dashboard finds its home, and the command `icl`."""

import os
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email import message_from_bytes
from pathlib import Path

import psutil
import pytest
from house import ROOT
from streamlit.web.cli import main_run

from icl_core.command import cli
from icl_core.jobs import spawn, train
from icl_core.machine import folders
from icl_core.runs import code
from pages.ui import launch


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the repository as it is now, built without network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    with zipfile.ZipFile(path) as archive:
        yield archive


def metadata(wheel: zipfile.ZipFile, file: str) -> bytes:
    (name,) = (name for name in wheel.namelist() if name.endswith(f".dist-info/{file}"))
    return wheel.read(name)


def files_below(folder: Path) -> set[str]:
    """The files of a folder, by their paths in it, without what Python and local runs put there."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        path.as_posix() for path in paths if not {"__pycache__", "cache"} & set(path.parts[:-1])
    }


def test_it_holds_the_core_and_beside_it_the_dashboard_and_nothing_else(wheel):
    parts = {"icl_core": "icl_core"}
    for name in ("pages", "artifacts", ".streamlit"):
        parts[name] = f"icl_dashboard/{name}"
    expected = {"icl_dashboard/app.py", "icl_dashboard/launch.py"}
    for source, target in parts.items():
        expected |= {f"{target}/{path}" for path in files_below(ROOT / source)}
    expected.remove("icl_dashboard/pages/ui/launch.py")  # it is placed as icl_dashboard/launch.py
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == expected
    assert "icl_core/py.typed" in names and "icl_dashboard/pages/ui/browser/part.js" in names
    assert "icl_core/figures/browser/clock.js" in names
    assert wheel.read("icl_dashboard/launch.py") == (ROOT / "pages/ui/launch.py").read_bytes()


def test_it_gives_one_command_and_needs_what_the_requirements_name(wheel):
    entries = ConfigParser()
    entries.read_string(metadata(wheel, "entry_points.txt").decode())
    assert dict(entries["console_scripts"]) == {"icl": "icl_dashboard.launch:main"}
    needed = message_from_bytes(metadata(wheel, "METADATA")).get_all("Requires-Dist") or []

    def lines(file: str) -> list[str]:
        return (ROOT / file).read_text().split()

    required = [line for line in needed if "extra ==" not in line]
    assert sorted(required) == sorted(lines("requirements.txt"))
    extra = [line.partition(";")[0] for line in needed if "extra ==" in line]
    assert extra == [
        *lines("icl_core/cluster/requirements-dask.txt"),
        *lines("icl_core/requirements-fast.txt"),
        *lines("icl_core/requirements-notebook.txt"),
        *lines("icl_core/papers/birth/pretrained/requirements.txt"),
    ]


INSTALLED = """
import sys
from icl_core.jobs import train
from icl_core.machine import folders
from icl_dashboard import launch
print(folders.HOME, folders.cache_folder(), launch.__file__, train.code_digests()["icl_core"])
assert not {"torch._C", "streamlit"} & sys.modules.keys()
"""


def test_an_installed_dashboard_finds_its_home_and_is_the_same_code(wheel, tmp_path):
    site = tmp_path / "site"
    wheel.extractall(site, [name for name in wheel.namelist() if "/artifacts/" not in name])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ICL_")}
    environment |= {"PYTHONPATH": str(site), "XDG_DATA_HOME": str(tmp_path / "data")}
    environment |= {"HOME": str(tmp_path)}  # macOS has no XDG_DATA_HOME
    command = [sys.executable, "-c", INSTALLED]
    output = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    home, cache, launched, digest = output.split()
    assert home == str(site / "icl_dashboard") and launched == f"{home}/launch.py"
    assert Path(cache).is_relative_to(tmp_path) and not Path(cache).is_relative_to(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "source_folders", lambda: [ROOT / "icl_core"])
        assert train.code_digests()["icl_core"] == digest


def test_the_home_is_beside_the_core_or_the_repository(tmp_path):
    assert folders.LIBRARY == folders.HOME == ROOT and not folders.is_installed()
    installed = tmp_path / "icl_dashboard"
    installed.mkdir()
    assert folders.dashboard_home(tmp_path) == tmp_path
    (installed / "app.py").touch()
    assert folders.dashboard_home(tmp_path) == installed


def test_the_cache_is_where_it_is_named_else_in_the_repository_or_with_the_users_data(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    assert folders.cache_folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ICL_CACHE_DIR", "~/runs")
    assert folders.cache_folder() == tmp_path / "runs"
    monkeypatch.delenv("ICL_CACHE_DIR")
    assert folders.cache_folder() == ROOT / "artifacts" / "cache"
    monkeypatch.setattr(folders, "HOME", tmp_path / "icl_dashboard")
    assert folders.cache_folder().name == "icl-dashboard"
    assert not folders.cache_folder().is_relative_to(ROOT)


def test_workers_of_an_installed_dashboard_are_given_no_folder_to_import_from(
    tmp_path, monkeypatch
):
    started = []
    monkeypatch.setattr(
        spawn.subprocess, "Popen", lambda _, **more: started.append(more) or psutil.Process()
    )
    monkeypatch.setattr(folders, "HOME", tmp_path / "icl_dashboard")
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    spawn.jobs_folder().mkdir(exist_ok=True)
    spawn._start_worker(1, {})
    assert started[0]["env"]["PYTHONPATH"] == ""


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ([], "dashboard"),
        (["--server.port", "8502"], "dashboard"),
        (["claims", "--json"], "command"),
        (["--help"], "command"),
        (["--version"], "command"),
    ],
    ids=" ".join,
)
def test_icl_is_the_dashboard_when_it_is_called_alone(monkeypatch, arguments, runs):
    calls = []

    def command(arguments, program):
        calls.append(("command", arguments))
        return 3

    def dashboard(arguments, prog_name):
        calls.append(("dashboard", arguments))
        return 3

    monkeypatch.setattr(sys, "argv", ["icl", *arguments])
    monkeypatch.setattr(cli, "main", command)
    monkeypatch.setattr(main_run, "main", dashboard)
    app = [str(ROOT / "app.py")] if runs == "dashboard" else []
    assert launch.main() == 3 and calls == [(runs, [*app, *arguments])]


def test_its_help_names_the_command(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"], program="icl")
    assert capsys.readouterr().out.startswith("usage: icl ")
