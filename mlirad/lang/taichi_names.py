"""Names inside Taichi's package that programs reach for (`taichi.lang.impl.current_cfg()`), with
their meaning here."""

from __future__ import annotations

import importlib.util
import operator
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

from mlirad import errors
from mlirad.frontend.python import functions
from mlirad.frontend.python.builder import in_kernel
from mlirad.lang.autodiff_mode import AutodiffMode, SNodeGradType
from mlirad.lang.layout.member_order import Layout
from mlirad.lang.math import functions as mathematics
from mlirad.runtime.config import Config
from mlirad.runtime.program import Program, program
from mlirad.types import ALL, DataType

extension = Enum(
    "extension",
    ["sparse", "quant", "quant_basic", "data64", "adstack", "bls", "assertion", "extfunc", "mesh"],
)
extension.__doc__ = """What Taichi's backends may have, by the names that programs for it use."""


_REAL = [*(t for t in ALL if t.is_float), float]
_INTEGER = [*(t for t in ALL if t.is_integer), int, bool]


class _Runtime:
    """What `impl.get_runtime()` gives."""

    def __init__(self, current: Program) -> None:
        self._program = current
        self.prog = SimpleNamespace(config=lambda: current.config)

    def get_num_compiled_functions(self) -> int:
        """How many variants of kernels were built."""
        return self._program.variants

    def materialize(self) -> None:
        """Give memory to what was declared."""
        self._program.trees.materialize()

    def materialize_root_fb(self, _: bool = True) -> None:
        """Give memory to what was declared."""
        self._program.trees.materialize()

    def set_default_ip(self, dtype: DataType) -> None:
        """Change the default integer type of kernels compiled from now on."""
        self.default_ip = dtype

    @property
    def default_fp(self) -> DataType:
        return self._program.config.default_fp

    @default_fp.setter
    def default_fp(self, dtype: DataType) -> None:
        self._program.config.default_fp = dtype

    @property
    def default_ip(self) -> DataType:
        return self._program.config.default_ip

    @default_ip.setter
    def default_ip(self, dtype: DataType) -> None:
        self._program.config.default_ip = dtype


def _current_cfg() -> Config:
    return program().config


def _get_runtime() -> _Runtime:
    return _Runtime(program())


def _without(_: object = None) -> bool:
    return False


def _to_default_float(value: Any) -> Any:
    return functions.cast(value, float) if in_kernel() else float(value)


def _has(package: str) -> Any:
    return lambda: importlib.util.find_spec(package) is not None


def register(package: str) -> None:
    """Make the modules importable below `package`."""
    machines = ("vulkan", "cuda", "metal", "opengl", "amdgpu", "dx11", "dx12")
    core = {f"with_{name}": _without for name in machines}
    parts: dict[str, dict[str, Any]] = {
        "_lib": {},
        "_lib.core": {**core, "GGUI_AVAILABLE": False},
        "lang.impl": {
            "current_cfg": _current_cfg,
            "get_runtime": _get_runtime,
            "ti_float": _to_default_float,
        },
        "lang.enums": {
            "AutodiffMode": AutodiffMode,
            "Layout": Layout,
            "SNodeGradType": SNodeGradType,
        },
        "lang.misc": {"get_host_arch_list": lambda: ["x64"]},
        "lang.util": {"has_pytorch": _has("torch"), "has_paddle": lambda: False},
        "lang.exception": {
            name: value for name, value in vars(errors).items() if name.startswith("Taichi")
        },
        "lang.ops": {
            **{
                name: getattr(operator, name)
                for name in ("add", "sub", "mul", "truediv", "floordiv", "mod")
            },
            **{name: value for name, value in vars(functions).items() if not name.startswith("_")},
        },
        "types.primitive_types": {
            **{t.name: t for t in ALL},
            "real_types": _REAL,
            "integer_types": _INTEGER,
            "all_types": _REAL + _INTEGER,
        },
    }
    for name, members in parts.items():
        module = ModuleType(f"{package}.{name}")
        module.__dict__.update(members)
        sys.modules[module.__name__] = module
        holder, _, last = name.rpartition(".")
        around = sys.modules[package]
        setattr(getattr(around, holder) if holder else around, last, module)
    sys.modules[f"{package}.math"] = mathematics


__all__ = ["extension", "register"]
