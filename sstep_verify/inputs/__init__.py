"""Files that are read whole, and the strict records that are read from them."""

from sstep_verify.inputs.files import open_regular, read_whole, short_name

__all__ = ["open_regular", "read_whole", "short_name"]
