"""Declaring fields: `ti.field`, and what `ti.Vector.field` and `ti.Matrix.field` do."""

from __future__ import annotations

import copyreg

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.lang.field.field import Field
from mlirad.lang.keywords import refuse_unknown
from mlirad.lang.layout.axes import LETTERS, Axes, Shape, element_sizes, order_of, sizes_of
from mlirad.lang.layout.root import Root
from mlirad.lang.layout.tree import Offset, SNode
from mlirad.lang.variable_names import variable_name
from mlirad.runtime.derivative_kind import ADJOINT, tangent
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program
from mlirad.types import BY_NAME, TypeLike, resolve


def create(
    dtype: TypeLike | list[TypeLike] | tuple[TypeLike, ...] | None,
    element_shape: tuple[int, ...],
    shape: Shape | None,
    needs_grad: bool,
    needs_dual: bool,
    name: str,
    offset: Offset,
    order: str | None,
) -> Field:
    """A field, placed in a tree of its own where it has a shape."""
    if isinstance(order, int):
        extents = [extent for extent in (shape, order, name) if isinstance(extent, int)]
        raise TaichiTypeError(
            "a field takes all of its extents as one shape, a tuple: "
            f"shape=({', '.join(map(str, extents))})"
        )
    owner = program()
    config = owner.config
    if isinstance(dtype, list | tuple):
        if len(set(dtype)) != 1:
            raise TaichiCompilationError(
                "the components of a field must all have the same type: a field is declared with "
                "types, as ti.field(ti.f32, shape=3), and x.from_numpy(...) gives it values"
            )
        dtype = dtype[0]
    kind = resolve(dtype if dtype is not None else float, config.default_fp, config.default_ip)
    if (needs_grad or needs_dual) and not kind.is_float:
        raise TaichiRuntimeError(
            f"{kind} is not supported for field with `needs_grad=True` or `needs_dual=True`. "
            "Gradients belong to float fields: declare it as ti.f32 or ti.f64, or omit needs_grad"
        )
    field = Field(owner, kind, element_shape, name or variable_name("field"))
    if needs_grad:
        field.wanted.add(ADJOINT)
    if needs_dual:
        field.wanted.add(tangent(0))
    if shape is None:
        if offset is not None:
            raise TaichiCompilationError("shape cannot be None when offset is set")
        if order is not None:
            raise TaichiCompilationError("shape cannot be None when order is set")
        return field
    place(field, sizes_of(shape), offset, order)
    return field


@in_turn
def place(field: Field, shape: tuple[int, ...], offset: Offset, order: str | None) -> None:
    """Put a field into a dense block of its own."""
    root: Root = field.program.trees.root
    axis_order = list(range(len(shape)))
    if order is not None:
        names = LETTERS[: len(shape)]
        if len(order) != len(shape):
            raise TaichiCompilationError(
                "The dimensionality of shape and order must be the same "
                f"({len(shape)} != {len(order)})"
            )
        if len(set(order)) != len(order):
            raise TaichiCompilationError(f"The axes in order must be different, not '{order}'")
        if sorted(order) != sorted(names):
            raise TaichiCompilationError(
                f"Invalid axis in order '{order}': expected a permutation of '{names}'"
            )
        axis_order = [names.index(c) for c in order]
    if not shape:
        root.place(field, offset=offset)
        return
    if order is None:
        root.dense(Axes(tuple(axis_order)), shape).place(field, offset=offset)
        return
    for x in (field, *field.derived.values()):
        x.layout = tuple(axis_order) if axis_order != sorted(axis_order) else None
    node: SNode = root
    for axis in axis_order:
        node = node.dense(Axes((axis,)), shape[axis])
    node.place(field, offset=offset)


def reduce_field(field: Field) -> tuple[object, ...]:
    """Return how a field is made again from a pickle: dense, with its elements and its gradient.
    Raises TypeError for sparse fields, and for gradients and duals alone."""
    field.program.trees.materialize()
    if field.placed_in is None or field.primal is not None or field.placed_in.is_sparse:
        field.__reduce_ex__(0)
    gradient = field.grad.to_numpy() if field.has_grad() and field.grad is not None else None
    order = order_of(field.layout)
    description = field.dtype.name, field.element_shape, field.shape, field.symbol
    return restore_field, (*description, field.offset, order, field.to_numpy(), gradient)


def restore_field(
    dtype: str,
    element_shape: tuple[int, ...],
    shape: tuple[int, ...],
    name: str,
    offset: Offset,
    order: str | None,
    values: Values,
    gradient: Values | None,
) -> Field:
    """Return a field that was pickled, in the present program."""
    first = offset or None
    needs_grad = gradient is not None
    kind = BY_NAME[dtype]
    restored = create(kind, element_shape, shape, needs_grad, False, name, first, order)
    restored.from_numpy(values)
    if gradient is not None and restored.grad is not None:
        restored.grad.from_numpy(gradient)
    return restored


copyreg.pickle(Field, reduce_field)  # type: ignore[arg-type]


def field(
    dtype: TypeLike | list[TypeLike] | tuple[TypeLike, ...] | None,
    shape: Shape | None = None,
    order: str | None = None,
    name: str = "",
    offset: Offset = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    **unknown: object,
) -> Field:
    """Declare a field: an array of scalars, vectors or matrices that kernels read and write. All
    numbers are 0 at first.

    Args:
        dtype: the type of an element: f16, f32, f64, u1, i8 to i64 or u8 to u64, a vector or matrix
            type, or `int` and `float` for the default types.
        shape: an extent or a tuple of extents; `()` declares a single element, `f[None]`. Without a
            shape, you place the field in a layout tree yourself.
        order: the order of the axes in memory, outermost first: "ji" puts the second axis
            outermost.
        name: a name for messages.
        offset: the first index along each axis, 0 by default.
        needs_grad: give a float field a field `grad`, for reverse mode.
        needs_dual: give a float field a field `dual`, for forward mode.

    Returns:
        The field.

    Raises:
        TaichiRuntimeError: `needs_grad` or `needs_dual` is set for integers, or an extent is not a
            positive integer.
        TaichiCompilationError: the order or the offset does not fit the shape.
        TaichiTypeError: a keyword is unknown.
        TaichiMemoryError: the machine has too little memory.
    """
    refuse_unknown("ti.field", unknown, field)
    element_shape: tuple[int, ...] = ()
    if isinstance(dtype, MatrixType):
        element_shape, dtype = element_sizes(dtype.shape), dtype.dtype
    return create(dtype, element_shape, shape, needs_grad, needs_dual, name, offset, order)


def matrix_field(
    element_shape: tuple[int, ...],
    dtype: TypeLike | list[TypeLike] | tuple[TypeLike, ...] | None,
    shape: Shape | None = None,
    order: str | None = None,
    name: str = "",
    offset: Offset = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: object = None,
    ndim: int | None = None,
    **unknown: object,
) -> Field:
    """A field of vectors or matrices. Raises TaichiTypeError for keywords that it does not have."""
    refuse_unknown("a field of vectors or matrices", unknown, matrix_field)
    sizes = element_sizes(element_shape)
    return create(dtype, sizes, shape, needs_grad, needs_dual, name, offset, order)
