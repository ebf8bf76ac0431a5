"""What commands print: data on stdout, as text or as JSON; sentences on stderr."""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from icl_core.contract.message import printable_lines

if TYPE_CHECKING:
    from icl_core.evidence.measurements import Finding


def print_problems(problems: Iterable[str]) -> None:
    """Print each sentence on stderr."""
    for problem in problems:
        print(printable_lines(problem), file=sys.stderr)


def print_findings(measured: "Iterable[Finding]", as_json: bool) -> None:
    """Print what runs have measured, as a table or as JSON."""
    from icl_core.evidence import measurements

    rows = [finding.row() for finding in measured]
    if as_json:
        print_json(rows)
    elif not rows:
        print("No claim speaks of what was measured: there is no metric to show.")
    else:
        print(printable_lines(measurements.findings_table(rows)))


def print_json(value: Any) -> None:
    """Print JSON of dictionaries, lists, texts and numbers; a number that is not finite is null.

    Characters outside ASCII are escaped where the stream's encoding is not UTF-8, so that it is
    JSON in every encoding.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    is_utf_8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    text = json.dumps(_finite(value), indent=1, ensure_ascii=not is_utf_8, allow_nan=False)
    print(printable_lines(text))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
