"""The names of the lines of a figure on the stage, in rows of text above its plot."""

import re
from pathlib import Path

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.figure import Trace
from icl_core.figures import COLOURS, Curve, bars, curves, legend_line, seated, themed
from icl_core.figures.stage_seat import ROW, width_of
from icl_core.share.stage_films import seating, stage_drawings
from tests.seats import names_of, rows_of

ROOT = Path(__file__).parents[1]


def test_names_stand_in_rows_with_their_signs():
    series = [Curve(f"a long name, number {index}", [0, 1], [0, 1], "layer 1") for index in (1, 2)]
    figure = curves([*series, Curve("dashed", [0, 1], [0, 1], "layer 2", "dash")], "x", "y")
    figure.add_trace(Trace("bar", x=[0], y=[1], name="bars", marker={"color": "#123456"}))
    figure.add_trace(legend_line("dotted", "#654321", "dot"))
    first, second = rows_of(seated(figure))
    assert width_of(first) <= 280 and width_of(second) <= 280
    assert first.startswith('<span style="color:#56B4E9">━━</span> a long name, number 1')
    assert '<span style="color:#123456">■</span> bars' in second
    assert '<span style="color:#654321"><b>····</b></span> dotted' in second
    assert figure.layout["margin"]["t"] > 2 * ROW and figure.layout["showlegend"] is False


def test_one_line_needs_no_name_and_hidden_ones_have_none():
    alone = seated(curves([Curve("trained", [0, 1], [0, 1])], "x", "y"))
    assert not rows_of(alone)
    two = curves([Curve("a", [0, 1], [0, 1]), Curve("b", [0, 1], [1, 0])], "x", "y")
    for trace in two.data:
        trace.update(showlegend=trace["name"] == "b")
    assert [name.split("</span> ")[1] for name in names_of(seated(two))] == ["b"]


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_on_bars_can_be_read(dark):
    kinds = [*COLOURS, "#0072B2", "#8C6BB1"]
    figure = themed(bars([*map(str, kinds)], [1.0] * len(kinds), "y", kinds=kinds), dark)
    bar = figure.data[0]
    for behind, text in zip(bar["marker"]["color"], bar["textfont"]["color"], strict=True):
        low, high = sorted(map(_luminance, (behind, text)))
        assert (high + 0.05) / (low + 0.05) > 4.3, (behind, text)


def _luminance(colour: str) -> float:
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(shares < 0.04, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("id", registry.experiment_ids())
def test_the_page_can_lay_out_the_stage_of_every_preset(id):
    """The style of the page has a rule for each of these keys (figures/browser/page.css)."""
    experiment = registry.experiment(id)
    style = (ROOT / "icl_core/figures/browser/page.css").read_text(encoding="utf-8")
    for preset in experiment.presets:
        drawings = stage_drawings(experiment, Run(preset.config, {}))
        key = seating(drawings)
        rule = re.sub(r"by\d.*", "", key)
        assert key == "stage-1x1" or f"st-key-{rule}" in style, (preset.name, key)
