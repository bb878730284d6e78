"""The report of a kernel's host code: the first call of the driver that failed."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

from mlirad.runtime.cuda.constants import CUjit_option

_LOG_SIZE = 1 << 14


class During(IntEnum):
    """The purpose of a call of the driver."""

    CONTEXT = 0
    LOADING = 1
    LOOKUP = 2
    LAUNCH = 3
    ALLOCATION = 4
    FREEING = 5
    READING = 6


class Report(ctypes.Structure):
    """Fields up to `values` are known to the shims by their position."""

    _fields_ = [
        ("result", ctypes.c_int32),
        ("during", ctypes.c_int32),
        ("kernel", ctypes.c_void_p),  # the name of the one that was launched last
        ("function", ctypes.c_void_p),  # and its handle
        ("module", ctypes.c_void_p),
        ("size", ctypes.c_int64),  # of what was allocated or read last
        ("given", ctypes.c_void_p),  # where the driver leaves what it gives
        ("options", ctypes.c_int32 * 2),  # of the compiler of PTX
        ("values", ctypes.c_void_p * 2),
        ("log", ctypes.c_char * _LOG_SIZE),  # what it says
    ]
    result: int
    during: int
    kernel: int | None
    function: int | None
    module: int | None
    size: int
    log: Any

    def __init__(self) -> None:
        super().__init__()
        self.options[:] = [
            CUjit_option.CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ]
        self.values[:] = [ctypes.addressof(self) + Report.log.offset, _LOG_SIZE]
