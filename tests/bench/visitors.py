"""Visitors without a browser: windows that speak Streamlit's protocol, move sliders, and note how
long the server took.

A window sends what a browser sends, its address and the sliders that were moved, and reads all that
comes back.
"""

import asyncio
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

THINKS = (2.0, 6.0)  # seconds between an answer and the next move, at random
EVENTS = "$$STREAMLIT_INTERNAL_KEY_{}__events"  # what a component tells, by its widget
LONGEST = 120.0  # seconds after which an answer will not come


@dataclass
class Window:
    """An open page: its address, and the sliders on it by the field that they set."""

    socket: ClientConnection
    page: str
    query: str
    sliders: dict[str, str] = field(default_factory=dict)  # field → widget
    moved: dict[str, str] = field(default_factory=dict)  # widget → value
    marked: dict[str, str] = field(default_factory=dict)  # field → slider with marked runs
    move: tuple[str, str] | None = None  # the latest of such a slider: its widget, its value
    faults: int = 0

    def set(self, name: str, value: str) -> None:
        """Move the slider of a field, of whichever kind it is on the page now."""
        if name in self.marked:
            self.move = self.marked[name], value
        else:
            self.moved[self.sliders[name]] = value

    async def answer(self) -> float:
        """Ask for the page as it is set; seconds until the last of it is there."""
        start = time.perf_counter()
        await self.socket.send(self._question())
        async with asyncio.timeout(LONGEST):
            while not self._reads(ForwardMsg.FromString(await self.socket.recv(decode=False))):
                pass
        return time.perf_counter() - start

    def _question(self) -> bytes:
        message = BackMsg()
        message.rerun_script.page_name = self.page
        message.rerun_script.query_string = self.query
        for widget, value in self.moved.items():
            state = message.rerun_script.widget_states.widgets.add(id=widget)
            state.string_array_value.data.append(value)
        if self.move is not None:
            widget, value = self.move
            events = [{"event": "moved", "value": [value, time.time_ns()]}]
            message.rerun_script.widget_states.widgets.add(id=widget, json_value="{}")
            state = message.rerun_script.widget_states.widgets.add(id=EVENTS.format(widget))
            state.json_trigger_value = json.dumps(events)
            self.move = None
        return message.SerializeToString()

    def _reads(self, message: ForwardMsg) -> bool:
        """Take note of a message; whether it is the last of an answer."""
        kind = message.WhichOneof("type")
        if kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        if kind == "delta":
            element = message.delta.new_element
            content = element.WhichOneof("type")
            component = element.bidi_component
            if content == "slider" and element.slider.options:
                name = element.slider.id.rpartition(":")[2]
                self.sliders[name] = element.slider.id
                self.marked.pop(name, None)
            if component.component_name == "icl_atlas_slider":
                name = component.id.rpartition(":")[2]
                self.marked[name] = component.id
                self.moved.pop(self.sliders.pop(name, ""), None)
            self.faults += content == "exception"
        return kind == "script_finished"


@dataclass(frozen=True)
class Visit:
    """What a visitor opens, and the values between which each slider is moved."""

    page: str
    query: str
    grid: Mapping[str, Sequence[str]]


async def visitor(
    address: str, visit: Visit, rng: random.Random, begin: asyncio.Barrier, seconds: float
) -> list[float]:
    """Open a page; when all have, move sliders for so many seconds. How long each answer took.
    Raises `RuntimeError` if the page showed a fault."""
    socket = address.replace("http", "ws", 1) + "/_stcore/stream"
    async with connect(
        socket, subprotocols=["streamlit"], origin=address, max_size=None
    ) as open_socket:  # type: ignore
        window = Window(open_socket, visit.page, visit.query)
        waits = []
        await window.answer()
        names = sorted(set(visit.grid) & (set(window.sliders) | set(window.marked)))
        await begin.wait()
        end = time.monotonic() + seconds
        await asyncio.sleep(rng.uniform(0, THINKS[1]))
        while time.monotonic() < end:
            name = rng.choice(names)
            window.set(name, rng.choice(visit.grid[name]))
            waits.append(await window.answer())
            await asyncio.sleep(rng.uniform(*THINKS))
    if window.faults:
        raise RuntimeError(f"{window.faults} faults on {visit.page}")
    return waits
