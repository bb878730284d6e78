"""PTX, which is kept on disk for later processes."""

from __future__ import annotations

from functools import cache

from mlirad.bindings import ir
from mlirad.pipeline.libdevice import libdevice
from mlirad.pipeline.ptx_writer import VERSION
from mlirad.runtime.executor.executor import KeptCode


def ptx(module: ir.Operation, chip: str, code: KeptCode) -> str:
    """The PTX of all kernels of a module behind `cuda_stages`: what an earlier process made of it
    for this chip by the same LLVM and libdevice, or new.

    Raises TaichiCompilationError where there is none.
    """
    mark = f"{chip} {_makers()}\n".encode()
    if code.binary is not None and code.binary.startswith(mark):
        return code.binary[len(mark) :].decode()
    from mlirad.pipeline.ptx import to_ptx  # loads an LLVM of its own

    made = to_ptx(module, chip)
    if code.keep is not None:
        code.keep(mark + made.encode())
    return made


@cache
def _makers() -> str:
    """Return a digest of the additional dependencies of PTX, compared with code of the host."""
    path = libdevice()
    if path is None:
        return f"llvmlite {VERSION}"
    found = path.stat()
    size, time = found.st_size, found.st_mtime_ns
    return f"llvmlite {VERSION}, {path} {size} {time}"
