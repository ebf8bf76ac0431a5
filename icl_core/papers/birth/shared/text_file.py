"""From a file's bytes to its text in UTF-8; what is another encoding or no text is refused by name.

A file is read as UTF-8, strictly. Its encoding is not guessed: guesses are wrong of short texts.
HZ and UTF-7 are plain ASCII, which source code can look like, and are not refused.
"""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter

from icl_core.contract.knobs import BadSetting
from icl_core.papers.birth.shared.unicode_tables import CONTROLS, pattern

_MOST_CONTROLS = 0.01  # as a share of the text
_NAMED = 3  # control characters
_EXPORT = "save its text as a .txt file in UTF-8, or paste it"
_UNPACK = "unpack it first"
_CHOOSE = "choose a file of text"
_FORMATS = (  # how a file begins, what it is, what to do
    (rb"%PDF-", "a PDF", _EXPORT),
    (rb"\{\\rtf", "an RTF document", _EXPORT),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an older Office", _EXPORT),
    (rb"PK\x03\x04.*?word/document\.xml", "a Word document", _EXPORT),
    (rb"PK\x03\x04.{26}mimetypeapplication/", "an OpenDocument or EPUB document", _EXPORT),
    (rb"PK\x03\x04.*?xl/workbook", "an Excel workbook", _EXPORT),
    (rb"PK\x03\x04", "a ZIP archive", _UNPACK),
    (rb"\x1f\x8b", "a gzip archive", _UNPACK),
    (rb"BZh[1-9]1AY&SY", "a bzip2 archive", _UNPACK),
    (rb"\xfd7zXZ\x00", "an xz archive", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard archive", _UNPACK),
    (rb"\x89PNG\r\n\x1a\n", "a PNG picture", _CHOOSE),
    (rb"\xff\xd8\xff", "a JPEG picture", _CHOOSE),
    (rb"GIF8[79]a", "a GIF picture", _CHOOSE),
    (rb"RIFF.{4}WEBP", "a WebP picture", _CHOOSE),
    (rb"II\*\x00|MM\x00\*", "a TIFF picture", _CHOOSE),
    (rb"SQLite format 3\x00", "an SQLite database", _CHOOSE),
)
_BEGINNINGS = [(re.compile(start, re.DOTALL), name, advice) for start, name, advice in _FORMATS]
_MARKS = (  # UTF-32's begins with UTF-16's
    (BOM_UTF32_LE, "UTF-32"),
    (BOM_UTF32_BE, "UTF-32"),
    (BOM_UTF16_LE, "UTF-16"),
    (BOM_UTF16_BE, "UTF-16"),
)
_CONTROL = re.compile(pattern(CONTROLS))
_ESC = "\x1b"


def decode(content: bytes) -> str:
    """Return the text of a file's bytes. `BadSetting` says what was expected and what came."""
    for start, name, advice in _BEGINNINGS:
        if start.match(content):
            raise BadSetting(f"a text must be plain text in UTF-8, got {name}: {advice}")
    for mark, name in _MARKS:
        if content.startswith(mark):
            raise _in_another_encoding(name)
    if count := content.count(0):
        first = _line(content, content.index(0))
        raise BadSetting(
            f"a text must have no null characters, got {count:,}, the first in line {first}: such "
            "a file is in UTF-16 or UTF-32, then save it as UTF-8, or it is damaged or no text"
        )
    if b"\x1b$" in content:
        raise _in_another_encoding("ISO-2022")
    if b"\x1b(" in content:
        line = _line(content, content.index(b"\x1b("))
        raise BadSetting(
            f"a text must be in UTF-8, got ESC ( in line {line}, which chooses another character "
            "set, as ISO-2022 and output for a terminal do: save it as UTF-8 without such codes"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        byte = content[problem.start]
        raise BadSetting(
            f"a text must be in UTF-8, got the byte 0x{byte:02X} in line "
            f"{_line(content, problem.start)}, which cannot stand there: save it as UTF-8"
        ) from problem
    _check_controls(text)
    return text


def _in_another_encoding(name: str) -> BadSetting:
    return BadSetting(f"a text must be in UTF-8, got {name}: save it as UTF-8")


def _line(content: bytes, position: int) -> int:
    """Return the number of the line of a position, from 1."""
    return content.count(b"\n", 0, position) + 1


def _check_controls(text: str) -> None:
    """Refuse more control characters than a text has; tab and line ends are none."""
    controls = _CONTROL.findall(text)
    if len(controls) <= _MOST_CONTROLS * max(1, len(text)):
        return
    frequent = Counter(controls).most_common(_NAMED)
    named = [f"U+{ord(character):04X} × {count:,}" for character, count in frequent]
    advice = "if these are the colours of a terminal, save it without them"
    if frequent[0][0] != _ESC:
        advice = "if it is in another encoding, save it as UTF-8"
    raise BadSetting(
        f"a text must have at most {_MOST_CONTROLS:.0%} control characters, got {len(controls):,} "
        f"in {len(text):,} characters: {', '.join(named)}; {advice}"
    )
