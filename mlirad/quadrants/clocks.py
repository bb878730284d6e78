"""Clocks that kernels read: `qd.clock_counter()`, and how fast it goes on a GPU."""

from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.values.scalar import Expr
from mlirad.runtime.program import program
from mlirad.types import i64


def clock_counter() -> Expr:
    """The ticks that the processor has counted, in a kernel: of a CPU, those of its time stamps, on
    a GPU those of the multiprocessor. The difference of two says how long what stands between them
    took. It has no derivative. Raises TaichiTypeError in Python scope."""
    if not in_kernel():
        raise TaichiTypeError("qd.clock_counter() can only be read inside a compiled kernel")
    return Expr(effects.clock(), i64)


def clock_freq_hz() -> float:
    """The ticks of a second that the driver says a GPU is made for. Raises NotImplementedError on
    CPUs, which do not say it."""
    arch = program().config.arch
    if arch != "cuda":
        raise NotImplementedError(f"qd.clock_freq_hz() is available only on GPUs, not on {arch}")
    from mlirad.runtime.cuda.cuda_executor import CudaExecutor

    executor = program().executor
    assert isinstance(executor, CudaExecutor)
    return executor.driver.clock_rate()


__all__ = ["clock_counter", "clock_freq_hz"]
