"""The machines of `qd.init(arch=)`, and what a program was initialized with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from mlirad.lang import start
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime import program as pm
from mlirad.runtime.config import Config
from mlirad.runtime.environment import with_environment


class Arch(StrEnum):
    """A machine, by the name that it has in `ti.init(arch=)`."""

    x64 = "x64"
    arm64 = "arm64"
    cuda = "cuda"
    simt = "simt"
    amdgpu = "amdgpu"
    metal = "metal"
    vulkan = "vulkan"
    python = "python"


cpu = x64 = x86_64 = Arch.x64
arm64, cuda = Arch.arm64, Arch.cuda
amdgpu, metal, vulkan, python = Arch.amdgpu, Arch.metal, Arch.vulkan, Arch.python
gpu = [cuda, metal, vulkan, amdgpu]


_REFUSED = {
    "default_up": "the unsigned type is always that of default_ip",
    "external_metal_command_queue": "mlirad has no Metal",
    "external_metal_command_queue_is_torch_queue": "mlirad has no Metal",
    "raise_on_templated_floats": "a float that is a template argument is part of the kernel here",
}


def init(arch: Any = None, **options: Any) -> None:
    """Start a program, as `ti.init` does.

    `arch` is a machine, or several: the first that is there runs the program. The environment sets
    what no argument does: `QD_DEBUG=1`, `QD_DEFAULT_FP=f64`; `QD_ARCH` overrides the argument.
    Raises KeyError for options that do not exist, and for those that mlirad does not have,
    ValueError where the environment asks for edited IR or PTX (`QD_LOAD_IR`).
    """
    for name, reason in _REFUSED.items():
        if options.get(name):
            raise KeyError(f"qd.init({name}=) is not available: {reason}")
        options.pop(name, None)
    _read_environment(options)
    if arch is not None:
        arch = [str(name) for name in (arch if isinstance(arch, list | tuple) else [arch])]
    start.begin(with_environment("QD_", {"arch": arch, **options}))
    pm.program().make_view = _make_view


def _read_environment(options: dict[str, Any]) -> None:
    """Take the folder of dumps from the environment. Raises ValueError if it asks for edited
    code."""
    for name in ("QD_LOAD_IR", "QUADRANTS_LOAD_PTX"):
        if _is_set(name):
            raise ValueError(
                f"{name} is not available: mlirad compiles a kernel from its text in Python. Unset "
                "the variable to run the program; mlirad-opt runs passes on an edited dump"
            )
    if _is_set("QD_DUMP_IR"):
        folder = options.get("debug_dump_path") or os.environ.get("QD_DEBUG_DUMP_PATH")
        options.setdefault("dump_ir", folder or "/tmp/ir")


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def _make_view(array: Ndarray, positions: Sequence[range]) -> Any:
    from mlirad.lang.buffer_view import section_view

    return section_view(array, positions)


class ProgramOptions:
    """The options of a program, with its machine as one of `Arch`."""

    def __init__(self, config: Config) -> None:
        self._config = config

    @property
    def arch(self) -> Arch:
        """The machine that the program runs on."""
        return Arch(self._config.arch)

    def __getattr__(self, name: str) -> Any:
        ignored = self._config.ignored
        return ignored[name] if name in ignored else getattr(self._config, name)


def current_config() -> ProgramOptions | None:
    """Return the options of the current program, None before `qd.init`."""
    return ProgramOptions(pm.program().config) if pm.is_started() else None


__all__ = [
    *("amdgpu", "arm64", "cpu", "cuda", "gpu", "init", "metal", "python", "vulkan"),
    *("x64", "x86_64"),
]
