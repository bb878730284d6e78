"""The names that `dir` shows of fields, ndarrays and kernels."""

from __future__ import annotations

from collections.abc import Iterable

ARRAY_NAMES = frozenset(
    {
        *("copy_from", "dtype", "dual", "fill", "grad", "has_dual", "has_grad", "layout", "m", "n"),
        *("from_jax", "from_numpy", "from_torch", "to_dlpack", "to_jax", "to_numpy", "to_torch"),
        *("append", "deactivate", "get_scalar_field", "length", "parent", "shape", "snode"),
        *("element_shape", "element_type"),
    }
)
KERNEL_NAMES = frozenset({"amdgpu", "explain", "grad", "ir", "ptx"})


def shown_names(names: Iterable[str], public: frozenset[str]) -> list[str]:
    """Return the names that are public, or Python's own."""
    return [name for name in names if name in public or name.startswith("__")]
