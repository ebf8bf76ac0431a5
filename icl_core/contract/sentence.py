"""Words of a refusal as a sentence of their own."""


def sentence(words: str) -> str:
    """Return the words with a capital letter in front and a full stop behind."""
    return f"{words[:1].upper()}{words[1:]}."
