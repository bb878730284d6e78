"""What a launch found wrong: the record of the first check that failed, as an error."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import NoReturn

from mlirad.errors import TaichiRuntimeError, located
from mlirad.ir.location import source_location


def raise_recorded(
    messages: Sequence[str], record: Sequence[int], kind: type[TaichiRuntimeError]
) -> NoReturn:
    """Raise an error for a record: the number of a message, from 1, then the words that go into its
    holes."""
    place, _, text = messages[record[0] - 1].partition("\n")
    filled = _filled(text, [int(word) for word in record[1:]])
    source = source_location(place)
    raise kind(filled if source is None else located(filled, source))


def _filled(text: str, values: Sequence[int]) -> str:
    """The text with recorded words in its holes; a format that ends in a letter of C's for floats
    reads a double."""
    words = iter(values)

    def one(match: re.Match[str]) -> str:
        word, spec = next(words), match.group(1)
        if spec[-1:] in tuple("eEfFgG"):
            return format(struct.unpack("d", struct.pack("q", word))[0], spec)
        return str(word % (1 << 64) if spec.endswith("u") else word)

    return re.sub(r"\{([^}]*)\}", one, text).replace("\1", "{").replace("\2", "}")
