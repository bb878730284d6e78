"""The contents of a file of the cache: a mark, a digest of the remaining bytes, the key, and some
parts.

A file that was cut off, damaged, renamed, or that is another program's, is none of these.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256

_MARK = b"mlirad\x00\x01"
_DIGEST = len(sha256().digest())
_LENGTH = struct.Struct("<Q")


def encode_file(key: str, contents: Sequence[bytes]) -> bytes:
    """A file that holds some parts for a key."""
    lengths = b"".join(_LENGTH.pack(len(content)) for content in (key.encode(), *contents))
    body = b"".join([_LENGTH.pack(1 + len(contents)), lengths, key.encode(), *contents])
    return _MARK + sha256(body).digest() + body


def decode_file(key: str, file: bytes) -> list[bytes] | None:
    """The parts that a file holds for a key; None if it is not such a file."""
    start = len(_MARK) + _DIGEST
    body = file[start:]
    if file[:start] != _MARK + sha256(body).digest():
        return None
    (count,) = _LENGTH.unpack_from(body)
    contents, position = list[bytes](), _LENGTH.size * (1 + count)
    for number in range(count):
        (length,) = _LENGTH.unpack_from(body, _LENGTH.size * (1 + number))
        contents.append(body[position : position + length])
        position += length
    return contents[1:] if contents[0] == key.encode() else None
