"""Errors of Python's operators, loops, and formats on fields and ndarrays, which are memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mlirad.errors import did_you_mean
from mlirad.lang.host.host_array import HostArray

_Kind = TypeVar("_Kind")
_SIGNS = {
    "matmul": "@",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


class NotIterableError(NotImplementedError, TypeError):
    """A loop over a field in Python: Taichi raises the first of these errors, NumPy asks for the
    second."""


def refuse_iteration(description: str) -> NoReturn:
    """Raise NotIterableError for a loop over a field that Python runs."""
    raise NotIterableError(
        f"Struct for is only available in Taichi scope: this loop over {description} runs in "
        "Python. Did you forget @ti.kernel above the function? In Python, x.to_numpy() has the "
        "values"
    )


def refuse_replacement(description: str, name: str) -> NoReturn:
    """Raise AttributeError for an assignment to an array's gradient (`grad`) or tangents (`dual`),
    which are memory."""
    noun = "gradient" if name == "grad" else "dual"
    raise AttributeError(
        f"x.{name} = y: the {noun} of {description} is memory that Python cannot replace: "
        f"x.{name}.fill(0) sets all elements, x.{name}[i] = v sets one, and "
        f"x.{name}.from_numpy(a) and x.{name}.copy_from(y) copy an array",
        name=name,
    )


def keeps_derivatives(kind: type[_Kind]) -> type[_Kind]:
    """Decorate a class of arrays so that assignments to `grad` and `dual` are errors."""
    for name in ("grad", "dual"):
        if isinstance(derivative := vars(kind).get(name), property):
            setattr(kind, name, derivative.setter(partial(_refuse, name)))
    return kind


def _refuse(name: str, array: Any, value: object) -> NoReturn:
    refuse_replacement(array.description, name)


def _refuse_late_gradient(array: Memory, name: str) -> NoReturn:
    raise AttributeError(
        f"x.{name} = ...: whether {array.description} has a gradient is decided where it is "
        "declared: declare it with needs_grad=True",
        name=name,
    )


def _refuse_values(array: Memory, name: str) -> NoReturn:
    index = "i" if array.shape else "None"
    raise AttributeError(
        f"x.{name} = y: {array.description} has no attribute '{name}': x[{index}] = v sets an "
        "element, x.fill(v) sets all, and x.from_numpy(a) copies an array",
        name=name,
    )


class _Missing:
    """An attribute that arrays do not have, and that a program must not set."""

    def __init__(self, refuse: Callable[[Memory, str], NoReturn]) -> None:
        self.refuse = refuse

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, array: Memory | None, kind: type) -> NoReturn:
        raise AttributeError(self.name)  # and `__getattr__` says what to write instead

    def __set__(self, array: Memory, value: object) -> NoReturn:
        self.refuse(array, self.name)


class Memory(HostArray):
    """A field or an ndarray, which is neither a number nor a sequence."""

    shape: Any  # a property of fields and of ndarrays
    needs_grad = _Missing(_refuse_late_gradient)
    requires_grad = _Missing(_refuse_late_gradient)
    data, val = _Missing(_refuse_values), _Missing(_refuse_values)
    value, values = _Missing(_refuse_values), _Missing(_refuse_values)
    x, y = _Missing(_refuse_values), _Missing(_refuse_values)
    z, w = _Missing(_refuse_values), _Missing(_refuse_values)

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"{self.description} cannot be formatted as a number: {self._cure()}")
        return str(self)

    def __neg__(self) -> NoReturn:
        raise TypeError(f"-x: {self._not_computed()}")

    def __abs__(self) -> NoReturn:
        raise TypeError(f"abs(x): {self._not_computed()}")

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise TypeError(f"round(x): {self._not_computed()}")

    def __float__(self) -> NoReturn:
        raise TypeError(f"float(x): {self.description} is not a number: {self._cure()}")

    def __int__(self) -> NoReturn:
        raise TypeError(f"int(x): {self.description} is not a number: {self._cure()}")

    if not TYPE_CHECKING:  # which would take every attribute to be there

        def __getattr__(self, name):
            from mlirad.lang.host.other_names import OTHER_NAMES

            cure = OTHER_NAMES.get(name)
            close = "" if name.startswith("_") else did_you_mean(name, dir(self))
            hint = f": {cure}" if cure else close
            kind = type(self).__name__
            raise AttributeError(f"'{kind}' object has no attribute '{name}'{hint}", name=name)

    def _not_computed(self) -> str:
        return f"{self.description} is memory, so Python cannot compute with it: {self._cure()}"

    def _cure(self) -> str:
        element = "x[i] is an element" if self.shape else "x[None] is its number"
        return f"{element}, and x.to_numpy() is a NumPy array; in a kernel, use its elements"


def _operator(sign: str) -> Callable[[Memory, object], Any]:
    def refuse(self: Memory, other: object) -> Any:
        if isinstance(other, int | float | Memory):
            raise TypeError(f"x {sign} y: {self._not_computed()}")
        return NotImplemented  # NumPy and torch convert it to an array

    return refuse


for _name, _sign in _SIGNS.items():
    setattr(Memory, f"__{_name}__", _operator(_sign))
    if _name not in ("lt", "le", "gt", "ge"):  # Python reflects these itself
        setattr(Memory, f"__r{_name}__", _operator(_sign))
