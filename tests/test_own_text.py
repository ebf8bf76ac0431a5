"""A visitor's own text: what is counted, what is left out and named, what is refused, and what
becomes of a run."""

import json
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from house import house
from test_links import labelled, open_page

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.knobs import BadSetting, NotHere, document, knobs_of, settings, slider
from icl_core.contract.settings_io import differences, from_stored, parse, to_stored
from icl_core.papers.birth.shared import text_counts
from icl_core.papers.birth.shared.text_counts import LARGEST, count, describe, load, read
from icl_core.papers.birth.shared.train import task_of
from icl_core.runs import documents, header, store
from icl_core.runs.header import key_of
from icl_core.runs.request import run_fields
from pages.ui.controls.sidebar import LINE_LABEL

GERMAN = (
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich, Straße für Straße.\n" * 20
)
IDS = ("birth.induction", "birth.transformer", "birth.length", "birth.constructed")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("ICL_CACHE_DIR", str(tmp_path))
    return tmp_path / "texts"


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_what_can_be_seen(seed):
    text = "abcd" + "".join(random.Random(seed).choices("abcdé\n\t\r\ufeffß", k=60))
    counts = count(text)
    seen = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    assert counts.characters == tuple(sorted(set(seen))) and counts.length == len(seen)
    assert sum(counts.invisible.values()) == text.count("\ufeff")
    assert sum(counts.blanks.values()) == text.count("\t")
    for i, one in enumerate(counts.characters):
        assert counts.unigram[i] == seen.count(one)
        for j, other in enumerate(counts.characters):
            assert counts.bigram[i, j] == list(pairwise(seen)).count((one, other))


def test_what_is_left_out_is_named_with_its_number():
    counts = read("\ufeffabcd\r\nab\tcd\u200b\r\n".encode())
    assert describe(counts)[1:] == [
        "Counted as not there, as they cannot be seen: zero width space × 1, byte order mark × 1.",
        "Counted as a space: tab × 1.",
        "Counted as a newline: carriage return with line feed × 2.",
    ]
    description = describe(count("ab\u00a0cd\u2003e"))
    assert description[1] == "Counted as a space: no-break space × 1, em space × 1."


def test_of_a_large_alphabet_the_256_most_frequent_are_kept():
    often = "".join(chr(0x4E00 + i) * (3 if i < 256 else 1) for i in range(300))
    counts = count(often)
    assert len(counts.characters) == 256 == len(counts.bigram) and len(counts.rare) == 44
    assert counts.bigram.sum() == 3 * 256 - 1  # rare ones part what stands beside them
    assert (
        "has at most 256 different characters, this text has 300. Left out: the 44 rarest, 5%"
        in describe(counts)[1]
    )


def test_an_accent_is_put_together_with_its_letter():
    assert count("abcde\u0301").characters == ("a", "b", "c", "d", "é")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least 4 different characters, got an empty one"),
        (b"aaaa", "at least 4 different characters, got 1: 'a'"),
        ("\u200b".encode(), "at least 4 different characters, got none that can be seen"),
        (b"\x00\x01", "no null characters, got 1, the first in line 1"),
        (
            b"abc\nd\xe4e",
            "in UTF-8, got the byte 0xE4 in line 2, which cannot stand there: save it as UTF-8",
        ),
        ("abcd".encode("utf-16"), "in UTF-8, got UTF-16: save it as UTF-8"),
        (b"x" * (LARGEST + 1), r"at most 5,242,880 bytes \(5 MB\), got 5,242,881 bytes"),
    ],
)
def test_what_is_no_text_is_refused_with_what_was_expected_and_what_came(content, message):
    with pytest.raises(BadSetting, match=message):
        read(content)


def test_counts_are_kept_by_their_digest_and_the_text_is_not(here):
    counts = count(GERMAN)
    digest = documents.keep("text", counts)
    (file,) = here.iterdir()
    assert file.name == f"{digest}.json"
    assert "Boxk" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    loaded = load(digest)
    assert loaded.characters == counts.characters and np.array_equal(loaded.bigram, counts.bigram)
    assert documents.keep("text", count(GERMAN.replace("\n", "\r\n"))) == digest


def test_counts_that_were_kept_before_are_loaded(here):
    """A variation selector was a character once."""
    unigram = np.array([9, 9, 9, 8])
    bigram = np.diag([8, 8, 8], 1)
    former = text_counts.TextCounts(("\n", "a", "❤", "\ufe0f"), unigram, bigram)
    digest = documents.keep("text", former)
    assert load(digest).characters == former.characters


@pytest.mark.parametrize("damage", [b"", b"{}", None, b'{"characters":["a"]}'])
def test_damaged_counts_are_said_to_be_and_are_whole_again_with_the_text(here, damage):
    digest = documents.keep("text", count(GERMAN))
    file = here / f"{digest}.json"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"[", b"[1,", 1) if damage is None else damage)
    with pytest.raises(NotHere, match="must be as they were kept, got others: give the text again"):
        load(digest)
    documents.keep("text", count(GERMAN))
    assert load(digest).length


def test_where_nothing_can_be_written_a_sentence_says_so(here):
    here.write_text("a file in its place")
    with pytest.raises(OSError, match="must be a folder that this user may write to"):
        documents.keep("text", count(GERMAN))


@pytest.mark.parametrize("id", IDS)
def test_the_text_becomes_the_task(here, id):
    config = registry.experiment(id).config
    digest = documents.keep("text", count(GERMAN))
    fit = knobs_of(config)["text"].fit({**vars(config()), "text": digest})
    own = config(text=digest, **fit)
    if hasattr(own, "triggers"):
        task = task_of(own)
        assert task.characters == load(digest).characters
        assert "ö" in task.characters
        assert "X" not in task.characters
    assert own.N == own.alphabet == len(load(digest).characters)
    for change, message in (
        ({"N": own.N + 1}, "as many different characters as your text has"),
        ({"N": 5, "K": 4}, "K must be at most 3"),
        ({"text": "0" * 16}, "must be one that was given on this computer"),
        ({"text": "../../secret"}, "text must be a digest"),
    ):
        with pytest.raises(BadSetting, match=message):
            replace(own, **change)
    if hasattr(own, "triggers"):
        message = "N must be at least 6 where triggers are rare ones, got 5"
        with pytest.raises(BadSetting, match=message):
            replace(own, N=5, K=1, triggers="fixed rare")
    with pytest.raises(BadSetting, match="Tiny Shakespeare has, got 66"):
        config(N=66)


def test_the_keys_of_shipped_runs_are_what_they_were():
    shipped = [run for run in store.default().headers() if run.origin == "shipped"]
    for run in shipped:
        assert "text" not in run.config
        assert key_of(run.experiment, header.typed_config(run)) == run.path.stem
    assert len(shipped) > 50


@settings
class Grown:
    d: int = slider("width", 2, 64, default=8)
    source: str = document("text", "the one here", of="text", added=True)


def test_a_field_that_was_added_is_kept_only_where_it_is_not_the_default():
    own = Grown(source="0123456789abcdef")
    assert to_stored(Grown()) == {"d": 8} and to_stored(own) == {"d": 8, "source": own.source}
    assert from_stored(Grown, {"d": 8}) == Grown() and from_stored(Grown, to_stored(own)) == own
    assert differences(own, Grown()) == ["text = your own (0123…) (preset the one here)"]


def test_a_claim_does_not_speak_of_texts_that_there_were_not_when_it_was_written(here):
    experiment = registry.experiment("birth.induction")
    digest = documents.keep("text", count(GERMAN))
    for preset in experiment.presets:
        own = replace(preset.config, text=digest, N=len(load(digest).characters))
        assert not any(claim.is_at(own) for claim in experiment.claims if claim.at)


def test_without_its_text_a_run_is_away_and_with_it_there_again(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        digest = documents.keep("text", count(GERMAN))
        config = registry.experiment("birth.induction").config(text=digest, N=20)
        run_header = runs.save(
            "birth.induction", config, {"curve/step": np.arange(3)}, {"metrics": []}
        )
        assert runs.headers("birth.induction") == [run_header]
        text_counts.path_of(digest).unlink()
        assert runs.headers("birth.induction") == [] and runs.load(run_header) is None
        documents.keep("text", count(GERMAN))
        assert runs.headers("birth.induction") == [run_header]
        assert runs.load(run_header).config == config


def test_the_command_line_counts_a_file_and_says_what_to_set(here, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("\ufeff" + GERMAN, encoding="utf-8")
    assert main(["text", str(tmp_path / "notes.txt")]) == 0
    output = capsys.readouterr().out
    digest = output.split("text=")[1][:16]
    assert "byte order mark × 1" in output
    config = parse(registry.experiment("birth.induction").config, {"text": digest})
    assert len(load(digest).characters) == config.N
    assert main(["text", str(tmp_path / "none.txt")]) == 2
    assert "FILE must be a file that can be read" in capsys.readouterr().err


def test_a_link_whose_text_is_not_here_says_so_and_offers_the_other(here):
    app = open_page("birth", "text=0123456789abcdef&d=64&at_once=false")
    assert not app.exception and not app.error
    (warning,) = app.warning
    assert "must be one that was given on this computer" in warning.value
    labelled(app.button, "Take Tiny Shakespeare instead").click().run()
    assert not app.warning and "text" not in app.query_params and app.query_params["d"] == "64"


TINY = "T=32&d=16&batch=16&steps=10&layers=1&at_once=false"


def test_a_link_that_names_only_a_text_has_the_N_and_K_that_choosing_it_gives(here):
    few = documents.keep("text", count("abcd" * 9))
    app = open_page("birth", f"text={few}&{TINY}")
    assert not app.exception and not app.error and not app.warning
    line = labelled(app.text_input, LINE_LABEL)
    assert {"K=2", f"text={few}", "N=4"} <= set(line.value.split("; "))
    many = documents.keep("text", count("".join(map(chr, range(0x4E00, 0x4E00 + 99))) * 2))
    app = open_page("birth", f"text={many}&K=7&{TINY}")
    line = labelled(app.text_input, LINE_LABEL)
    assert {"K=7", f"text={many}", "N=99"} <= set(line.value.split("; "))


def opened_line(app):
    """The line of settings, which stands under “More settings”."""
    app.session_state[f"{app.session_state['id']}:more"] = True
    return labelled(app.run().text_input, LINE_LABEL)


def test_the_preset_s_N_is_kept_beside_a_text(here):
    digest = documents.keep("text", count("".join(map(chr, range(0x4E00, 0x4E00 + 99))) * 2))
    app = open_page("birth", f"text={digest}&{TINY}")
    line = opened_line(app)
    line.input(line.value.replace("N=99", "N=65")).run()
    assert app.query_params["N"] == "65"
    line = labelled(app.text_input, LINE_LABEL)
    assert f"text={digest}; N=65" in line.value
    line.input(f"text={digest}").run()
    assert app.query_params["N"] == "99"
    line = labelled(app.text_input, LINE_LABEL)
    assert not app.info
    line.input("").run()
    assert not {"text", "N", "K"} & set(app.query_params)
    (said,) = app.info
    assert f"Add `text={digest}` to use it again" in said.value
    opened_line(app).input(f"text={digest}").run()
    assert app.query_params["text"] == digest and not app.info
    opened_line(app).input("text=").run()  # which names it
    assert "text" not in app.query_params and not app.info
    config = registry.experiment("birth.induction").config(text=digest, N=65)
    fields = run_fields("birth.induction", config)
    assert fields["text"] == digest and fields["N"] == "65"
    constructed = registry.experiment("birth.constructed").config(text=digest, N=65)
    assert run_fields("birth.constructed", constructed)["N"] == "65"


def test_counts_have_one_form():
    content = json.loads(count("abcd").content)
    assert content["characters"] == list("abcd") and content["bigram_counts"][0] == [0, 1, 0, 0]


def test_a_title_shows_a_character_that_markdown_would_swallow():
    app = open_page("birth", "drawer=Your own sequence&sequence=a$b$a$b&position=4&at_once=false")
    assert any("After 4 '\\$'" in subheader.value for subheader in app.subheader)
    assert not app.exception and not app.error
