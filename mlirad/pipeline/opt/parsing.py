"""A program from its text, in which our ops may have their short forms."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import SourceLocation
from mlirad.host import Feature, has
from mlirad.ir.assembly.expansion import Expansion
from mlirad.ir.assembly.reading import expand
from mlirad.ir.ops import Builtin
from mlirad.ir.walk import operations
from mlirad.pipeline.opt.source_text import check_text, refused_in_silence

UNNAMED = "-"  # what upstream calls a text that is not read from a file
_IS_MODULE = re.compile(r"(?:\s|//[^\n]*|[#!][^\n]*)*module\b")
_SEVERAL = "source must contain a single top-level operation"


class Reading:
    """Reads a program, and knows where in its source is what upstream reports of it."""

    def __init__(self, source: str | bytes, file: str, *, is_whole_file: bool) -> None:
        self.source, self.file = source, file
        self.name = file if is_whole_file else UNNAMED
        self.expansion: Expansion | None = None
        self.parsed_name: str | None = None  # of the text that is being parsed, where it is another

    def place(self, place: SourceLocation) -> SourceLocation:
        """Return the place in the source of what is reported while it is read."""
        if self.expansion is None or place.file != self.parsed_name:
            return place
        line, column = self.expansion.place_in_source(place.line, place.column)
        return SourceLocation(self.name, line, column)

    def operation(self, *, implicit_module: bool) -> ir.Operation:
        """Return the program. Raises MLIRError, ours or upstream's, if it is not one."""
        if isinstance(self.source, bytes):
            return ir.Module.parse(self.source, context()).operation
        if implicit_module:
            return self.module().operation
        with self._expanded(self.source) as expansion:
            operation = self._single(expansion.text, self.file)
            if expansion.moves_operations:
                self._restore_places(operation, self.file)
        return operation

    def module(self) -> ir.Module:
        """Return the module that is the text, or that is around it."""
        with self._expanded(str(self.source)) as expansion:
            if not expansion.is_changed and self.name == UNNAMED:
                return ir.Module.parse(expansion.text, context())
            if not expansion.is_changed:
                return ir.Module.parseFile(self.name, context())  # so that locations name the file
            if _IS_MODULE.match(expansion.text) and not expansion.moves_operations:
                module = self._explicit(expansion.text)
                if module is not None:
                    return module
            return self._from_memory(expansion.text)

    @contextmanager
    def _expanded(self, source: str) -> Iterator[Expansion]:
        """Give the text for upstream's parser, which refuses some texts without a word."""
        check_text(source, self.file)
        self.expansion = expand(source, self.file)
        try:
            yield self.expansion
        except ir.MLIRError as error:
            if not error.error_diagnostics:
                raise refused_in_silence(source, self.file) from None
            raise
        self.parsed_name = None

    def _single(self, text: str, name: str) -> ir.Operation:
        self.parsed_name = name
        return ir.Operation.parse(text, source_name=name, context=context()).operation

    def _explicit(self, text: str) -> ir.Module | None:
        """Parse the one module that a text is, which is faster; None if it is more than that."""
        try:
            operation = self._single(text, self.name)
        except ir.MLIRError as error:
            if any(_SEVERAL in item.message for item in error.error_diagnostics):
                return None
            raise
        if operation.name != Builtin.MODULE:
            return None
        module = ir.Module.create(operation.location)
        for name, attribute in operation.attributes.items():
            module.operation.attributes[name] = attribute
        for op in list(operation.regions[0].blocks[0].operations):
            module.body.append(op)
        return module

    def _from_memory(self, text: str) -> ir.Module:
        """Parse the text as a file of which no other location has the name."""
        with _file_of(text.encode(errors="surrogateescape")) as self.parsed_name:
            module = ir.Module.parseFile(self.parsed_name, context())
        self._restore_places(module.operation, self.parsed_name)
        return module

    def _restore_places(self, root: ir.Operation, name: str) -> None:
        """Have locations name the places in the source."""
        for op in (root, *operations(root)):
            op.location = self._restored(op.location, name)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.set_location(self._restored(argument.location, name))

    def _restored(self, location: ir.Location, name: str) -> ir.Location:
        if not isinstance(location, ir.FileLineColLoc) or location.filename != name:
            return location
        place = self.place(SourceLocation(name, location.start_line, location.start_col))
        return ir.Location.file(place.file, place.line, place.column, context())


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """Give the name of a file that has a content, in memory if the system has such files."""
    if has(Feature.MEMORY_FILES):
        with os.fdopen(os.memfd_create("program"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as named_file:
        named_file.write(content)
        named_file.flush()
        yield named_file.name


def named(place: SourceLocation, file: str) -> SourceLocation:
    """Return a place in a file, where upstream has no name for that."""
    return replace(place, file=file) if place.file == UNNAMED else place
