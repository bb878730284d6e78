"""What is in a file of the cache: a mark, a digest of the rest, the key, and some parts.

A file that was cut off, damaged, renamed, or that is another program's, is none of these.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256

_MARK = b"mlirad\x00\x01"
_DIGEST = len(sha256().digest())
_LENGTH = struct.Struct("<Q")


def encoded(key: str, parts: Sequence[bytes]) -> bytes:
    """A file that holds some parts for a key."""
    lengths = b"".join(_LENGTH.pack(len(part)) for part in (key.encode(), *parts))
    rest = b"".join([_LENGTH.pack(1 + len(parts)), lengths, key.encode(), *parts])
    return _MARK + sha256(rest).digest() + rest


def decoded(key: str, content: bytes) -> list[bytes] | None:
    """The parts that a file holds for a key; None where it is not such a file."""
    start = len(_MARK) + _DIGEST
    rest = content[start:]
    if content[:start] != _MARK + sha256(rest).digest():
        return None
    (count,) = _LENGTH.unpack_from(rest)
    parts, position = list[bytes](), _LENGTH.size * (1 + count)
    for number in range(count):
        (length,) = _LENGTH.unpack_from(rest, _LENGTH.size * (1 + number))
        parts.append(rest[position : position + length])
        position += length
    return parts[1:] if parts[0] == key.encode() else None
