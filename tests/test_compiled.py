"""Compiling a training's steps is asked for, never the default."""

import subprocess
import sys

import pytest

from icl_core.contract.knobs import BadSetting
from icl_core.papers.gdssm.shared.sequence_models.train import compile_function


def test_a_step_is_left_as_it_is_unless_asked_for(monkeypatch):
    monkeypatch.delenv("ICL_COMPILE", raising=False)
    assert compile_function(abs) is abs
    monkeypatch.setenv("ICL_COMPILE", "0")
    assert compile_function(abs) is abs


def test_another_value_is_refused_in_words(monkeypatch):
    monkeypatch.setenv("ICL_COMPILE", "yes")
    with pytest.raises(BadSetting, match="ICL_COMPILE must be 0 or 1, got 'yes'"):
        compile_function(abs)


WITHOUT_COMPILER = """
import torch
from icl_core.contract.knobs import BadSetting
from icl_core.papers.gdssm.shared.sequence_models.train import compile_function
try:
    compile_function(torch.sin)(torch.ones(3))
except BadSetting as problem:
    print(problem)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="looks for cl, not on the path")
def test_where_a_compiler_is_missing_a_sentence_says_so(tmp_path, monkeypatch):
    """In a process of its own: torch remembers which compiler it has found."""
    monkeypatch.setenv("ICL_COMPILE", "1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith(
        "ICL_COMPILE must be 0 where no step can be compiled, as without a C++ compiler such as "
        "g++; got 1"
    )
    assert result.stdout.count("\n") == 1
