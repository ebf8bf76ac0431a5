"""The stage with its clock outside the dashboard, by the dashboard's own script: as a plain page,
and as a notebook's widget. Both with plotly.js alone: no server, no network."""

import json
from itertools import islice
from pathlib import Path

import pytest
from conftest import until
from playwright.sync_api import Page, expect
from plotly.offline import get_plotlyjs

import icl_core as icl
from icl_core.runs import store
from icl_core.verification import report

SNAPSHOTS = """[...document.querySelectorAll('.icl-stage .chart')].map(
    (chart) => chart.layout?.meta?.snapshot)"""
PAINTED = "[...document.querySelectorAll('.icl-stage .chart')].map((chart) => chart.iclPainted)"
# A notebook's side of a widget: its traits, and a kernel that sends plotly.js when it is asked.
NOTEBOOK = """<!doctype html><meta charset="utf-8"><main></main><script type="module">
import widget from "/widget.js";
const traits = { stage: JSON.stringify(await (await fetch("/stage.json")).json()), index: 0 };
const listeners = {};
window.model = {
  get: (name) => traits[name],
  set: (name, value) => { traits[name] = value; listeners[`change:${name}`]?.(); },
  save_changes: () => (window.saved = traits.index),
  on: (event, listener) => (listeners[event] = listener),
  off: (event) => delete listeners[event],
  send: async () => listeners["msg:custom"]({}, [await (await fetch("/plotly.js")).arrayBuffer()]),
};
window.end = await widget.render({ model: window.model, el: document.querySelector("main") });
</script>"""


@pytest.fixture(scope="module")
def run():
    return icl.run("birth.induction")


def _shows(page: Page, snapshot: int, charts: int) -> None:
    """Wait until the first `charts` charts, those in sight, show a snapshot."""
    until(
        lambda: page.evaluate(SNAPSHOTS)[:charts] == [snapshot] * charts,
        f"all charts at snapshot {snapshot}",
        lambda: page.evaluate(SNAPSHOTS),
    )


def test_a_plain_page_has_the_clock_of_the_dashboard(window, run, tmp_path: Path):
    path = tmp_path / "stage.html"
    path.write_text(run.html(), encoding="utf-8")
    page = window()
    page.goto(path.as_uri())
    last = len(run.steps) - 1
    charts = page.locator(".icl-stage .chart").count()
    _shows(page, last, 3)
    headline = page.locator(".headline").inner_text()
    page.keyboard.press("ArrowLeft")
    _shows(page, last - 1, 3)
    output = page.locator(".clock output")
    assert output.inner_text() == f"{run.steps[-2]} of {run.steps[-1]}"
    page.locator(".clock input").fill("0")  # as it is dragged there
    _shows(page, 0, 3)
    assert page.locator(".headline").inner_text() != headline
    page.locator(".clock .ticks button").first.click()
    reached = page.locator(".clock input").input_value()
    assert run.steps[int(reached)] >= min(run.experiment.milestones(run.run).values())
    page.locator(".icl-stage .chart").last.scroll_into_view_if_needed()
    last_chart = f"{SNAPSHOTS}[{charts - 1}]"
    until(lambda: page.evaluate(last_chart) == int(reached), "what comes into sight follows")
    page.locator(".clock input").fill(str(last - 1))
    page.keyboard.press("Space")  # it plays to the end and rests there
    until(lambda: page.locator(".clock input").input_value() == str(last), "the end")
    until(lambda: page.locator(".play").get_attribute("aria-label") == "Play", "rest")
    until(lambda: not any(page.evaluate(PAINTED)), "at rest all is drawn in full")


@pytest.mark.long
def test_names_of_milestones_close_to_each_other_stand_beside_each_other(window, tmp_path: Path):
    run = icl.run("birth.transformer", preset="fixed, paper size")
    first, second = sorted(run.experiment.milestones(run.run).values())
    assert second - first < 0.02 * run.steps[-1]
    path = tmp_path / "stage.html"
    path.write_text(run.html(), encoding="utf-8")
    page = window()
    page.goto(path.as_uri())
    names = page.locator(".clock .ticks button")
    until(lambda: names.count() == 2, "both names")
    left, right = (name.bounding_box() for name in names.all())
    assert left and right
    assert left["x"] + left["width"] == pytest.approx(right["x"], abs=1)


@pytest.mark.long
def test_a_widget_and_its_notebook_follow_each_other(window, run):
    widget = run.widget()
    bodies = {"": NOTEBOOK, "widget.js": widget._esm, "stage.json": widget.stage}
    bodies["plotly.js"] = get_plotlyjs()
    kinds = {"": "text/html", "widget.js": "text/javascript", "stage.json": "application/json"}
    page = window(base_url="http://notebook.test")

    def answer(route):
        name = route.request.url.removeprefix("http://notebook.test/")
        kind = kinds.get(name, "text/plain")
        route.fulfill(body=bodies.get(name, ""), content_type=f"{kind}; charset=utf-8")

    page.route("http://notebook.test/**", answer)
    page.goto("/")
    _shows(page, 0, 2)
    page.locator(".clock .on").click()
    _shows(page, 1, 2)
    assert page.evaluate("window.saved") == 1
    page.evaluate("window.model.set('index', 5)")  # the notebook sets the step
    _shows(page, 5, 2)
    page.evaluate("window.end()")  # the cell is run again
    assert page.evaluate(SNAPSHOTS)[0] is None


def test_a_widgets_step_is_the_last_snapshot_not_beyond_it(run):
    widget = run.widget()
    assert widget.step == run.steps[-1]
    widget.step = run.steps[3] + 1
    assert (widget.index, widget.step) == (3, run.steps[3])
    widget.index = 999
    assert widget.step == run.steps[-1]
    widget.step = -5
    assert widget.step == run.steps[0]
    assert json.loads(widget.stage)["steps"] == run.steps


@pytest.mark.long
def test_the_study_shows_the_figure_of_each_claim(window, tmp_path: Path):
    study = list(islice(report.entries(store.default()), 3))
    path = tmp_path / "study.html"
    path.write_text(report.html_page(study), encoding="utf-8")
    page = window()
    page.goto(path.as_uri())
    expect(page.locator("#state")).to_have_count(0)
    widths = page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert len(widths) == sum(entry.panel is not None for entry in study) > 0
    assert min(widths) >= report.WIDTH
