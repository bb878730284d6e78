"""Names inside Quadrants' package that programs reach for (`qd.lang.impl.current_cfg()`), with
their meaning here."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import mlirad
from mlirad.dialect.field import GROUP
from mlirad.lang import taichi_names
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.kernels.streams import Event, Stream
from mlirad.lang.layout.member_order import Layout
from mlirad.lang.ndarray import with_layout
from mlirad.lang.simt.namespace import PLACES
from mlirad.lang.taichi_names import Modules
from mlirad.quadrants.argument_kinds import KernelBatchedArgType
from mlirad.quadrants.copies import NAMES as COPIES
from mlirad.quadrants.dispatch import NAMES as DISPATCH
from mlirad.quadrants.exceptions import NAMES, QuadrantsRuntimeError
from mlirad.quadrants.machines import Arch, current_config
from mlirad.quadrants.messages import NAMES as MESSAGES
from mlirad.types import resolve


def _is_available(arch: str, *_: object, **__: object) -> bool:
    return arch in (Arch.x64, Arch.simt)


def _cpu_names() -> list[Arch]:
    return [Arch.x64]


def _count_last_tasks() -> int:
    from mlirad.quadrants.statistics import count_last_tasks

    return count_last_tasks()


def _runtime() -> Any:
    """Return the result of `impl.get_runtime()`; each kernel here is a single call, without a graph
    of its own."""
    runtime = taichi_names.inner_modules(mlirad)["lang.impl"]["get_runtime"]()
    counts = ("get_graph_cache_size", "get_graph_num_nodes_on_last_call", "get_graph_total_builds")
    vars(runtime.prog).update(
        dict.fromkeys(counts, lambda: 0),
        get_graph_cache_used_on_last_call=lambda: False,
        get_num_offloaded_tasks_on_last_call=_count_last_tasks,
        subgroup_size=lambda: GROUP,
    )
    return runtime


# modules of Taichi's whose names Quadrants has elsewhere, or not
_MOVED = {
    "lang.enums": "types.enums",
    "lang.argpack": None,
}


def inner_modules(package: str) -> Modules:
    """Return the modules inside Quadrants' package, by dotted name, with what they have."""
    public = sys.modules[package]
    modules: Modules = {"lang": {}}
    names = {name: getattr(public, name) for name in _public(public)}
    for name, members in taichi_names.inner_modules(mlirad).items():
        place = _MOVED.get(name, name)
        if place is not None:
            modules[place] = {
                k: names[k] if v is getattr(mlirad, k, None) and k in names else v
                for k, v in members.items()
                if not k.startswith("Taichi")
            }
    modules["lang"].update(names)
    modules["lang.exception"].update(NAMES)
    modules["lang.impl"].update(
        names,
        current_cfg=current_config,
        Kernel=Kernel,
        get_runtime=_runtime,
    )
    modules["lang.misc"].update(
        names,
        get_host_arch_list=_cpu_names,
        is_arch_supported=_is_available,
        is_extension_supported=supports,
    )
    modules["lang.util"].update(
        {
            "has_clangpp": lambda: False,
            "in_quadrants_scope": modules["lang.util"]["in_taichi_scope"],
            "to_quadrants_type": modules["lang.util"]["to_taichi_type"],
        }
    )
    modules["types.enums"]["Layout"] = Layout
    modules["lang.simt"] = {name: getattr(mlirad.simt, name) for name in PLACES}
    modules["_lib.core"].update(_core())
    modules["lang.stream"] = {"Event": Event, "Stream": Stream}
    modules |= {"_kernels": COPIES, "_logging": MESSAGES, "lang._perf_dispatch": DISPATCH}
    tensors = {name: names[name] for name in ("Tensor", "VectorTensor", "MatrixTensor")}
    modules["_tensor"] = {**tensors, "_with_layout": with_layout}
    modules["lang._kernel_types"] = {"KernelBatchedArgType": KernelBatchedArgType}
    # the builtins of a module of theirs, which programs set `__debug__` in
    modules["lang._template_mapper"] = {"__builtins__": {}}
    return modules


def _public(public: Any) -> list[str]:
    modules = type(sys)
    return [
        name
        for name, value in vars(public).items()
        if not name.startswith("_") and not isinstance(value, modules)
    ]


def supports(arch: str, extension: Any) -> bool:
    """Return whether a machine has one of `qd.extension`."""
    return getattr(extension, "name", extension) not in ("mesh", "bls")


def is_extension_enabled(extension: Any) -> bool:
    """Return whether the machine of the program has one of `qd.extension`."""
    config = current_config()
    return config is not None and supports(config.arch, extension)


def _core() -> dict[str, Any]:
    return {
        "Arch": Arch,
        "arch_from_name": Arch,
        "data_type_size": lambda dtype: -(-resolve(dtype).bits // 8),
        "is_extension_supported": supports,
        "get_max_num_indices": lambda: 12,
        "QuadrantsRuntimeError": QuadrantsRuntimeError,
        "quadrants_python": SimpleNamespace(),
    }
