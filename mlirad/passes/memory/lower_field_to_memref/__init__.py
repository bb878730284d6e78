"""Field accesses to memref accesses by the layout tree; fields become pointer arguments.

Before: accesses name arrays (`field.get`, arguments, `field.alloca`). After: every function takes,
behind its own arguments, one `!llvm.ptr` for each field it uses, ndarrays arrive as a pointer and
their extents, and the results of a public function leave through a pointer; all are labeled
(`ir/signature.py`). Layout trees are noted on the module (`dialect/noted_trees.py`).
"""

from math import gcd, prod
from typing import Annotated, Any

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import GetOp, array_of, is_array
from mlirad.dialect.field_layout import FieldLayout, layouts
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.dialect.noted_trees import note_trees
from mlirad.dialect.snode import places, roots
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.limits import Range
from mlirad.ir.marks.alignment import alignment_of
from mlirad.ir.memory.descriptor import element_pointer, memref_at, pointer_of, pointer_type
from mlirad.ir.ops import Func, Llvm
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import (
    calls_of_private_functions,
    is_private,
    known_arrays,
    symbol_of,
)
from mlirad.ir.signature import (
    ALIGN,
    NOALIAS,
    Attributes,
    array_label,
    extent_label,
    field_label,
    function_type,
    is_field,
    parameter_attributes,
    results_label,
    set_signature,
    written_label,
)
from mlirad.ir.walk import (
    at_start,
    before,
    block_operations,
    entry_of,
    functions,
    has_uses,
    operations,
    owner_operation,
    replace,
    users_of,
)
from mlirad.passes.memory.lower_field_to_memref.atomic_update import update
from mlirad.passes.memory.lower_field_to_memref.field_address import (
    element_indices,
    field_memref,
    slab_mark,
)
from mlirad.passes.memory.lower_field_to_memref.shared_memory import memory_of_blocks

REQUIRES = (known_arrays, calls_of_private_functions)


def lower_field_to_memref(
    module: ir.Operation, *, alignment: Annotated[int, Range(1, 4096)] = 1
) -> None:
    """Lower arrays to strided memrefs and pointer arguments. `alignment`: the addresses of trees
    are multiples of this many bytes."""
    field_layouts = layouts(module)
    labels = {}
    for place in places(module):
        name = symbol_of(place)
        label = field_label(place)
        alignment_mark = _alignment(field_layouts[name], alignment) if is_field(label) else {}
        labels[name] = {**label, **alignment_mark}
    lowered: dict[str, _Lowering] = {}
    by_name = {symbol_of(function): function for function in functions(module)}
    for name, function in by_name.items():
        used = _used_fields(function, by_name)
        lowered[name] = _Lowering(function, field_layouts, labels, used, lowered)
    for lowering in lowered.values():
        lowering.run()
    note_trees(module)
    for tree in roots(module):
        tree.erase()


def _used_fields(function: ir.Operation, by_name: dict[str, ir.Operation]) -> list[str]:
    """Return the fields that a function, or what it calls, uses."""
    names = dict[str, None]()
    reached = {symbol_of(function): function}
    pending = [function]
    while pending:
        for op in operations(pending.pop()):
            if GetOp.holds(op):
                names[ir.FlatSymbolRefAttr(op.attributes["field"]).value] = None
            elif op.name == Func.CALL and (callee := _callee(op)) not in reached:
                reached[callee] = by_name[callee]
                pending.append(by_name[callee])
    return list(names)


def _alignment(layout: FieldLayout, of_tree: int) -> Attributes:
    """Return what the address of a field is a multiple of, where that is more than it has to be."""
    multiple = gcd(of_tree, layout.offset)
    if multiple <= layout.size:
        return {}
    return {ALIGN: ir.IntegerAttr.get(b.integer_type(64), multiple)}


def _is_only_read(array: ir.Value) -> bool:
    """Return whether nothing is done to an array but that its elements, or its extents, are
    read."""
    users = users_of(array)
    return all(field.is_load(op) or field.DimOp.holds(op) for op in users)


class _Array(msgspec.Struct):
    """An array after lowering: its memref, and what a callee needs to make it again."""

    memref: ir.Value
    pointer: ir.Value | None
    extents: list[ir.Value]
    layout: FieldLayout | None = None


class _Lowering:
    """One function."""

    def __init__(
        self,
        function: ir.Operation,
        field_layouts: dict[str, FieldLayout],
        labels: dict[str, Attributes],
        field_names: list[str],
        lowered: dict[str, "_Lowering"],
    ):
        self.function, self.layouts, self.lowered = function, field_layouts, lowered
        self.labels, self.field_names = labels, field_names
        self.name = symbol_of(function)
        self.is_public = not is_private(function)
        self.entry = entry_of(function)
        self.arrays: dict[ir.Value, _Array] = {}
        self.fields: dict[str, _Array] = {}
        self.attributes: list[Attributes] = []

    def run(self) -> None:
        """Rewrite the function in place."""
        with at_start(self.entry, self.function.location):
            self._lower_arguments()
            self._add_fields()
        for op in list(operations(self.function)):
            handler = _HANDLERS.get(op.name)
            if handler is not None:
                with before(op):
                    handler(self, op)
        if self.is_public:
            self._return_through_pointer()
            self.function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        self._erase_arrays()
        results = [] if self.is_public else function_type(self.function).results
        set_signature(self.function, results, self.attributes)

    # Arguments.

    def _lower_arguments(self) -> None:
        olds = list(self.entry.arguments)
        for old, extra in zip(olds, parameter_attributes(self.function)):
            if not is_array(old.type):
                new = self._argument(old.type, extra)
                old.replace_all_uses_with(new)
                continue
            self._array_argument(old, extra)
        arrays = [is_array(old.type) for old in olds]
        for position in reversed(range(len(olds))):
            if not arrays[position]:
                self.entry.erase_argument(position)

    def _argument(self, type_: ir.Type, attributes: Attributes) -> ir.Value:
        self.attributes.append(attributes)
        return self.entry.add_argument(type_, self.function.location)

    def _array_argument(self, old: ir.Value, extra: Attributes) -> None:
        element, extents = array_of(old.type)
        written = {} if _is_only_read(old) else written_label(extra)
        marks = {NOALIAS: ir.UnitAttr.get(), **extra, **written, **array_label(extra, old.type)}
        pointer = self._argument(pointer_type(), marks)
        sizes: list[ir.Value | int] = []
        dynamic: list[ir.Value] = []
        for axis, extent in enumerate(extents):
            if extent < 0:
                value = self._argument(b.index_type(), extent_label(extra, axis))
                dynamic.append(value)
                sizes.append(value)
            else:
                sizes.append(extent)
        strides: list[ir.Value | int] = [1] * len(sizes)
        for axis in reversed(range(len(sizes) - 1)):
            strides[axis] = _product(strides[axis + 1], sizes[axis + 1])
        shape = "x".join(["?" if e < 0 else str(e) for e in extents] + [element])
        memref = memref_at(pointer, ir.Type.parse(f"memref<{shape}>"), sizes, strides)
        self.arrays[old] = _Array(memref, pointer, [_as_value(s) for s in sizes] if dynamic else [])

    def _add_fields(self) -> None:
        for name in self.field_names:
            layout = self.layouts[name]
            noalias = {NOALIAS: ir.UnitAttr.get()}
            marks = {**noalias, **self.labels[name], **slab_mark(layout)}
            pointer = self._argument(pointer_type(), marks)
            self.fields[name] = _Array(field_memref(layout, pointer), pointer, [], layout)

    def _erase_arrays(self) -> None:
        arguments = [argument for argument in self.entry.arguments if is_array(argument.type)]
        makers = [op for op in operations(self.function) if field.makes_array(op)]
        results = [op.results[0] for op in makers]
        for use in (use for value in [*arguments, *results] for use in value.uses):
            op = use.owner.operation
            raise TaichiCompilationError(
                f"'{op.name}' on an array has no lowering", source_location(op.location)
            )
        for op in reversed(makers):
            op.erase()
        for position in reversed(range(len(self.entry.arguments))):
            if is_array(self.entry.arguments[position].type):
                self.entry.erase_argument(position)

    def _return_through_pointer(self) -> None:
        terminator = block_operations(self.entry)[-1]
        values = list(terminator.operands)
        if not values:
            return
        pointer = self._argument(pointer_type(), results_label([value.type for value in values]))
        with before(terminator):
            for k, value in enumerate(values):
                place = element_pointer(pointer, b.integer_type(64), k)
                b.effect(Llvm.STORE, [value, place])
            b.return_()
        terminator.erase()

    # Accesses.

    def array(self, value: ir.Value) -> _Array:
        """The lowered form of an array value."""
        if value not in self.arrays:
            op = owner_operation(value)
            assert GetOp.holds(op), op
            self.arrays[value] = self.fields[ir.FlatSymbolRefAttr(op.attributes["field"]).value]
        return self.arrays[value]

    def element(self, op: ir.Operation) -> tuple[ir.Value, list[ir.Value]]:
        """The memref of an access and its indices there."""
        value, indices = field.split_access(op)
        array = self.array(value)
        if array.layout is None:
            return array.memref, indices
        return array.memref, element_indices(array.layout, indices)


def _product(left: ir.Value | int, right: ir.Value | int) -> ir.Value | int:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return b.mul(_as_value(left), _as_value(right))


def _as_value(size: ir.Value | int) -> ir.Value:
    return b.index(size) if isinstance(size, int) else size


def _lower_load(lowering: _Lowering, op: ir.Operation) -> None:
    memref, indices = lowering.element(op)
    replace(op, [b.read(memref, indices, **alignment_of(op))])


def _lower_store(lowering: _Lowering, op: ir.Operation) -> None:
    memref, indices = lowering.element(op)
    b.write(op.operands[0], memref, indices, **alignment_of(op))
    op.erase()


def _lower_atomic(lowering: _Lowering, op: ir.Operation) -> None:
    old = update(op, *lowering.element(op))
    if has_uses(op.results[0]):
        op.results[0].replace_all_uses_with(old)
    op.erase()


def _lower_alloca(lowering: _Lowering, op: ir.Operation) -> None:
    array = op.results[0].type
    type_, extents = field.element_type(array), array_of(array)[1]
    memref_type = ir.MemRefType.get(list(extents), type_)
    if not extents:
        memref = b.alloca(memref_type)
        b.write(b.number(0, type_), memref)
    else:
        memref = b.alloc(memref_type)
        width = (ir.FloatType if b.is_float(type_) else ir.IntegerType)(type_).width
        if "is_set" not in op.attributes:
            _clear(memref, prod(extents) * max(1, width // 8))
        with before(block_operations(op.block)[-1]):
            b.dealloc(memref)
    lowering.arrays[op.results[0]] = _Array(memref, None, [])


def _lower_shared(lowering: _Lowering, op: ir.Operation) -> None:
    lowering.arrays[op.results[0]] = _Array(memory_of_blocks(op), None, [])


def _clear(memref: ir.Value, size: int) -> None:
    i64 = b.integer_type(64)
    byte = b.llvm_constant(0, b.integer_type(8))
    length = b.llvm_constant(size, i64)
    b.effect(
        Llvm.INTR_MEMSET,
        [pointer_of(memref), byte, length],
        isVolatile=ir.IntegerAttr.get(b.integer_type(1), 0),
    )


def _lower_dim(lowering: _Lowering, op: ir.Operation) -> None:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    extent = array_of(op.operands[0].type)[1][axis]
    size = b.index(extent) if extent >= 0 else lowering.array(op.operands[0]).extents[axis]
    replace(op, [size])


def _lower_address(lowering: _Lowering, op: ir.Operation) -> None:
    """The address of the first element, and the distance from it in elements."""
    array, (value, *indices) = lowering.array(op.operands[0]), list(op.operands)
    i64 = b.integer_type(64)
    extents = array_of(value.type)[1]
    if array.layout is not None:
        places = element_indices(array.layout, indices)
        distances: list[ir.Value] = [b.index(s) for s in array.layout.element_strides]
    else:
        places, distances = indices, []
        step: ir.Value | int = ELEMENT_SIZES[str(field.element_type(value.type))]
        sizes = iter(reversed(array.extents))
        for extent in reversed(extents):
            distances.insert(0, _as_value(step))
            step = _product(step, extent if extent >= 0 else next(sizes))
    total = b.index(0)
    for place, distance in zip(places, distances):
        total = b.add(total, b.mul(place, distance))
    pointer = array.pointer if array.pointer is not None else pointer_of(array.memref)
    start = b.ptrtoint(pointer, i64)
    address = b.add(start, b.index_cast(total, i64))
    replace(op, [address])


def _lower_fetch(_: _Lowering, op: ir.Operation) -> None:
    """The host reaches the memory that a value comes from."""
    replace(op, list(op.operands))


def _lower_clock(_: _Lowering, op: ir.Operation) -> None:
    """LLVM's counter of cycles: `rdtsc` of x86, `%clock64` of PTX."""
    replace(op, [b.call_intrinsic("readcyclecounter", [], op.results[0].type)])


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _lower_call(lowering: _Lowering, op: ir.Operation) -> None:
    callee = lowering.lowered[_callee(op)]
    operands: list[Any] = []
    for value in op.operands:
        if not is_array(value.type):
            operands.append(value)
            continue
        array = lowering.array(value)
        operands.append(array.pointer if array.pointer is not None else pointer_of(array.memref))
        dynamic = [k for k, extent in enumerate(array_of(value.type)[1]) if extent < 0]
        operands += [array.extents[k] for k in dynamic]
    operands += [lowering.fields[name].pointer for name in callee.field_names]
    call = b.call(callee.name, operands, [r.type for r in op.results])
    replace(op, call.results)


_HANDLERS = {
    field.LoadOp.OPERATION_NAME: _lower_load,
    field.StoreOp.OPERATION_NAME: _lower_store,
    field.AtomicOp.OPERATION_NAME: _lower_atomic,
    field.AllocaOp.OPERATION_NAME: _lower_alloca,
    field.SharedOp.OPERATION_NAME: _lower_shared,
    field.DimOp.OPERATION_NAME: _lower_dim,
    field.AddressOp.OPERATION_NAME: _lower_address,
    field.ClockOp.OPERATION_NAME: _lower_clock,
    field.FetchOp.OPERATION_NAME: _lower_fetch,
    Func.CALL: _lower_call,
}
