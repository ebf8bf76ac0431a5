"""Adding a paper is one folder and one short page, with no edit elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house import ROOT


@pytest.fixture
def project(tmp_path):
    """A copy of the project with a throw-away paper's folder and page put in."""
    ignored = shutil.ignore_patterns("__pycache__", "cache")
    for name in ("icl_core", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "app.py", tmp_path)
    shutil.copytree(
        ROOT / "tests" / "papers_extra" / "toy",
        tmp_path / "icl_core" / "papers" / "toy",
        ignore=ignored,
    )
    page = (ROOT / "pages" / "birth.py").read_text().replace("birth", "toy")
    (tmp_path / "pages" / "toy.py").write_text(page)
    return tmp_path


def command(project: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ICL_PAPERS"}
    environment["ICL_CACHE_DIR"] = str(project / "cache")
    process = subprocess.run(
        [sys.executable, "-m", "icl_core", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_command_line_finds_it(project):
    assert "toy.walk" in command(project, "list")


def test_it_trains_and_measures(project):
    metrics = json.loads(command(project, "run", "toy.walk", "--set", "steps=50", "--json"))
    assert metrics
    recovered, exact = metrics
    assert recovered["value"] > 0.9 and recovered["verdict"] in ("reproduced", "not reproduced")
    assert exact["value"] > 0 and exact["verdict"] == "fails"
