"""The threads of a block, as a kernel sees them: their numbers, what they do together, and arrays
that they share. The iterations of a parallel loop are threads; its `block_dim` are a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.checks import integer
from mlirad.dialect.field import GROUP, array_type
from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import current, in_kernel, mlir_type
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.float_functions import map_scalars
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.ir import build
from mlirad.types import DataType, TypeLike, i32, i64, resolve, u1, u32


def block_size() -> int:
    """The threads of a block. Raises TaichiSyntaxError outside of a parallel loop."""
    if not in_kernel():
        raise TaichiSyntaxError("thread functions can only be used inside a kernel")
    if not current().blocks:
        raise TaichiSyntaxError(
            "this needs the threads of a block, which are iterations of a parallel loop: call "
            "it inside a parallel loop"
        )
    return current().blocks[-1]


def iteration() -> Expr:
    """The number of this thread among those of all blocks."""
    block_size()
    return ex.cast(Expr(current().iteration(), i64), i32)


def thread() -> Expr:
    """The number of this thread in its block."""
    size = block_size()
    number = build.rem(current().iteration(), build.number(size, mlir_type(i64)))
    return ex.cast(Expr(number, i64), i32)


def lane() -> Expr:
    """The number of this thread in its group."""
    return ex.cast(ex.modulo(thread(), GROUP), i32)


def wait() -> None:
    """Wait for the other threads of the block; there are none where no loop is parallel."""
    if not in_kernel():
        raise TaichiSyntaxError("threads can only synchronize inside a kernel")
    if current().do_whiles:
        raise TaichiSyntaxError(
            "threads cannot synchronize in qd.graph.do_while, where loops are serial"
        )
    if current().blocks:
        effects.sync()


def refuse_fence() -> None:
    """Raise TaichiSyntaxError where blocks would see what others write."""
    if in_kernel() and (current().blocks or current().do_whiles):
        raise TaichiSyntaxError(
            "grid.mem_fence between blocks is not supported: end the loop, and read in the next one"
        )


def shuffled(value: Any, number: Scalar) -> Any:
    """The value that the thread of a number in the group has, elementwise."""
    block_size()
    place = ex.as_index(ex.cast(ex.bitwise("&")(ex.cast(number, u32), GROUP - 1), i32))

    def of_scalar(item: Scalar) -> Expr:
        entry = ex.expression(item)
        return Expr(effects.shuffle(entry.value, place), entry.dtype)

    return map_scalars(of_scalar, value)


def ballot(predicate: Scalar) -> Expr:
    """A bit for each thread of the group for which a predicate is not 0."""
    block_size()
    condition = ex.cast(ex.truth(predicate), u1)
    return Expr(effects.ballot(condition.value), u32)


def shared_array(shape: int | Sequence[int], dtype: TypeLike) -> ArrayRef:
    """An array that the threads of the block share. Raises TaichiSyntaxError outside of a parallel
    loop, TaichiTypeError for a shape that is not known, or a type that is no number."""
    block_size()
    axes = [shape] if isinstance(shape, int) else list(shape)
    extents = tuple(integer(extent, "an extent of a shared array", low=1) for extent in axes)
    element, components = _element(dtype)
    memory = effects.shared(array_type(mlir_type(element), [*extents, *components]))
    return ArrayRef(
        value=memory, dtype=element, shape=extents, element_shape=components, name="a shared array"
    )


def _element(dtype: Any) -> tuple[DataType, tuple[int, ...]]:
    shape, scalar = getattr(dtype, "shape", ()), dtype
    if shape:
        scalar = float if dtype.dtype is None else dtype.dtype
    builder = current()
    resolved = resolve(scalar, builder.default_fp, builder.default_ip)
    if not isinstance(resolved, DataType) or not all(isinstance(n, int) for n in shape):
        raise TaichiTypeError(f"a shared array holds numbers, vectors or matrices: got {dtype}")
    return resolved, tuple(shape)


__all__ = [
    *("ballot", "block_size", "iteration", "lane", "shared_array", "shuffled", "thread", "wait"),
]
