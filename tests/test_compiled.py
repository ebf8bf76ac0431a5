"""Compiling a training's steps is asked for, never the default."""

import pytest

from icl_core.contract.knobs import BadSetting
from icl_core.papers.gdssm.shared.compiled import compile_function


def test_a_step_is_left_as_it_is_unless_asked_for(monkeypatch):
    monkeypatch.delenv("ICL_COMPILE", raising=False)
    assert compile_function(abs) is abs
    monkeypatch.setenv("ICL_COMPILE", "0")
    assert compile_function(abs) is abs


def test_another_value_is_refused_in_words(monkeypatch):
    monkeypatch.setenv("ICL_COMPILE", "yes")
    with pytest.raises(BadSetting, match="ICL_COMPILE must be 0 or 1, got 'yes'"):
        compile_function(abs)
