"""Addresses as nobody should type them: read without a page, and the worst of them as
whole pages."""

import re
from html import unescape
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from fuzz import EVIL, NASTY, is_ours, shows_as_text, texts, tries
from hypothesis import given
from hypothesis import strategies as st
from test_bad_values import classes
from test_links import open_page

from icl_core import registry
from icl_core.contract.knobs import knobs_of, values
from pages.ui.link import address, lesson_rules, pending_address
from pages.ui.look.escape import escape_markdown

PAPERS = ("birth", "memformers", "gdssm")
OWN = address._PAGE_FIELDS
SHOWN = (
    "markdown",
    "caption",
    "warning",
    "error",
    "info",
    "success",
    "title",
    "header",
    "subheader",
    "text",
)


class Query(dict[str, str]):
    """The address, as Streamlit has it."""

    def from_dict(self, fields: dict[str, str]) -> None:
        self.clear()
        self.update(fields)


@pytest.fixture
def query(monkeypatch):
    """The address, and no page."""
    query = Query()
    streamlit = SimpleNamespace(query_params=query, session_state={})
    for module in (address, lesson_rules, pending_address):
        monkeypatch.setattr(module, "st", streamlit)
    return query


@pytest.mark.parametrize("name", PAPERS)
def test_any_address_is_a_setting_and_sentences(name, query):
    paper = registry.papers()[name]
    fields = {
        field
        for module in paper.experiments
        for cls in classes(f"{name}.{module}")
        for field in knobs_of(cls)
    }
    names = st.sampled_from([*sorted(fields), *OWN])

    @tries(80)
    @given(
        st.dictionaries(names | texts(20), texts(), max_size=6),
        st.sampled_from(list(paper.experiments)),
    )
    def hold(parameters, module):
        query.clear()
        query.update({"experiment": module, **parameters})
        setting = address.read(paper)
        assert type(setting.config)(**values(setting.config)) == setting.config
        assert type(setting.view)(**values(setting.view)) == setting.view
        for warning in (*setting.warnings, *([setting.refused] if setting.refused else [])):
            assert len(warning) < 1500 and shows_as_text(escape_markdown(warning)), warning
        address.write("seed", 1, 0)
        assert query["seed"] == "1"

    hold()


@tries(150)
@given(texts())
def test_outside_text_shows_as_text(text):
    assert shows_as_text(escape_markdown(text)), escape_markdown(text)


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_shows_as_text(text):
    assert shows_as_text(escape_markdown(text)), escape_markdown(text)


def evil_link(name: str, module: str) -> dict[str, str]:
    """Every parameter of an experiment's page at once, each with markup in it."""
    own = {
        field: EVIL
        for field in OWN
        if field not in ("experiment", "preset", "projector", "at_once", "lesson")
    }
    fields = {field: EVIL for cls in classes(f"{name}.{module}") for field in knobs_of(cls)}
    return {**fields, **own, EVIL: EVIL, "experiment": module, "at_once": "false"}


EVIL_PAGES = {
    "birth": evil_link("birth", "induction"),
    "memformers": evil_link("memformers", "methods"),
    "gdssm": evil_link("gdssm", "nonlinear"),
    "claims": {"paper": EVIL, EVIL: EVIL, "claim": EVIL},
    "runs": {"run": EVIL, EVIL: EVIL, "key": "../../etc/passwd"},
    "lessons": {"lesson": EVIL, EVIL: EVIL},
}
NUMBERS = {  # by page, typed text that is drawn
    "birth": {
        "drawer": "Your own sequence",
        "sequence": "<b>ab</b>$x$[a](http://e.x)",
        "position": "9" * 400,
    },
    "gdssm": {
        "experiment": "nonlinear",
        "points": "nan:nan, 1e400:-inf",
        "prompt": "nan",
        "learning_rate": "inf",
    },
    "memformers": {"experiment": "theorems", "batch": "-1", "condition": "nan", "n": "1e9"},
}


@pytest.mark.parametrize(
    ("page", "link"), [*EVIL_PAGES.items(), *NUMBERS.items()], ids=lambda value: str(value)[:12]
)
def test_a_page_shows_no_outside_text_as_markup_no_traceback_and_no_nan(page, link):
    app = open_page(page, urlencode(link))
    assert not app.exception and not app.error, [error.value for error in app.error]
    for kind in SHOWN:
        for text in (block.value for block in app.get(kind)):
            own = re.sub(r"got '?[^']*'?", "", text) if kind == "warning" else text
            assert not re.search(r"(?<![\w\\])(nan|inf)(?!\w)", own, re.IGNORECASE), text
            assert "onerror" not in text or is_ours(text), text
    for html in (block.proto.body for block in app.get("html")):
        assert "<img src=x" not in html and "<b>ab" not in html
        assert "javascript:" not in re.sub(r">[^<]*<", "><", unescape(html))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("sweep_seeds=000000005" + 5000 * "1", ""),
        ("sweep_seeds=\N{ARABIC-INDIC DIGIT THREE}", ""),
        ("sweep=" + ";".join(500 * "d"), "a sweep must be over 1 to 4 knobs, got 500"),
    ],
)
def test_a_sweep_of_any_length_is_refused_or_what_it_was(asked, message):
    app = open_page("memformers", f"drawer=Sweep&{asked}")
    warnings = " ".join(warning.value for warning in app.warning)
    assert not app.exception and message in warnings.replace("\\", "")
    assert sum(box.label in ("Sweep over", "and over") for box in app.selectbox) in (2, 4)
    assert next(field.value for field in app.number_input if "seeds" in field.key) == 1


def test_a_sweep_goes_over_choices_and_switches_too():
    app = open_page(
        "gdssm", "experiment=layer&at_once=false&drawer=Sweep&sweep=recurrence=scalar,row;skip=true"
    )
    assert not app.exception
    groups = [group for group in app.button_group if group.label == "Values"]
    assert [group.value for group in groups] == [["scalar", "row"], ["true"]]
    groups[1].set_value(["true", "false"]).run()
    assert not app.exception
    assert app.query_params["sweep"] == "recurrence=scalar,row;skip=true,false"
