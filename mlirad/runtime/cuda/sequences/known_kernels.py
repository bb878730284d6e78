"""Facts about the kernels of a module, for launches."""

from __future__ import annotations

import ctypes
from typing import Any

NOTED = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


class KnownKernels:
    """By name, the masks of a kernel's arguments (see `queue.masks`), which host code asks for when
    it has found the kernel; and the handles of those that it found."""

    def __init__(self) -> None:
        self.masks: dict[str, Any] = {}
        self.handles: dict[int, str] = {}  # the name of each
        self.noted = NOTED(self._note)

    def _note(self, handle: int, name: bytes) -> int | None:
        self.handles[handle] = name.decode()
        masks = self.masks.get(name.decode())
        return None if masks is None else ctypes.addressof(masks)
