"""Messages of failures at run time: from the pass that checks to the launch."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.errors import SourceLocation
from mlirad.ir.reports.location import place_attribute, read_place

# of a module: the messages of checks, and what a user is warned of when it is compiled
MESSAGES, WARNINGS = "field.messages", "field.warnings"
RECORD_SIZE = 32  # words of the record of a failure

_HOLE = re.compile(r"\{([^}]*)\}")


class Message(msgspec.Struct, frozen=True):
    """A text with holes for words of a launch, the place in the source that it speaks of, and the
    name of the loop there."""

    text: str
    place: SourceLocation | None
    loop: str | None = None

    @property
    def attribute(self) -> ir.Attribute:
        """This, to be kept in IR."""
        text = ir.StringAttr.get(self.text)
        entries = {"text": text, "place": place_attribute(self.place)}
        if self.loop is not None:
            entries["loop"] = ir.StringAttr.get(self.loop)
        return ir.DictAttr.get(entries)

    def fill(self, values: Sequence[int]) -> str:
        """The text with words in its holes; a format that ends in a letter of C's for floats reads
        a double."""
        words = iter(values)

        def format_word(match: re.Match[str]) -> str:
            word, spec = next(words), match.group(1)
            if spec[-1:] in tuple("eEfFgG"):
                return format(struct.unpack("d", struct.pack("q", word))[0], spec)
            return str(word % (1 << 64) if spec.endswith("u") else word)

        return _HOLE.sub(format_word, self.text).replace("\1", "{").replace("\2", "}")


def read_message(attribute: ir.Attribute) -> Message:
    """The message that was kept in IR."""
    entry = ir.DictAttr(attribute)
    loop = ir.StringAttr(entry["loop"]).value if "loop" in entry else None
    return Message(ir.StringAttr(entry["text"]).value, read_place(entry["place"]), loop)


def add_warnings(module: ir.Operation, messages: Sequence[Message]) -> None:
    """Leave warnings of a pass for the user, behind those of other passes."""
    if messages:
        old = ir.ArrayAttr(module.attributes[WARNINGS]) if WARNINGS in module.attributes else ()
        new = [message.attribute for message in messages]
        module.attributes[WARNINGS] = ir.ArrayAttr.get([*old, *new])
