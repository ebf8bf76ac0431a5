"""QR codes of addresses."""

import segno

_LOOK = {"border": 4, "dark": "#000", "light": "#fff", "omitsize": True}


def qr_code(text: str) -> str:
    """Return the QR code of a text as SVG: black on white with its margin, in any theme."""
    return segno.make(text, error="m", micro=False).svg_inline(**_LOOK)


def qr_address(text: str) -> str:
    """Return the same as the address of a picture, for HTML that may hold no SVG."""
    return segno.make(text, error="m", micro=False).svg_data_uri(**_LOOK)
