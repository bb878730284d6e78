"""Relocatable object files, as LLVM writes them for x86-64 and ELF (System V ABI, AMD64
supplement): their sections, symbols and relocations."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_IDENT = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_OTHER_KINDS = (14, 15, 16, 17)  # constructors, destructors, groups of sections
_WRITE, _ALLOC, _THREAD_LOCAL = 0x1, 0x2, 0x400
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_FUNCTION, _THREAD_LOCAL_SYMBOL, _INDIRECT = 2, 6, 10


class UnreadableObjectError(Exception):
    """An object file that is none of those that are known here."""


class Section(NamedTuple):
    """Bytes that belong into memory."""

    content: bytes
    size: int  # of zeros, where there is no content
    alignment: int
    is_writable: bool


class Symbol(NamedTuple):
    """A place in a section; of none, one that is defined elsewhere."""

    name: str
    section: int | None
    offset: int
    size: int = 0
    is_function: bool = False


class Relocation(NamedTuple):
    """A place in a section that holds the address of a symbol, plus a number."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


class ObjectFile(NamedTuple):
    """The parts of an object file that are loaded, by the number of the section, and what is then
    written there."""

    sections: dict[int, Section]
    symbols: list[Symbol]
    relocations: list[Relocation]


class NamedSection(NamedTuple):
    """Bytes that stay in the file, and what belongs into them."""

    content: bytes
    relocations: list[Relocation]


def read_object(data: bytes) -> ObjectFile:
    """The parts of an object file. Raises UnreadableObjectError if it has others."""
    try:
        return _Reader(data).read()
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise UnreadableObjectError(str(error)) from None


def read_section(data: bytes, name: str) -> NamedSection | None:
    """Return the section of a name in a file that `read_object` reads, if there is one."""
    return _Reader(data).named_section(name)


def with_addresses(data: bytes, addresses: Mapping[int, int]) -> bytes:
    """Return an object file whose header says where sections are in memory, by their numbers."""
    start = _HEADER.unpack_from(data)[6]
    placed = bytearray(data)
    for number, address in addresses.items():
        place = start + number * _SECTION.size
        header = _SECTION.unpack_from(data, place)
        _SECTION.pack_into(placed, place, *header[:3], address, *header[4:])
    return bytes(placed)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        header = _HEADER.unpack_from(data)
        if not header[0].startswith(_IDENT) or header[1:3] != (_RELOCATABLE, _X86_64):
            raise UnreadableObjectError("it is not a relocatable file for x86-64")
        start, count, self.names = header[6], header[12], header[13]
        self.headers = [
            _SECTION.unpack_from(data, start + number * _SECTION.size) for number in range(count)
        ]

    def read(self) -> ObjectFile:
        """Read the sections, symbols and relocations."""
        sections = {}
        for number, (_, kind, flags, _, _, size, _, _, alignment, _) in enumerate(self.headers):
            if kind in _OTHER_KINDS or flags & _THREAD_LOCAL:
                raise UnreadableObjectError(
                    f"a section has the unknown kind {kind}, or flags {flags:#x}"
                )
            if flags & _ALLOC and size:
                content = b"" if kind == _NOBITS else self._content(number)
                sections[number] = Section(content, size, max(1, alignment), bool(flags & _WRITE))
        symbols = self._symbols(*self._tables())
        relocations = [
            relocation
            for number, header in enumerate(self.headers)
            if header[1] == _RELA and header[7] in sections
            for relocation in self._relocations(number, symbols)
        ]
        return ObjectFile(sections, symbols, relocations)

    def named_section(self, name: str) -> NamedSection | None:
        """Return a section by its name, with its relocations."""
        names, symbols = self._content(self.names), self._symbols(*self._tables())
        for number, header in enumerate(self.headers):
            if _text(names, header[0]) == name:
                tables = (n for n, h in enumerate(self.headers) if h[1] == _RELA and h[7] == number)
                relocations = [r for table in tables for r in self._relocations(table, symbols)]
                return NamedSection(self._content(number), relocations)
        return None

    def _tables(self) -> list[int]:
        return [n for n, header in enumerate(self.headers) if header[1] == _SYMTAB]

    def _content(self, number: int) -> bytes:
        offset, size = self.headers[number][4:6]
        content = self.data[offset : offset + size]
        if len(content) != size:
            raise UnreadableObjectError("a section extends beyond the end of the file")
        return content

    def _symbols(self, table: int) -> list[Symbol]:
        names = self._content(self.headers[table][6])
        return [self._symbol(names, *entry) for entry in _SYMBOL.iter_unpack(self._content(table))]

    def _symbol(
        self, names: bytes, name: int, info: int, _: int, section: int, value: int, size: int
    ) -> Symbol:
        if info & 0xF in (_THREAD_LOCAL_SYMBOL, _INDIRECT):
            raise UnreadableObjectError("it has a thread-local or indirect symbol")
        if section >= _RESERVED and section != _ABSOLUTE:
            raise UnreadableObjectError("a symbol is in no section")
        is_defined = section not in (_UNDEFINED, _ABSOLUTE)
        place = section if is_defined else None
        return Symbol(_text(names, name), place, value, size, info & 0xF == _FUNCTION)

    def _relocations(self, table: int, symbols: list[Symbol]) -> list[Relocation]:
        section = self.headers[table][7]
        return [
            Relocation(section, offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
            for offset, info, addend in _RELOCATION.iter_unpack(self._content(table))
        ]


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()
