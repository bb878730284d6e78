"""The driver's functions in the context of one GPU: every result is looked at.

Everything goes to one stream that is ordered with the null stream, which other libraries use. A
thread without a context gets the device's primary one and keeps it, as CUDA's runtime has it; where
another library has put its own, ours is pushed for a call and popped behind it.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.cuda.card import Card, chip_of, first_card
from mlirad.runtime.cuda.constants import CU_STREAM_DEFAULT, STICKY, CUfunction_attribute
from mlirad.runtime.cuda.functions import Functions
from mlirad.runtime.cuda.sequences.sequences import Sequences

_GATHERED = "launch loops of kernels"
_NAMED = 8  # launches that a failure which came late is said to be of


class Connection:
    """`gone` says why the GPU can be used no more, and is empty as long as it can be."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.card: Card = first_card(functions)
        self.chip = chip_of(self.card)
        self.gone = ""
        self.launched: deque[str] = deque(maxlen=_NAMED)  # since the last synchronisation
        self.sequences = Sequences(functions)
        self.turn = self.sequences.turn  # held by host code that launches
        stream = ctypes.c_void_p()
        self.ask("make a stream", "cuStreamCreate", ctypes.byref(stream), CU_STREAM_DEFAULT)
        self.stream = self.sequences.stream = stream.value or 0

    @contextmanager
    def current(self) -> Iterator[None]:
        """Let the calling thread have the context. Raises TaichiRuntimeError where it is gone."""
        is_pushed = self._enter()
        try:
            yield
        finally:
            if is_pushed:
                self._leave()

    def _enter(self) -> bool:
        """Make the context the thread's; whether it has to be popped."""
        self._check_is_there()
        now, context = ctypes.c_void_p(), self.card.context
        self.check(self.functions["cuCtxGetCurrent"](ctypes.byref(now)), "use its context")
        if now.value == context:
            return False
        how = "cuCtxSetCurrent" if now.value is None else "cuCtxPushCurrent_v2"
        self.check(self.functions[how](context), "use its context")
        return now.value is not None

    def _leave(self) -> None:
        self.functions["cuCtxPopCurrent_v2"](ctypes.byref(ctypes.c_void_p()))

    def call(self, name: str, *arguments: Any) -> int:
        """Return the result of a function."""
        is_pushed = self._enter()
        try:
            if self.sequences.queue.used:
                self.check(self.sequences.end(), _GATHERED)
            return self.functions[name](*arguments)
        finally:
            if is_pushed:
                self._leave()

    def ask(self, doing: str, name: str, *arguments: Any) -> None:
        """Call a function. Raises TaichiRuntimeError where it fails."""
        self.check(self.call(name, *arguments), doing)

    def give_back(self, doing: str, name: str, *handle: int) -> None:
        """Call a function that takes something back: where the GPU is gone, it has."""
        if self.gone:
            return
        result = self.call(name, *handle)
        if result not in STICKY:  # which says what failed before, and is said by what waits for it
            self.check(result, doing)

    def check(self, result: int, doing: str) -> None:
        """Raise TaichiRuntimeError for a result that is none of success: what failed, and whether
        the program can go on."""
        if not result:
            return
        message = f"the GPU could not {doing}: {self.functions.describe(result)}"
        if result not in STICKY:
            raise TaichiRuntimeError(f"{message}; the program can continue")
        if self.launched:
            message += f". It failed in one of the last launches: {', '.join(self.launched)}"
        self.gone = message
        self._check_is_there()

    def _check_is_there(self) -> None:
        if self.gone:
            raise TaichiRuntimeError(
                f"{self.gone}. Nothing runs on the GPU until the process is restarted"
            )

    def wait(self, doing: str) -> None:
        """Return when all that went to the stream is done."""
        self.ask(doing, "cuStreamSynchronize", self.stream)
        self.launched.clear()

    # Sequences of launches.

    def flush(self) -> None:
        """Launch what is gathered."""
        with self.current():
            self.check(self.sequences.end(), _GATHERED)

    def begin_sequence(self) -> None:
        """Launch, from now on, what comes again as a graph."""
        self.sequences.begin()

    def end_sequence(self) -> None:
        """Launch all that was asked for, and then each as it comes."""
        if self.gone:
            self.sequences.close()
            return
        with self.current():
            self.check(self.sequences.close(), _GATHERED)

    def share(self) -> None:
        """Another library looks at what launches leave: hold nothing back."""
        with self.current():
            self.check(self.sequences.stop(), _GATHERED)

    # Modules.

    def unload(self, module: int, kernels: Collection[int]) -> None:
        """Give back a module with its kernels, when what runs has ended."""
        if not self.gone:
            self.call("cuStreamSynchronize", self.stream)
            with self.current():
                self.sequences.forget(kernels)
            self.give_back("unload a module", "cuModuleUnload", module)

    def kernel_fact(self, function: int, which: CUfunction_attribute) -> int:
        """Return an attribute of a kernel from the driver."""
        found = ctypes.c_int()
        self.ask("look at a kernel", "cuFuncGetAttribute", ctypes.byref(found), which, function)
        return found.value
