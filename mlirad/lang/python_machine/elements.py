"""Functions that the rewritten text of a kernel calls, as `__mlirad__.NAME(...)`: by them elements,
variables and updates have the meaning of compiled kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from mlirad.errors import TaichiIndexError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.domains import GroupedDomain, NdRange
from mlirad.frontend.python.values.float_functions import map_scalars
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.matrix_operators import Rows
from mlirad.frontend.python.values.python_numbers import in_range
from mlirad.frontend.python.values.struct import (
    Struct,
    matching_members,
    members_of,
    methods_of,
    struct_of,
)
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.field.access import FieldAccess
from mlirad.lang.field.struct_field import StructField
from mlirad.lang.host.array_protocols import AsArray
from mlirad.lang.host.host_array import HostArray
from mlirad.lang.matrix import ElementMatrix
from mlirad.lang.python_machine.array_elements import ArrayOfMatrices, shared_memory
from mlirad.runtime.program import program
from mlirad.types import DataType, from_numpy, resolve, u1

UNSET = object()
slice_ = slice
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "MatMult": operator.matmul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}


# Values.


def typed(kind: Any, value: Any) -> Any:
    """Return a value in a declared type: integers wrap, floats are rounded."""
    if isinstance(kind, MatrixType | StructType):
        return value_of(kind(value))
    config = program().config
    dtype = resolve(kind, config.default_fp, config.default_ip)
    return map_scalars(lambda number: _number(number, dtype), value)


def _number(value: object, dtype: DataType) -> Any:
    """Return a number in a type, as NumPy has it, so that sums of such numbers round and wrap in
    it."""
    return bool(value) if dtype == u1 else np.asarray(value).astype(dtype.numpy)[()]


def value_of(value: object) -> Any:
    """Return what a variable holds: a vector, a matrix or a struct of its own."""
    if isinstance(value, Matrix):
        return value.like(list(value.entries))
    if isinstance(value, Struct):
        return struct_of(
            {name: value_of(member) for name, member in members_of(value).items()},
            methods_of(value),
        )
    if type(value) is np.ndarray and value.shape == ():
        return value[()]
    if type(value) is int:  # which wraps, where the program has not said another type
        return _constant(value)
    return tuple(map(value_of, value)) if type(value) is tuple else value


def _constant(value: int) -> Any:
    """Return an integer of Python in the default type. Raises TaichiTypeError if it is too
    large."""
    default = program().config.default_ip
    if not in_range(value, default):
        raise TaichiTypeError(
            f"{value} has exceeded the range of default_ip: {default}; ti.i64(...) or "
            "ti.u64(...) give it a wider type"
        )
    return default.numpy.type(value)


def keep(old: object, value: object) -> Any:
    """Return a value in the type that a variable has since its first assignment."""
    if old is UNSET:
        return value_of(value)
    if isinstance(old, Struct):
        members = matching_members(value, members_of(old))
        members = {name: keep(member, members[name]) for name, member in members_of(old).items()}
        return struct_of(members, methods_of(old))
    if isinstance(old, Matrix):
        return _keep_matrix(old, value)
    if not (ex.is_scalar(old) and ex.is_scalar(value)):
        return value_of(value)
    if isinstance(old, np.generic) and not isinstance(old, np.bool_):
        return _number(value, from_numpy(old.dtype))
    kind: Any = bool if isinstance(old, np.bool_) else type(old)
    return kind(value)


def _keep_matrix(old: Matrix, value: object) -> Matrix:
    if ex.is_scalar(value):
        value = old.like([value] * len(old.entries))
    elif not isinstance(value, Matrix):
        value = Matrix(cast("Rows", value))
    if value.shape != old.shape:
        raise TaichiTypeError(
            f"cannot assign a value of shape {value.shape} to a variable of shape {old.shape}"
        )
    return old.like([keep(entry, item) for entry, item in zip(old.entries, value.entries)])


def first(before: object, _after: object) -> Any:
    """Return what an atomic gives, which sets a variable."""
    return before


def _power(base: float, exponent: float) -> Any:
    is_integer = all(isinstance(v, int | np.integer) for v in (base, exponent))
    if is_integer and exponent < 0:
        return int(float(base) ** float(exponent))
    return base**exponent


OPERATORS["Pow"] = lambda base, exponent: map_scalars(_power, base, exponent)


def binary(name: str, left: object, right: object) -> Any:
    """Return what an operator gives, by its name in the syntax tree."""
    return OPERATORS[name](left, right)


# Elements.


def load(target: Any, key: Any) -> Any:
    """Return `target[key]`: a number of its type; entries that are set of a vector, of a matrix or
    of a struct go to memory."""
    target = shared_memory(target)
    if isinstance(target, HostArray):
        _refuse_negative(target, key)
        element = target[key]
        if isinstance(element, ElementMatrix):
            element.entries = [_number(entry, target.dtype) for entry in element.entries]
            return element
        return _number(element, target.dtype)
    if isinstance(target, np.ndarray | ArrayOfMatrices):
        _refuse_negative(target, key)
        return target[_plain(key)]
    return target[key]


def put(target: Any, key: Any, value: object) -> None:
    """Do `target[key] = value`; an integer takes a float without its fraction."""
    target, item = shared_memory(target), value_of(value)
    if isinstance(target, AsArray):
        _refuse_negative(target, key)
        target[key] = _fit(target.dtype, item)
    elif isinstance(target, np.ndarray | ArrayOfMatrices):
        _refuse_negative(target, key)
        target[_plain(key)] = item
    elif isinstance(target, Matrix) and type(target) is not ElementMatrix and not _is_cut(key):
        target[key] = keep(target[key], item)
    elif isinstance(target, StructField):
        for name, member in matching_members(item, dict.fromkeys(target.keys)).items():
            put(target.get_member_field(name), key, member)
    elif isinstance(target, Matrix | Struct):
        target[key] = item
    else:
        raise TaichiSyntaxError(f"an entry of a {type(target).__name__} is assigned to in a kernel")


def _fit(dtype: DataType, value: Any) -> Any:
    """Return a number as an element takes it: floats lose their fraction."""
    if isinstance(value, list | tuple):
        value = Matrix(value)
    if not dtype.is_integer or dtype == u1:
        return value
    return map_scalars(lambda v: int(v) if isinstance(v, float | np.floating) else v, value)


def _plain(key: object) -> Any:
    """Return a subscript as NumPy takes it."""
    return () if key is None else tuple(key) if isinstance(key, Matrix | list) else key


def _is_cut(key: object) -> bool:
    return any(isinstance(index, slice) for index in (key if isinstance(key, tuple) else (key,)))


def _refuse_negative(target: object, key: object) -> None:
    """Raise TaichiIndexError for indices below 0, which mean no element in kernels."""
    indices = key if isinstance(key, tuple) else (key,)
    is_shifted = isinstance(target, FieldAccess)  # which checks them itself
    if not is_shifted and any(isinstance(i, int | np.integer) and i < 0 for i in indices):
        raise TaichiIndexError(f"index {key} is below 0")


def put_member(target: object, name: str, value: object) -> None:
    """Do `target.name = value`, of a vector or a struct."""
    if not isinstance(target, Matrix | Struct):
        raise TaichiSyntaxError(
            f"'{name}' of a {type(target).__name__} is assigned to in a kernel: its elements can be"
        )
    is_place = isinstance(target, ElementMatrix) or (
        isinstance(target, Struct) and type(members_of(target)) is not dict
    )
    setattr(target, name, value_of(value) if is_place else keep(getattr(target, name), value))


def update(name: str, target: object, key: object, value: object) -> Any:
    """Do `target[key] op= value`; the value before."""
    before = value_of(load(target, key))
    put(target, key, binary(name, before, value))
    return before


def update_member(name: str, target: object, member: str, value: object) -> Any:
    """Do `target.member op= value`; the value before."""
    before = value_of(getattr(target, member))
    put_member(target, member, binary(name, before, value))
    return before


# Loops.


def domain(value: object) -> Any:
    """Return what a loop goes over: of a field or an array, its indices."""
    if isinstance(value, GroupedDomain) and not isinstance(value.domain, NdRange):
        return _indices(shared_memory(value.domain)).vectors()
    value = shared_memory(value)
    if isinstance(value, HostArray | StructField | np.ndarray | ArrayOfMatrices):
        box = _indices(value)
        return (value_of(index[0]) for index in box) if len(box.bounds) == 1 else _typed(box)
    return map(value_of, value) if isinstance(value, range) else _typed(value)


def _typed(value: object) -> object:
    return map(value_of, value) if isinstance(value, NdRange) else value


def _indices(target: Any) -> NdRange:
    leaf = target.__leaves__()[0] if isinstance(target, StructField) else target
    memory = leaf.find_memory() if isinstance(leaf, FieldAccess) else None
    if memory is not None and memory.layout.activities:
        raise TaichiSyntaxError(
            f"arch=ti.python does not support loops over sparse fields: '{leaf.symbol}' is in a "
            "block with inactive cells"
        )
    offset = getattr(leaf, "offset", ()) or (0,) * len(target.shape)
    return NdRange(*[(start, start + extent) for start, extent in zip(offset, target.shape)])
