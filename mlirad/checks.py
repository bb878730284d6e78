"""Checks of arguments of functions that only Python calls: errors name the argument, what was
expected, and what was passed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import inf
from operator import index
from typing import Any

import numpy as np

from mlirad.errors import TaichiTypeError


def number(
    value: object, what: str, *, low: float = -inf, high: float = inf, finite: bool = True
) -> float:
    """A number, which is `finite`. Raises TaichiTypeError for what is no number, ValueError for one
    that is not from `low` to `high`."""
    found: float = _converted(value, float, what, "a number")
    if finite and not (low <= found <= high and abs(found) < inf):
        raise ValueError(f"{what} must be a finite number{_within(low, high)}, not {found}")
    return found


def integer(value: object, what: str, *, low: float = -inf, high: float = inf) -> int:
    """An integer. Raises TaichiTypeError for what is none, ValueError for one that is not from
    `low` to `high`."""
    found: int = _converted(value, index, what, "an integer")
    if not low <= found <= high:
        raise ValueError(f"{what} must be an integer{_within(low, high)}, not {found}")
    return found


def whole(value: object, what: str, *, low: float = -inf) -> int:
    """An integer, perhaps as a float. Raises what `integer` raises."""
    found = number(value, what)
    if found != int(found) or found < low:
        raise ValueError(f"{what} must be an integer{_within(low, inf)}, not {found:g}")
    return int(found)


def flag(value: object, what: str) -> bool:
    """True or False, or an integer for them. Raises TaichiTypeError for anything else."""
    if isinstance(value, bool | np.bool_ | int):
        return bool(value)
    raise _wrong(value, what, "True or False")


def text(value: object, what: str) -> str:
    """A text. Raises TaichiTypeError for anything else."""
    found: str = instance(value, str, what, "a text")
    return found


def file_name(value: object, what: str = "a file") -> str:
    """The name of a file, of which numbers are none. Raises TaichiTypeError for anything else,
    ValueError for one that no file can have."""
    found = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(found, str):
        raise _wrong(value, what, "a name (a text or a path)")
    if not found or "\0" in found:
        raise ValueError(f"{what} must be the name of a file, not {found!r}")
    return found


def instance(value: Any, kind: Any, what: str, named: str) -> Any:
    """An object of a class, or of one of some. Raises TaichiTypeError for another."""
    if isinstance(value, kind):
        return value
    raise _wrong(value, what, named)


def several(value: Any, count: int, what: str) -> list[Any]:
    """Return a sequence of a given length as a list. Raises TaichiTypeError for what has no parts,
    ValueError for another number of them."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict | set):
        raise _wrong(value, what, f"{count} numbers")
    found = [] if isinstance(value, np.ndarray) and not value.ndim else [*value]
    if len(found) != count:
        raise ValueError(f"{what} must be {count} numbers, not {len(found)}")
    return found


def numbers(value: object, count: int, what: str) -> list[float]:
    """Return a given number of finite numbers. Raises what `number` and `several` raise."""
    return [number(one, what) for one in several(value, count, what)]


def _converted(value: Any, convert: Any, what: str, named: str) -> Any:
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim):
        raise _wrong(value, what, named)
    try:
        return convert(value)
    except OverflowError:
        raise ValueError(f"{what} must be {named}, and {value} is too large for one") from None
    except (TypeError, ValueError):
        raise _wrong(value, what, named) from None


def _wrong(value: object, what: str, named: str) -> TaichiTypeError:
    shown = f" {value!r}" if isinstance(value, str | bytes | int | float) else ""
    return TaichiTypeError(f"{what} must be {named}, not {type(value).__name__}{shown[:80]}")


def _within(low: float, high: float) -> str:
    if high < inf:
        return f" from {low:g} to {high:g}"
    return f" of at least {low:g}" if low > -inf else ""
