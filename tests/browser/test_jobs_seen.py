"""A training from its button to its figures: to the end, cancelled, reloaded, in two windows, on
another server."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import Popen

import psutil
import pytest
from conftest import until
from driver import go, heading, more_settings, reached, step, train, training
from playwright.sync_api import Locator, Page, expect
from pytest import approx

Window = Callable[..., Page]
SLOW = "toy?steps=1000000"  # minutes, longer than any test needs


@contextmanager
def queue_of(environment: dict[str, str]) -> Iterator[sqlite3.Connection]:
    """The queue of the servers, as it is now."""
    path = Path(environment["ICL_CACHE_DIR"]) / "queue.db"
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
        yield connection


@pytest.fixture(autouse=True)
def nothing_is_left(environment: dict[str, str]) -> Iterator[None]:
    """Give up what a test has left in training: the next one would wait for it."""
    yield
    with queue_of(environment) as connection:
        connection.execute("UPDATE jobs SET cancel = 'cancelled' WHERE status = 'running'")


def test_a_run_trains_to_its_figures(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy?seed=1&steps=5000&at_once=false")
    train(tab)
    expect(training(tab)).to_be_visible()
    expect(tab.locator(".st-key-current .stPlotlyChart").first).to_be_visible()
    expect(tab.get_by_role("button", name="Train it here")).to_have_count(0)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    # it was hidden until now, and a hidden line has no width that its type could be fitted to
    expect(tab.locator(".headline")).to_have_css("font-size", "20px")


def tops(tab: Page) -> list[float]:
    """Where the seats of the stage begin."""
    seats = "[...document.querySelectorAll('[class*=st-key-seat-]')]"
    return tab.evaluate(f"{seats}.map(seat => seat.getBoundingClientRect().top)")


def still(tab: Page) -> list[float]:
    """The same, once nothing moves from one look to the next two."""
    looks = [[0.0], [1.0], [2.0]]

    def rests() -> bool:
        looks[:] = [*looks[1:], tops(tab)]
        return bool(looks[2]) and looks[0] == looks[1] == looks[2]

    until(rests, "the stage stands still")
    return looks[2]


def chart(tab: Page, seat: str) -> Locator:
    """The chart in a seat; Streamlit keeps the one before it, unseen, for a moment."""
    return tab.locator(f".st-key-seat-{seat} .stPlotlyChart").locator("visible=true")


def test_its_curves_grow_in_their_seat_nothing_jumps_and_cancel_stops_it(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/{SLOW}&seed=2")
    expect(tab.locator(".clock")).to_be_visible()  # it brings the style of what stands there
    expect(tab.locator(".says").last).to_be_visible()
    before = still(tab)
    train(tab)
    expect(tab.get_by_text("still training.")).to_be_visible()
    for seat in ("loss", "weights"):  # of this run, as they come
        live = f".st-key-seat-{seat}:has([data-live]) .js-plotly-plot .main-svg"
        expect(tab.locator(live).first).to_be_visible()
        expect(chart(tab, seat)).to_have_css("opacity", "1")
        expect(tab.locator(f"[data-title={seat}]")).to_have_css("opacity", "1")
    expect(tab.locator(".clock")).to_be_hidden()  # the progress stands there
    assert still(tab) == approx(before, abs=1)  # pixels
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_text("Stopped at step")).to_be_visible()
    main = tab.get_by_test_id("stMain")
    expect(main.get_by_role("button", name="Continue from step")).to_be_visible()
    expect(training(tab)).to_have_count(0)
    expect(tab.locator(".st-key-current")).to_have_count(0)  # nothing of another run stands unfaded
    expect(tab.locator("[data-live]")).to_have_count(2)  # and what was trained stays
    expect(tab.locator(".clock")).to_be_visible()
    assert still(tab) == approx(before, abs=1)


def test_a_training_tells_one_time_and_shows_its_curve_and_cancel_is_answered_at_once(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/{SLOW}&seed=6")
    train(tab)
    expect(training(tab)).to_have_text(re.compile(r" · about \d+ (s|min|h) left$"))
    curve = tab.locator(".st-key-progress .sparklines img")
    expect(curve).to_be_visible()
    before = curve.get_attribute("src")
    until(lambda: curve.get_attribute("src") != before, "the curve grows")
    # in the same turn of the browser: no server can have answered
    said = tab.get_by_role("button", name="Cancel").evaluate(
        """button => {
            button.click();
            const words = getComputedStyle(button.querySelector("p"), "::after").content;
            return [words, button.getAttribute("aria-label")];
        }"""
    )
    assert said == ['"Cancelling"', "Cancelling"]
    expect(tab.get_by_text("Stopped at step")).to_be_visible()


@pytest.mark.long
def test_a_setting_of_seconds_trains_when_its_slider_is_released(
    server: str, window: Window
) -> None:
    tab = go(window(), f"{server}/toy?d=20")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()  # nobody has pressed a button
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=21*")
    expect(tab.locator(".st-key-knob-d .notes")).to_contain_text("preset 8")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    expect(tab.locator(".st-key-current .stPlotlyChart").first).to_be_visible()


@pytest.mark.long
def test_a_run_made_here_trains_on_from_where_it_ended(page_at: Window) -> None:
    tab = page_at("/toy?seed=9&steps=500&at_once=false")
    train(tab)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    tab.get_by_role("button", name="Continue training").click()
    expect(tab.get_by_text("Continues from step 500")).to_be_visible()
    tab.get_by_role("button", name="1,000 steps").click()
    reached(tab, "**steps=1000*")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    expect(tab.locator(".headline")).to_contain_text("1000")


@pytest.mark.long
def test_the_switch_turns_that_off_for_the_visit(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy?d=30")
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    more_settings(tab)
    tab.get_by_text("Train automatically").click()
    reached(tab, "**at_once=false*")
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=31*")
    expect(tab.get_by_test_id("stMain").get_by_role("button", name="Train it here")).to_be_visible()
    tab.get_by_text("Train automatically").click()
    reached(tab, lambda address: "at_once" not in address)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()


@pytest.mark.long
def test_reload_and_a_second_window_find_the_same_job(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/{SLOW}&seed=3")
    train(tab)
    expect(training(tab)).to_be_visible()
    tab.reload()
    expect(training(tab)).to_be_visible()
    other = window()
    other.goto(f"{server}/{SLOW}&seed=3")
    expect(training(other)).to_be_visible()
    other.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_text("Stopped at step")).to_be_visible()


@pytest.mark.long
def test_another_server_finds_the_job_and_the_runs_page_cancels_it(
    server: str, serve: Callable[[], str], window: Window
) -> None:
    tab = go(window(), f"{server}/{SLOW}&seed=4")
    train(tab)
    expect(training(tab)).to_be_visible()
    runs = window()
    runs.goto(f"{serve()}/runs")
    expect(training(runs)).to_be_visible()
    runs.get_by_role("button", name="Cancel").click()
    expect(runs.get_by_text("Nothing is training now")).to_be_visible()
    expect(tab.get_by_text("Stopped at step")).to_be_visible()


def worker(environment: dict[str, str]) -> psutil.Process:
    """The process that trains."""
    with queue_of(environment) as connection:
        running = "SELECT progress FROM jobs WHERE status = 'running'"
        (progress,) = connection.execute(running).fetchone()
    return psutil.Process(json.loads(progress)["pid"])


@pytest.mark.long
def test_a_training_outlives_its_server(
    serve: Callable[[], str], servers: dict[str, Popen], environment: dict[str, str], window: Window
) -> None:
    setting = "toy?seed=7&steps=8000&at_once=false"
    killed = serve()
    tab = go(window(), f"{killed}/{setting}")
    train(tab)
    expect(training(tab)).to_be_visible()
    trainer = worker(environment)
    trainer.suspend()  # for as long as a server takes to start
    tab.close()  # it would complain
    servers[killed].kill()
    servers[killed].wait(timeout=20)
    again = window()
    again.goto(f"{serve()}/{setting}")
    expect(training(again)).to_be_visible()
    trainer.resume()
    expect(again.get_by_text("Trained here: about")).to_be_visible()
    expect(again.locator(".st-key-current .stPlotlyChart").first).to_be_visible()


@pytest.mark.long
def test_a_diverging_run_says_so_and_can_be_run_again(page_at: Window) -> None:
    tab = page_at("/toy?rate=10.0&seed=5&at_once=false")
    train(tab)
    expect(tab.get_by_text("The training failed: it diverged at step")).to_be_visible()
    main = tab.get_by_test_id("stMain")
    expect(main.get_by_role("button", name="Run again")).to_be_visible()
    expect(heading(tab, "The loss falls")).to_be_visible()


@pytest.mark.long
def test_a_run_made_here_is_listed_and_can_be_deleted(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy?seed=6&at_once=false")
    train(tab)
    expect(tab.get_by_text("Trained here: about")).to_be_visible()
    runs = go(window(), f"{server}/runs?experiment=toy.walk&origin=local&where=seed%3D6")
    row = runs.locator("[class*=st-key-run-local-]").filter(has_text="first seed = 6")
    expect(row.get_by_role("button", name="Download")).to_be_visible()
    row.get_by_role("button", name="Delete").click()
    expect(runs.get_by_text("No run has these settings.")).to_be_visible()
    runs.get_by_role("button", name="Show all runs").click()
    reached(runs, lambda address: "where" not in address)
    expect(runs.locator(".st-key-run-table")).to_be_visible()
