"""Compressed files read as streams of bytes; what follows and is no such stream is refused."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

_AT_ONCE = 1 << 16
"""Bytes of the file read at once."""


class _Unpacking(io.RawIOBase):
    """The text of a file of one or more streams; the openers of Python pass over what follows the last."""

    def __init__(self, file: BinaryIO, decoder: Callable[[], Any], padding: bytes = b""):
        self._file, self._new, self._padding = file, decoder, padding
        self._decoder = decoder()
        self._made = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._made

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Continue to a place further on; there is no way back."""
        while self._made < offset and self.readinto(bytearray(min(offset - self._made, _AT_ONCE))):
            pass
        return self._made

    def readinto(self, buffer: Any) -> int:
        """Unpack some bytes; 0 at the end of the file.

        Raises
        ------
        EOFError, OSError, lzma.LZMAError
            If a stream is cut off, or what follows one is none.
        """
        while True:
            packed = b""
            if self._decoder.eof:
                packed = self._after()
                if not packed:
                    return 0
                self._decoder = self._new()
            elif self._decoder.needs_input and not (packed := self._file.read(_AT_ONCE)):
                raise EOFError("it ends before the end of its compressed data")
            text = self._decoder.decompress(packed, len(buffer))
            if text:
                buffer[: len(text)] = text
                self._made += len(text)
                return len(text)

    def _after(self) -> bytes:
        """What follows a stream, padding aside; empty at the end of the file."""
        rest: bytes = self._decoder.unused_data or self._file.read(_AT_ONCE)
        while rest and self._padding and not rest.strip(self._padding):
            rest = self._file.read(_AT_ONCE)
        return rest.lstrip(self._padding) if self._padding else rest


def opened_bz2(file: BinaryIO) -> BinaryIO:
    """The text of a ``.bz2`` file."""
    return io.BufferedReader(_Unpacking(file, bz2.BZ2Decompressor))


def opened_xz(file: BinaryIO) -> BinaryIO:
    """The text of a ``.xz`` file; zeros may follow its streams (The .xz File Format 1.1.0, section 2.2)."""
    return io.BufferedReader(_Unpacking(file, lzma.LZMADecompressor, b"\0"))


def opened_zip(file: BinaryIO) -> BinaryIO:
    """The text of a ``.zip`` file that holds one file.

    Raises
    ------
    zipfile.BadZipFile
        If it is no such archive, or holds several files.
    """
    archive = zipfile.ZipFile(file)
    members = [one for one in archive.infolist() if not one.is_dir()]
    if len(members) != 1:
        names = ", ".join(one.filename for one in members)
        raise zipfile.BadZipFile(f"it holds {len(members)} files ({names:.80}), but one is read; unpack it")
    return archive.open(members[0])  # type: ignore[return-value]
