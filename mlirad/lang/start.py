"""Starting and ending a program: `ti.init`, `ti.reset`, `ti.sync`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from mlirad.checks import instance, text
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.source.function import Function
from mlirad.lang.field.copying import copy
from mlirad.lang.layout.deactivation import deactivate_all
from mlirad.lang.layout.root import Root
from mlirad.lang.simt.namespace import Threads
from mlirad.runtime import program as pm
from mlirad.runtime.config import Config
from mlirad.runtime.environment import with_environment
from mlirad.runtime.executor.executor import UnavailableError
from mlirad.types import TypeLike

cpu = x64 = "x64"
arm64 = "arm64"
cuda = "cuda"
python = "python"  # kernels are run by Python itself, for debuggers
simt = Threads("simt")  # a GPU's kernels, run by the CPU: for tests
vulkan, metal, opengl, gles, dx11, dx12, amdgpu = (
    *("vulkan", "metal", "opengl", "gles", "dx11", "dx12", "amdgpu"),
)
gpu = [cuda]
_BY_NAME = {"cpu": [cpu], "gpu": gpu}  # the others have their own names
_warned: set[str] = set()


def init(
    arch: str | list[str] | None = None,
    default_fp: TypeLike | None = None,
    default_ip: TypeLike | None = None,
    debug: bool | None = None,
    **options: object,
) -> None:
    """Start a program. Fields and compiled kernels of the previous program are discarded.

    Args:
        arch: the device to run on: `ti.cpu`, `ti.cuda`, ..., or its name, "cpu"; or a list to try
            in order. The default is MLIRAD_ARCH in the environment, then the CPU.
        default_fp: the type of float literals and of `float`, f32 by default.
        default_ip: the type of integer literals and of `int`, i32 by default.
        debug: check indices and assertions in kernels.
        options: further options, listed below.

    Options:

    - `debug_info`: give kernels names and lines in gdb and perf (see docs/debuggers.md); default
      MLIRAD_DEBUG_INFO.
    - `random_seed`, `cpu_max_num_threads`, `fast_math`, `opt_level`.
    - `kernel_profiler`: time launches, for `ti.profiler`.
    - `lanes`: how many iterations of a parallel loop run together in SIMD lanes. None uses the
      vector width of the processor if that is predicted to be faster, 1 uses no lanes; 4, 8 or 16
      are used wherever possible. Default MLIRAD_LANES.
    - `print_ir`: print every stage of compilation.
    - `dump_ir`: a folder to which every stage of compilation is written; default MLIRAD_DUMP_IR.
    - `simt_order`: the order of threads with `arch=ti.simt`: ascending, descending or shuffled;
      default MLIRAD_SIMT_ORDER, then ascending.
    - `enable_fallback`: use the CPU if the device that `arch` names is not available.
    - `offline_cache`, `offline_cache_file_path`, `offline_cache_max_size_of_files`,
      `offline_cache_cleaning_policy`, `offline_cache_cleaning_factor`: see docs/cache.md.

    Taichi's other options are accepted. An environment variable sets an option that no argument
    sets: `TI_DEBUG=1`, `TI_DEFAULT_FP=f64` (the prefix, then the option in capitals). `TI_ARCH`
    overrides the argument.

    Raises:
        KeyError: an option is unknown.
        ValueError: an environment variable has a value that its option does not allow.
        OSError: a folder cannot be created.
        UnavailableError: the device is not available, and `enable_fallback` is off.
    """
    named = {"arch": arch, "default_fp": default_fp, "default_ip": default_ip, "debug": debug}
    begin(with_environment("TI_", {**named, **options}))


@in_turn
def begin(options: dict[str, Any]) -> None:
    """Start a program with the options of `ti.init`."""
    arch = options.pop("arch", None)
    config = Config.from_options(options)
    archs = [arch] if isinstance(arch, str) else arch or [config.arch]
    archs = instance(archs, list | tuple, "ti.init(arch=)", "the name of an arch, or several")
    names = [text(name, "ti.init(arch=)") for name in archs]
    started = _start_first([arch for name in names for arch in _BY_NAME.get(name, [name])], config)
    started.trees.root = Root(started)
    started.trees.deactivate, started.trees.copy = deactivate_all, copy
    Function.run = None
    if config.arch == python:
        from mlirad.lang.python_machine.launches import run_function, run_kernel

        started.interpret, Function.run = run_kernel, run_function


def _start_first(archs: Sequence[str], config: Config) -> pm.Program:
    """A program on the first machine of some that is there, else, with a warning, on the CPU."""
    reasons = []
    for arch in archs:
        config.arch = arch
        try:
            return pm.start(config)
        except UnavailableError as error:
            reasons.append(f"arch={arch} is not available on this machine ({error})")
    message = "; ".join(reasons)
    if not config.enable_fallback:
        raise UnavailableError(message)
    if message not in _warned:
        _warned.add(message)
        warnings.warn(f"{message}, falling back to {cpu}", stacklevel=5)
    config.arch = cpu
    return pm.start(config)


def reset() -> None:
    """End the program. The next one begins with `ti.init`."""
    pm.stop()
    Function.run = None


def sync() -> None:
    """Wait until all launched kernels have finished. On the CPU a launch has finished when it
    returns.

    Raises:
        TaichiRuntimeError: a launch has failed.
    """
    if pm.is_started():
        pm.program().executor.synchronize()


class NotStartedError(AttributeError, TaichiRuntimeError):
    """An attribute of `ti.root` before `ti.init`, which `hasattr` may ask for."""


class RootProxy:
    """`ti.root`: the root of the current program's layout trees."""

    def __getattr__(self, name: str) -> Any:
        if not pm.is_started():
            raise NotStartedError(pm.NOT_STARTED, name=name)
        return getattr(pm.program().trees.root, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RootProxy) or (
            pm.is_started() and other is pm.program().trees.root
        )

    def __hash__(self) -> int:
        return id(RootProxy)


root = RootProxy()
