"""Texts as visitors give them, files of `inputs/texts`: what is counted, with a digest that is the
same with every Python, and what is refused. And the counts of any text, by a slow way."""

import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fuzz import tries
from house import house
from hypothesis import given
from hypothesis import strategies as st
from recorder import Recorder

from icl_core import registry
from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import printable_lines
from icl_core.contract.settings_io import parse
from icl_core.figures.character_labels import (
    COMBINING_MARKS,
    label_width,
    typed_characters,
    typed_form,
    unisolated,
    visible_characters,
)
from icl_core.papers.birth.shared import unicode_tables
from icl_core.papers.birth.shared.sequence import encode
from icl_core.papers.birth.shared.task import count_text, make_task
from icl_core.papers.birth.shared.text_counts import count, describe, read
from icl_core.runs import documents
from pages.ui.look.escape import escape_markdown
from tests.parameters import first_is_short

FILES = Path(__file__).parent / "inputs" / "texts"
README = (FILES / "README.md").read_text()
SAVE = "save it as UTF-8"
WIDE = f"such a file is in UTF-16 or UTF-32, then {SAVE}, or it is damaged or no text"
EXPORT = "save its text as a .txt file in UTF-8, or paste it"
UNPACK = "unpack it first"
CHOOSE = "choose a file of text"
COUNTED = {  # digest, different characters
    "257_letters.txt": ("5a2e7b20b7ade78e", 256),
    "arabic_percent_order.txt": ("bffe3b78e3bd48dd", 6),
    "dna.fasta": ("9fe33f7e70b47996", 16),
    "emoji_vs16.txt": ("3fb129a0306085ba", 7),
    "end_of_ayah.txt": ("5454847daba058e0", 8),
    "formfeed_nel_ls.txt": ("54f3a0db01e6433e", 9),
    "four.txt": ("153dbaa3611435d5", 4),
    "hangul_filler_cgj_braille_blank.txt": ("4074bf70baddb932", 6),
    "hangul_nfd.txt": ("ad968f1e283a99e8", 9),
    "hz.txt": ("abcd94fc3b226261", 13),
    "hz_lines.txt": ("ef8b1a2344581a39", 35),
    "kirat_rai.txt": ("68cc8438361d34fd", 7),
    "later_marks.txt": ("229e1f01386a82d2", 11),
    "line_ends.txt": ("bcea5ffa991ae55a", 13),
    "lone_cr.txt": ("26abaff350c2d01d", 7),
    "nfd.txt": ("c107a00432c2e0e9", 5),
    "nonchars.txt": ("c5822c95f9b9a460", 7),
    "one_bell.log": ("3fb5165b2c6e75d8", 18),
    "private_and_unassigned.txt": ("cdac2d5d6740490d", 9),
    "real_symbols_as_labels.txt": ("12768b14eefad12f", 6),
    "scripts.txt": ("399d74bc9a46c792", 256),
    "server.log": ("9132a149c45d9c4f", 49),
    "signs_typed.txt": ("155689c23f80b7c4", 10),
    "soft_hyphen_joiners.txt": ("8b8ba3046effabf8", 12),
    "source.txt": ("ad52fd8866927b55", 54),
    "table.tsv": ("a744242e1b616bef", 28),
    "tabs.tsv": ("34ab461aaf9062e6", 10),
    "tulu_tigalari.txt": ("dd928c4db1549b59", 9),
    "utf7.txt": ("f1f95dabcbbc091c", 14),
    "vietnamese_nfd.txt": ("e992bfefa1f1d5f6", 15),
}
REFUSED = {
    "bzip2.bin": f"plain text in UTF-8, got a bzip2 archive: {UNPACK}",
    "colours.log": "at most 1% control characters, got 6 in 72 characters: U+001B × 6; if these "
    "are the colours of a terminal, save it without them",
    "cp1252.txt": f"in UTF-8, got the byte 0x96 in line 1, which cannot stand there: {SAVE}",
    "docx.bin": f"plain text in UTF-8, got a Word document: {EXPORT}",
    "double_encoded.txt": "at most 1% control characters, got 3 in 23 characters: U+0080 × 2, "
    f"U+0083 × 1; if it is in another encoding, {SAVE}",
    "gif.bin": f"plain text in UTF-8, got a GIF picture: {CHOOSE}",
    "gzip.bin": f"plain text in UTF-8, got a gzip archive: {UNPACK}",
    "iso2022jp.txt": f"in UTF-8, got ISO-2022: {SAVE}",
    "iso2022kr.txt": f"in UTF-8, got ISO-2022: {SAVE}",
    "jpeg.bin": f"plain text in UTF-8, got a JPEG picture: {CHOOSE}",
    "odt.bin": f"plain text in UTF-8, got an OpenDocument or EPUB document: {EXPORT}",
    "one_null.log": f"no null characters, got 1, the first in line 2: {WIDE}",
    "pdf_head.txt": f"plain text in UTF-8, got a PDF: {EXPORT}",
    "png.bin": f"plain text in UTF-8, got a PNG picture: {CHOOSE}",
    "rtf.txt": f"plain text in UTF-8, got an RTF document: {EXPORT}",
    "surrogate.txt": f"in UTF-8, got the byte 0xED in line 1, which cannot stand there: {SAVE}",
    "terminal.log": "in UTF-8, got ESC ( in line 1, which chooses another character set, as "
    f"ISO-2022 and output for a terminal do: {SAVE} without such codes",
    "three_bells.log": "at most 1% control characters, got 3 in 223 characters: U+0007 × 3; "
    f"if it is in another encoding, {SAVE}",
    "utf16_bom.txt": f"in UTF-8, got UTF-16: {SAVE}",
    "utf16_cyrillic_no_space.txt": "at most 1% control characters, got 20 in 38 characters: "
    f"U+0004 × 19, U+0011 × 1; if it is in another encoding, {SAVE}",
    "utf16be_no_bom.txt": f"no null characters, got 3, the first in line 1: {WIDE}",
    "utf16le_no_bom_cyrillic.txt": f"no null characters, got 2, the first in line 1: {WIDE}",
    "utf32be_no_bom.txt": f"no null characters, got 29, the first in line 1: {WIDE}",
    "utf32le.txt": f"in UTF-8, got UTF-32: {SAVE}",
    "xz.bin": f"plain text in UTF-8, got an xz archive: {UNPACK}",
    "zip.bin": f"plain text in UTF-8, got a ZIP archive: {UNPACK}",
}
SAID = {  # after how many and which are most frequent
    "emoji_vs16.txt": ["Counted as not there, as they cannot be seen: variation selector-16 × 3."],
    "formfeed_nel_ls.txt": [
        "Counted as a newline: form feed × 1, next line × 1, line separator × 1."
    ],
    "hangul_filler_cgj_braille_blank.txt": [
        "Counted as not there, as they cannot be seen: combining grapheme joiner × 1, hangul "
        "filler × 1.",
        "Counted as a space: braille pattern blank × 1.",
    ],
    "hz.txt": [],
    "hz_lines.txt": [],
    "line_ends.txt": [
        "Counted as a newline: carriage return × 2, carriage return with line feed × 1, vertical "
        "tab × 1, paragraph separator × 1."
    ],
    "nonchars.txt": [
        "Counted as not there, as they cannot be seen: interlinear annotation anchor × 1, "
        "U+FFFE × 1, U+1FFFF × 1."
    ],
    "one_bell.log": ["Counted as not there, as they cannot be seen: U+0007 × 1."],
    "source.txt": [],
    "server.log": ["Counted as a newline: carriage return with line feed × 60."],
    "tabs.tsv": ["Counted as a space: tab × 2."],
}


def test_every_file_is_in_one_table_and_in_the_readme():
    names = {path.name for path in FILES.iterdir()} - {"README.md"}
    assert names == COUNTED.keys() | REFUSED.keys() and not COUNTED.keys() & REFUSED.keys()
    assert names == set(re.findall(r"`([\w.]+\.\w+)`", README))


@pytest.mark.parametrize("name", COUNTED)
def test_a_text_is_counted(name):
    counts = read((FILES / name).read_bytes())
    assert (counts.digest, len(counts.characters)) == COUNTED[name]
    if name in SAID:
        assert describe(counts)[1:] == SAID[name]
    labels = visible_characters(counts.characters)
    assert len(set(labels)) == len(labels) and all(label.strip() for label in labels)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_text_in_utf8_is_named(name):
    with pytest.raises(BadSetting, match=re.escape(REFUSED[name]) + "$"):
        read((FILES / name).read_bytes())


INVISIBLE = "\0\a\x1b\x7f\x9f\ufffe\ufff9\U0010ffff"
INVISIBLE += "\u00ad\u034f\u061c\u115f\u180e\u200d\u200e\u2060\u3164\ufe0f\ufeff\U000e0041"
BLANKS = "\t \u00a0\u1680\u2003\u202f\u2800\u3000"
ENDS = ("\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029")
LETTERS = "abcdeéñßxاבक่각ﬁ🙂\u0301\u0323\u1100\u1161\u11a8\u06dd\ue000\u0378"
PIECES = st.lists(st.sampled_from([*LETTERS, *BLANKS, *ENDS, *INVISIBLE]), max_size=60).map("".join)


def slow(text: str) -> tuple[Counter, Counter]:
    """How often each character occurs and each pair, one after the other."""
    text = "".join(character for character in text if character not in INVISIBLE)
    for end in ENDS[1:]:
        text = text.replace(end, "\n")
    for blank in BLANKS:
        text = text.replace(blank, " ")
    text = unicodedata.normalize("NFC", text)
    return Counter(text), Counter(pairwise(text))


@tries(150)
@given(PIECES.map(lambda text: "wxyz" + text))
def test_counts_are_those_of_a_slow_count(text):
    counts = count(text)
    characters, pairs = slow(text)
    assert dict(zip(counts.characters, counts.unigram.tolist(), strict=True)) == characters
    for i, j in np.argwhere(counts.bigram):
        assert counts.bigram[i, j] == pairs.pop((counts.characters[i], counts.characters[j]))
    assert not pairs


@tries(60)
@given(PIECES.map(lambda text: "wxyz" + text), st.data())
def test_the_digest_does_not_depend_on_how_a_text_is_written(text, data):
    lines = text.replace("\r", "\n")
    digest = count(lines).digest
    end = data.draw(st.sampled_from(ENDS))
    blank = data.draw(st.sampled_from(BLANKS))
    invisible = data.draw(st.sampled_from(INVISIBLE))
    place = data.draw(st.integers(0, len(lines)))
    assert count(lines.replace("\n", end)).digest == digest
    assert count(lines.replace(" ", blank)).digest == digest
    assert count(unicodedata.normalize("NFD", lines)).digest == digest
    assert count(lines[:place] + invisible + lines[place:]).digest == digest


def test_what_can_be_seen_does_not_depend_on_the_python():
    core = Path(unicode_tables.__file__).parents[3]
    for path in core.rglob("*.py"):
        assert "unicodedata.category" not in path.read_text(), path
        assert "from unicodedata" not in path.read_text(), path


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another Unicode than 14.0")
def test_the_tables_are_those_of_unicode_14():
    categories = np.array([unicodedata.category(chr(code)) for code in range(0x110000)])
    unassigned = unicode_tables.members(unicode_tables.UNASSIGNED_IN_14)
    assert np.array_equal(unassigned, categories == "Cn")
    ends = unicode_tables.members(unicode_tables.LINE_ENDS) | (np.arange(0x110000) == 10)
    controls = unicode_tables.members(unicode_tables.CONTROLS)
    blanks = unicode_tables.members(unicode_tables.BLANKS)
    assert set(np.flatnonzero((categories == "Cc") & ~controls & ~ends)) == {9}
    assert set(np.flatnonzero(blanks != (categories == "Zs"))) == {9, 0x20, 0x2800}
    left_out = unicode_tables.members(unicode_tables.INVISIBLE)
    drawn = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2}
    assert set(np.flatnonzero((categories == "Cf") & ~left_out)) == drawn | {0x110BD, 0x110CD}


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another Unicode than 14.0")
def test_the_marks_are_those_of_unicode_14():
    marks = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] == "M"}
    assert marks == COMBINING_MARKS


def test_a_mark_without_a_letter_stands_on_a_circle():
    """Also one that is not moved when accents are put in order, such as a vowel sign."""
    marks = "\u0301\u0941\u0e31\u0488\u093e"
    assert visible_characters(marks) == [f"◌{mark}" for mark in marks]
    assert visible_characters("\u1acf") == ["\u1acf"]  # of a later Unicode, with any Python


@tries(100)
@given(st.lists(st.characters(), min_size=2, max_size=9, unique=True))
def test_different_characters_have_different_labels(characters):
    labels = visible_characters(characters)
    assert len(set(labels)) == len(characters)
    assert len(set(map(unisolated, labels))) == len(characters)


def test_a_letter_from_right_to_left_turns_nothing_around():
    assert visible_characters(["a", "ا", "ש", "\u0651"]) == [
        "a",
        "\u200e\u2068ا\u2069",
        "\u200e\u2068ש\u2069",
        "\u200e\u2068◌\u0651\u2069",
    ]
    assert label_width("\u200e\u2068ا\u2069") == 1
    sentence = f"of {' '.join(visible_characters('aاש'))}, 3%"
    assert printable_lines(sentence) == sentence and escape_markdown(sentence) == sentence
    counts = read((FILES / "arabic_percent_order.txt").read_bytes())
    percentages = " \u200e\u2068ا\u2069 33%, \u200e\u2068ل\u2069 25%, \u200e\u2068ي\u2069 17%"
    assert percentages in describe(counts)[0]


@pytest.mark.parametrize("vocabulary", ["ab ", "ab␣", "ab ␣\n↵", "ab\\"])
def test_what_is_typed_is_read_back(vocabulary):
    assert typed_characters(typed_form(vocabulary), vocabulary) == list(vocabulary)


def test_a_sequence_is_read_as_a_text_is_counted():
    task = make_task(N=7, K=2, counts=count_text("abé❤ \nabé❤ x\n" * 9))
    tokens = encode(task, "abé❤ \n", "the sequence")
    assert encode(task, "a\u00adbe\u0301❤\ufe0f\u00a0\r\n", "the sequence") == tokens
    assert encode(task, "abé❤␣↵", "the sequence") == tokens
    assert encode(task, "a\0bé❤\ud800\x1b \n", "the sequence") == tokens
    with pytest.raises(CannotDraw, match="7 characters ↵␣abxé❤, got 'ö'"):
        encode(task, "aö", "the sequence")


def test_a_sign_is_a_space_unless_only_the_sign_is_in_the_vocabulary():
    assert typed_characters("a␣b↵", "ab \n") == list("a b\n")
    assert typed_characters("a␣b", "ab␣") == list("a␣b")
    assert typed_characters("a␣\\␣", "a ␣") == list("a ␣")
    assert typed_characters("a\\␣", "a \\") == list("a\\ ")


HEBREW = "שלום לכל האנשים בעולם הזה ושלום גם לך\n" * 9
BARE = re.compile("(?<![\u2068◌])[\u0590-\u08ff]")
SMALL = {"d": "16", "T": "32", "batch": "16", "steps": "10", "N": "9"}


def strings_of(value):
    """Every string in dictionaries, lists and arrays."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings_of(list(value.values()))
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "OU"
    ):
        for part in value:
            yield from strings_of(part)


def texts_of(panel):
    """Every text of a panel, those of its figure and its tables too."""
    yield from (panel.title, panel.caption, panel.note)
    if panel.figure is not None:
        yield from strings_of(panel.figure.plotly().to_plotly_json())
    for table in (panel.table, panel.data):
        if table is not None:
            yield from map(str, [*table.columns, *table.to_numpy().ravel()])


@pytest.mark.parametrize("name", first_is_short(["induction", "transformer"]))
def test_no_panel_shows_a_letter_from_right_to_left_without_isolating_it(
    name, tmp_path, monkeypatch
):
    with house(tmp_path, monkeypatch):
        experiment = registry.experiment(f"birth.{name}")
        document = {"text": documents.keep("text", count(HEBREW))}
        config = parse(experiment.config, SMALL | document)
        run = Run(config, experiment.run(config, Recorder()))
        lameds = 0
        for drawing in experiment.drawings:
            if drawing.applies(config):
                try:
                    panel = drawing.draw(run, experiment.view())
                except CannotDraw:
                    continue
                for text in texts_of(panel):
                    assert not BARE.search(text), (drawing.name, text)
                    lameds += text.count("ל")
        assert lameds > 100


def test_bytes_with_nulls_that_are_no_wide_encoding_are_not_taken_for_one():
    with pytest.raises(BadSetting, match="no null characters, got 200, the first in line 1"):
        read(b"hello\0world\0" * 100)
