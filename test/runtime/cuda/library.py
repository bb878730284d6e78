"""A `libcuda.so.1` made here, without C: a driver whose memory is the host's and whose launches do
nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mlirad.runtime.cuda.functions import LIBRARY, PARAMETERS

_WORKING = {
    "cuDriverGetVersion": ("ptr %p", "store i32 {version}, ptr %p"),
    "cuDeviceGetCount": ("ptr %p", "store i32 {devices}, ptr %p"),
    "cuDeviceGet": ("ptr %p, i32 %n", "store i32 0, ptr %p"),
    "cuDeviceGetName": ("ptr %p, i32 %n, i32 %d", 'store [5 x i8] c"made\\00", ptr %p'),
    "cuDeviceGetAttribute": (
        "ptr %p, i32 %which, i32 %d",
        "%major = icmp eq i32 %which, 75\n"
        "%addresses = icmp eq i32 %which, 41\n"
        "%one = zext i1 %addresses to i32\n"
        "%value = select i1 %major, i32 {major}, i32 %one\n"
        "store i32 %value, ptr %p",
    ),
    "cuCtxGetCurrent": ("ptr %p", "store ptr null, ptr %p"),
    "cuGetErrorName": ("i32 %n, ptr %p", "store ptr @name, ptr %p"),
    "cuGetErrorString": ("i32 %n, ptr %p", "store ptr @name, ptr %p"),
    "cuMemGetInfo_v2": ("ptr %a, ptr %b", "store i64 1000000, ptr %a\nstore i64 1000000, ptr %b"),
    "cuMemAlloc_v2": ("ptr %p, i64 %n", "%m = call ptr @malloc(i64 %n)\nstore ptr %m, ptr %p"),
    "cuMemHostAlloc": (
        "ptr %p, i64 %n, i32 %f",
        "%m = call ptr @malloc(i64 %n)\nstore ptr %m, ptr %p",
    ),
    "cuMemFree_v2": ("ptr %p", "call void @free(ptr %p)"),
    "cuMemFreeHost": ("ptr %p", "call void @free(ptr %p)"),
    "cuMemcpyHtoDAsync_v2": (
        "ptr %a, ptr %b, i64 %n, ptr %s",
        "%m = call ptr @memcpy(ptr %a, ptr %b, i64 %n)",
    ),
    "cuMemcpyDtoHAsync_v2": (
        "ptr %a, ptr %b, i64 %n, ptr %s",
        "%m = call ptr @memcpy(ptr %a, ptr %b, i64 %n)",
    ),
    "cuModuleLoadDataEx": ("ptr %p", "store ptr @name, ptr %p"),
    "cuModuleGetFunction": ("ptr %p", "store ptr @name, ptr %p"),
    "cuMemsetD8Async": (
        "ptr %a, i8 %v, i64 %n, ptr %s",
        "%w = zext i8 %v to i32\n%m = call ptr @memset(ptr %a, i32 %w, i64 %n)",
    ),
}
_DECLARED = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
@name = constant [15 x i8] c"CUDA_ERROR_100\\00"
"""


def driver_library(
    folder: Path,
    *,
    result: int = 0,
    version: int = 13000,
    devices: int = 1,
    major: int = 9,
    without: Collection[str] = (),
) -> Path:
    """The library in a folder; every function but those that describe errors returns `result`."""
    linker = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if linker is None:
        pytest.skip("no linker")
    pieces = [_DECLARED]
    for name in PARAMETERS:
        if name in without:
            continue
        parameters, body = _WORKING.get(name, ("", ""))
        for hole, value in (("version", version), ("devices", devices), ("major", major)):
            body = body.replace("{" + hole + "}", str(value))
        pieces.append(f"define i32 @{name}({parameters}) {{\n{body}\nret i32 {result}\n}}")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    made = folder / "driver.o"
    made.write_bytes(target.emit_object(llvm.parse_assembly("\n".join(pieces))))
    library = folder / LIBRARY
    subprocess.run([linker, "-shared", str(made), "-o", str(library)], check=True)
    return library
