"""llvmlite, whose LLVM writes PTX: wanted for that alone, and so installed with the extra `ptx`."""

from __future__ import annotations

from mlirad.errors import TaichiRuntimeError

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError as error:
    raise TaichiRuntimeError(
        "PTX is written by llvmlite, which cannot be imported: pip install 'mlirad[ptx]', or "
        "'mlirad[cuda]' to run kernels on a GPU"
    ) from error

__all__ = ["VERSION", "llvm"]

VERSION: str = llvmlite.__version__
