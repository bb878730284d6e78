"""The meaning of calls in kernels that Python runs."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError
from mlirad.frontend.python.calls import specials
from mlirad.frontend.python.values import functions as fn
from mlirad.lang.python_machine.elements import OPERATORS, typed
from mlirad.runtime.program import program
from mlirad.types import DataType, TypeLike, resolve

OPERATORS.update(min=fn.min, max=fn.max, exchange=lambda before, value: value)


def callee(function: object) -> Any:
    """Return what is called for a name. Raises TaichiSyntaxError for what only compiled kernels
    have."""
    if isinstance(function, DataType):
        return lambda value=0: typed(function, value)
    if not getattr(function, "__hash__", None):
        return function
    if function in _REFUSED or (
        isinstance(function, specials.Special)
        and function.python is None
        and function not in _MEANINGS
    ):
        raise TaichiSyntaxError(
            f"ti.{function.__name__} needs compiled kernels: arch=ti.python does not support it"
        )
    return _MEANINGS.get(function, function)


def _nothing(*_: object, **__: object) -> None:
    """Return, as hints do that have no effect."""


def _itself(value: object) -> object:
    return value


def _assert_static(condition: object, message: object = "") -> None:
    if not condition:
        raise TaichiCompilationError(f"Static assertion failed {message}".rstrip())


def _cast(value: object, dtype: TypeLike) -> Any:
    return typed(dtype, value)


def _random(dtype: TypeLike = float) -> Any:
    """Draw a number: other ones than compiled kernels draw."""
    config = program().config
    kind = resolve(dtype, config.default_fp, config.default_ip)
    generator = _generator()
    if kind.is_float:
        return kind.numpy.type(generator.random(dtype="f4" if kind.bits < 64 else "f8"))
    low, high = kind.limits
    return typed(
        kind, int(generator.integers(int(low), int(high), dtype=kind.numpy, endpoint=True))
    )


def _randn(dtype: TypeLike = float) -> Any:
    return typed(dtype, _generator().standard_normal())


def _generator() -> np.random.Generator:
    return np.random.default_rng(program().random.next_seed() & ((1 << 63) - 1))


_MEANINGS: dict[Any, Callable[..., Any]] = {
    specials.loop_config: _nothing,
    specials.block_local: _nothing,
    specials.cache_read_only: _nothing,
    specials.stop_grad: _itself,
    specials.static_assert: _assert_static,
    fn.cast: _cast,
    fn.random: _random,
    fn.randn: _randn,
    builtins.abs: fn.abs,
    builtins.min: fn.min,
    builtins.max: fn.max,
    builtins.pow: fn.pow,
    builtins.round: fn.round,
}
_REFUSED = {fn.bit_cast, fn.bit_shr, fn.clz, fn.popcnt, fn.raw_div, fn.raw_mod}
