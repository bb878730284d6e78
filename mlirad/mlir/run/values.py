"""Arguments as the command line spells them, and values as it prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.mlir.parameters import Parameter
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType

_FILL = re.compile(r"(?P<kind>random|zeros|ones|arange)(?::(?P<type>\w+))?(?::seed=(?P<seed>\d+))?")
KINDS = "a number, random[:8x16xf32][:seed=1], zeros, ones, arange[:8xf64], or FILE.npy"


def argument(text: str, number: int, parameter: Parameter) -> Values | int:
    """Return what an argument is spelled as. Raises TaichiRuntimeTypeError if it is no value of
    the parameter, OSError if a file cannot be read."""
    if text.endswith(".npy"):
        return np.load(Path(text), allow_pickle=False)
    fill = _FILL.fullmatch(text)
    if not parameter.is_array:
        try:
            return int(text)
        except ValueError:
            raise _error(number, text, "expected an integer") from None
    if fill is None:
        if parameter.shape:
            raise _error(number, text, f"expected {KINDS}")
        try:
            return np.array(float(text), parameter.dtype.numpy)
        except ValueError:
            raise _error(number, text, f"expected {KINDS}") from None
    shape, element = _type(fill["type"], number, parameter)
    return _filled(fill["kind"], shape, element, int(fill["seed"] or 0))


def _filled(kind: str, shape: Sequence[int], element: DataType, seed: int) -> Values:
    """Return an array: random floats lie in [-1, 1), random integers in [0, 8)."""
    dtype = element.numpy
    if kind == "random":
        generator = np.random.default_rng(seed)
        if element.is_float:
            return np.asarray(generator.uniform(-1, 1, shape), dtype)
        return np.asarray(generator.integers(0, 8, shape), dtype)
    if kind == "arange":
        return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    return np.full(shape, kind == "ones", dtype)


def _type(text: str | None, number: int, parameter: Parameter) -> tuple[tuple[int, ...], DataType]:
    """Return the shape and element type that a fill names, or else those of the parameter."""
    assert parameter.shape is not None
    if text is None:
        if min(parameter.shape, default=0) < 0:
            raise _error(number, "", "say the shape: random:8x16xf32")
        return parameter.shape, parameter.dtype
    *extents, element = text.split("x")
    if element != str(parameter.dtype) or not all(extent.isdigit() for extent in extents):
        expected = f"expected extents and the element type, as 8x16x{parameter.dtype}"
        raise _error(number, text, expected)
    return tuple(map(int, extents)), parameter.dtype


def _error(number: int, text: str, problem: str) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(f"argument {number} '{text}': {problem}")


def shown(name: str, values: Values) -> str:
    """Return a value under its name, type and shape."""
    extents = "x".join(map(str, (*values.shape, values.dtype)))
    return f"{name} : {extents}\n{np.array2string(values, precision=6, threshold=64)}"
