"""What is written on a panel is finite, or a sentence stands in the panel's place."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from icl_core.contract.experiment import CannotDraw, Drawing, Panel, Run
from icl_core.contract.figure import Figure
from icl_core.share import export


def of_texts(**layout: Any) -> Panel:
    return Panel("a title", "a caption", Figure([], layout))


def of_table(*numbers: Any) -> Panel:
    return Panel("a title", "a caption", table=pd.DataFrame({"name": "a", "number": numbers}))


@pytest.mark.parametrize(
    "panel",
    [
        of_texts(annotations=[{"text": "a loss of nan"}]),
        of_texts(xaxis={"tickvals": [1], "ticktext": ["inf"]}),
        of_texts(coloraxis={"colorbar": {"ticktext": np.array(["0", "nan%"])}}),
        of_texts(xaxis={"title": {"text": "-inf nats"}}),
        of_table(1.0, np.inf),
        of_table(np.float32(-np.inf), "text"),
        of_table("nan nats"),
    ],
)
def test_a_panel_with_a_number_that_is_not_finite_in_a_text_or_a_cell_is_a_sentence(panel):
    with pytest.raises(CannotDraw, match="not every number here is finite"):
        Drawing("a", lambda run, view: panel).panel(Run(None, {}), None)


def test_a_cell_that_is_not_measured_is_a_dash():
    panel = Drawing("a", lambda run, view: of_table(1.0, np.nan)).panel(Run(None, {}), None)
    written = export.html_text("a", "b", {"a": panel})
    assert "<td>–</td>" in written and "nan" not in written.lower()
