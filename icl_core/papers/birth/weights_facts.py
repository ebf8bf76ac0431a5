"""What is known of files of weights without reading one: their bounds, their numbers, their place.
Imports no reader."""

from pathlib import Path

from icl_core.contract.document import SizeLimit
from icl_core.machine.folders import cache_folder

LIMIT = SizeLimit("a file of weights", 200 * 2**20)
KEPT = 2  # files
# how a file's numbers may be stored
TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")


def path_of(digest: str) -> Path:
    """Return the file of the weights with this digest, whether it is there or not."""
    return cache_folder() / "weights" / f"{digest}.gguf"
