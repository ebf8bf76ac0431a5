"""Matrices are uploaded, told of, and seen as those of a training are; a malformed file changes
nothing."""

from collections.abc import Callable

import numpy as np
import pytest
from driver import go, heading, more_settings, open_drawer, reached, settled
from playwright.sync_api import FilePayload, Locator, Page, expect
from safetensors.numpy import save

from icl_core.papers.birth.shared.own_matrices import SHAPES

pytestmark = pytest.mark.long

SIZES = {"N": 10, "T": 32, "d": 16}


def file(**left: np.ndarray) -> FilePayload:
    """Random matrices but for those that are `left` as they are, as a browser uploads them."""
    draw = np.random.default_rng(0).normal
    matrices = {
        name: draw(size=[SIZES[letter] for letter in letters]) for name, letters in SHAPES.items()
    }
    content = save(matrices | left)
    return {"name": "mine.safetensors", "mimeType": "application/octet-stream", "buffer": content}


def upload(tab: Page) -> Locator:
    """Where a file is chosen, opened."""
    more_settings(tab)
    tab.get_by_test_id("stSidebar").get_by_text("The model", exact=True).click()
    tab.get_by_role("button", name="Matrices: trained ones").click()
    return tab.get_by_test_id("stFileUploader").locator("input[type=file]")


def test_uploaded_matrices_are_seen_and_grafted(server: str, window: Callable[..., Page]) -> None:
    tab = go(window(), f"{server}/birth")
    chooser = upload(tab)
    chooser.set_input_files(file(W_K2=np.zeros((16, 17))))
    message = "W_K2 must have the shape [d, d] = [16, 16], got [16, 17]. Nothing has"
    expect(tab.get_by_text(message)).to_be_visible()
    chooser.set_input_files(file())
    description = "N = 10, T = 32, d = 16; two layers; a feed-forward layer."
    expect(tab.get_by_text(description)).to_be_visible()
    tab.get_by_role("button", name="Use these matrices").click()
    reached(tab, "**matrices=*")
    expect(tab.get_by_text("Measured here, not trained")).to_be_visible()
    tab.keyboard.press("Escape")
    headline = settled(tab).locator(".headline")
    expect(headline).to_contain_text("With your matrices, which are not trained here")
    for seat in ("first", "second", "probes", "w_k1", "w_k2", "w_o2"):
        expect(tab.locator(f".st-key-seat-{seat} .main-svg").first).to_be_visible()
    open_drawer(tab, "Graft")
    tab.locator(".st-key-drawer").get_by_role("radio", name="zero").nth(2).click()
    expect(heading(tab, "W_O² → zero: accuracy")).to_be_visible()
