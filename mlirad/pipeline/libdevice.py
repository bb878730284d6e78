"""The place of NVIDIA's math functions for GPU code."""

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
    packages = [] if spec is None else spec.submodule_search_locations or []
    folders = [folder for root in packages for folder in Path(root).glob("*/nvvm/libdevice")]
    folders += [Path(root, "nvvm/libdevice") for root in TOOLKITS]
    files = [file for folder in folders for file in folder.glob("libdevice*.bc")]
    return max(files, default=None)
