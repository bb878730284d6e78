"""Local variables of a kernel, and the memory that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, array_type
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import constant, current, mlir_type
from mlirad.frontend.python.building.open_regions import refuse_use
from mlirad.frontend.python.building.regions import if_op
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.ir import build
from mlirad.types import DataType, u1

Combine = Callable[[Value, Value], Any]  # of the old value and an operand


class Update(StrEnum):
    """The kind of an atomic update, by its name in programs."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"


ON_INTEGERS = (Update.AND, Update.OR, Update.XOR)
_ON_BOOLEANS = {Update.ADD: Update.OR, Update.SUB: Update.XOR}  # a sum is true if it is not 0
_ON_UNSIGNED = {Update.MIN: AtomicKind.MINU, Update.MAX: AtomicKind.MAXU}


def make_slot(dtype: DataType) -> ir.Value:
    """A scalar in memory, which `mem2reg` turns into values."""
    return build.slot(mlir_type(dtype))


def read_slot(slot: ir.Value, dtype: DataType) -> Expr:
    return Expr(build.read(slot), dtype)


def write_slot(slot: ir.Value, value: ir.Value) -> None:
    build.write(value, slot)


_MOST_ENTRIES = 400  # of a variable, without a warning


class Variable:
    """A mutable local scalar, vector or matrix. Its type is that of the first value it was
    given."""

    def __init__(self, value: Value) -> None:
        self.shape: tuple[int, ...] | None = None
        if isinstance(value, Matrix):
            self.shape = value.shape
        entries = value.entries if isinstance(value, Matrix) else [value]
        expressions = [ex.expression(entry) for entry in entries]
        self.dtypes = [entry.dtype for entry in expressions]
        self._region, self._origin = current().region, ir.Location.current
        if len(entries) > _MOST_ENTRIES:
            current().warn(
                f"a vector or matrix of {len(entries)} entries is unrolled into as many numbers, "
                "and compile time grows with their square: keep this many in a field"
            )
        self._slots = [self._make(dtype) for dtype in self.dtypes]
        self.store(value)

    @property
    def slots(self) -> list[ir.Value]:
        """The memory of the entries. Raises TaichiCompilationError if they cannot be seen from
        here."""
        if self._region.shut:
            refuse_use(self._region, self._origin, "variable")
        return self._slots

    def _make(self, dtype: DataType) -> ir.Value:
        return make_slot(dtype)

    def read_entry(self, k: int) -> Expr:
        """Entry `k` in row-major order."""
        return read_slot(self.slots[k], self.dtypes[k])

    def write_entry(self, k: int, value: Scalar) -> None:
        """Set entry `k`, converted to its type."""
        write_slot(self.slots[k], cast_for_store(value, self.dtypes[k]).value)

    def load(self) -> Any:
        if self.shape is None:
            return self.read_entry(0)
        return Matrix.of_shape(self.shape, [self.read_entry(k) for k in range(len(self.slots))])

    def store(self, value: Value) -> None:
        """Set the value. Raises TaichiTypeError if its shape differs."""
        if self.shape is None:
            if not ex.is_scalar(value):
                raise TaichiTypeError(
                    f"cannot assign a {type(value).__name__} to a scalar variable"
                )
            self.write_entry(0, value)
            return
        if ex.is_scalar(value):
            entries: Sequence[Scalar] = [value] * len(self.slots)
        elif isinstance(value, Matrix) and value.shape == self.shape:
            entries = value.entries
        else:
            shape = getattr(value, "shape", None)
            raise TaichiTypeError(
                f"cannot assign a value of shape {shape} to a variable of shape {self.shape}"
            )
        for k, entry in enumerate(
            [cast_for_store(entry, dtype) for entry, dtype in zip(entries, self.dtypes)]
        ):
            self.write_entry(k, entry)

    def update_entry(self, k: int, operator: Combine, kind: Update | None, value: Scalar) -> None:
        """Read, combine and write entry `k`."""
        self.write_entry(k, operator(self.read_entry(k), value))

    def change_if(
        self, condition: Expr, k: int, operator: Combine | None, kind: Update | None, value: Scalar
    ) -> None:
        """Set entry `k`, or update it with an operator, if a condition holds."""
        old = self.read_entry(k)
        new = value if operator is None else operator(old, value)
        self.write_entry(k, ex.select(condition, cast_for_store(new, old.dtype), old))


class SharedVariable(Variable):
    """A local of the kernel that the iterations of a parallel loop update: a cell of memory of this
    launch."""

    def _make(self, dtype: DataType) -> ir.Value:
        return effects.cell(array_type(mlir_type(dtype), []))

    def read_entry(self, k: int) -> Expr:
        return Expr(effects.load(self.slots[k]), self.dtypes[k])

    def write_entry(self, k: int, value: Scalar) -> None:
        effects.store(cast_for_store(value, self.dtypes[k]).value, self.slots[k])

    def update_entry(self, k: int, operator: Combine, kind: Update | None, value: Scalar) -> None:
        if kind is None:
            super().update_entry(k, operator, kind, value)
            return
        atomic(self.slots[k], [], self.dtypes[k], kind, value)

    def change_if(
        self, condition: Expr, k: int, operator: Combine | None, kind: Update | None, value: Scalar
    ) -> None:
        """Set or update entry `k` alone: other iterations may change the other entries."""

        def change() -> None:
            if operator is None:
                self.write_entry(k, value)
            else:
                self.update_entry(k, operator, kind, value)

        if_op(condition.value, change)


def cast_for_store(value: Scalar, dtype: DataType) -> Expr:
    """Convert a scalar to the type of its destination. Warns, once a line, if that is an integer
    and the scalar is a float."""
    if dtype.is_integer and dtype != u1 and ex.dtype_of(value).is_float:
        current().warn(
            f"Assign may lose precision: {dtype} <- {ex.dtype_of(value)}; ti.cast(..., {dtype}) "
            "drops the fraction on purpose, and a variable whose first value is a float keeps it"
        )
    return ex.cast(value, dtype)


def atomic(
    array: ir.Value, indices: Sequence[ir.Value], dtype: DataType, kind: Update, value: Scalar
) -> Expr:
    """Update one element atomically, and return its old value."""
    if kind in ON_INTEGERS and dtype.is_float:
        raise TaichiTypeError(f"atomic_{kind} updates integers: got {dtype}")
    converted = cast_for_store(value, dtype)
    if dtype == u1:
        kind = _ON_BOOLEANS.get(kind, kind)
    if kind is Update.SUB:
        kind, converted = Update.ADD, -converted
    is_unsigned = dtype.is_integer and not dtype.is_signed
    atomic_kind = AtomicKind(_ON_UNSIGNED.get(kind, kind) if is_unsigned else kind)
    old = effects.atomic(converted.value, array, indices, atomic_kind, stop_marks(array))
    return Expr(old, dtype)


def stop_marks(array: ir.Value) -> dict[str, ir.Attribute]:
    """The attributes of an access whose value carries no derivative (`ti.stop_grad`), or none."""
    is_stopped = current().is_constant or array in current().stopped
    return {"grad.stop": ir.UnitAttr.get()} if is_stopped else {}


def zero(dtype: DataType) -> Expr:
    return Expr(constant(0, dtype), dtype)
