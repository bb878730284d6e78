"""Values as the command line spells them, and as it prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from mlirad.errors import SourceLocation, TaichiRuntimeTypeError, located
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType

_FILL = re.compile(r"(?P<kind>random|zeros|ones|arange)(?::(?P<type>\w+))?(?::seed=(?P<seed>\d+))?")
KINDS = "a number, random[:8x16xf32][:seed=1], zeros, ones, arange[:8xf64], or FILE.npy"


class Slot(msgspec.Struct, frozen=True):
    """A place for a value: an array of some extents (-1 if a type leaves one open), or, without a
    shape, a number; `place` is the line that declares it."""

    name: str
    dtype: DataType
    shape: tuple[int, ...] | None
    place: SourceLocation | None = None

    def error(self, text: str, problem: str) -> TaichiRuntimeTypeError:
        """Return the error for a value that does not fit."""
        message = f"{self.name} '{text}': {problem}"
        return TaichiRuntimeTypeError(
            message if self.place is None else located(message, self.place)
        )


def value_of(text: str, slot: Slot) -> Values | int:
    """Return what a value is spelled as. Raises TaichiRuntimeTypeError if it does not fit the slot,
    OSError if a file cannot be read."""
    if slot.shape is None:
        return _integer(text, slot)
    if text.endswith(".npy"):
        return _loaded(text, slot, slot.shape)
    fill = _FILL.fullmatch(text)
    if fill is None:
        return _number(text, slot, slot.shape)
    shape = _shape(fill["type"], slot, slot.shape)
    return _filled(fill["kind"], shape, slot.dtype, int(fill["seed"] or 0))


def _integer(text: str, slot: Slot) -> int:
    try:
        return int(text)
    except ValueError:
        raise slot.error(text, "expected an integer") from None


def _loaded(text: str, slot: Slot, shape: Sequence[int]) -> Values:
    """Return what a file holds, if it has the type and the extents."""
    try:
        values = np.load(Path(text), allow_pickle=False)
    except ValueError as error:  # no file of NumPy's
        raise slot.error(text, str(error)) from None
    if values.dtype != slot.dtype.numpy:
        raise slot.error(text, f"it is of {values.dtype}, expected {slot.dtype.numpy}")
    fits = len(values.shape) == len(shape) and all(
        e in (-1, d) for d, e in zip(values.shape, shape)
    )
    if not fits:
        expected = ", ".join("?" if extent < 0 else str(extent) for extent in shape)
        raise slot.error(text, f"it has the shape {values.shape}, expected ({expected})")
    return np.asarray(values)


def _number(text: str, slot: Slot, shape: Sequence[int]) -> Values:
    """Return an array of one number."""
    try:
        number = float(text) if slot.dtype.is_float else int(text)
    except ValueError:
        raise slot.error(text, f"expected {KINDS}") from None
    if min(shape, default=0) < 0:
        raise slot.error(text, "the shape is not known, so write it: zeros:8x16xf32")
    low, high = slot.dtype.limits
    if not (low <= number <= high or number != number):
        raise slot.error(text, f"it is outside the range of {slot.dtype}")
    return np.full(shape, number, slot.dtype.numpy)


def _filled(kind: str, shape: Sequence[int], element: DataType, seed: int) -> Values:
    """Return an array: random floats lie in [-1, 1), random integers in [0, 8)."""
    dtype = element.numpy
    if kind == "random":
        generator = np.random.default_rng(seed)
        if element.is_float:
            return np.asarray(generator.uniform(-1, 1, shape), dtype)
        return np.asarray(generator.integers(0, 2 if element.bits == 1 else 8, shape), dtype)
    if kind == "arange":
        return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    return np.full(shape, kind == "ones", dtype)


def _shape(text: str | None, slot: Slot, expected: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a fill names, or else that of the slot."""
    if text is None:
        if min(expected, default=0) < 0:
            raise slot.error("", f"write the shape: random:8x16x{slot.dtype}")
        return expected
    *extents, element = text.split("x")
    names = (str(slot.dtype), *["i1"] * (slot.dtype.bits == 1))  # which is MLIR's name for it
    if element not in names or not all(extent.isdigit() for extent in extents):
        raise slot.error(text, f"expected extents and the element type, as 8x16x{slot.dtype}")
    shape = tuple(map(int, extents))
    fits = len(shape) == len(expected) and all(e in (-1, s) for s, e in zip(shape, expected))
    if not fits:
        shown_extents = "x".join("?" if e < 0 else str(e) for e in expected)
        raise slot.error(text, f"expected the extents {shown_extents or 'of a number, none'}")
    return shape


def shown(name: str, values: Values) -> str:
    """Return a value under its name, type and shape."""
    extents = "x".join(map(str, (*values.shape, values.dtype)))
    return f"{name} : {extents}\n{np.array2string(values, precision=6, threshold=64)}"
