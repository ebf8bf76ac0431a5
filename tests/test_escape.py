"""Text from outside is escaped; a browser test asserts that it is shown as text."""

import pytest

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
