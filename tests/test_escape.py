"""Text from outside is escaped; a browser test asserts that it is shown as text."""

import numpy as np
import pytest

from icl_core import figures, registry
from icl_core.contract.experiment import CannotDraw, Panel
from icl_core.contract.figure import texts_within
from icl_core.figures import character_labels, panel_tables
from icl_core.runs import store
from pages.ui.look.escape import escape_markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        (
            "learning_rate must be from 0.1 to 4.0, got '9'",
            "learning_rate must be from 0.1 to 4.0, got '9'",
        ),
        ("![x](y)", r"!\[x\](y)"),
        (
            "a `code` *b* _c_ <d> $e$ ~f~ #g &amp;",
            r"a \`code\` \*b\* \_c\_ \<d\> \$e\$ \~f\~ \#g \&amp;",
        ),
        ("http://a :bug: www.b", "http\\:\u2060//a \\:\u2060bug\\: www\u2060.b"),
        ("pairs x:y, as 0.5:1", r"pairs x\:y, as 0.5\:1"),  # may be copied
        ("a\n\n# b\n=", r"a \# b ="),
        ("a\x1b[31mb\u202ec\x9b\U000e0001", r"a\\u001b\[31mb\\u202ec\\u009b\\udb40\\udc01"),
        ("é Ж 文 🙂 \u200e\u2068א\u2069", "é Ж 文 🙂 \u200e\u2068א\u2069"),  # letters, isolated
        ("\u200e\u2068א \u2068\u2069", "\\\\u200e\\\\u2068א \\\\u2068\\\\u2069"),
        ("a\u2069 \u200e\u2068א\x1b\u2069", "a\\\\u2069 \u200e\u2068א\\\\u001b\u2069"),
    ],
)
def test_no_markup_stays(text, markdown):
    assert escape_markdown(text) == markdown


def test_tokens_that_look_like_entities_are_labelled_and_exported_as_themselves():
    tokens = ["<", "&lt;", "&", "&amp;", "<b>", "a"]
    labels = [f"{index + 1} '{token}'" for index, token in enumerate(tokens)]
    attention = figures.attention(np.eye(6), tokens)
    small = figures.small_map(np.eye(6), (tokens, tokens), ("query", "key"), "score", 1)
    for figure, expected in ((attention, labels), (small, tokens)):
        assert len(set(figure.data[0]["x"])) == len(tokens)
        (table,) = panel_tables.tables(Panel("", "", figure))
        assert list(table.frame.columns[1:]) == list(table.frame.iloc[:, 0]) == expected
        assert list(table.arrays["map.rows"]) == expected
    guesses = figures.Predictions(tokens, np.ones(6), [True] * 6, [True] * 6)
    texts = figures.small_attention(np.eye(6), tokens, guesses=guesses).data[1]["text"]
    assert [character_labels.seen(text) for text in texts] == [f"{token} ✓" for token in tokens]
    assert texts[1] == "&amp;lt; ✓" and character_labels.label_width("&amp;lt;") == 4


@pytest.mark.long
def test_no_character_is_markup_in_any_figure(monkeypatch):
    """Every character is labelled with what a figure would read: on maps, bars and legends, and
    at the pointer."""
    plain = character_labels._label
    markup = "<b>&lt;"
    monkeypatch.setattr(character_labels, "_label", lambda character: plain(character) + markup)
    with_characters = set()
    for experiment_id in registry.experiment_ids():
        experiment = registry.experiment(experiment_id)
        header = store.default().preset(experiment_id, experiment.presets[0].name)
        run = header and store.default().load(header)
        for drawing in experiment.drawings if run else ():
            if not drawing.applies(run.config):
                continue
            try:
                figure = drawing.draw(run, experiment.view()).figure
            except CannotDraw:
                continue
            if figure is None:
                continue
            shown = [{**trace, "meta": None} for trace in figure.data]  # `meta` is not shown
            for text in texts_within([shown, figure.layout]):
                assert markup not in text, (experiment_id, drawing.name, text)
                if character_labels.literal(markup) in text:
                    with_characters.add((experiment_id, drawing.name))
    assert len(with_characters) >= 20, with_characters
