"""Files that are read whole, and the strict records that are read from them."""

from sstep_verify.inputs.files import MALFORMED_ARRAY, open_regular, read_whole, short_name

__all__ = ["MALFORMED_ARRAY", "open_regular", "read_whole", "short_name"]
