"""Blocks of threads: what parallel loops say of those that run them on a GPU, and what the threads
of one do together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir import build as b
from mlirad.ir.ops import Gpu
from mlirad.ir.structured import Parallel, is_parallel

BLOCK_DIM = "block_dim"  # of a loop: how many iterations a block runs
# Of a loop of one axis: its iterations fill blocks, so that all threads of a block run one.
WHOLE_BLOCKS = "field.whole_blocks"
# Of a loop over blocks: the threads of each. In it, of a loop over these threads, in any order.
THREADS = "field.threads"
DEFAULT_BLOCK, MOST_THREADS = 128, 1024
FILLING_BLOCKS = 2048  # of 128 threads: about as many as a large GPU holds at once
SUM_BYTES = 256  # of the sums of a loop: a thread has 255 registers of four
WARP = 32  # threads that run together, and reach memory together

_KINDS: dict[str, str] = {
    AtomicKind.ADD: "add",
    AtomicKind.MUL: "mul",
    AtomicKind.MIN: "minsi",
    AtomicKind.MAX: "maxsi",
    AtomicKind.MINU: "minui",
    AtomicKind.MAXU: "maxui",
    AtomicKind.AND: "and",
    AtomicKind.OR: "or",
    AtomicKind.XOR: "xor",
}
_FLOAT_KINDS: dict[str, str] = {**_KINDS, AtomicKind.MIN: "minnumf", AtomicKind.MAX: "maxnumf"}


def block_size(loop: ir.Operation) -> int | None:
    """The threads of a block that runs a loop; None where it asks for what no GPU has."""
    if BLOCK_DIM not in loop.attributes:
        return DEFAULT_BLOCK
    size = ir.IntegerAttr(loop.attributes[BLOCK_DIM]).value
    return size if 1 <= size <= MOST_THREADS else None


def has_threads(op: ir.Operation) -> bool:
    """Return whether a loop is over blocks of threads, or over the threads of one."""
    return THREADS in op.attributes


def free_loops(ops: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Return the parallel loops among some ops whose iterations may go to any threads."""
    return [op for op in ops if is_parallel(op) and not has_threads(op)]


def threads_in_blocks(count: ir.Value, size: int) -> Parallel:
    """A loop with an iteration for each thread of whole blocks, empty."""
    attributes = {
        BLOCK_DIM: ir.IntegerAttr.get(b.integer_type(64), size),
        WHOLE_BLOCKS: ir.UnitAttr.get(),
    }
    return b.parallel_loop([b.index(0)], [count], [b.index(1)], attributes)


def blocks_of_threads(count: ir.Value, size: int) -> Parallel:
    """A loop like that for blocks whose threads work together: other passes leave it alone."""
    threads = threads_in_blocks(count, size)
    threads.op.attributes[THREADS] = ir.IntegerAttr.get(b.integer_type(64), size)
    return threads


def thread_number() -> ir.Value:
    """The number of a thread in its block, where blocks have one axis."""
    return _thread_id("x")


def number_in_block(extents: Sequence[ir.Value]) -> ir.Value:
    """The number of a thread in its block, of which x runs fastest, y next."""
    x, y = extents[:2]
    rows = b.add(_thread_id("y"), b.mul(_thread_id("z"), y))
    return b.add(thread_number(), b.mul(rows, x))


def block_number() -> ir.Value:
    """The number of a block, where the grid has one axis."""
    return b.make(Gpu.BLOCK_ID, b.index_type(), [], dimension=_along("x"))


def barrier() -> None:
    """Build a barrier, which no thread of a block passes before all have reached it."""
    b.effect(Gpu.BARRIER, [])


def reduce_in_block(kind: str, value: ir.Value) -> ir.Value:
    """The combination of the values of all threads of a block, by a kind of update; all of them run
    it. Where one is not a number, minima and maxima are those of the others."""
    name = (_FLOAT_KINDS if b.is_float(value.type) else _KINDS)[kind]
    attributes = {
        "op": ir.Attribute.parse(f"#gpu<all_reduce_op {name}>"),
        "uniform": ir.UnitAttr.get(),
    }
    op = ir.Operation.create(Gpu.ALL_REDUCE, [value.type], [value], attributes, regions=1)
    return op.result


def reduction_kind(op: ir.Operation) -> str | None:
    """The kind of update by which an op combines values of all threads of a block; None where it
    does not, or by another."""
    if op.name != Gpu.ALL_REDUCE or "op" not in op.attributes:
        return None
    kinds = _FLOAT_KINDS if b.is_float(op.operands[0].type) else _KINDS
    name = str(op.attributes["op"]).removeprefix("#gpu<all_reduce_op ").removesuffix(">")
    return next((kind for kind, operator in kinds.items() if operator == name), None)


def combine_in_block(kind: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Combine the values of two threads as a reduction of a block does."""
    if b.is_float(left.type) and kind in (AtomicKind.MIN, AtomicKind.MAX):
        return b.make(f"arith.{kind}numf", left.type, [left, right])
    return b.combine(kind, left, right)


def warp_shuffle(mode: str, value: ir.Value, number: ir.Value) -> ir.Value:
    """The value of another thread of a warp, named by `mode` and a number."""
    operands = [value, number, b.number(WARP, b.integer_type(32))]
    attributes = {"mode": ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")}
    types = [value.type, b.integer_type(1)]
    return ir.Operation.create(Gpu.SHUFFLE, types, operands, attributes).results[0]


def shuffle_mode(op: ir.Operation) -> str:
    """Return the mode by which a `gpu.shuffle` names the other thread: `idx`, `xor`, `up` or
    `down`."""
    return str(op.attributes["mode"]).rpartition(" ")[2].rstrip(">")


def known_block_size(kernel: ir.Operation) -> list[int] | None:
    """The threads of a kernel's blocks along x, y, z, if that is known."""
    if kernel.name != Gpu.FUNC or "known_block_size" not in kernel.attributes:
        return None
    return list(ir.DenseI32ArrayAttr(kernel.attributes["known_block_size"]))


def _thread_id(axis: str) -> ir.Value:
    return b.make(Gpu.THREAD_ID, b.index_type(), [], dimension=_along(axis))


def _along(axis: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#gpu<dim {axis}>")
