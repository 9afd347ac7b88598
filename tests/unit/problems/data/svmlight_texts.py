"""LIBSVM text in files, packed or not."""

import bz2
import gzip
import lzma

from sstep_verify.problems.data.svmlight_lines import require_right

COMPRESS = {"": bytes, ".bz2": bz2.compress, ".xz": lzma.compress, ".gz": gzip.compress}
GOOD = b"+1 1:0.5 3:-2e-3\n-1 2:7\n"


def write(folder, content: bytes, name: str = "data"):
    path = folder / name
    path.write_bytes(content)
    return path


def fault_of(line, largest):
    """What is wrong with a line, in words; empty if nothing is."""
    try:
        require_right(line, largest)
    except ValueError as fault:
        return str(fault)
    return ""
