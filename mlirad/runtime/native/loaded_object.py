"""Object files brought into memory, as a linker would: for what LLVM writes for code that may lie
anywhere (the large code model, which its JIT has)."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from mlirad.runtime.native.object_file import (
    Relocation,
    Section,
    Symbol,
    UnreadableObjectError,
    read_object,
)

_ABSOLUTE = 1  # R_X86_64_64
_FORMATS = {_ABSOLUTE: "<Q", 2: "<i", 4: "<i", 24: "<q"}  # R_X86_64_PC32, _PLT32, _PC64


class LoadedObject:
    """An object file in memory, as long as this object lives.

    Raises UnreadableObjectError if it needs what is not known here, or what no library has.
    """

    def __init__(self, data: bytes, libraries: Sequence[str] = ()) -> None:
        object_file = read_object(data)
        self._libraries = [*map(_library, libraries), _library(None)]
        self._places: dict[int, _Place] = {}
        code = {n: entry for n, entry in object_file.sections.items() if not entry.is_writable}
        variables = {n: entry for n, entry in object_file.sections.items() if entry.is_writable}
        pieces = [self._place_sections(sections) for sections in (code, variables) if sections]
        self._relocate(object_file.relocations)
        for piece in pieces[: bool(code)]:
            piece.make_code()
        self._symbols = {
            entry.name: entry for entry in object_file.symbols if entry.section in self._places
        }

    def function(self, name: str) -> Callable[[Any], None]:
        """Return a function of the object, which takes its arguments packed; it does not keep this
        object."""
        if name not in self._symbols:
            raise UnreadableObjectError(f"it has no function '{name}'")
        function: Callable[[Any], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
            self.address(self._symbols[name])
        )
        return function

    @property
    def sections(self) -> dict[int, int]:
        """Return the addresses of sections, by their number."""
        return {number: place.address for number, place in self._places.items()}

    @property
    def functions(self) -> list[Symbol]:
        """The functions that the object has, in the order of their code."""
        functions = (symbol for symbol in self._symbols.values() if symbol.is_function)
        return sorted(functions, key=lambda symbol: (symbol.section or 0, symbol.offset))

    def _place_sections(self, sections: dict[int, Section]) -> _Piece:
        """Sections in memory of their own."""
        starts, end = {}, 0
        for number, section in sections.items():
            starts[number] = end = end + -end % section.alignment
            end += section.size
        piece = _Piece(end)
        for number, section in sections.items():
            piece.put(starts[number], section.content)
            self._places[number] = _Place(piece, starts[number], section.size)
        return piece

    def _relocate(self, relocations: Iterable[Relocation]) -> None:
        addresses: dict[Symbol, int] = {}
        for relocation in relocations:
            if relocation.symbol not in addresses:
                addresses[relocation.symbol] = self.address(relocation.symbol)
            self._places[relocation.section].relocate(
                relocation, addresses[relocation.symbol] + relocation.addend
            )

    def address(self, symbol: Symbol) -> int:
        """Return where a symbol is. Raises UnreadableObjectError if it is nowhere."""
        if symbol.section is not None:
            if symbol.section not in self._places:
                raise UnreadableObjectError(f"'{symbol.name}' is in no loaded section")
            return self._places[symbol.section].address + symbol.offset
        for library in self._libraries:
            try:
                return ctypes.cast(library[symbol.name], ctypes.c_void_p).value or 0
            except AttributeError:
                continue
        raise UnreadableObjectError(f"no library defines '{symbol.name}'")


class _Piece:
    """Memory of one protection."""

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view = (ctypes.c_char * size).from_buffer(self._memory)
        self.address, self.size = ctypes.addressof(self._view), size

    def put(self, start: int, content: bytes) -> None:
        """Copy bytes there."""
        self._memory[start : start + len(content)] = content

    def make_code(self) -> None:
        """From now on run it, and do not write to it."""
        if _library(None)["mprotect"](
            ctypes.c_void_p(self.address),
            ctypes.c_size_t(self.size),
            mmap.PROT_READ | mmap.PROT_EXEC,
        ):
            raise UnreadableObjectError("this process cannot make memory executable")


class _Place(NamedTuple):
    """The place of a section."""

    piece: _Piece
    start: int
    size: int

    @property
    def address(self) -> int:
        return self.piece.address + self.start

    def relocate(self, relocation: Relocation, value: int) -> None:
        """Write the address of a symbol, or how far away it is."""
        form = _FORMATS.get(relocation.kind)
        if form is None or relocation.offset + struct.calcsize(form) > self.size:
            raise UnreadableObjectError(
                f"the relocation at {relocation.offset} has the unknown kind {relocation.kind}"
            )
        word = (
            value % (1 << 64)
            if relocation.kind == _ABSOLUTE
            else value - self.address - relocation.offset
        )
        try:
            self.piece.put(self.start + relocation.offset, struct.pack(form, word))
        except struct.error:
            raise UnreadableObjectError(
                f"'{relocation.symbol.name}' is too far from its use"
            ) from None


@cache
def _library(path: str | None) -> ctypes.CDLL:
    """A library; None for all that the process has loaded for everyone."""
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
