"""Diagrams: what a box opens is there, whichever setting is drawn."""

from typing import Any

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract.diagram import KINDS, Box, Diagram
from icl_core.contract.knobs import knobs_of
from icl_core.figures import small_map
from icl_core.figures.svg import RADIUS, model_svg_text, picture

DRAWN = [
    id
    for id in registry.experiment_ids()
    if registry.experiment(id).diagram and not id.startswith("toy.")
]
CASES = [(id, preset.name) for id in DRAWN for preset in registry.experiment(id).presets]


def sides(box: Box) -> tuple[float, float]:
    """Half of its width and height."""
    return (RADIUS, RADIUS) if box.kind == "sum" else (box.width / 2, box.height / 2)


def diagram_of(id: str, name: str) -> tuple[Any, Diagram]:
    """The config of a preset, and its diagram."""
    experiment = registry.experiment(id)
    configs = {preset.name: preset.config for preset in experiment.presets}
    return configs[name], experiment.diagram(configs[name])


@pytest.mark.parametrize(("id", "preset"), CASES)
def test_a_box_opens_a_drawing_that_there_is(id: str, preset: str) -> None:
    experiment = registry.experiment(id)
    config, diagram = diagram_of(id, preset)
    boxes = {box.name: box for box in diagram.boxes}
    drawings = {drawing.name for drawing in experiment.drawings if drawing.applies(config)}
    assert len(boxes) == len(diagram.boxes) and {box.kind for box in diagram.boxes} <= set(KINDS)
    assert {box.opens for box in diagram.boxes} - {""} <= drawings
    for box in diagram.boxes:
        experiment.view(**box.view)
        assert set(box.view) <= set(knobs_of(experiment.view))
        across, down = sides(box)
        assert across <= box.x <= diagram.width - across, box.name
        assert down <= box.y <= diagram.height - down, box.name
    assert {name for arrow in diagram.arrows for name in (arrow.start, arrow.end)} <= boxes.keys()
    # Of a language model the weights that are looked at are given.
    kinds = {"trained", "construction", *(("given",) if id == "birth.pretrained" else ())}
    looked_at = [box for box in diagram.boxes if box.kind in kinds]
    assert looked_at and sum(bool(box.opens) for box in looked_at) >= min(1, len(drawings))


@pytest.mark.parametrize(("id", "preset"), CASES)
def test_no_box_covers_another(id: str, preset: str) -> None:
    boxes = diagram_of(id, preset)[1].boxes
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            across, down = (sum(pair) for pair in zip(sides(one), sides(other), strict=True))
            apart = abs(one.x - other.x) >= across or abs(one.y - other.y) >= down
            assert apart, f"{one.name} covers {other.name}"


def test_layers_that_have_no_room_are_left_out_in_so_many_words() -> None:
    _, diagram = diagram_of("memformers.methods", "ten layers")
    boxes = {box.name: box for box in diagram.boxes}
    assert (boxes["more"].label, boxes["more"].says) == ("…", "layers 3 to 9")
    assert "w9" in boxes and "w2" not in boxes
    joined = {(arrow.start, arrow.end) for arrow in diagram.arrows}
    assert {("w1", "more"), ("more", "w9"), ("R1", "R_more"), ("R_more", "R9")} <= joined
    assert not {("w1", "w9"), ("R1", "R9")} & joined


def test_tokens_of_scalar_labels_hold_the_product() -> None:
    for name, holds in (("layer", "x, y, next x"), ("1-D", "x y, next x")):
        _, diagram = diagram_of("gdssm.layer", name)
        assert next(box.says for box in diagram.boxes if box.name == "C") == holds
        assert ("product x y" in diagram.say) == (name == "1-D")


def test_an_svg_says_nothing_but_text() -> None:
    box = Box("<b>", "a<b", 50, 50, says="x & y")
    svg = model_svg_text(Diagram('Say "it".', (box,), ()), {"<b>": "A & B"}, {})
    for text in ("a&lt;b", 'data-box="&lt;b&gt;"', "Opens: A &amp; B", "x &amp; y"):
        assert text in svg


def test_a_picture_is_a_pixel_a_cell_and_of_the_figure_s_colours() -> None:
    figure = small_map(
        np.array([[-1.0, 0.0], [np.nan, 1.0]]), (None, None), ("row", "column"), "entry", 1.0
    )
    assert picture(figure, 0).startswith("data:image/png;base64,")
    assert picture(figure, 1) == ""
