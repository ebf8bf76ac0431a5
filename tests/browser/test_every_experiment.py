"""What is checked of every experiment: one page load for each paper, in which the experiments are
visited one after the other.

A check that is to hold for every experiment belongs into CHECKS, as loading a page takes more than
most checks do.
"""

from collections.abc import Callable

import pytest
from conftest import until
from driver import PAINTED, SHOWN, drag, go, let_go, open_drawer, settled, together, visit
from playwright.sync_api import Page, expect

from icl_core import registry
from icl_core.contract.experiment import STAGE, Experiment
from icl_core.contract.knobs import knobs_of, main_knobs
from tests.parameters import first_is_short

Window = Callable[..., Page]
PAPERS = [name for name in registry.papers() if name != "toy"]
FIRST = [next(iter(registry.papers()[paper].experiments)) for paper in PAPERS]
DESK = {"width": 1400, "height": 900}
PROJECTOR = {"width": 1280, "height": 720}
LAPTOP = {"width": 1366, "height": 768}
WIDE = {"width": 1920, "height": 1080}
PHONE = {"width": 390, "height": 844}
# What of the stage's texts is cut off or covered: titles; texts under the tag that says whose
# numbers a panel shows; names of lines wider than their chart; wide panels of curves that scroll.
CUT = """() => {
  const box = element => element?.getBoundingClientRect();
  const titles = [...document.querySelectorAll('.seat-title [data-title]')];
  const lines = title =>
    Math.round(title.clientHeight / parseFloat(getComputedStyle(title).lineHeight));
  const cut = titles.filter(title => title.scrollWidth > title.clientWidth + 1 || lines(title) > 2
    || title.scrollHeight > title.clientHeight + 2).map(title => `cut: ${title.textContent}`);
  const seats = [...document.querySelectorAll('[class*="st-key-seat-"]')];
  const covered = seats.flatMap(seat => {
    const tag = box(seat.querySelector('.whose'));
    const isUnder = ({width, left, right, top, bottom}) => tag?.width && width
      && left < tag.right && tag.left < right && top + 3 < tag.bottom && tag.top + 3 < bottom;
    return [...seat.querySelectorAll('svg text')].filter(text => isUnder(box(text)))
      .map(text => `under a tag: ${text.textContent}`);
  });
  const wide = seats.filter(seat => {
    const plot = seat.querySelector('.js-plotly-plot');
    const index = plot?.layout?.annotations?.findIndex(note => note.name === 'key') ?? -1;
    const names = plot?.querySelector(`.annotation[data-index="${index}"] .annotation-text`);
    const isMap = seat.querySelector('.heatmaplayer, .barlayer');
    return (names && box(names).right > box(plot).right + 1)
      || (!isMap && seat.scrollWidth > seat.clientWidth + 1);
  }).map(seat => `too wide: ${seat.className}`);
  return [...cut, ...covered, ...wide, ...(titles.length ? [] : ["no title"])];
}"""
# The charts whose colour bar is higher or lower than their maps by more than 6 px.
UNEVEN = """() => [...document.querySelectorAll('[class*="st-key-chart-"]')].filter(chart => {
  const bar = chart.querySelector('.cbfills')?.getBoundingClientRect();
  const plot = chart.querySelector('.js-plotly-plot');
  const isMap = plot?.data?.some(({type}) => type === 'heatmap');
  return bar && isMap && Math.abs(bar.height - plot._fullLayout.yaxis._length) > 6;
}).map(chart => chart.className)"""
NAMES = """() => [...document.querySelectorAll('.seat-title [data-title]')]
    .map(title => title.dataset.title)"""
# The name of the panel whose figure is 1.4 times as large as any other; empty if there is none.
LARGE = """() => {
  const area = title => {
    const seat = title.closest('[class*="st-key-seat-"]');
    const box = seat.querySelector('.main-svg')?.getBoundingClientRect();
    return box ? box.width * box.height : 0;
  };
  const sized = [...document.querySelectorAll('.seat-title [data-title]')]
    .map(title => [area(title), title.dataset.title]).sort(([one], [other]) => other - one);
  return sized.length < 2 || sized[0][0] > 1.4 * sized[1][0] ? sized[0][1] : "";
}"""
THINNEST = """() => Math.min(...[...document.querySelectorAll('.scatterlayer .js-line')]
    .map(line => parseFloat(getComputedStyle(line).strokeWidth)).filter(width => width > 0))"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll('[class*="st-key-chart-"] svg text')]
    .filter(text => text.textContent.trim()).map(text =>
      parseFloat(getComputedStyle(text).fontSize)))"""
TOPS = """() => [...document.querySelectorAll('[class*="st-key-chart-"]')].map(chart =>
  chart.getBoundingClientRect())
    .map(box => [box.top, box.bottom])"""

# The main knobs of which no other element covers the label: name and lower end of each.
KNOBS = """() => [...document.querySelectorAll('.st-key-main-knobs [class*="st-key-knob-"]')]
    .filter(knob => {
      const box = knob.querySelector("label p, .atlas-slider .name span")?.getBoundingClientRect();
      return box && knob.contains(
        document.elementFromPoint(box.left + 5, box.top + box.height / 2));
    })
    .map(knob => [knob.className.match(/st-key-knob-(\\w+)/)[1],
      knob.getBoundingClientRect().bottom])"""


@pytest.mark.parametrize("paper", first_is_short(sorted(PAPERS, key="gdssm".__ne__)))
def test_the_first_experiment_of_a_paper(server: str, window: Window, paper: str) -> None:
    names = list(registry.papers()[paper].experiments)
    _check(window(), server, paper, names[:1])


@pytest.mark.long
@pytest.mark.parametrize("paper", PAPERS)
def test_every_other_experiment_of_a_paper(server: str, window: Window, paper: str) -> None:
    names = list(registry.papers()[paper].experiments)
    _check(window(), server, paper, names[1:])


def _check(tab: Page, server: str, paper: str, names: list[str]) -> None:
    for index, name in enumerate(names):
        tab.set_viewport_size(DESK)
        if index == 0:
            go(tab, f"{server}/{paper}?experiment={name}")
        else:
            visit(tab, f"/{paper}?experiment={name}")
        for check in CHECKS:
            try:
                check(tab, registry.experiment(f"{paper}.{name}"))
            except Exception as fault:
                fault.add_note(f"in {check.__name__} of {paper}.{name}")
                raise


def the_stage_is_the_first_screen(tab: Page, experiment: Experiment) -> None:
    """At 1400 × 900 it starts above 260 px and ends above 900 px."""
    boxes: list[tuple[float, float]] = []

    def placed() -> bool:
        boxes[:] = tab.evaluate(TOPS)
        tops, bottoms = zip(*boxes, strict=True) if boxes else ((), ())
        return bool(boxes) and 0 < min(tops) < 260 and max(bottoms) < 900

    until(placed, "the stage is in the first screen", lambda: f"{boxes} {tab.inner_text('body')}")
    assert tab.locator(".js-plotly-plot").count() <= 8
    expect(tab.locator(".headline")).to_contain_text(".")


def texts_are_whole(tab: Page, experiment: Experiment) -> None:
    """Titles, tags and names on every screen: titles in at most two lines."""
    tab.mouse.move(0, 0)  # the tools that a chart shows under the pointer take the end of its title
    for size in (LAPTOP, WIDE, PHONE, DESK):
        tab.set_viewport_size(size)
        until(
            lambda: not tab.evaluate(CUT), f"all is seen at {size}", lambda: f"{tab.evaluate(CUT)}"
        )


def one_panel_is_large(tab: Page, experiment: Experiment) -> None:
    """The first one, until the title of another is pressed; its figure fills the larger seat."""
    names = tab.evaluate(NAMES)

    def is_large(name: str) -> None:
        until(lambda: tab.evaluate(LARGE) == name, f"{name} is large", lambda: tab.evaluate(LARGE))

    is_large(names[0])
    for name in (names[-1], names[0]):
        tab.locator(f'.seat-title [data-title="{name}"]').click()
        is_large(name)


def colour_bars_are_as_high_as_their_maps(tab: Page, experiment: Experiment) -> None:
    until(lambda: not tab.evaluate(UNEVEN), "equal heights", lambda: f"{tab.evaluate(UNEVEN)}")


def what_is_painted_is_what_is_drawn(tab: Page, experiment: Experiment) -> None:
    """While the clock is dragged, traces look as they do once it rests: there and back again, as
    the next check finds the page at its end."""
    if not tab.locator(".clock:visible").count():
        return
    last = tab.get_by_role("slider", name="training step shown").get_attribute("max")
    for place in (1, int(last or 0)):
        drag(tab, place)
        together(tab, place)
    painted = tab.evaluate(PAINTED)
    assert painted
    let_go(tab)
    assert painted.items() <= tab.evaluate(SHOWN).items()


def the_main_knobs_are_in_sight(tab: Page, experiment: Experiment) -> None:
    """All of them without scrolling on a laptop of 768 px; the sidebar is the same on larger
    screens, which is looked at once for each paper."""
    config = experiment.presets[0].config
    fields = knobs_of(experiment.config)
    expected = [
        field
        for field in main_knobs(experiment.config)
        if not fields[field].shown_if or getattr(config, fields[field].shown_if)
    ]
    expected.sort(key=lambda field: fields[field].kind != "slider")  # sliders come first
    sizes = (LAPTOP, WIDE, DESK) if experiment.name in FIRST else (DESK,)
    for size in sizes:
        tab.set_viewport_size(size)

        def in_sight() -> list[str]:
            knobs = tab.evaluate(KNOBS)
            return [name for name, bottom in knobs if bottom <= LAPTOP["height"]]

        until(lambda: in_sight() == expected, f"all main knobs at {size}", lambda: f"{in_sight()}")


def every_drawer_opens(tab: Page, experiment: Experiment) -> None:
    """One after the other, with all its panels."""
    config = experiment.presets[0].config
    drawings = [drawing for drawing in experiment.drawings if drawing.applies(config)]
    for drawer in dict.fromkeys(drawing.place for drawing in drawings if drawing.place != STAGE):
        open_drawer(tab, drawer)
        for drawing in (drawing for drawing in drawings if drawing.place == drawer):
            key = f"panel-{'wide' if drawing.wide else 'half'}-{drawing.name}".replace(" ", "-")
            panel = tab.locator(f".st-key-{key}")
            content = panel.locator(".main-svg, table, [data-testid=stDataFrame]")
            content.locator("visible=true").first.wait_for()
        settled(tab)
    assert "nan" not in tab.get_by_test_id("stMain").inner_text().lower().split()


def a_projector_is_filled(tab: Page, experiment: Experiment) -> None:
    """Its stage ends above 720 px, with type that is large enough."""
    tab.set_viewport_size(PROJECTOR)
    visit(tab, f"{tab.url}&projector=1")
    until(lambda: _fills_the_projector(tab.evaluate(TOPS)), "the stage ends above 720 px")
    until(lambda: tab.evaluate(SMALLEST) >= 14, "its type is that of a projector")
    expect(tab.locator(".st-key-header")).to_be_hidden()
    tab.set_viewport_size(WIDE)
    until(lambda: tab.evaluate(SMALLEST) >= 22, "its type grows with the screen")
    until(lambda: tab.evaluate(THINNEST) >= 4, "and so do its lines")

    def ends_low() -> bool:
        return 0.9 * 1080 < max(bottom for _, bottom in tab.evaluate(TOPS)) < 1080

    until(ends_low, "the stage fills its height")


def _fills_the_projector(boxes: list[tuple[float, float]]) -> bool:
    return min(top for top, _ in boxes) > 0 and max(bottom for _, bottom in boxes) < 720


# In this order: each check finds the page as the one before has left it, the first at 1400 × 900.
CHECKS = (
    the_stage_is_the_first_screen,
    texts_are_whole,
    one_panel_is_large,
    colour_bars_are_as_high_as_their_maps,
    what_is_painted_is_what_is_drawn,
    the_main_knobs_are_in_sight,
    a_projector_is_filled,
    every_drawer_opens,
)
