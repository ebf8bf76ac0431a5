"""Diagrams: what a box opens is there, whichever setting is drawn."""

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


@pytest.mark.parametrize(("id", "preset"), CASES)
def test_a_box_opens_a_drawing_that_there_is(id: str, preset: str) -> None:
    experiment = registry.experiment(id)
    config = next(each.config for each in experiment.presets if each.name == preset)
    found = experiment.diagram(config)
    boxes = {box.name: box for box in found.boxes}
    drawings = {each.name for each in experiment.drawings if each.applies(config)}
    assert len(boxes) == len(found.boxes) and {box.kind for box in found.boxes} <= set(KINDS)
    assert {box.opens for box in found.boxes} - {""} <= drawings
    for box in found.boxes:
        experiment.view(**box.view)
        assert set(box.view) <= set(knobs_of(experiment.view))
        across, down = sides(box)
        assert across <= box.x <= found.width - across and down <= box.y <= found.height - down, (
            box.name
        )
    assert {name for arrow in found.arrows for name in (arrow.start, arrow.end)} <= boxes.keys()
    # Of a language model the weights that are looked at are given.
    looked_at = {"trained", "construction", *(("given",) if id == "birth.pretrained" else ())}
    shown = [box for box in found.boxes if box.kind in looked_at]
    assert shown and sum(bool(box.opens) for box in shown) >= min(1, len(drawings))


@pytest.mark.parametrize(("id", "preset"), CASES)
def test_no_box_covers_another(id: str, preset: str) -> None:
    experiment = registry.experiment(id)
    boxes = experiment.diagram(
        next(each.config for each in experiment.presets if each.name == preset)
    ).boxes
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            across, down = (sum(pair) for pair in zip(sides(one), sides(other), strict=True))
            apart = abs(one.x - other.x) >= across or abs(one.y - other.y) >= down
            assert apart, f"{one.name} covers {other.name}"


def test_layers_that_have_no_room_are_left_out_in_so_many_words() -> None:
    experiment = registry.experiment("memformers.methods")
    config = next(each.config for each in experiment.presets if each.name == "ten layers")
    found = experiment.diagram(config)
    boxes = {box.name: box for box in found.boxes}
    assert (
        boxes["more"].label == "…"
        and boxes["more"].says == "layers 3 to 9"
        and "w9" in boxes
        and "w2" not in boxes
    )
    joined = {(arrow.start, arrow.end) for arrow in found.arrows}
    assert {("w1", "more"), ("more", "w9"), ("R1", "R_more"), ("R_more", "R9")} <= joined
    assert not {("w1", "w9"), ("R1", "R9")} & joined


def test_tokens_of_scalar_labels_hold_the_product() -> None:
    experiment = registry.experiment("gdssm.layer")
    for name, holds in (("layer", "x, y, next x"), ("1-D", "x y, next x")):
        found = experiment.diagram(
            next(each.config for each in experiment.presets if each.name == name)
        )
        assert next(box.says for box in found.boxes if box.name == "C") == holds
        assert ("product x y" in found.say) == (name == "1-D")


def test_an_svg_says_nothing_but_text() -> None:
    box = Box("<b>", "a<b", 50, 50, says="x & y")
    drawn = model_svg_text(Diagram('Say "it".', (box,), ()), {"<b>": "A & B"}, {})
    assert (
        "a&lt;b" in drawn
        and 'data-box="&lt;b&gt;"' in drawn
        and "Opens: A &amp; B" in drawn
        and "x &amp; y" in drawn
    )


def test_a_picture_is_a_pixel_a_cell_and_of_the_figure_s_colours() -> None:
    figure = small_map(
        np.array([[-1.0, 0.0], [np.nan, 1.0]]), (None, None), ("row", "column"), "entry", 1.0
    )
    assert picture(figure, 0).startswith("data:image/png;base64,")
    assert picture(figure, 1) == ""
