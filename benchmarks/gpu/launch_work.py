"""The work of a launch, counted in the outlined IR: accesses, operations, and the trips of loops.

Of branches the one with more work counts. Trips that only a launch knows are a guess
(`analysis/trips.py`), and so is all that they multiply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from mlirad.analysis.trips import UNKNOWN
from mlirad.bindings import ir
from mlirad.ir.box import bounds_of
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_for
from mlirad.ir.walk import block_operations, constant_integer, defining_op, operations

_LOADS, _STORES = ("memref.load",), ("memref.store",)
_UPDATES = ("memref.atomic_rmw", "memref.generic_atomic_rmw")


@dataclass
class ArrayAccesses:
    """What a launch does to one array, in elements."""

    type: ir.MemRefType
    loads: int = 0
    stores: int = 0

    @property
    def element_bytes(self) -> int:
        """The size of an element."""
        element = self.type.element_type
        return 8 if str(element) == "index" else -(-element.width // 8)  # type: ignore[attr-defined]

    def least_bytes(self) -> int:
        """Bytes to and from memory where no element goes there twice."""
        size = prod(self.type.shape) if self.type.has_static_shape else None
        counts = (self.loads, self.stores)
        return self.element_bytes * sum(n if size is None else min(n, size) for n in counts)


@dataclass(frozen=True)
class Counts:
    """The work of a thread: accesses by array, operations on numbers, and the trips of the loops
    within one another that make most."""

    loads: dict[ir.Value, int] = field(default_factory=dict)
    stores: dict[ir.Value, int] = field(default_factory=dict)
    operations: int = 0
    trips: int = 1
    is_exact: bool = True

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            _sum(self.loads, other.loads),
            _sum(self.stores, other.stores),
            self.operations + other.operations,
            max(self.trips, other.trips),
            self.is_exact and other.is_exact,
        )

    def times(self, trips: int | None) -> Counts:
        """Return the work of so many trips, or of a guess."""
        count = UNKNOWN if trips is None else trips
        return Counts(
            {array: n * count for array, n in self.loads.items()},
            {array: n * count for array, n in self.stores.items()},
            self.operations * count,
            self.trips * count,
            self.is_exact and trips is not None,
        )

    @property
    def weight(self) -> int:
        """Return what branches are compared by."""
        return self.operations + sum(self.loads.values()) + sum(self.stores.values())


@dataclass(frozen=True)
class LaunchWork:
    """One launch of a kernel; `is_exact` unless something was guessed."""

    name: str
    blocks: tuple[int, ...]
    block: tuple[int, ...]
    trips: int
    operations: int
    arrays: list[ArrayAccesses]
    is_exact: bool

    @property
    def threads(self) -> int:
        """Return how many run."""
        return prod(self.blocks) * prod(self.block)

    @property
    def asked_bytes(self) -> int:
        """The bytes of all accesses."""
        return sum(array.element_bytes * (array.loads + array.stores) for array in self.arrays)

    @property
    def least_bytes(self) -> int:
        """Bytes to and from memory where no element goes there twice."""
        return sum(array.least_bytes() for array in self.arrays)


def launches_of(module: ir.Operation) -> list[LaunchWork]:
    """The launches in an outlined module, in order."""
    kernels = {_name(op): op for op in operations(module) if op.name == "gpu.func"}
    return [_launch_work(op, kernels) for op in operations(module) if op.name == "gpu.launch_func"]


def _launch_work(op: ir.Operation, kernels: dict[str, ir.Operation]) -> LaunchWork:
    name = ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    sizes = list(op.operands)[segments[0] : segments[0] + 6]
    constants = [constant_integer(size) for size in sizes]
    is_exact = None not in constants
    numbers = [1 if number is None else number for number in constants]
    counts = _work_of(block_operations(kernels[name].regions[0].blocks[0]))
    threads = prod(numbers)
    arrays = {array: ArrayAccesses(ir.MemRefType(array.type)) for array in counts.loads}
    for array, number in counts.loads.items():
        arrays[array].loads += number * threads
    for array, number in counts.stores.items():
        accesses = arrays.setdefault(array, ArrayAccesses(ir.MemRefType(array.type)))
        accesses.stores += number * threads
    return LaunchWork(
        name,
        tuple(numbers[:3]),
        tuple(numbers[3:]),
        counts.trips,
        counts.operations * threads,
        list(arrays.values()),
        is_exact and counts.is_exact,
    )


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _work_of(ops: Iterable[ir.Operation]) -> Counts:
    return sum(map(_work, ops), Counts())


def _work(op: ir.Operation) -> Counts:
    if op.name in (*_LOADS, *_STORES, *_UPDATES):
        return _access(op)
    inner = [_work_of(block_operations(block)) for region in op.regions for block in region.blocks]
    if is_for(op):
        return inner[0].times(_trips(op))
    if op.name == "scf.while":
        return sum(inner, Counts()).times(None)
    if inner:
        return max(inner, key=lambda counts: counts.weight)
    return Counts(operations=int(op.name.startswith(("arith.", "math.")) and _is_float(op)))


def _access(op: ir.Operation) -> Counts:
    if op.name in _LOADS:
        return Counts({op.operands[0]: 1})
    if op.name in _STORES:
        return Counts({}, {op.operands[1]: 1})
    array = op.operands[1 if op.name == "memref.atomic_rmw" else 0]
    return Counts({array: 1}, {array: 1})


def _is_float(op: ir.Operation) -> bool:
    return op.name != Arith.CONSTANT and any(
        isinstance(result.type, (ir.F16Type, ir.F32Type, ir.F64Type)) for result in op.results
    )


def _trips(loop: ir.Operation) -> int | None:
    """Return how many trips a loop makes at most, as far as its bounds tell."""
    lower, upper, step = bounds_of(loop)[0]
    stride, length = constant_integer(step), _length(lower, upper)
    return None if stride is None or length is None else -(-length // stride)


def _length(lower: ir.Value, upper: ir.Value) -> int | None:
    """The distance between bounds. Those that begin at a thread's number begin at 0."""
    high, op = constant_integer(upper), defining_op(upper)
    if high is not None:
        return max(0, high - (constant_integer(lower) or 0))
    if op is None:
        return None
    if op.name in ("arith.minsi", "arith.minui"):
        lengths = [_length(lower, operand) for operand in op.operands]
        return min((length for length in lengths if length is not None), default=None)
    if op.name == Arith.ADDI and lower in list(op.operands):
        return next((n for n in map(constant_integer, op.operands) if n is not None), None)
    return None


def _sum(left: dict[ir.Value, int], right: dict[ir.Value, int]) -> dict[ir.Value, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}
