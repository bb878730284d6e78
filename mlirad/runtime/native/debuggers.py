"""Names and lines of loaded code, for gdb and perf."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from mlirad.runtime.native.gdb_objects import show_to_gdb
from mlirad.runtime.native.line_table import Line, read_lines
from mlirad.runtime.native.loaded_object import LoadedObject
from mlirad.runtime.native.object_file import Symbol, with_addresses
from mlirad.runtime.native.perf_map import Code, note_for_perf


def show_code(loaded: LoadedObject, data: bytes, names: Mapping[str, str]) -> None:
    """Tell gdb of the object that was loaded from a file, and perf of its functions by line, and
    by other names for some."""
    show_to_gdb(with_addresses(data, loaded.sections))
    note_for_perf(_codes(loaded, read_lines(data), names))


def _codes(loaded: LoadedObject, lines: Sequence[Line], names: Mapping[str, str]) -> Iterator[Code]:
    for symbol in loaded.functions:
        name, start = names.get(symbol.name, symbol.name), loaded.address(symbol)
        place = symbol.offset
        for line in _joined(symbol, lines):
            if line.start > place:
                yield Code(start + place - symbol.offset, line.start - place, name)
            label = f"{name} {os.path.basename(line.file)}:{line.number}"
            yield Code(start + line.start - symbol.offset, line.end - line.start, label)
            place = line.end
        if place < symbol.offset + symbol.size:
            yield Code(start + place - symbol.offset, symbol.offset + symbol.size - place, name)


def _joined(symbol: Symbol, lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines of a function in the order of its code; neighbors that are one line are
    joined, and code of no line belongs to the line before."""
    end = symbol.offset + symbol.size
    last: Line | None = None
    for line in lines:
        if line.section != symbol.section or not symbol.offset <= line.start < end:
            continue
        if last is not None and (line.number == 0 or line[3:] == last[3:]):
            last = last._replace(end=line.end)
            continue
        if last is not None:
            yield last
        last = line if line.number else None
    if last is not None:
        yield last
