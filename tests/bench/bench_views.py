"""What a visitor waits for and receives, in a real browser: pages, the clock, knobs, a training.

Every page with figures is opened first on a new server and once more in a new window; the clock is
dragged through all snapshots, and moved by one; a view knob is moved, and a knob of the training,
whose run nobody has made.
"""

import os
import statistics
import time
from collections.abc import Iterator

import psutil
from playwright.sync_api import Browser, Page

from icl_core import registry
from icl_core.contract.knobs import knobs_of
from tests.bench.dashboard import ALL, FIRST, SETTLED, browser, server, turn, window
from tests.bench.timing import Row, in_words, short

PAGES = ("", "birth", "memformers", "gdssm", "learners")
STAGES = ("birth", "gdssm", "memformers", "memformers?experiment=convergence", "learners")
GRAFT = "birth?drawer=Graft"
VIEW_KNOB = knobs_of(registry.experiment("birth.induction").view)["strength"].label
ATLAS = "birth?experiment=induction&d=32&T=32"
MOVES = 9
ATLAS_KNOB = knobs_of(registry.experiment("birth.induction").config)["T"].label
TRAINING_KNOB = knobs_of(registry.experiment("gdssm.layer").config)["f"].label
KEYS = 3 * ["ArrowRight"] + 6 * ["ArrowLeft"]  # to both ends of the knob
TRAININGS = 3
# every snapshot in turn, the next one as soon as all charts in sight show it, in a frame of its own
DRAG = """async () => {
    const slider = document.querySelector('.clock input');
    const charts = [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')];
    const moving = charts.filter(chart => chart.layout.meta?.snapshot !== undefined);
    const frame = () => new Promise(requestAnimationFrame);
    const start = performance.now();
    let count = 0;
    for (let round = 0; round < 3; round++)
        for (let at = 0; at <= Number(slider.max); at++, count++) {
            slider.value = at;
            slider.dispatchEvent(new Event('input'));
            do await frame(); while (!moving.every(chart => chart.layout.meta.snapshot === at));
        }
    return [count / (performance.now() - start) * 1000, moving.length];
}"""
# from a key to all charts of another run
MOVED = """() => {
    const charts = [...document.querySelectorAll('[class*="st-key-chart-"] .js-plotly-plot')];
    const before = charts.map(chart => chart.layout.meta.film);
    const there = () => charts.map((chart, at) => chart.layout.meta.film !== before[at]);
    const look = (start, first, done) => {
        first ||= there().some(Boolean) ? performance.now() - start : 0;
        if (there().every(Boolean)) done([first, performance.now() - start]);
        else requestAnimationFrame(() => look(start, first, done));
    };
    const once = {once: true, capture: true};
    window.benchMoved = new Promise(done =>
        window.addEventListener('keydown', () => look(performance.now(), 0, done), once));
}"""


def kilobytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{short(count / 1e3)} kB"


def opening_rows(browser: Browser, address: str, page_name: str) -> Iterator[Row]:
    """Cold, on a new server, and warm, in a new window: what is seen when, and what that took to
    send."""
    for which in ("a new server", "a new window"):
        with window(browser) as (page, wire):
            start = time.perf_counter()
            page.goto(f"{address}/{page_name}")
            page.wait_for_function(FIRST)
            first = time.perf_counter() - start
            page.wait_for_function(ALL)
            last = time.perf_counter() - start
            page.wait_for_timeout(SETTLED)
            remark = f"the first after {in_words(first)}"
            yield f"page /{page_name}, {which}: all charts", in_words(last), remark
    sent = f"{kilobytes(wire.http)} by HTTP, {kilobytes(wire.socket)} by the socket"
    yield f"page /{page_name}, first load: bytes", kilobytes(wire.http + wire.socket), sent


def clock_rows(browser: Browser, address: str, name: str) -> Iterator[Row]:
    """The clock dragged through all snapshots."""
    with window(browser, f"{address}/{name}") as (page, wire):
        page.wait_for_function("window.iclStage?.panels.size > 1")
        wire.clear()
        rate, moving = page.evaluate(DRAG)
        remark = f"{moving} panels, {kilobytes(wire.socket + wire.http)} received"
        yield f"the clock of /{name}, dragged", f"{short(rate)} snapshots a second", remark


def step_row(browser: Browser, address: str) -> Row:
    """One snapshot further, and the server told of it."""
    with window(browser, f"{address}/birth") as (page, wire):
        wire.clear()
        page.locator(".clock input").press("ArrowLeft")
        page.wait_for_timeout(SETTLED)
        page.wait_for_function(ALL)
        bytes_received = kilobytes(wire.socket + wire.http)
        return "one snapshot step: bytes", bytes_received, "/birth, the server's answer to it"


def knob_rows(browser: Browser, address: str, process: psutil.Process) -> Iterator[Row]:
    """A view knob: time on the clock, the server's processor time in the mean, as its ticks are
    coarse, and bytes."""
    waits = []
    sent = []
    with window(browser, f"{address}/{GRAFT}") as (page, wire):
        before = process.cpu_times()
        for key in KEYS:
            wire.clear()
            start = time.perf_counter()
            turn(page, VIEW_KNOB, key)
            waits.append(time.perf_counter() - start)
            page.wait_for_timeout(500)
            sent.append(wire.socket + wire.http)
        after = process.cpu_times()
    used = (after.user + after.system - before.user - before.system) / len(KEYS)
    remark = f"median of {len(KEYS)}; {in_words(used)} of the server's processor"
    yield "a view knob to its figures", in_words(statistics.median(waits)), remark
    yield "one knob move: bytes", kilobytes(statistics.median(sent)), f"/{GRAFT}, a view knob"


def atlas_row(browser: Browser, address: str) -> Row:
    """A knob of the atlas from run to run: the first time, when the server draws them,
    and again."""
    waits = []
    with window(browser, f"{address}/{ATLAS}") as (page, _):
        for move in range(MOVES):
            page.evaluate(MOVED)
            key = "ArrowLeft" if move % 2 else "ArrowRight"
            page.get_by_role("slider", name=ATLAS_KNOB).press(key)
            waits.append(page.evaluate("window.benchMoved"))
            page.wait_for_timeout(SETTLED)
    firsts, lasts = zip(*waits, strict=True)
    remark = (
        f"median of {MOVES}; their first after {in_words(statistics.median(firsts) / 1e3)}; the "
        f"first move {in_words(lasts[0] / 1e3)}"
    )
    median = in_words(statistics.median(lasts) / 1e3)
    return "a slider in the atlas to all charts", median, remark


def training(page: Page) -> tuple[float, float]:
    """Seconds from a slider's release to the first curve of the training that it begins, and to all
    its figures."""
    page.wait_for_timeout(SETTLED)
    start = time.perf_counter()
    page.get_by_role("slider", name=TRAINING_KNOB).press("ArrowRight")
    page.wait_for_selector("[data-live]")
    first = time.perf_counter() - start
    page.wait_for_selector("[data-live]", state="detached")
    page.wait_for_function(ALL)
    return first, time.perf_counter() - start


def rows() -> Iterator[Row]:
    """See the head of this file."""
    load = f"load {os.getloadavg()[0]:.1f}"
    with browser() as chromium:
        for name in PAGES:
            with server() as (address, _):
                yield from opening_rows(chromium, address, name)
        with server() as (address, process):
            for name in STAGES:
                yield from clock_rows(chromium, address, name)
            yield step_row(chromium, address)
            yield from knob_rows(chromium, address, process)
            yield atlas_row(chromium, address)
            with window(chromium, f"{address}/gdssm") as (page, _):
                firsts, ends = zip(*(training(page) for _ in range(TRAININGS)), strict=True)
            remark = f"its first curve after {in_words(statistics.median(firsts))}; /gdssm, {load}"
            median = in_words(statistics.median(ends))
            yield "a training knob to the figures of a new run", median, remark
