"""Variables of a function that calls itself: one for each level of its calls, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.frontend.python.building.builder import Anchor, current, mlir_type
from mlirad.frontend.python.places.list_places import ListPlace, TuplePlace
from mlirad.frontend.python.places.struct_places import StructPlace, make_local
from mlirad.frontend.python.places.variables import Variable, cast_for_store
from mlirad.frontend.python.translation.scopes import Frame
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.scalar import Expr
from mlirad.ir import build
from mlirad.types import DataType

MAX_DEPTH = 1024


class Stack:
    """Memory for a value of each level."""

    def __init__(self, dtype: DataType, function: str) -> None:
        type_ = ir.MemRefType.get([MAX_DEPTH], mlir_type(dtype))
        self.memory = build.alloca(type_, **{field.RECURSION: ir.StringAttr.get(function)})
        self.dtype = dtype

    def read(self, level: Expr) -> Expr:
        return Expr(build.read(self.memory, [ex.as_index(level)]), self.dtype)

    def write(self, level: Expr, value: ir.Value) -> None:
        build.write(value, self.memory, [ex.as_index(level)])


class StackVariable(Variable):
    """A local of a function that calls itself: one for each level."""

    def __init__(
        self, value: Value, anchor: Anchor, level: Callable[[], Expr], function: str
    ) -> None:
        entries = value.entries if isinstance(value, Matrix) else [value]
        self.shape = value.shape if isinstance(value, Matrix) else None
        self.dtypes = [ex.expression(entry).dtype for entry in entries]
        self._level, self._origin = level, ir.Location.current
        with anchor.inserting():
            self._region = current().region
            self._stacks = [Stack(dtype, function) for dtype in self.dtypes]
        self._slots = [stack.memory for stack in self._stacks]
        self.store(value)

    def read_entry(self, k: int) -> Expr:
        return self._stacks[k].read(self._level())

    def write_entry(self, k: int, value: ex.Scalar) -> None:
        self._stacks[k].write(self._level(), cast_for_store(value, self.dtypes[k]).value)


class StackFrame(Frame):
    """A function that calls itself, being translated; `level` is that of the innermost call."""

    level: Callable[[], Expr] | None = None

    def variable(self, value: Value) -> StackVariable:
        """A variable with its first value."""
        assert self.level is not None
        return StackVariable(value, self.entry_anchor, self.level, self.name)


def new_variable(frame: Frame, value: Any) -> Variable | StructPlace | ListPlace | TuplePlace:
    """A variable of a function that is assigned for the first time, or those of a struct, a
    list or a tuple."""
    return make_local(value, frame.variable if isinstance(frame, StackFrame) else Variable)
