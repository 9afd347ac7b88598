"""Headers of ``.npy`` files that NumPy does not parse, by the type of error that it raises of each."""

HEADERS = {
    "TokenError": "{'descr': '<f8', (",
    "SyntaxError": "{'descr': '<,8', 'fortran_order': False, 'shape': (6,)}",
    "TypeError": "{b'descr': '<f8', 'fortran_order': False, 'shape': (6,)}",
    "ValueError": "{'descr': '<f8'}",
}


def with_header(text: str, data: bytes = bytes(48)) -> bytes:
    """A file of format version 1.0 whose header is this text, padded as NumPy pads it."""
    padded = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + data
