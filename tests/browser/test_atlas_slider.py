"""A slider that marks trained runs leads through them while it is dragged; maps go over from one to
the next."""

import re
from collections.abc import Callable

import pytest
from conftest import until
from driver import go, reached, settled
from playwright.sync_api import Locator, Page, expect

Window = Callable[..., Page]
PAGE = "/gdssm?at_once=false"
LABEL = "features, f"  # f = 10; the atlas has 3, 5, 10 and 20 of the 40 stops
FILMS = """() => [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')]
    .map(plot => plot.layout.meta?.film)"""
HELD = "() => [...window.iclStage.panels.values()].map(({film}) => film)"
# Note the first cell of a map at each frame from now on, by a clock of the test's own.
NOTE_CELLS = """() => {
    window.cells = [];
    const plot = document.querySelector('.st-key-chart-state .js-plotly-plot');
    const frame = window.requestAnimationFrame.bind(window);
    let now = 0;
    window.requestAnimationFrame = (act) => frame(() => act(now));
    const note = () => {
        now += 20;
        window.cells.push(plot.calcdata[0][0].z[0][0]);
        frame(note);
    };
    note();
}"""


def knob(tab: Page, label: str = LABEL) -> Locator:
    return tab.get_by_role("slider", name=label)


def beside(tab: Page, value: int, pixels: float = 0.0, label: str = LABEL) -> tuple[float, float]:
    """The place so many pixels beside a whole-number stop of the slider."""
    slider = knob(tab, label)
    box = slider.bounding_box()
    assert box is not None
    share = (value - 1) / int(slider.get_attribute("max") or 0)
    inset = 6.0  # the thumb's half
    across = box["x"] + inset + share * (box["width"] - 2 * inset)
    return across + pixels, box["y"] + box["height"] / 2


def take(tab: Page, value: int) -> None:
    """Press the pointer on the thumb, which stands at `value`."""
    tab.mouse.move(*beside(tab, value))
    tab.mouse.down()


def drag(tab: Page, value: int, pixels: float = 0.0) -> None:
    tab.mouse.move(*beside(tab, value, pixels), steps=4)


def stands_at(tab: Page, value: str, label: str = LABEL) -> None:
    expect(knob(tab, label)).to_have_attribute("aria-valuetext", value)


def films(tab: Page) -> list[str]:
    """The films that the charts show, once they show those that have come."""
    until(
        lambda: set(tab.evaluate(HELD)) == set(tab.evaluate(FILMS)),
        "every chart shows the film that came for it",
    )
    return tab.evaluate(FILMS)


def test_dragging_leads_through_trained_runs_before_it_is_let_go(page_at: Window) -> None:
    tab = page_at(PAGE)
    before = films(tab)
    expect(knob(tab)).to_have_js_property("ariaDescription", "Trained already: 3, 5, 10, 20")
    take(tab, 10)
    drag(tab, 20, 7)
    stands_at(tab, "20")  # the thumb snaps
    reached(tab, re.compile("f=20"))
    at_20 = films(tab)
    assert not set(at_20) & set(before)
    drag(tab, 5, -5)
    drag(tab, 10, -3)
    stands_at(tab, "10")
    reached(tab, re.compile(r"/gdssm\?at_once=false$"))
    assert films(tab) == before
    tab.mouse.up()
    assert films(settled(tab)) == before


def test_the_newest_of_the_marks_that_were_passed_is_shown(page_at: Window) -> None:
    tab = page_at(PAGE)
    take(tab, 10)
    for value in (20, 10, 5, 3):
        drag(tab, value)
    reached(tab, re.compile("f=3$"))
    stands_at(tab, "3")
    tab.mouse.up()


def test_an_answer_does_not_move_a_held_thumb_and_a_rest_is_sent(page_at: Window) -> None:
    tab = page_at(PAGE)
    take(tab, 10)
    drag(tab, 20)
    drag(tab, 30)  # before the server has answered
    stands_at(tab, "30")
    reached(tab, re.compile("f=30"))  # where it rests
    stands_at(tab, "30")
    drag(tab, 34)
    stands_at(tab, "34")
    tab.mouse.up()
    reached(tab, re.compile("f=34"))
    stands_at(tab, "34")
    expect(tab.locator(".st-key-faded")).to_be_visible()  # the nearest run


def test_keys_move_by_a_stop_and_by_a_mark_and_back_goes_back(page_at: Window) -> None:
    tab = page_at(PAGE)
    for key, value in (("PageUp", 20), ("ArrowRight", 21), ("PageDown", 20), ("Home", 1)):
        knob(tab).press(key)
        reached(tab, re.compile(f"f={value}$"))
        stands_at(tab, str(value))
    for value in ("20", "21", "20"):
        tab.go_back()
        stands_at(tab, value)
        settled(tab)
    knob(tab).press("End")
    reached(tab, re.compile("f=40$"))
    knob(tab).press("PageUp")  # there is no further mark
    stands_at(tab, "40")


def test_a_click_on_a_mark_goes_there(page_at: Window) -> None:
    tab = page_at(PAGE)
    across, middle = beside(tab, 5, 4)
    tab.mouse.click(across, middle + 4)  # where the mark hangs from the track
    reached(tab, re.compile("f=5$"))
    stands_at(tab, "5")


def test_a_value_that_is_no_stop_is_shown_and_left(page_at: Window) -> None:
    tab = page_at("/birth?at_once=false&d=100")
    stands_at(tab, "100", "width, d")
    knob(tab, "width, d").press("ArrowRight")
    reached(tab, re.compile("d=112$"))
    stands_at(tab, "112", "width, d")
    knob(tab, "width, d").press("ArrowLeft")
    reached(tab, re.compile("d=96$"))


def test_a_lesson_that_sets_the_knob_disables_it(page_at: Window) -> None:
    tab = page_at("/gdssm?lesson=state-is-gradient")
    slider = knob(tab, "context pairs")
    expect(slider).to_be_disabled()
    shown = slider.get_attribute("aria-valuetext")
    tab.mouse.click(*beside(tab, 40, label="context pairs"))
    stands_at(tab, shown or "", "context pairs")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_maps_of_one_shape_go_over_from_run_to_run(
    server: str, window: Window, motion: str
) -> None:
    tab = window()
    tab.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
    go(tab, f"{server}{PAGE}&step=300")  # a film that plays first would move them, too
    before = films(tab)
    tab.evaluate(NOTE_CELLS)
    knob(tab, "context pairs").press("PageUp")
    reached(tab, re.compile("N=20"))
    until(lambda: not set(films(tab)) & set(before), "all charts show the other run")
    last = "document.querySelector('.st-key-chart-state .js-plotly-plot').data[0].z"
    expected = tab.evaluate(f"""() => {{
        const {{dtype, bdata, shape}} = {last};
        return new Float32Array(Uint8Array.from(atob(bdata), c => c.charCodeAt(0)).buffer)[0];
    }}""")
    until(lambda: tab.evaluate("cells.at(-1)") == expected, "the last cell is the other run's")
    values = list(dict.fromkeys(tab.evaluate("cells")))
    moves = motion == "no-preference"
    assert len(values) > 5 if moves else len(values) == 2, values
    assert values in (sorted(values), sorted(values, reverse=True)), values
