"""Options of `ti.init` that the environment sets: `TI_DEBUG=1`, `TI_DEFAULT_FP=f64`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from mlirad import types
from mlirad.runtime.config import FLAGS, Config

_OTHER_VARIABLES = {"dump_ir"}  # of MLIRAD_DUMP_IR and QD_DUMP_IR


def with_environment(prefix: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a program, with those that only the environment sets.

    The variable of an option is the prefix and its name in capitals. An argument overrides the
    variable, with a warning; `arch` is the exception, as in Taichi: there the variable overrides.
    Raises ValueError for a variable that is not a value of its option.
    """
    merged = dict(options)
    for name in sorted(Config.option_names() - _OTHER_VARIABLES):
        variable = f"{prefix}{name.upper()}"
        text = os.environ.get(variable, "")
        if not text:
            continue
        if name != "arch" and merged.get(name) is not None:
            warnings.warn(
                f"{variable}={text} is overridden by the argument {name}= of init", stacklevel=3
            )
            continue
        merged[name] = _value(name, variable, text)
    return merged


def _value(name: str, variable: str, text: str) -> Any:
    convert, kind = _reader(name)
    try:
        return convert(text)
    except (ValueError, KeyError):
        raise ValueError(f"{variable}={text}: expected {kind}") from None


def _reader(name: str) -> tuple[Callable[[str], Any], str]:
    if name in ("default_fp", "default_ip"):
        return _dtype, "the name of a type, such as f64 or i32"
    if name in FLAGS or name == "print_ir":
        return lambda text: bool(int(text)), "0 or 1"
    if name == "offline_cache_cleaning_factor":
        return float, "a number"
    annotation = str(Config.__annotations__[name])
    return (int, "an integer") if annotation.startswith("int") else (str, "a text")


def _dtype(text: str) -> Any:
    dtype = getattr(types, text, None)
    if not isinstance(dtype, types.DataType):
        raise ValueError(text)
    return dtype
