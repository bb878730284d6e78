"""Arrays with a life of their own, passed to kernels as arguments: `ti.ndarray`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import GenericAlias
from typing import NoReturn
from weakref import finalize

from numpy.typing import DTypeLike

from mlirad.errors import TaichiIndexError, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.building.builder import being_built, current, refuse_in_kernel
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.axis_order import Layout, in_index_order, in_memory_order, layout_of
from mlirad.lang.arguments.array_address import ArrayAddress
from mlirad.lang.host.array_protocols import AsArray
from mlirad.lang.host.element_arrays import converted
from mlirad.lang.host.host_indices import key_parts, wrong_index_count
from mlirad.lang.host.host_values import array_of, check_element
from mlirad.lang.host.indexed_elements import IndexedElements, OrderedElements
from mlirad.lang.host.python_misuse import keeps_derivatives
from mlirad.lang.keywords import refuse_unknown
from mlirad.lang.layout.axes import Shape, element_sizes, extents_of
from mlirad.lang.layout.member_order import Layout as MemberOrder
from mlirad.runtime.memory.memory import Elements, Index
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program
from mlirad.types import BY_NAME, DataType, TypeLike, resolve

MAX_EXTENT = 1 << 31


@keeps_derivatives
class Ndarray(AsArray):
    """A contiguous array of scalars, vectors or matrices."""

    description = "an ndarray"
    is_passed = True  # to kernels that use it without having it as an argument
    is_repeated = False  # whether launches rely on what it is

    def __init__(
        self,
        dtype: DataType,
        shape: tuple[int, ...],
        element_shape: tuple[int, ...],
        needs_grad: bool,
        layout: Layout | None = None,
    ) -> None:
        self.dtype, self._shape, self.element_shape = dtype, shape, element_shape
        self.layout = layout
        self.program = program()
        size = prod(shape + element_shape) * dtype.size
        self.program.capacity.take(
            {id(self): size}, f"an ndarray of shape {shape} of {dtype}{list(element_shape) or ''}"
        )
        finalize(self, self.program.capacity.give_back, id(self)).atexit = False
        memory = self.program.executor.memory
        dims = in_memory_order(shape + element_shape, layout)
        self.allocation, self.elements = memory.array(dtype.numpy, dims)
        self.address, self.dims = self.elements.address, self.elements.shape
        self.passed = ArrayAddress(self.address, self.dims, size=size)
        # what decides which variant of a kernel takes it
        self.form = dtype, len(shape), element_shape, needs_grad, layout
        self._grad: Ndarray | None = (
            Ndarray(dtype, shape, element_shape, False, layout) if needs_grad else None
        )
        self.is_gradient = False
        if self._grad is not None:
            self._grad.is_gradient = True
        self.tangents: list[Ndarray] = []
        self.program.derivatives.add_array(self)

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """Return `ti.Ndarray[ti.f32]`, which is for type checkers."""
        return GenericAlias(cls, item)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the extents of the index axes. Raises TaichiTypeError while a kernel is
        compiled."""
        if being_built:
            refuse_in_kernel("an ndarray is read", "read elements by x[i] and extents by x.shape")
        return self._shape

    def __kernel_ref__(self) -> object:
        """The array of the kernel that is being compiled, which is passed at each launch."""
        return current().capture(self, NdarrayArgument(*self.form))

    def tangent(self, number: int) -> Ndarray:
        """Return the tangents in one direction; they are 0 at first."""
        while len(self.tangents) <= number:
            tangent = Ndarray(self.dtype, self._shape, self.element_shape, False, self.layout)
            tangent.is_gradient = True
            self.tangents.append(tangent)
        return self.tangents[number]

    @property
    def grad(self) -> Ndarray | None:
        """Return the array of adjoints, or None if the array has no gradient."""
        return self._grad

    @property
    def dual(self) -> Ndarray | None:
        """Return the tangents, or None if the array has no gradient."""
        self.program.derivatives.check_one_direction(self.description, len(self.tangents))
        return self.tangent(0) if self.grad is not None or self.is_gradient else None

    @property
    def element_type(self) -> DataType:
        """Return the scalar type of the elements."""
        return self.dtype

    def has_grad(self) -> bool:
        """Return whether the array has a gradient."""
        return self.grad is not None

    def has_dual(self) -> bool:
        """Return whether the array has tangents."""
        return bool(self.tangents)

    def clear_gradient(self) -> None:
        """Set the gradient to 0, if there is one."""
        gradient = self._grad
        if gradient is not None:
            gradient.elements.fill(0)

    def clear_tangents(self) -> None:
        """Set the tangents in all directions to 0."""
        for tangent in self.tangents:
            tangent.elements.fill(0)

    @property
    def key(self) -> int:
        return self.address

    @property
    def is_derivative(self) -> bool:
        """Return whether this array holds the gradient or the tangents of another array."""
        return self.is_gradient

    def _locate(self, key: object) -> tuple[Elements, tuple[int, ...]]:
        indices = key_parts(key)
        if len(indices) != len(self._shape):
            cure = wrong_index_count("x", self._shape, self.element_shape, key).partition(": ")[2]
            raise TaichiIndexError(
                f"{len(self._shape)}d ndarray indexed with {len(indices)}d indices: {key}; {cure}"
            )
        if any(not -e <= p < e for p, e in zip(indices, self._shape)):
            raise TaichiIndexError(
                f"index {key} is out of bounds for an ndarray of shape {self._shape}"
            )
        place = tuple([int(p) % e for p, e in zip(indices, self._shape)])
        return self.elements, in_memory_order(place, self.layout)

    def _ordered_elements(self) -> OrderedElements:
        return self.elements if self.layout is None else IndexedElements(self.elements, self.layout)

    def note_write(self, index: Index | None = None) -> None:
        """Count a write, and notify the keeper of arrays and the recorder."""
        keeper = self.program.threads.keeper
        if keeper is not None:
            keeper.before_write(self, index)
        super().note_write(index)

    def _set_element(self, key: object, value: object) -> None:
        elements, index = self._locate(key)
        values = self.fit(array_of(value, self.description))
        check_element(values, self.element_shape)
        self.note_write(index)
        elements.put(index, values)

    def fill(self, value: object) -> None:
        """Set every element to a value."""
        values = self.fit(array_of(value, self.description))
        check_element(values, self.element_shape)
        self.note_write()
        self.elements.write(values)

    def to_numpy(self, dtype: DTypeLike | None = None, *, copy: bool | None = True) -> Values:
        """Return a NumPy array of shape `shape + element_shape`: a copy, or with `copy=False` a
        view of the same memory. While a view exists, a tape refuses launches that use the array."""
        self.note_read()
        values: Values | None = self.shared_array(copy)
        values = self._ordered_elements().read() if values is None else values
        return converted(values, dtype, copy)

    def from_numpy(self, values: object) -> None:
        """Set all elements from a NumPy array. Raises ValueError if the shapes differ."""
        array = array_of(values, self.description)
        if array.shape != (shape := self._shape + self.element_shape):
            raise ValueError(f"from_numpy: the ndarray has shape {shape}, the array {array.shape}")
        array = self.fit(array)
        self.note_write()
        self._ordered_elements().write(array)

    def copy_from(self, other: object) -> None:
        """Copy all elements from an ndarray or a field of the same shape. A tape differentiates the
        copy.

        Raises:
            ValueError: the shapes differ.
            TypeError: the source is neither an ndarray nor a field.
        """
        if other is self:
            return
        if (
            isinstance(other, Ndarray)
            and self.program.threads.recorder is None
            and (other.dims, other.dtype, other.layout) == (self.dims, self.dtype, self.layout)
        ):
            self.note_write()
            self.elements.take(other.elements)
        else:
            self.program.trees.copy(self, other)

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an ndarray has no truth value: 'a is None' tests whether there is one, and a[...] "
            "is an element"
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Ndarray:
        """An ndarray of its own, with the same elements and gradients."""
        other = Ndarray(self.dtype, self.shape, self.element_shape, self.has_grad(), self.layout)
        memo[id(self)] = other
        other.copy_from(self)
        if self.grad is not None and other.grad is not None:
            other.grad.copy_from(self.grad)
        return other

    def __copy__(self) -> NoReturn:
        raise TypeError(
            "an ndarray belongs to a running program and cannot be pickled: save a.to_numpy(), "
            "and load it into a new ndarray by from_numpy; copy.deepcopy copies it within this "
            "program"
        )

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        """An ndarray of the program that reads it, with the same elements and gradients."""
        gradient = None if self.grad is None else self.grad.to_numpy()
        values, layout = self.to_numpy(), self.layout
        return rebuild, (self.dtype.name, self.element_shape, values, gradient, layout)


def rebuild(
    dtype: str,
    element_shape: tuple[int, ...],
    values: Values,
    gradient: Values | None,
    layout: Layout | None,
) -> Ndarray:
    """An ndarray that was pickled, in the present program."""
    shape = values.shape[: values.ndim - len(element_shape)]
    array = Ndarray(BY_NAME[dtype], shape, element_shape, gradient is not None, layout)
    array.from_numpy(values)
    if array.grad is not None and gradient is not None:
        array.grad.from_numpy(gradient)
    return array


def with_layout(array: Ndarray, layout: Sequence[int]) -> Ndarray:
    """Say of an ndarray that its axes lie in memory in a layout: their extents there stay, and its
    shape follows. Raises ValueError for what is no permutation of the axes, TaichiRuntimeError if
    it is too late."""
    count = len(array.shape)
    axes = layout_of(layout, count, "ndarray")
    if array.is_repeated:
        raise TaichiRuntimeError(
            "launches rely on the layout of the ndarray: set its layout when you create it"
        )
    for x in (array, array.grad):
        for relabelled in () if x is None else (x, *x.tangents):
            relabelled.layout = axes
            relabelled._shape = in_index_order(relabelled.dims[:count], axes)
            relabelled.form = *relabelled.form[:4], axes
    return array


def ndarray(
    dtype: TypeLike | MatrixType | None,
    shape: Shape | None = None,
    needs_grad: bool = False,
    layout: Sequence[int] | None = None,
    **unknown: object,
) -> Ndarray:
    """Create a contiguous array of zeros, which can be a `ti.types.ndarray()` argument of a kernel.

    Args:
        dtype: a scalar, vector or matrix type.
        shape: an extent or a tuple of extents.
        needs_grad: give a float array an ndarray `grad`.
        layout: the axes in the order in which they are stored, outermost first.

    Returns:
        The ndarray.

    Raises:
        TaichiRuntimeError: `needs_grad` is set for integers, or an extent is not a positive
            integer.
        TaichiTypeError: the type is a struct type, the shape is missing, or a keyword is unknown.
        ValueError: the layout is not a permutation of the axes.
        TaichiMemoryError: the machine has too little memory.
    """
    refuse_unknown("ti.ndarray", unknown, ndarray)
    if shape is None:
        raise TaichiTypeError(
            "ti.ndarray takes a type and a shape: a = ti.ndarray(ti.f32, (2, 3)) is an array of "
            "zeros, and a.from_numpy(...) gives it values"
        )
    if isinstance(dtype, StructType):
        raise TaichiTypeError(
            f"{dtype} is not supported as ndarray element type: use a field, or an ndarray for "
            "each member"
        )
    if isinstance(dtype, MatrixType):
        return make(dtype.shape, dtype.dtype, shape, needs_grad, layout)
    return make((), dtype, shape, needs_grad, layout)


def make(
    element_shape: tuple[int, ...],
    dtype: TypeLike | None,
    shape: Shape,
    needs_grad: bool = False,
    layout: MemberOrder | Sequence[int] | None = None,
    **unknown: object,
) -> Ndarray:
    """An ndarray of matrices; `ti.Layout` has no effect, a `layout` of axes has; see `ndarray`."""
    refuse_unknown("an ndarray of vectors or matrices", unknown, make)
    config = program().config
    kind = resolve(dtype if dtype is not None else float, config.default_fp, config.default_ip)
    if needs_grad and not kind.is_float:
        raise TaichiRuntimeError(f"{kind} is not supported for ndarray with `needs_grad=True`.")
    sizes = extents_of(shape, "an extent of an ndarray")
    if any(int(size) != size or not 0 < size < MAX_EXTENT for size in sizes):
        raise TaichiRuntimeError(
            f"{shape} is not a valid shape for ndarray: extents must be positive integers below "
            "2**31"
        )
    extents, elements = tuple(int(size) for size in sizes), element_sizes(element_shape)
    axes = (
        None if isinstance(layout, MemberOrder | None) else layout_of(layout, len(extents), "shape")
    )
    return Ndarray(kind, extents, elements, needs_grad, axes)
