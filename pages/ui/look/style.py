"""The page's own CSS, all of it: what Streamlit's theme cannot say."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st

_CSS = """
.block-container { padding: 1.1rem 2.5rem 3rem; max-width: 110rem; }
h1, h2:not([slot="title"]) { padding: 0 !important; }
/* Room around the headings of a page's lists: Claims, Runs, the front page. */
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] > * > [data-testid="stHeading"] h2 {
  padding: .7rem 0 .5rem !important; }
/* What Streamlit says where it is lost names another script. */
div:has(+ [data-testid="stErrorCodeBlock"]), [data-testid="stErrorCodeBlock"] code { font-size: 0 !important; }
div:has(+ [data-testid="stErrorCodeBlock"])::after { font-size: 1rem;
  content: "The dashboard does not answer. This page goes on by itself as soon as it does. Start it again with:"; }
[data-testid="stErrorCodeBlock"] code::after { font-size: .9rem; content: "streamlit run app.py"; }
[data-testid="stErrorCodeBlock"] [data-testid="stElementToolbarButton"] { display: none; }
.offline:not(:empty) { position: fixed; inset: auto 0 0; z-index: 999999; padding: .6rem 1rem; text-align: center;
  background: #FFF3D6; color: #1D2126; border-top: 3px solid #E69F00; }
@media (max-width: 640px) { .block-container { padding: 4rem 1rem 3rem; } }
[data-testid="stSidebarUserContent"] { padding-bottom: 0; }
[data-testid="stSidebar"] .stSlider, [data-testid="stSidebar"] .stPills { margin-bottom: -.5rem; }
:has(> .st-key-run) { position: sticky; bottom: 0; padding: .6rem 0 1rem; z-index: 5;
  background: SIDEBAR; }
/* What a lesson sets is to be read. */
[data-testid="stWidgetLabel"][disabled] p { color: FAINT; }
/* A choice of many words wraps. */
:is([data-testid="stSidebar"], .st-key-drawer) [data-testid="stButtonGroup"] :is(button, label) {
  height: auto; min-height: 2rem; text-align: left; }
:is([data-testid="stSidebar"], .st-key-drawer) [data-testid="stButtonGroup"] :is(p, div, span) {
  white-space: normal !important; overflow: visible; }
.st-key-drawer [data-testid="stButtonGroup"] [role=radiogroup] { flex-wrap: wrap; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] p { text-decoration: underline; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] { padding-left: 0; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: FAINT !important; }
[data-testid="stCaptionContainer"] { opacity: 1 !important; }
[data-testid="stBaseButton-primary"] p { color: ON_PRIMARY; }
[data-testid="stHtml"] a { color: LINK; } /* else the browser's */
.st-key-tools { margin-left: auto; }
.st-key-drawers { scroll-margin-top: 35vh; }
/* What a knob moves may stand far below it. */
@media (min-width: 900px) { .st-key-drawer [data-testid="stColumn"]:has(.st-key-knobs) {
  position: sticky; top: 7rem; align-self: flex-start; } }
[class*="st-key-stage-"] { display: grid !important; gap: .4rem 1rem;
  --above: 17.2rem; --rows: 1; --columns: 1; --most: 30rem;
  grid-template-columns: repeat(var(--columns), minmax(0, 1fr));
  grid-auto-rows: clamp(14rem, calc((100vh - var(--above)) / var(--rows) - .4rem), var(--most)); }
[class*="st-key-stage-1x"] { --most: 38rem; }
[class*="st-key-stage-2x"] { --rows: 2; }
[class*="st-key-stage-"][class*="x2"] { --columns: 2; }
[class*="st-key-stage-"][class*="x3"] { --columns: 3; }
[class*="st-key-stage-"] > *, [class*="st-key-seat-"] { min-width: 0; min-height: 0; height: 100%; }
[class*="st-key-stage-"] > :has(> [class*="st-key-seat-wide-"]) { grid-column: span 2; }
:has(> .st-key-films) { display: none !important; }
[class*="st-key-seat-"] { gap: 0 !important; flex-wrap: nowrap; }
[class*="st-key-seat-"], [class*="st-key-panel-"] { position: relative; }
[class*="st-key-seat-"] > :has(.stPlotlyChart) { flex: 1 1 0; min-height: 0; }
[class*="st-key-seat-"] :is([class*="st-key-chart-"], [class*="st-key-figure-"], [data-testid="stFullScreenFrame"],
  .stPlotlyChart) { height: 100% !important; min-height: 0; }
[class*="st-key-seat-"] h3 { position: relative; display: flex; gap: .4rem; padding: 0 !important; margin: 0;
  font-size: 1rem; font-weight: 600; }
[data-title] { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
/* A chart's tools stand in the row of its title, clear of legends and colour bars. No z-index: one that fills the
   screen would stay below the sidebar. */
[data-testid="stElementContainer"]:has(.stPlotlyChart), .stPlotlyChart, .stPlotlyChart .js-plotly-plot {
  position: relative; overflow: visible !important; }
.stPlotlyChart .modebar-container { top: -1.8rem !important; }
@media (hover: none) { .stPlotlyChart .modebar-container { display: none; } }
.caption { flex: none; width: 1.25rem; height: 1.25rem; border-radius: 50%; border: 1px solid rgba(128, 128, 128, .6);
  color: FAINT; font-size: .8rem; text-align: center; line-height: 1.2rem; cursor: help; }
.caption:hover::after, .caption:focus::after { content: attr(data-caption); position: absolute; z-index: 20; left: 0;
  top: 1.6rem; max-width: min(26rem, 100%); padding: .6rem .8rem; background: SIDEBAR; font-weight: 400;
  font-size: .95rem; line-height: 1.4; text-align: left; border: 1px solid rgba(128, 128, 128, .45);
  border-radius: .5rem; }
.st-key-opening { display: grid !important; grid-template-columns: 17rem minmax(0, 1fr); gap: 0 2rem; }
.st-key-opening-words h2 { padding-bottom: .5rem !important; }
.st-key-opening > * { min-width: 0; width: 100%; }
.st-key-opening [class*="st-key-stage-"] { grid-auto-rows: clamp(17rem, 34vh, 22rem); }
ul.bars { list-style: none; margin: .8rem 0 0; padding: 0; }
.bars li { display: grid; grid-template-columns: 12rem 1fr; gap: .1rem 1rem; margin: 0 0 .8rem; align-items: center; }
.bars p { grid-column: 2; margin: 0; color: FAINT; }
.bar { display: flex; gap: 2px; height: 1.7rem; }
.bar span { display: grid; place-items: center; min-width: 1.9rem; color: #0E1117; white-space: nowrap; }
.bar .kept { background: #2FB58D; }
.bar .open { background: repeating-linear-gradient(135deg, #A9AFB8 0 6px, #BCC2CA 6px 12px); }
.bar .failed { background: #E8833A; }
@media (max-width: 900px) {
  [class*="st-key-stage-"] { --columns: 1 !important; grid-auto-rows: 22rem; }
  [class*="st-key-stage-1x2"] { grid-auto-rows: 30rem; }
  [class*="st-key-stage-"] > :has(> [class*="st-key-seat-wide-"]) { grid-column: auto; }
  .clock { position: fixed; bottom: 0; left: 0; right: 0; z-index: 50; padding: .5rem .8rem; background: SIDEBAR;
    border-top: 1px solid rgba(128, 128, 128, .45); }
  .st-key-opening { grid-template-columns: minmax(0, 1fr); gap: .8rem; }
  .st-key-opening .clock { position: static; padding: 0; border: 0; background: none; }
  .bars li { grid-template-columns: 1fr; }
  .bars p { grid-column: 1; }
}
.st-key-panels, .st-key-cards {
  display: grid !important; align-items: start; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
}
.st-key-cards { grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); align-items: stretch; }
[class*="st-key-card-"] { height: 100%; gap: .8rem; }
[class*="st-key-card-"] > :has(> [class*="st-key-picture-"]) { margin-top: auto; }
.st-key-panels > *, .st-key-cards > * { min-width: 0; width: 100%; }
.st-key-panels > *:has(> [class*="st-key-panel-wide-"]) { grid-column: 1 / -1; }
[class*="st-key-panel-"] h3 { padding: 0 !important; }
.st-key-cards h3 { padding: 0 0 .5rem !important; }
.st-key-faded .stPlotlyChart { opacity: .45; transition: opacity .3s; }
.st-key-chips button { padding: .1rem .6rem; min-height: 1.9rem; border-left-width: 5px; }
[class*="st-key-chip-reproduced"] button { border-left-color: #009E73; }
[class*="st-key-chip-not"] button { border-left-color: #D55E00; border-left-style: double; }
[class*="st-key-chip-undecided"] button { border-left-color: #7F7F7F; border-left-style: dashed; }
ul.claims { list-style: none; margin: 0; padding: 0; }
.claims li { margin: 0; padding: .6rem 0; border-top: 1px solid rgba(128, 128, 128, .35);
  display: grid; grid-template-columns: 9.5rem 1fr; gap: .1rem 1rem; }
.claims p { margin: 0; }
.claims .more { grid-column: 2; font-size: .9rem; }
@media (max-width: 640px) { .claims li { grid-template-columns: 1fr; } .claims .more { grid-column: 1; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""

_SCRIPT = (Path(__file__).parents[1] / "browser" / "script.css").read_text(encoding="utf-8")

# A wide figure cannot reflow: on a narrow screen it scrolls inside its panel, a row of maps sooner than curves. A hint
# stands under the title; on the stage beside it and shorter: a figure's own box has a fixed height there.
_SCROLLS = """
@media (max-width: NARROW) {
  WIDE { overflow-x: auto; container-type: inline-size; --least: 680px; }
  WIDE:has(.heatmaplayer) { --least: 840px; }
  WIDE [data-testid="stElementContainer"]:has(.stPlotlyChart) { min-width: var(--least); }
  WIDE:has(.stPlotlyChart) h3::after {
    content: "HINT →" / ""; display: none; flex: none; font-size: .8rem; font-weight: 400; color: FAINT; }
  @container (max-width: 679px) { WIDE:has(.stPlotlyChart) h3::after { display: block; } }
  @container (max-width: 839px) { WIDE:has(.heatmaplayer) h3::after { display: block; } }
}
"""
_PLACES = {"panel": ("1150px", "scroll the figure sideways"), "seat": ("900px", "scroll")}

_PROJECTOR = """
html { font-size: 18px !important; }
[data-testid="stExpandSidebarButton"], [data-testid="stHeader"] { display: none !important; }
body:not(.icl-menu) :is([data-testid="stSidebar"], .st-key-header) { display: none !important; }
.st-key-tools { margin-right: 2.2rem; }
.block-container { padding: .6rem 1.2rem; }
.headline, .st-key-tries { margin-right: 2.4rem; }
[class*="st-key-stage-"] { --above: 11rem; grid-auto-rows: calc((100vh - var(--above)) / var(--rows) - .4rem); }
"""


def is_dark() -> bool:
    """Whether the visitor sees the dark theme."""
    return st.context.theme.type == "dark"


class Look(NamedTuple):
    """For whom a figure is drawn."""

    dark: bool
    projector: bool

    @property
    def name(self) -> str:
        """The same in words."""
        return f"{'dark' if self.dark else 'light'}{' projector' if self.projector else ''}"


def look() -> Look:
    """The visitor's theme, and whether the page is shown on a projector."""
    return Look(is_dark(), "projector" in st.query_params)


def apply(projector: bool = False) -> None:
    """Add the style to the page; `projector` makes all larger and hides what a lecture does not need."""
    # Streamlit has no CSS variable for it, and what sticks to the sidebar's end must cover what scrolls under it.
    sidebar = st.get_option(f"theme.{'dark' if is_dark() else 'light'}.secondaryBackgroundColor")
    css = (_CSS + "".join(map(_scrolls, _PLACES)) + _SCRIPT).replace("SIDEBAR", sidebar)
    css = css.replace("FAINT", "#A6ADB8" if is_dark() else "#5C6470")
    css = css.replace("ON_PRIMARY", "#0E1117" if is_dark() else "#FFFFFF")
    css = css.replace("LINK", st.get_option(f"theme.{'dark' if is_dark() else 'light'}.linkColor"))
    st.html(f"<style>{css}{_PROJECTOR if projector else ''}</style>")


def _scrolls(place: str) -> str:
    narrow, hint = _PLACES[place]
    wide = f'[class*="st-key-{place}-wide-"]'
    return _SCROLLS.replace("NARROW", narrow).replace("WIDE", wide).replace("HINT", hint)
