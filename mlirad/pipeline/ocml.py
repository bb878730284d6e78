"""The place of AMD's math functions for GPU code, and what they are told of a chip."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

# installations of ROCm, and wheels that bring its library
TOOLKITS = ("/opt/rocm/amdgcn/bitcode", "/opt/rocm/lib/llvm/lib/clang/*/amdgcn/bitcode")
WHEELS = {
    "triton": "backends/amd/lib",
    "_rocm_sdk_core": "lib/llvm/amdgcn/bitcode",
}


@cache
def ocml() -> Path | None:
    """AMD's math functions as LLVM bitcode, from ROCm or from a wheel that has them."""
    folders = [Path("/").glob(root.lstrip("/")) for root in TOOLKITS]
    files = [folder / "ocml.bc" for paths in folders for folder in paths]
    for package, folder in WHEELS.items():
        spec = find_spec(package)
        roots = [] if spec is None else spec.submodule_search_locations or []
        files += [Path(root, folder, "ocml.bc") for root in roots]
    return next((file for file in files if file.exists()), None)


def controls(chip: str) -> str:
    """The constants, in LLVM IR, by which the functions are made for a chip: exact ones, with
    subnormal numbers, infinities and NaN."""
    major, minor, step = chip[3:-2], chip[-2], int(chip[-1], 16)
    constants = {
        "ISA_version": ("i32", int(major) * 1000 + int(minor, 16) * 100 + step),
        "ABI_version": ("i32", 600),
        "wavefrontsize64": ("i8", int(int(major) < 10)),
        "unsafe_math_opt": ("i8", 0),
        "finite_only_opt": ("i8", 0),
        "daz_opt": ("i8", 0),
        "correctly_rounded_sqrt32": ("i8", 1),
    }
    return "\n".join(
        f"@__oclc_{name} = linkonce_odr protected addrspace(4) constant {type_} {value}"
        for name, (type_, value) in constants.items()
    )
