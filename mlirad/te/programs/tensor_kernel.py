"""A function of tensors as a kernel, on the fields and array arguments that it is launched on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.dialect import context, field, te
from mlirad.ir import build as b
from mlirad.ir.ops import Tensor
from mlirad.ir.signature import argument_label
from mlirad.ir.walk import before, block_operations, entry_of, functions, has_uses, owner_operation
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.array_arguments import copy_of
from mlirad.kernel.module import GivenDerivatives, KernelModule, OwnArray
from mlirad.pipeline.runner import run_pipeline
from mlirad.runtime.kernels.kernel_ir import declare_trees
from mlirad.runtime.program import Program
from mlirad.te.definitions.sizes import evaluator
from mlirad.te.emission import dtype_of_type
from mlirad.te.programs.binding import Binding, Slot
from mlirad.te.programs.explanation import explain_definitions

SIMPLIFY = "canonicalize,cse,merge-te-computes,canonicalize,cse,remove-te-zeros,canonicalize,cse"
LOWER = "lower-te-to-field,canonicalize,cse"
ROWS = ",join-row-loops,canonicalize,cse"  # where a core goes through a row, and has caches


@dataclass(frozen=True)
class KernelSlots:
    """The tensors of a function: `arguments` and `results` are the slots of its arguments and
    results, of which `added` are added to what is there; `cleared` are set to 0 at the end."""

    arguments: Sequence[Slot]
    results: Sequence[Slot]
    added: bool = False
    cleared: Sequence[Slot] = ()


def tensor_kernel(
    module: ir.Module,
    name: str,
    passed: KernelSlots,
    binding: Binding,
    program: Program,
    arrays: Sequence[NdarrayArgument],
    derivatives: GivenDerivatives | None = None,
) -> KernelModule:
    """The kernel; `arrays` are its array arguments, to which those of its own are added."""
    with context(), module.operation.location:
        lowered = copy_of(module)
        run_pipeline(lowered.operation, f"builtin.module({SIMPLIFY})")
        (function,) = functions(lowered.operation)
        entry = entry_of(function)
        _copy_what_is_shared(entry, is_added=passed.added)
        if passed.added:
            te.mark_added(function, range(len(passed.results)))
        defined = _arrays_of(entry, passed, binding)
        argument_count = len(entry.arguments)
        rows = "" if program.executor.memory.is_apart else ROWS
        run_pipeline(lowered.operation, f"builtin.module({LOWER}{rows})")
        (function,) = functions(lowered.operation)
        defined = _without_unused(entry_of(function), argument_count, defined)
        own_arrays = [array for array in defined if isinstance(array, OwnArray)]
        slots = [array if isinstance(array, Slot) else None for array in defined]
        _Binder(function, binding, program).bind(passed, slots)
        with ir.InsertionPoint(lowered.body):
            declare_trees(program, binding.fields, binding.apart)
    every = (
        *arrays,
        *(NdarrayArgument(array.dtype, -1, (), False, is_cut=True) for array in own_arrays),
    )
    return KernelModule(
        lowered,
        name,
        False,
        (),
        None,
        every,
        tuple(binding.fields),
        own_arrays=tuple(own_arrays),
        derivatives=derivatives,
    )


def definitions(module: ir.Module) -> list[str]:
    """Return an explanation of the definitions of a function that are left."""
    with context(), module.operation.location:
        simplified = copy_of(module)
        run_pipeline(simplified.operation, f"builtin.module({SIMPLIFY})")
        (function,) = functions(simplified.operation)
        return explain_definitions(simplified.operation, block_operations(entry_of(function)))


def _arrays_of(entry: ir.Block, passed: KernelSlots, binding: Binding) -> list[Slot | OwnArray]:
    """Return the slots and arrays of a function's definitions."""
    *ops, end = block_operations(entry)
    outputs = list(end.operands)
    return [
        passed.results[outputs.index(op.results[0])]
        if op.results[0] in outputs
        else _own_array(op.results[0], binding, entry, len(passed.arguments))
        for op in ops
        if te.defines_tensor(op)
    ]


def _without_unused(
    entry: ir.Block, argument_count: int, defined: Sequence[Slot | OwnArray]
) -> list[Slot | OwnArray]:
    """The arrays behind those that are given, without a launch's own that it does not use."""
    used: list[Slot | OwnArray] = []
    for array in defined:
        if isinstance(array, Slot) or has_uses(entry.arguments[argument_count + len(used)]):
            used.append(array)
        else:
            entry.erase_argument(argument_count + len(used))
    return used


def _copy_what_is_shared(entry: ir.Block, *, is_added: bool) -> None:
    """Let every output have a definition of its own: inputs, what is an output twice, and what is
    added and read too, are copied."""
    end = block_operations(entry)[-1]
    defined: set[ir.Value] = set(entry.arguments)
    for position, value in enumerate(list(end.operands)):
        if value in defined or (is_added and len(list(value.uses)) > 1):
            with before(end):
                end.operands[position] = _copy(value)
        defined.add(value)


def _copy(value: ir.Value) -> ir.Value:
    type_ = ir.RankedTensorType(value.type)
    axes = [axis for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
    sizes = [b.make(Tensor.DIM, b.index_type(), [value, b.index(axis)]) for axis in axes]
    return te.compute("copy", type_, sizes, lambda indices: te.read(value, indices))


def _own_array(value: ir.Value, binding: Binding, entry: ir.Block, first: int) -> OwnArray:
    type_ = ir.RankedTensorType(value.type)
    arguments: dict[ir.Value, int] = {v: k - first for k, v in enumerate(entry.arguments)}
    sizes = iter(owner_operation(value).operands)
    extents = tuple(
        evaluator(next(sizes), arguments)
        if type_.is_dynamic_dim(axis)
        else _constant(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    )
    return OwnArray(
        dtype_of_type(type_.element_type),
        lambda values: tuple([extent(binding.sizes_of(values)) for extent in extents]),
    )


def _constant(value: int) -> Callable[[Sequence[int]], int]:
    return lambda sizes: value


class _Binder:
    """Puts the arguments of a launch in the places of a lowered function's."""

    def __init__(self, function: ir.Operation, binding: Binding, program: Program) -> None:
        self.function, self.entry = function, entry_of(function)
        self.binding, self.program = binding, program
        self.arguments: list[tuple[ir.Value, ir.Attribute]] = []
        self.arrays: dict[Slot, ir.Value] = {}
        self.arrays_of_fields: dict[str, ir.Value] = {}

    def bind(self, passed: KernelSlots, defined: Sequence[Slot | None]) -> None:
        """`defined` are the slots of the arrays of definitions; None for a launch's own."""
        old, binding = list(self.entry.arguments), self.binding
        for k in binding.arrays_before:
            self._array(Slot(k))
        sizes = [self._argument(b.integer_type(64), len(self.arguments)) for _ in binding.sizes]
        for k in binding.arrays_behind:
            self._array(Slot(k))
        stands_for: list[ir.Value | None] = [*map(self._array, passed.arguments), *sizes]
        stands_for += [None if slot is None else self._array(slot) for slot in defined]
        cleared = [self._array(slot) for slot in passed.cleared]
        count = binding.argument_count
        for number, value in enumerate(stands_for):
            if value is None:
                value = self._argument(old[number].type, count)
                count += 1
            old[number].replace_all_uses_with(value)
        for _ in old:
            self.entry.erase_argument(0)
        self._clear(cleared)
        self._sign()

    def _array(self, slot: Slot) -> ir.Value:
        slot = self.binding.array(slot)
        if slot not in self.arrays:
            self.arrays[slot] = self._new_array(slot)
        return self.arrays[slot]

    def _new_array(self, slot: Slot) -> ir.Value:
        symbol = self.binding.symbol(slot, self.program)
        if symbol is None:
            label = ir.DictAttr.get(self.binding.label(slot))
            return self._add_argument(self.binding.argument_type(slot), label)
        element = field.element_type(self.binding.argument_type(slot))
        type_ = field.array_type(element, self.program.fields[symbol].layout.shape)
        array = self.arrays_of_fields.get(symbol)
        if array is None:
            with ir.InsertionPoint.at_block_begin(self.entry), self.function.location:
                array = self.arrays_of_fields[symbol] = field.get(symbol, type_)
        return array

    def _argument(self, type_: ir.Type, number: int) -> ir.Value:
        return self._add_argument(type_, ir.DictAttr.get(argument_label(number)))

    def _add_argument(self, type_: ir.Type, label: ir.Attribute) -> ir.Value:
        value = self.entry.add_argument(type_, self.function.location)
        self.arguments.append((value, label))
        return value

    def _clear(self, arrays: Sequence[ir.Value]) -> None:
        end = block_operations(self.entry)[-1]
        with before(end), self.function.location:
            for array in arrays:
                _clear(array)

    def _sign(self) -> None:
        types = [value.type for value, _ in self.arguments]
        self.function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        self.function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [label for _, label in self.arguments]
        )


def _clear(array: ir.Value) -> None:
    rank = len(field.array_of(array.type)[1])
    zero = b.number(0, field.element_type(array.type))
    if not rank:
        field.store(zero, array)
        return
    extents = [field.dim(array, axis) for axis in range(rank)]
    loop = b.parallel_loop([b.index(0)] * rank, extents, [b.index(1)] * rank)
    with ir.InsertionPoint(loop.body):
        field.store(zero, array, list(loop.body.arguments))
        b.end_parallel()
