"""What a visitor waits for, in a real browser; run by hand on idle cores:

    python tests/bench/bench_views.py

It prints, for every page with figures, opened first on a new server and once more in a new window, the seconds to the
first chart and to all of them and what was received; how many snapshots a second follow a dragged slider; what a view
knob costs the server; and the seconds from a slider's release to the first curve of a training and to all figures of
its run. Idle cores matter: the load is printed first.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests import chromium  # noqa: E402

PAGES = ("", "birth", "memformers", "gdssm")
STAGES = ("birth", "gdssm", "memformers", "memformers?experiment=convergence")
KEYS = 3 * ["ArrowRight"] + 6 * ["ArrowLeft"]  # to both ends of the knob
TRAININGS = 6
FIRST = "document.querySelector('.stPlotlyChart .main-svg')"
ALL = (
    "document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]') && "
    "[...document.querySelectorAll('.stPlotlyChart')].every(chart => chart.querySelector('.main-svg'))"
)
# every snapshot in turn, the next one as soon as all charts in sight show it
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
            while (!moving.every(chart => chart.layout.meta.snapshot === at)) await frame();
        }
    return [count / (performance.now() - start) * 1000, moving.length];
}"""


@contextmanager
def server(cache: str) -> Iterator[tuple[str, psutil.Process]]:
    """A new server; its address and its process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    environment = {**os.environ, "ICL_CACHE_DIR": cache}
    started = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        address = f"http://localhost:{port}"
        while True:
            with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                break
            time.sleep(0.05)
        yield address, psutil.Process(started.pid)
    finally:
        started.terminate()
        started.wait(20)


@contextmanager
def window(browser: Browser) -> Iterator[tuple[Page, list[int]]]:
    """A new window, and the sizes of what it receives by its socket."""
    page, received = browser.new_page(viewport={"width": 1400, "height": 900}), []
    page.set_default_timeout(120_000)
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    yield page, received
    page.close()


def opening(browser: Browser, address: str) -> tuple[float, float, int]:
    """Seconds to the first chart and to all of them, and kilobytes received by the socket."""
    with window(browser) as (page, received):
        start = time.perf_counter()
        page.goto(address)
        page.wait_for_function(FIRST)
        first = time.perf_counter() - start
        page.wait_for_function(ALL)
        return first, time.perf_counter() - start, sum(received) // 1000


def dragging(browser: Browser, address: str) -> tuple[float, int, int]:
    """Snapshots a second while the clock is dragged, the panels that move, and bytes received meanwhile."""
    with window(browser) as (page, received):
        page.goto(address)
        page.wait_for_function(ALL)
        page.wait_for_function("window.iclStage?.panels.size > 1")
        page.wait_for_timeout(3000)  # the last of the states arrives
        received.clear()
        rate, moving = page.evaluate(DRAG)
        return rate, moving, sum(received)


def knob(browser: Browser, address: str, process: psutil.Process) -> float:
    """Seconds of the server's processor that a move of a view knob costs, in the mean: its clock ticks are coarse."""
    with window(browser) as (page, _):
        page.goto(f"{address}/birth?drawer=Graft")
        page.wait_for_function(ALL)
        page.wait_for_timeout(3000)
        before = process.cpu_times()
        for key in KEYS:
            here = page.url
            page.get_by_role("slider", name="strength of the constructions").press(key)
            page.wait_for_url(lambda address, here=here: address != here)
            page.wait_for_function(ALL)
            page.wait_for_timeout(500)
        after = process.cpu_times()
        return (after.user + after.system - before.user - before.system) / len(KEYS)


def trainings(browser: Browser, address: str) -> Iterator[tuple[float, float]]:
    """Seconds from a slider's release to the first curve of the training that it begins, and to all figures of its
    run, for some settings that nobody has trained."""
    with window(browser) as (page, _):
        page.goto(f"{address}/gdssm")
        page.wait_for_function(ALL)
        for _ in range(TRAININGS):
            page.wait_for_timeout(3000)
            start = time.perf_counter()
            page.get_by_role("slider", name="L2 penalty").press("ArrowRight")
            page.wait_for_selector("[data-live]")
            first = time.perf_counter() - start
            page.wait_for_selector("[data-live]", state="detached")
            page.wait_for_function(ALL)
            yield first, time.perf_counter() - start


def main() -> None:
    """Print everything."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as cache, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=["--no-sandbox", "--disable-gpu"])
        for name in PAGES:
            with server(cache) as (address, _):
                for which in ("cold", "warm"):
                    first, every, kilobytes = opening(browser, f"{address}/{name}")
                    print(f"/{name:11s} {which}: first {first:.2f} s, all {every:.2f} s, {kilobytes} kB by the socket")
        with server(cache) as (address, process):
            for name in STAGES:
                rate, moving, received = dragging(browser, f"{address}/{name}")
                print(f"/{name}: {rate:.0f} snapshots a second, {moving} panels, {received} bytes received")
            print(f"a view knob: {knob(browser, address, process):.3f} s of the server's processor")
            for first, every in trainings(browser, address):
                print(f"a training: first curve after {first:.2f} s, all figures after {every:.2f} s")


if __name__ == "__main__":
    main()
