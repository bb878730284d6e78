"""CUDA's driver without a GPU: what it is asked for is checked, logged, and done on the host.

Addresses of the device are those of the host plus an offset, so that nobody else can use them. What
goes to the stream is done when somebody waits, as late as a GPU might: what Python sees before is
garbage. What the stream still uses may not be given back: memory of the device and page-locked
memory fault from then on, modules forget their code, and a copy finds its target as it left it. A
launch runs the kernel's `gpu.func` by simt, where the stub was told of it; an address that is
nobody's ends everything, as on a card.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import count
from threading import RLock, get_ident
from typing import Any, NamedTuple, NoReturn

import numpy as np
from runtime.cuda.device_space import UNWRITTEN, Block, StrayError
from runtime.cuda.reserved_ranges import OFFSET, AddressCalls, Failure
from runtime.cuda.stub_events import Events
from runtime.cuda.stub_graphs import Graphs

from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir.memory.pages import is_paged
from mlirad.runtime.cuda.constants import (
    CU_MEMORYTYPE_DEVICE,
    CUdevice_attribute,
    CUfunction_attribute,
    CUjit_option,
    CUmemPool_attribute,
    CUpointer_attribute,
    CUresult,
)
from mlirad.runtime.cuda.functions import EVENTS, GRAPHS, PARAMETERS, Functions

_CONTEXT, _STREAM, _POOL = 0xC0, 0x57, 0x900
_LONGEST = 1024  # launches that wait in the stream
_SIZES = {"!llvm.ptr": 8, "index": 8, **ELEMENT_SIZES}  # of arguments
R = CUresult


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be run: the types of its arguments, and what runs it on a CPU."""

    types: Sequence[str]
    # takes the addresses of six sizes, and of the arguments; raises StrayError
    run: Callable[[Any], None]


class Work(NamedTuple):
    """Something that the stream will do, and what must not be given back until then: modules, and
    page-locked memory, by their handles and addresses."""

    do: Callable[[], None]
    uses: Collection[int] = ()


class Stub(AddressCalls):
    """A driver with one GPU, or so many."""

    def __init__(
        self,
        *,
        capability: tuple[int, int] = (9, 0),
        version: int = 13000,
        devices: int = 1,
        pools: bool = True,
        addresses: bool = True,
        total: int = 1 << 30,
        stray: int = R.CUDA_ERROR_ILLEGAL_ADDRESS,
    ) -> None:
        self.capability, self.version, self.devices, self.pools = (
            capability,
            version,
            devices,
            pools,
        )
        super().__init__()
        self.total, self.addresses = total, addresses
        self.stray = stray  # what is answered where an address is nobody's: by what lies there
        self.log: deque[str] = deque(maxlen=10_000)
        self.counts: Counter[str] = Counter()
        self.failing: dict[str, deque[int]] = {}
        self.broken = 0  # what every call returns from now on
        self.mistakes: list[str] = []  # of the caller
        self.blocks: dict[int, Block] = {}  # by address on the device
        self.locked: dict[int, Block] = {}
        self.modules: dict[int, tuple[str, dict[str, Kernel]]] = {}
        self.handles: dict[int, tuple[int, str]] = {}
        self.next_kernels: dict[str, Kernel] = {}
        self.jit_log = b""
        self._stream: deque[Work] = deque()
        self.contexts: dict[int, list[int]] = {}
        self.graphs = Graphs(self)
        self.events = Events()
        self._turn = RLock()
        self._texts: dict[int, Any] = {}
        self._callbacks = {
            name: ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(self._answer(name))
            for name, parameters in (PARAMETERS | GRAPHS | EVENTS).items()
        }

    def functions(self) -> Functions:
        """By the addresses of callbacks."""
        functions = Functions(
            {
                name: ctypes.cast(callback, ctypes.c_void_p).value or 0
                for name, callback in self._callbacks.items()
            }
        )
        functions.owner = self
        return functions

    def fail(self, name: str, result: int, *, behind: int = 0) -> None:
        """Have a function fail once, after so many calls that do not."""
        self.failing.setdefault(name, deque()).extend([R.CUDA_SUCCESS] * behind + [result])

    @property
    def allocations(self) -> int:
        """How many are not freed, with page-locked ones and modules."""
        memory = len(self.blocks) + len(self.locked) + len(self.ranges) + len(self.created)
        return memory + len(self.modules)

    def _answer(self, name: str) -> Callable[..., int]:
        method = getattr(self, name)

        def answer(*arguments: Any) -> int:
            with self._turn:
                self.log.append(name)
                self.counts[name] += 1
                try:
                    wanted = self.failing.get(name)
                    if wanted:
                        self._raise(wanted.popleft())
                    if self.broken and not name.startswith(("cuGetError", "cuCtx")):
                        raise Failure(self.broken)
                    method(*arguments)
                except Failure as failure:
                    return failure.result
                except Exception as error:
                    self.mistakes.append(f"{name}: {error!r}")
                    return R.CUDA_ERROR_UNKNOWN
            return R.CUDA_SUCCESS

        return answer

    def _raise(self, result: int) -> None:
        if result:
            raise Failure(result)

    def _in_context(self) -> None:
        if not self.contexts.get(get_ident()):
            raise Failure(201)  # CUDA_ERROR_INVALID_CONTEXT

    # What is there.

    def cuInit(self, flags: int) -> None:
        assert flags == 0
        self._raise(0 if self.devices else R.CUDA_ERROR_NO_DEVICE)

    def cuDriverGetVersion(self, place: int) -> None:
        _give(place, ctypes.c_int, self.version)

    def cuGetErrorName(self, result: int, place: int) -> None:
        self._text(place, R(result).name if result in set(R) else f"CUDA_ERROR_{result}")

    def cuGetErrorString(self, result: int, place: int) -> None:
        self._text(place, f"what the driver says of {result}")

    def _text(self, place: int, text: str) -> None:
        kept = self._texts.setdefault(hash(text), ctypes.create_string_buffer(text.encode()))
        _give(place, ctypes.c_void_p, ctypes.addressof(kept))

    def cuDeviceGetCount(self, place: int) -> None:
        _give(place, ctypes.c_int, self.devices)

    def cuDeviceGet(self, place: int, ordinal: int) -> None:
        _give(place, ctypes.c_int, ordinal)

    def cuDeviceGetName(self, place: Any, size: int, device: int) -> None:
        ctypes.memmove(place, b"a stub\0", 7)

    def cuDeviceGetAttribute(self, place: int, which: int, device: int) -> None:
        known = {
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE: 1_700_000,
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 100,
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: 1,
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: self.capability[0],
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: self.capability[1],
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: int(self.pools),
            CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: int(
                self.addresses
            ),
        }
        _give(place, ctypes.c_int, known[CUdevice_attribute(which)])

    # Contexts and streams.

    def cuDevicePrimaryCtxRetain(self, place: int, device: int) -> None:
        _give(place, ctypes.c_void_p, _CONTEXT)

    def cuCtxGetCurrent(self, place: int) -> None:
        _give(place, ctypes.c_void_p, ([0, *self.contexts.get(get_ident(), [])])[-1])

    def cuCtxSetCurrent(self, context: int) -> None:
        assert context == _CONTEXT and not self.contexts.get(get_ident()), "another's is lost"
        self.contexts[get_ident()] = [context]

    def cuCtxPushCurrent_v2(self, context: int) -> None:
        assert context == _CONTEXT
        self.contexts.setdefault(get_ident(), []).append(context)

    def cuCtxPopCurrent_v2(self, place: int) -> None:
        self._in_context()
        _give(place, ctypes.c_void_p, self.contexts[get_ident()].pop())

    def cuStreamCreate(self, place: int, flags: int) -> None:
        self._in_context()
        assert flags == 0, "not ordered with the null stream"
        _give(place, ctypes.c_void_p, _STREAM)

    def cuStreamSynchronize(self, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        self._drain()

    def _later(self, what: Callable[[], None], uses: Collection[int] = ()) -> None:
        self._stream.append(Work(what, uses))
        if len(self._stream) > _LONGEST:
            self._drain()

    def _drain(self) -> None:
        while self._stream:
            self._stream.popleft().do()

    def _give_back(self, what: str, handle: int) -> None:
        """Note a mistake if the stream still uses something that is given back."""
        if any(handle in work.uses for work in self._stream):
            self.mistakes.append(f"{what} is given back while the stream uses it")
            self._drain()

    # Memory.

    def cuMemGetInfo_v2(self, free: int, total: int) -> None:
        self._in_context()
        _give(free, ctypes.c_size_t, self.total - self.used())
        _give(total, ctypes.c_size_t, self.total)

    def used(self) -> int:
        memory = sum(created.size for created in self.created.values())
        return sum(block.size for block in self.blocks.values()) + memory

    def cuMemAlloc_v2(self, place: int, size: int) -> None:
        self._in_context()
        if size == 0:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        if self.used() + size > self.total:
            raise Failure(R.CUDA_ERROR_OUT_OF_MEMORY)
        block = Block(size)
        self.blocks[block.start + OFFSET] = block
        _give(place, ctypes.c_uint64, block.start + OFFSET)

    def cuMemFree_v2(self, address: int) -> None:
        self._in_context()
        self._drain()
        self._free(address)

    def _free(self, address: int) -> None:
        if address not in self.blocks:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        self._end(self.blocks.pop(address), "an allocation")

    def _end(self, block: Block, what: str) -> None:
        if block.is_damaged():
            self.mistakes.append(f"something wrote beyond {what}")
        block.end()

    def cuMemAllocAsync(self, place: int, size: int, stream: int) -> None:
        assert self.pools and stream == _STREAM
        self.cuMemAlloc_v2(place, size)

    def cuMemFreeAsync(self, address: int, stream: int) -> None:
        assert self.pools and stream == _STREAM
        self._in_context()
        self._later(lambda: self._free(address))

    def cuDeviceGetDefaultMemPool(self, place: int, device: int) -> None:
        _give(place, ctypes.c_void_p, _POOL)

    def cuMemPoolSetAttribute(self, pool: int, which: int, place: int) -> None:
        assert self.pools and pool == _POOL
        assert which == CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        assert ctypes.c_uint64.from_address(place).value >= 1 << 30

    def cuMemPoolTrimTo(self, pool: int, size: int) -> None:
        assert self.pools and pool == _POOL and size == 0

    def cuMemHostAlloc(self, place: int, size: int, flags: int) -> None:
        self._in_context()
        assert flags == 1, "not for all contexts"
        block = Block(size)
        self.locked[block.start] = block
        _give(place, ctypes.c_void_p, block.start)

    def cuMemFreeHost(self, address: int) -> None:
        self._in_context()
        self._give_back("page-locked memory", address)
        self._end(self.locked.pop(address), "page-locked memory")

    def cuPointerGetAttribute(self, place: int, which: int, address: int) -> None:
        self._in_context()
        if self._find(address, 1) is None:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        is_type = which == CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        _give(place, ctypes.c_uint, CU_MEMORYTYPE_DEVICE if is_type else 0)

    def _find(self, address: int, size: int) -> int | None:
        """The address on the host, where a block has all of it."""
        for start, block in self.blocks.items():
            if start <= address and address + size <= start + block.size:
                return address - OFFSET
        return self.reserved(address, size)

    def _host(self, address: int, size: int) -> int:
        found = self._find(address, size)
        if found is None:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        return found

    # Copies.

    def cuMemcpyHtoDAsync_v2(self, target: int, source: int, size: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        place = self._host(target, size)
        if lock := self._lock_of(source):
            self._later(lambda: _move(place, source, size), [lock])
        else:  # it is taken over
            copy = ctypes.string_at(source, size)
            self._later(lambda: _move(place, copy, size))

    def cuMemcpyDtoHAsync_v2(self, target: int, source: int, size: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        place = self._host(source, size)
        ctypes.memset(target, UNWRITTEN, size)
        self._later(lambda: self._answer_with(target, place, size), self._locks_of([target]))

    def _answer_with(self, target: int, place: int, size: int) -> None:
        """Write to the host's memory, which must be what it was when it was given."""
        if _is_unwritten(target, size):
            _move(target, place, size)
        else:
            self.mistakes.append("a copy finds its target freed, or written to")

    def _locks_of(self, addresses: Sequence[int]) -> list[int]:
        """The page-locked memory that they lie in."""
        return [lock for lock in map(self._lock_of, addresses) if lock]

    def _lock_of(self, address: int) -> int:
        return next((start for start, block in self.locked.items() if block.has(address)), 0)

    def cuMemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        to, place = self._host(target, size), self._host(source, size)
        self._later(lambda: _move(to, place, size))

    def cuMemsetD8Async(self, target: int, byte: int, size: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        place = self._host(target, size)
        self._later(lambda: _set(place, byte, size))

    # Modules and launches.

    def cuModuleLoadDataEx(
        self, place: int, image: int, count: int, options: int, values: int
    ) -> None:
        self._in_context()
        text = ctypes.string_at(image).decode()
        wanted = re.search(r"^\.target sm_(\d+)", text, re.MULTILINE)
        assert wanted is not None, "no PTX"
        if self.jit_log:
            given = (ctypes.c_int32 * count).from_address(options)
            room = (ctypes.c_void_p * count).from_address(values)
            number = list(given).index(CUjit_option.CU_JIT_ERROR_LOG_BUFFER)
            size = list(given).index(CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            assert len(self.jit_log) < (room[size] or 0)
            ctypes.memmove(room[number] or 0, self.jit_log + b"\0", len(self.jit_log) + 1)
            raise Failure(R.CUDA_ERROR_INVALID_PTX)
        if int(wanted[1]) > 10 * self.capability[0] + self.capability[1]:
            raise Failure(R.CUDA_ERROR_NO_BINARY_FOR_GPU)
        handle = 0x1000 + self.counts["cuModuleLoadDataEx"]
        self.modules[handle] = text, self.next_kernels
        self.next_kernels = {}
        _give(place, ctypes.c_void_p, handle)

    def cuModuleUnload(self, module: int) -> None:
        self._in_context()
        self._give_back("a module", module)
        del self.modules[module]
        left = {handle for handle, (owner, _) in self.handles.items() if owner == module}
        assert left.isdisjoint(self.graphs.kernels()), "a graph has kernels that are gone"
        for handle in left:  # which the next module may have
            del self.handles[handle]

    def cuModuleGetFunction(self, place: int, module: int, name: bytes) -> None:
        self._in_context()
        if f".entry {name.decode()}(" not in self.modules[module][0]:
            raise Failure(500)  # CUDA_ERROR_NOT_FOUND
        handle = next(free for free in count(0x100000) if free not in self.handles)
        self.handles[handle] = module, name.decode()
        _give(place, ctypes.c_void_p, handle)

    def cuFuncGetAttribute(self, place: int, which: int, function: int) -> None:
        self._in_context()
        _give(place, ctypes.c_int, 1000 + CUfunction_attribute(which))

    def cuLaunchKernel(self, function: int, *rest: Any) -> None:
        self._in_context()
        *sizes, stream, arguments, extra = rest
        assert stream == _STREAM and not extra
        self.check_sizes(sizes)
        self.launch_later(function, sizes, self.arguments_of(function, arguments))

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Three of a grid, three of a block, and shared memory."""
        *extents, shared = sizes
        assert not shared
        if not all(extents) or np.prod(extents[3:]) > 1024:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)

    def _kernel(self, function: int) -> Kernel | None:
        module, name = self.handles[function]
        return self.modules[module][1].get(name)

    def arguments_of(self, function: int, arguments: int) -> list[bytes]:
        """Copies of what a launch is given."""
        kernel = self._kernel(function)
        if kernel is None or not kernel.types:
            return []
        places = (ctypes.c_void_p * len(kernel.types)).from_address(arguments)
        return [
            ctypes.string_at(place, _SIZES[type_]) for place, type_ in zip(places, kernel.types)
        ]

    def launch_later(self, function: int, sizes: Sequence[int], given: Sequence[bytes]) -> None:
        """Run a kernel, if somebody has told of it, when somebody waits."""
        kernel, (module, _) = self._kernel(function), self.handles[function]
        types = [] if kernel is None else kernel.types
        addresses = [
            int.from_bytes(value, "little")
            for type_, value in zip(types, given)
            if type_ == "!llvm.ptr"
        ]
        uses = [module, *self._locks_of(addresses)]
        self._later(lambda: self._run(kernel, sizes[:6], given), uses)

    def refuse(self, result: int) -> None:
        """Have the call that is being made return this."""
        raise Failure(result)

    # Graphs.

    def cuGraphCreate(self, place: int, flags: int) -> None:
        assert flags == 0
        _give(place, ctypes.c_void_p, self.graphs.create())

    def cuGraphAddKernelNode_v2(
        self, place: int, graph: int, before: int, count: int, parameters: int
    ) -> None:
        self._in_context()
        _give(place, ctypes.c_void_p, self.graphs.add(graph, before, count, parameters))

    def cuGraphInstantiateWithFlags(self, place: int, graph: int, flags: int) -> None:
        self._in_context()
        assert flags == 0
        _give(place, ctypes.c_void_p, self.graphs.instantiate(graph))

    def cuGraphExecKernelNodeSetParams_v2(
        self, executable: int, node: int, parameters: int
    ) -> None:
        self._in_context()
        self.graphs.set_parameters(executable, node, parameters)

    def cuGraphLaunch(self, executable: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        self.graphs.launch(executable)

    def cuGraphExecDestroy(self, executable: int) -> None:
        del self.graphs.executables[executable]

    def cuGraphDestroy(self, graph: int) -> None:
        del self.graphs.graphs[graph]

    # Events.

    def cuEventCreate(self, place: int, flags: int) -> None:
        self._in_context()
        assert flags == 0
        _give(place, ctypes.c_void_p, self.events.create())

    def cuEventRecord(self, event: int, stream: int) -> None:
        self._in_context()
        assert stream == _STREAM
        self._later(self.events.record(event))

    def cuEventElapsedTime_v2(self, place: int, first: int, second: int) -> None:
        self._in_context()
        _give(place, ctypes.c_float, self.events.between(first, second))

    def _run(self, kernel: Kernel | None, sizes: Sequence[int], given: Sequence[bytes]) -> None:
        self.events.clock += 1.0
        if kernel is None:  # nobody told: it does nothing
            return
        values = [size.to_bytes(8, "little") for size in sizes]
        for type_, value in zip(kernel.types, given):
            values.append(self._reached(value) if type_ == "!llvm.ptr" else value)
        kept = [ctypes.create_string_buffer(value, len(value)) for value in values]
        try:
            kernel.run((ctypes.c_void_p * len(kept))(*map(ctypes.addressof, kept)))
        except StrayError:
            self._fail_for_good()

    def _fail_for_good(self) -> NoReturn:
        self.broken = self.stray
        raise Failure(self.broken)

    def _reached(self, value: bytes) -> bytes:
        """An address on the host for one of the device, and of page-locked memory itself."""
        address = int.from_bytes(value, "little")
        if address == 0 or self._lock_of(address):
            return value
        if is_paged(address):  # which is a number to kernels
            return value
        found = self._find(address, 1)
        if found is None:
            self._fail_for_good()
        return found.to_bytes(8, "little")


def _give(place: int, type_: Any, value: int) -> None:
    type_.from_address(place).value = value


def _move(target: int, source: Any, size: int) -> None:
    ctypes.memmove(target, source, size)


def _set(target: int, byte: int, size: int) -> None:
    ctypes.memset(target, byte, size)


def _is_unwritten(start: int, size: int) -> bool:
    """Whether bytes are there, and hold what the stub left in them."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        held = os.pread(memory, size, start)
    except OSError:  # nothing is mapped there any more
        return False
    finally:
        os.close(memory)
    return held.count(UNWRITTEN) == size
