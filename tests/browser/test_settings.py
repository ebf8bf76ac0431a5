"""The address is the state: links, Back, bad values, presets, and what is shown for a setting
without a run."""

import re
from collections.abc import Callable

import pytest
from driver import go, heading, more_settings, reached, step
from playwright.sync_api import Page, expect

Window = Callable[..., Page]


def test_the_first_paint_shows_a_run(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy")
    expect(heading(tab, "The loss falls")).to_be_visible()
    expect(tab.get_by_text("After 300 steps")).to_be_visible()
    expect(tab.get_by_role("button", name="1 of 1 claim reproduced")).to_be_visible()
    expect(tab.locator(".st-key-faded")).to_have_count(0)


def test_another_setting_shows_the_nearest_run_faded(page_at: Window) -> None:
    tab = page_at("/toy?at_once=false")
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=9*")
    expect(tab.get_by_text("nearest trained run, inputs d = 8")).to_be_visible()
    expect(tab.locator(".st-key-faded .stPlotlyChart").first).to_be_visible()
    for title in tab.locator("[data-title]").all():
        expect(title).to_have_css("opacity", "0.55")  # its number is another run's
    expect(tab.locator(".st-key-knob-d .notes")).to_contain_text("preset 8")
    more_settings(tab)
    expect(tab.get_by_role("textbox", name="Setting as text")).to_have_value("d=9")
    expect(tab.get_by_role("button", name="Own setting, from: In class")).to_be_visible()
    tab.get_by_role("button", name="Back to the preset").click()
    expect(tab.locator(".st-key-faded")).to_have_count(0)


def test_the_clock_changes_the_figures(page_at: Window) -> None:
    tab = page_at("/toy")
    expect(tab.locator("[data-title=weights]")).to_have_attribute("data-title", "weights")
    step(tab, "training step shown", "ArrowLeft")
    reached(tab, re.compile(r"/toy\?step=2\d\d$"))  # the last but one


def test_a_knob_of_the_view_is_in_the_address(page_at: Window) -> None:
    tab = page_at("/toy?drawer=View")
    step(tab, "seed shown", "ArrowRight")
    reached(tab, "**seed_shown=1*")


@pytest.mark.long
def test_back_goes_back_through_the_settings(page_at: Window) -> None:
    tab = page_at("/toy?at_once=false")
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=9*")
    step(tab, "inputs d", "ArrowRight")
    reached(tab, "**d=10*")
    tab.go_back()
    expect(tab.get_by_role("slider", name="inputs d")).to_have_attribute("aria-valuetext", "9")
    tab.go_back()
    expect(tab.get_by_role("slider", name="inputs d")).to_have_attribute("aria-valuetext", "8")
    expect(tab.locator(".st-key-faded")).to_have_count(0)


def test_bad_values_are_named_and_nothing_else_is_lost(page_at: Window) -> None:
    tab = page_at("/toy?d=zz&rate=99&colour=red&snapshot=2")
    expect(tab.get_by_text("d must be a whole number")).to_be_visible()
    expect(tab.get_by_text("rate must be a number from 0.001 to 10.0")).to_be_visible()
    expect(tab.get_by_text("no setting 'colour'")).to_be_visible()
    # the third: the first ones are dense
    expect(tab.locator(".clock output")).to_have_text("2 of 300")
    step(tab, "training step shown", "ArrowLeft")
    reached(tab, "**/toy?step=1")


def test_an_unknown_experiment_or_preset_is_named(page_at: Window) -> None:
    tab = page_at("/toy?experiment=run&preset=none")
    expect(tab.get_by_text("experiment must be one of walk, got 'run'")).to_be_visible()
    expect(tab.get_by_text("preset must be one of classroom, paper")).to_be_visible()
    expect(heading(tab, "The loss falls")).to_be_visible()


@pytest.mark.long
def test_a_setting_is_typed_as_a_line_and_a_preset_is_chosen_from_the_menu(page_at: Window) -> None:
    tab = page_at("/toy?at_once=false")
    more_settings(tab)
    line = tab.get_by_role("textbox", name="Setting as text")
    line.fill("d=11, sedes=2")
    line.press("Enter")
    expect(tab.get_by_text("There is no setting 'sedes' (did you mean 'seeds'?).")).to_be_visible()
    expect(line).to_have_value("d=11, sedes=2")
    line.fill("d=11, seeds=2")
    line.press("Enter")
    reached(tab, "**d=11&seeds=2*")
    expect(line).to_have_value("d=11; seeds=2")
    expect(tab.get_by_role("slider", name="inputs d")).to_have_attribute("aria-valuetext", "11")
    tab.get_by_role("button", name="Own setting, from: In class").click()
    tab.get_by_role("button", name="As in the paper").click()
    reached(tab, "**/toy?at_once=false&experiment=walk&preset=paper")
    expect(tab.get_by_role("slider", name="inputs d")).to_have_attribute("aria-valuetext", "16")


@pytest.mark.long
def test_the_shared_link_shows_the_same_setting(server: str, window: Window) -> None:
    tab = go(window(), f"{server}/toy?d=12&snapshot=2")
    tab.locator(".st-key-tools").get_by_role("button").last.click()
    tab.get_by_text("Link with every setting").click()
    code = tab.get_by_test_id("stCode").first
    expect(code).to_be_visible()
    link = code.inner_text().strip()
    assert "d=12" in link and "rate=0.1" in link and "version=1" in link
    again = go(window(), link)
    expect(again.get_by_role("slider", name="inputs d")).to_have_attribute("aria-valuetext", "12")
    expect(again.get_by_test_id("stAlertContentWarning")).to_have_count(0)


@pytest.mark.long
def test_the_bar_leads_to_the_projector_which_hides_menu_and_sidebar(page_at: Window) -> None:
    tab = page_at("/toy")
    tab.locator(".room .projector").click()
    reached(tab, "**projector=1*")
    expect(tab.get_by_test_id("stSidebar")).to_be_hidden()
    expect(heading(tab, "The loss falls")).to_be_visible()
    expect(tab.locator(".st-key-header")).to_be_hidden()
    tab.keyboard.press("m")
    expect(tab.locator(".st-key-header")).to_be_visible()
