"""A real server is killed while visitors' pages ask for runs, and while a worker trains; the next
one goes on."""

import asyncio
import socket
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web import bootstrap
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.faults.audit import check, finish, statuses
from tests.faults.bed import ASKED, FINISHED, STEPS, Bed, Wrong, work

LIVES = 2.5  # seconds at most
PAGE = Path(__file__).with_name("server_page.py")


def _killed(bed: Bed) -> str:
    """Two visitors open a page, which asks for its run by itself; the server dies at any time
    meanwhile."""
    port = free_port()
    server = bed.begin(serve, port)
    wait_for(port)
    visitors = [bed.begin(visit, port, seed) for seed in ASKED[:2]]
    worker = bed.begin(_works_soon)
    time.sleep(bed.chance.uniform(0, LIVES))
    server.kill()
    server.exit()
    for process in (*visitors, worker):
        process.result()
    check(bed, FINISHED)
    requested = [seed for seed, status in bed.act(statuses, ASKED).items() if status]
    return finish(bed, requested, FINISHED)


def serve(port: int) -> None:
    asyncio.set_event_loop(asyncio.new_event_loop())
    options = {"port": port, "headless": True, "fileWatcherType": "none", "address": "localhost"}
    for name, value in options.items():
        config.set_option(f"server.{name}", value)
    sys.argv = [str(PAGE)]
    bootstrap.run(str(PAGE), False, [], {})


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("localhost", 0))
        return free.getsockname()[1]


def wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5),
        ):
            return
        time.sleep(0.02)
    raise Wrong("the server does not come")


def visit(port: int, seed: int) -> int:
    """Open the page of a setting, and look at it until the server is gone; the number of messages
    that came."""
    count = 0
    address = f"ws://localhost:{port}/_stcore/stream"
    with suppress(OSError, EOFError, WebSocketException), connect(address, max_size=None) as wire:
        asks = BackMsg()
        asks.rerun_script.query_string = f"steps={STEPS}&seed={seed}"
        wire.send(asks.SerializeToString())
        for content in wire:
            message = ForwardMsg.FromString(content)
            count += 1
            if message.HasField("delta") and message.delta.new_element.HasField("exception"):
                raise Wrong(message.delta.new_element.exception.message)
    return count


def _works_soon() -> int:
    time.sleep(0.3)
    return work()


FAULTS = {"server killed": _killed}
