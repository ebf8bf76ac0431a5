"""A class that answers by phone: how long thirty phones wait while two trainings run,
and whether each vote is counted once.

A lecturer's browser asks a question of the induction head and opens the answers. Each phone asks
every two seconds what is shown, and answers three times a round, the last time with the choice of
its number. The lecturer's browser draws on the same cores.
"""

import http.client
import json
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

from tests.bench import timing
from tests.bench.bench_class import training
from tests.bench.dashboard import browser, server, window
from tests.bench.timing import Row, in_words

PHONES = 30
ANSWERS = 3  # of each phone in a round
PAUSE = 2.0  # seconds between two questions of a phone, as in join.js
SECONDS = 60.0
FEW = 20.0  # without `--all`
QUESTION = "/birth?beat=output"


def phone(port: int, code: str, number: int, seconds: float, asked: Event) -> list[float]:
    """Join a class, ask what is shown, and answer. Return how long each answer of the server took.
    Raises `RuntimeError` if it refused something."""
    rng = random.Random(number)
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    waits = []

    def post(what: str, **fields: object) -> dict:
        body = json.dumps({"code": code, "phone": f"phone{number:016}", **fields})
        start = time.perf_counter()
        connection.request("POST", f"/class/{what}", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        waits.append(time.perf_counter() - start)
        if response.status != 200:
            raise RuntimeError(f"expected an answer, got {response.status}: {answer}")
        return answer

    time.sleep(rng.uniform(0, PAUSE))
    asked.wait()
    state = post("state")
    ends = time.monotonic() + seconds
    times = sorted(rng.uniform(0, 0.7 * seconds) for _ in range(ANSWERS))
    begins = time.monotonic()
    version = state["version"]
    while time.monotonic() < ends:
        version = post("state", version=version).get("version")
        if times and time.monotonic() - begins > times[0]:
            times.pop(0)
            choice = rng.randrange(3) if times else number % 3
            post("vote", number=state["number"], round=state["round"], answer=choice)
        time.sleep(PAUSE)
    return waits


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with ExitStack() as stack:
        address, process = stack.enter_context(server())
        stack.enter_context(training(process))
        port = int(address.rpartition(":")[2])
        page, _ = stack.enter_context(window(stack.enter_context(browser()), address + QUESTION))
        page.get_by_role("button", name="With the class").click()
        code = page.locator(".class-place b").inner_text()
        threads = stack.enter_context(ThreadPoolExecutor(PHONES))
        asked = Event()
        seconds = SECONDS if timing.thorough else FEW
        phones = [
            threads.submit(phone, port, code, number, seconds, asked) for number in range(PHONES)
        ]
        asked.set()
        waits = sorted(wait for each in phones for wait in each.result())
        page.get_by_role("button", name="Open the answers").click()
        page.locator(".st-key-class .bartext").first.wait_for()
        texts = page.locator(".st-key-class .bartext").all_text_contents()
        counted = [int(text.split()[0]) for text in texts]
        what = "a phone of a class, to its answer"
        remark = f"{len(waits)} requests of {PHONES} phones in {seconds:.0f} s, two trainings"
        yield f"{what}, median", in_words(statistics.median(waits)), remark
        late = in_words(waits[int(0.99 * (len(waits) - 1))])
        yield f"{what}, 99th percentile", late, f"the slowest {in_words(waits[-1])}"
        each = ", ".join(map(str, counted))
        remark = f"{each} for the three choices; each phone answered {ANSWERS} times"
        yield "votes that were counted", f"{sum(counted)} of {PHONES}", remark
