"""The gallery: a card for each experiment, true of the run that its first preset ships, and small;
what a thumbnail draws lies where the figure's axes say."""

import re
from pathlib import Path

import numpy as np
import pytest
from house import TOY, house
from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import NONE_TO_ALL, TO_DARK, colourscale
from icl_core.figures.thumbnail import MOST_BYTES, themed_svg, thumbnail
from icl_core.runs import store
from icl_core.share import gallery

ROOT = Path(__file__).parents[1]
IDS = [id for id in registry.experiment_ids() if id != TOY]


@pytest.mark.parametrize("id", IDS)
def test_a_card_says_what_the_shipped_run_shows(id):
    experiment = registry.experiment(id)
    header = store.default().preset(id, experiment.presets[0].name)
    run = store.default().load(header)
    card = gallery.card(id)
    assert card is not None, "run `python -m icl_core gallery`"
    assert card.title == experiment.title
    assert card.says == experiment.headline(run, experiment.view(**experiment.presets[0].view))
    assert card.run == run.digest[:16]  # the picture is of this run
    assert gallery.path(id).stat().st_size <= MOST_BYTES
    assert {*experiment.picture} <= {drawing.name for drawing in experiment.drawings}


def test_the_gallery_has_a_card_of_every_experiment_and_no_other():
    files = {path.stem for path in (ROOT / "artifacts" / "gallery").iterdir()}
    assert files == {*IDS}


def test_the_page_links_every_experiment():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    page = app.switch_page("pages/gallery.py").run()
    assert not page.exception
    links = [each.proto for each in page.get("page_link")]
    titles = {registry.experiment(id).title for id in IDS}
    assert titles <= {link.label for link in links}
    pictures = [each.proto.body for each in page.get("html") if "<img" in each.proto.body]
    assert len(pictures) == len(IDS) and all(' alt="' in body for body in pictures)


def test_the_build_draws_a_card_once_its_run_is_shipped(tmp_path, monkeypatch, capsys):
    with house(tmp_path, monkeypatch):
        assert main(["gallery", TOY]) == 1 and gallery.card(TOY) is None  # nothing is trained
        assert main(["build", TOY]) == 0
        card = gallery.card(TOY)
        assert card is not None and card.picture.startswith("<svg ")
        gallery.path(TOY).write_bytes(b"<svg \xff")
        assert gallery.card(TOY) is None
        gallery.path(TOY).write_text(card.picture + " " * MOST_BYTES)
        assert gallery.card(TOY) is None


def _figure(traces: list[Trace], **layout: object) -> Figure:
    return Figure(traces, {"showlegend": False, **layout})


def test_a_line_goes_through_its_points():
    figure = _figure(
        [Trace(x=[1, 10, 100], y=[0.0, np.nan, 1.0], mode="lines", line={"color": "#009E73"})],
        xaxis={"type": "log", "range": [0, 2], "showticklabels": False},
        yaxis={"range": [0, 1], "showticklabels": False},
    )
    svg = thumbnail([figure], "A line", {})
    path = next(
        match for match in re.findall(r'<path d="(M[^"]*)" fill="none" stroke="#009E73"', svg)
    )
    (x0, y0), (x1, y1) = re.findall(r"M([\d.]+) ([\d.]+)", path)  # the gap parts it
    assert float(x0) < float(x1) and float(y0) > float(y1) and "L" not in path


def test_a_map_has_its_runs_in_the_colours_of_its_scale():
    z = np.eye(64)
    figure = _figure([Trace("heatmap", z=z, zmin=0, zmax=1, colorscale=colourscale(NONE_TO_ALL))])
    svg = thumbnail([figure], "A map", {})
    runs = dict(re.findall(r'<path d="([^"]*)" stroke="(#\w{6})"/>', svg))
    by_colour = {colour: path for path, colour in runs.items()}
    assert by_colour[NONE_TO_ALL[-1]] == "".join(f"M{i} {i}.5h1" for i in range(32))  # coarsened
    assert len(svg) < MOST_BYTES
    dark = themed_svg(svg, True)
    assert TO_DARK[NONE_TO_ALL[-1]] in dark and NONE_TO_ALL[-1] not in dark
    assert themed_svg(svg, False) == svg


def test_an_outline_in_data_units_stands_around_its_cell():
    scale = {"zmin": 0, "zmax": 1, "colorscale": colourscale(NONE_TO_ALL)}
    outline = {
        "type": "path",
        "path": "M0.5,0.5H1.5V1.5H0.5Z",
        "xref": "x",
        "yref": "y",
        "line": {"color": "#CC79A7", "width": 2},
    }
    axis = {"showticklabels": False}
    figure = _figure([Trace("heatmap", z=np.eye(2), **scale)], xaxis=axis, yaxis=axis)
    svg = thumbnail([figure.add_shape(**outline)], "A cell", {})
    ((x0, y0, x1, y1),) = re.findall(
        r'd="M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H[\d.]+Z" fill="none" stroke="#CC79A7"', svg
    )
    (origin,) = re.findall(r"translate\(([\d.]+) ([\d.]+)\) scale\(([-\d.]+) ([-\d.]+)\)", svg)
    left, top, width, height = map(float, origin)
    assert float(x0) == pytest.approx(left + width, abs=0.2)
    assert float(x1) == pytest.approx(left + 2 * width, abs=0.2)
    assert float(y0) == pytest.approx(top + height, abs=0.2)
    assert float(y1) == pytest.approx(top + 2 * height, abs=0.2)


def test_many_curves_are_thinned_until_they_fit_and_texts_are_escaped():
    x = np.linspace(0, 1, 400)
    curves = [Trace(x=x, y=np.sin(9 * x + shift), mode="lines") for shift in range(20)]
    svg = thumbnail([_figure(curves)], 'a "b" <c>', {"data-says": "x < y & z"})
    assert len(svg.encode()) <= MOST_BYTES
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in svg and "x &lt; y &amp; z" in svg
    with pytest.raises(ValueError, match="at most 15000 bytes, got"):
        thumbnail([_figure(curves * 20)], "too much", {})


def test_bars_stand_on_zero_and_on_each_other():
    below, above = (Trace("bar", x=["a", "b"], y=[1.0, 2.0], marker={"color": c}) for c in
                    ("#56B4E9", "#CC79A7"))  # fmt: skip
    svg = thumbnail([_figure([below, above], barmode="relative")], "Bars", {})
    found = re.findall(r'd="M[\d.]+ ([\d.]+)H[\d.]+v([\d.]+)H[\d.]+z" fill="(#\w+)"', svg)
    bars = [(float(top), float(height), colour) for top, height, colour in found]
    (low_a, height_a, _), (_, height_b, _), (up_a, _, _), _ = bars
    assert height_b == pytest.approx(2 * height_a, abs=0.2)
    assert up_a == pytest.approx(low_a - height_a, abs=0.2)
