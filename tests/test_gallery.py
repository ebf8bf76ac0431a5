"""The gallery: a card for each experiment, true of the run that its first preset ships, and small;
its pictures are taken in a Chromium, and stay as they are where there is none."""

import io

import pytest
from house import ROOT, TOY, house
from PIL import Image
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.stage_seat import BETWEEN, ROW, narrowed, seated
from icl_core.figures.style import COLOURS, PAPER, SEAT, TO_DARK, axis, layout
from icl_core.runs import store
from icl_core.share import chromium, gallery, pictures
from icl_core.share.gallery import MOST_BYTES

ENDINGS = ("json", "light.webp", "dark.webp")
IDS = [id for id in registry.experiment_ids() if id != TOY]
LINE = 112  # characters of a headline that stand in one line of a window of 1400 pixels


@pytest.mark.parametrize("id", IDS)
def test_a_card_says_what_the_shipped_run_shows(id):
    experiment = registry.experiment(id)
    header = store.default().preset(id, experiment.presets[0].name)
    run = store.default().load(header)
    card = gallery.card(id)
    assert card is not None, "run `python -m icl_core gallery`"
    assert card.title == experiment.title
    assert card.says == experiment.headline(run, experiment.view(**experiment.presets[0].view))
    assert len(card.says) <= LINE
    assert card.run == run.digest[:16]  # the picture is of this run
    for dark in (False, True):
        picture = Image.open(io.BytesIO(gallery.picture(id, dark)))
        assert picture.size == pictures.PIXELS
        paper = TO_DARK[PAPER] if dark else PAPER
        assert picture.getpixel((0, picture.height - 1)) == rgb(paper)
    assert {*experiment.picture} <= {drawing.name for drawing in experiment.drawings}


def test_the_gallery_has_a_card_of_every_experiment_and_no_other():
    files = [*(ROOT / "artifacts" / "gallery").iterdir()]
    assert {file.name for file in files} == {f"{id}.{ending}" for id in IDS for ending in ENDINGS}
    assert max(file.stat().st_size for file in files) <= MOST_BYTES
    assert sum(file.stat().st_size for file in files) <= 1_000_000


def test_the_page_links_every_experiment():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page = app.switch_page("pages/gallery.py").run()
    assert not page.exception
    links = [element.proto for element in page.get("page_link")]
    titles = {registry.experiment(id).title for id in IDS}
    assert titles <= {link.label for link in links}
    pictures = [element.proto.body for element in page.get("html") if "<img" in element.proto.body]
    assert len(pictures) == len(IDS) and all(' alt="' in body for body in pictures)


@pytest.mark.long
def test_the_build_makes_a_card_once_its_run_is_shipped(tmp_path, monkeypatch, capsys):
    with house(tmp_path, monkeypatch):
        assert main(["gallery", TOY]) == 1 and gallery.card(TOY) is None  # nothing is trained
        assert main(["build", TOY]) == 0
        card = gallery.card(TOY)
        picture = gallery.picture(TOY, True)
        assert card is not None and picture is not None
        assert picture != gallery.picture(TOY, False)

        monkeypatch.setattr(chromium, "find", lambda: None)
        assert main(["build", TOY]) == 0  # there is nothing to do
        assert main(["gallery", TOY]) == 1
        assert "python tests/chromium.py" in capsys.readouterr().err
        assert gallery.card(TOY) == card and gallery.picture(TOY, True) == picture

        old = gallery.path(TOY).read_text().replace(card.figures, "0" * 16)
        gallery.path(TOY).write_text(old)
        assert main(["build", TOY]) == 1  # the run is shipped, and its card stays
        assert "python tests/chromium.py" in capsys.readouterr().err
        assert gallery.path(TOY).read_text() == old and gallery.picture(TOY, True) == picture


@pytest.mark.parametrize("text", ['{"title": "a"}', "[]", "{", '"a"', " " * (MOST_BYTES + 1), "\0"])
def test_a_card_that_cannot_be_read_is_none(text, tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch):
        for ending in ENDINGS:
            gallery.path(TOY, ending).parent.mkdir(parents=True, exist_ok=True)
            gallery.path(TOY, ending).write_text(text)
        assert gallery.card(TOY) is None
        if len(text) > MOST_BYTES:
            assert gallery.picture(TOY, True) is None


@pytest.mark.long
def test_a_picture_has_the_colours_of_its_figure():
    bar = Trace("bar", x=["a"], y=[1.0], marker={"color": COLOURS["trained"]})
    figure = Figure([bar], layout(SEAT, xaxis=axis("x"), yaxis=axis("y")))
    scenes = [pictures.scene([figure], ["A bar"], dark) for dark in (False, True)]
    scenes.append(pictures.scene([figure, figure], ["A bar", "Another"], False))
    light, dark, two = (Image.open(io.BytesIO(picture)) for picture in pictures.take(scenes))
    blue = rgb(COLOURS["trained"])
    pale = rgb(TO_DARK[COLOURS["trained"]])
    assert light.size == dark.size == two.size == pictures.PIXELS
    middle = (light.width // 2, light.height // 2)
    assert light.getpixel(middle) == blue and dark.getpixel(middle) == pale
    # of two panels, each has a bar, and there is nothing between them
    row = [two.getpixel((x, two.height // 2)) for x in range(two.width)]
    left = row[: two.width // 2]
    right = row[two.width // 2 :]
    assert left.count(blue) == pytest.approx(right.count(blue), abs=3) and left.count(blue) > 99
    assert row[two.width // 2] == rgb(PAPER)


def test_names_of_lines_stand_in_rows_that_fit():
    names = [f"a line of number {index}" for index in range(4)]
    lines = [Trace(x=[0, 1], y=[0, 1], mode="lines", name=name) for name in names]
    wide = seated(Figure(lines, layout(SEAT)), width=1000)
    small = narrowed(wide, 300)
    (before,), (after,) = (figure.layout["annotations"] for figure in (wide, small))
    assert "<br>" not in before["text"] and after["text"].count("<br>") == 1
    assert after["text"].replace("<br>", BETWEEN) == before["text"]
    assert small.layout["margin"]["t"] == wide.layout["margin"]["t"] + ROW
    assert narrowed(small, 1000).layout == wide.layout


def rgb(colour: str) -> tuple[int, ...]:
    """The parts of a colour such as #ffffff."""
    return tuple(bytes.fromhex(colour[1:]))
