"""The lines of machine code, as an object file has them in `.debug_line` (DWARF 4, section 6.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from mlirad.runtime.native.object_file import Relocation, read_section

_VERSION = 4  # what LLVM writes by default
_HEADER = struct.Struct("<IHIBBBbBB")
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE = 1, 2, 3, 4, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2


class Line(NamedTuple):
    """Code of one line, from one offset in a section to another."""

    section: int
    start: int
    end: int
    file: str
    number: int


def read_lines(data: bytes) -> list[Line]:
    """Return the lines of an object file that `read_object` reads; nothing if it has none, or
    writes them in another version of DWARF."""
    section = read_section(data, ".debug_line")
    if section is None:
        return []
    try:
        return [*_Program(section.content, section.relocations).lines()]
    except (struct.error, LookupError, ValueError, ArithmeticError):
        return []


class _Program:
    """A line number program, of the one unit that a module is."""

    def __init__(self, content: bytes, relocations: list[Relocation]) -> None:
        self.content, self.place = content, 0
        self.targets = {relocation.offset: relocation for relocation in relocations}
        self.section, self.address, self.file, self.line = -1, 0, 1, 1

    def lines(self) -> Iterator[Line]:
        """Yield what is between one row and the next."""
        size, version, header, self.step, _, _, self.base, self.range, opcodes = (
            _HEADER.unpack_from(self.content)
        )
        if version != _VERSION:
            return
        end, self.start = size + 4, header + 10
        self.place = _HEADER.size
        self.lengths = [self._byte() for _ in range(opcodes - 1)]
        self.first_special, self.files = opcodes, ["", *self._files()]
        self.place = self.start
        previous: tuple[int, str, int] | None = None
        while self.place < end:
            is_row, is_end = self._step()
            if not is_row:
                continue
            if previous is not None and previous[0] < self.address:
                start, file, line = previous
                yield Line(self.section, start, self.address, file, line)
            previous = None if is_end else (self.address, self.files[self.file], self.line)
            if is_end:
                self.file, self.line = 1, 1

    def _files(self) -> Iterator[str]:
        """Yield paths, by their numbers."""
        folders = [""]
        while folder := self._text():
            folders.append(folder)
        while name := self._text():
            folder = folders[self._number()]
            self._number()  # when it was changed
            self._number()  # its size
            yield f"{folder}/{name}" if folder and not name.startswith("/") else name

    def _step(self) -> tuple[bool, bool]:
        """Run one instruction; return whether it makes a row, and whether that is the last one."""
        code = self._byte()
        if code >= self.first_special:
            self._advance(code)
            self.line += self.base + (code - self.first_special) % self.range
            return True, False
        match code:
            case 0:
                return self._extended()
            case _ if code == _COPY:
                return True, False
            case _ if code == _ADVANCE_PC:
                self.address += self._number() * self.step
            case _ if code == _ADVANCE_LINE:
                self.line += self._signed()
            case _ if code == _SET_FILE:
                self.file = self._number()
            case _ if code == _CONST_ADD_PC:
                self._advance(255)
            case _ if code == _FIXED_ADVANCE:
                self.address += self._byte() + 256 * self._byte()
            case _:
                for _ in range(self.lengths[code - 1]):
                    self._number()
        return False, False

    def _extended(self) -> tuple[bool, bool]:
        size = self._number()
        behind, code = self.place + size, self._byte()
        if code == _SET_ADDRESS:
            target = self.targets[self.place]
            if target.symbol.section is None:
                raise ValueError("an address is in no section")
            self.section, self.address = target.symbol.section, target.symbol.offset + target.addend
        self.place = behind
        return (code == _END_SEQUENCE,) * 2

    def _advance(self, code: int) -> None:
        self.address += (code - self.first_special) // self.range * self.step

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _number(self) -> int:
        """Read an unsigned integer, seven bits a byte (LEB128)."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
        return value | byte << shift

    def _signed(self) -> int:
        begun = self.place
        value, bits = self._number(), 7
        bits *= self.place - begun
        return value - (1 << bits) if value >> (bits - 1) else value

    def _text(self) -> str:
        start, self.place = self.place, self.content.index(b"\0", self.place) + 1
        return self.content[start : self.place - 1].decode()
