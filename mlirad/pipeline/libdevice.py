"""Where NVIDIA's math functions for GPU code are."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

TOOLKITS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")


@cache
def libdevice() -> Path | None:
    """NVIDIA's math functions as LLVM bitcode, from the wheel `nvidia-nvvm` or from a CUDA
    toolkit."""
    spec = find_spec("nvidia")
    packages = (
        spec.submodule_search_locations
        if spec is not None and spec.submodule_search_locations
        else []
    )
    found = [
        path for root in packages for path in Path(root).glob("*/nvvm/libdevice/libdevice*.bc")
    ]
    found += [
        path for root in TOOLKITS for path in Path(root, "nvvm/libdevice").glob("libdevice*.bc")
    ]
    return sorted(found)[-1] if found else None
