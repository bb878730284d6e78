"""CUDA's driver: what it is called, what it is asked, and what happens where it is not there."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from runtime.cuda.library import driver_library
from runtime.cuda.stub import Stub

import mlirad as ti
from mlirad.pipeline.ptx import CHIPS
from mlirad.runtime.cuda import constants
from mlirad.runtime.cuda.card import OLDEST_DRIVER
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.cuda.functions import EVENTS, GRAPHS, PARAMETERS, driver_functions
from mlirad.runtime.cuda.sequences.driver_graph import NodeParameters
from mlirad.runtime.executor.executor import UnavailableError
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.program import program

DECLARED = PARAMETERS | GRAPHS | EVENTS
INIT = """
import mlirad as ti
ti.init(arch=ti.cuda)
x = ti.field(ti.f32, 8)

@ti.kernel
def fill():
    for i in x:
        x[i] = 1.0

x[3] = 2.0
fill()
ti.sync()
print(x[3], x[4])
"""


@cache
def header() -> str:
    """NVIDIA's declarations."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    found = [path for root in folders or [] for path in Path(root).glob("*/include/cuda.h")]
    if not found:
        pytest.skip("no cuda.h: it is in the wheel nvidia-cuda-runtime")
    return found[0].read_text()


# What the header says of a parameter, as ctypes has it.
TYPES: list[tuple[str, Any]] = [
    (r".*\*\*?\s*\w+|CU(context|stream|module|function|memoryPool|graph\w*|event) \w+", None),
    (r"(CUdeviceptr|CUmemGenericAllocationHandle) .*", ctypes.c_uint64),
    (r"size_t .*", ctypes.c_size_t),
    (r"unsigned long long .*", ctypes.c_ulonglong),
    (r"unsigned int .*", ctypes.c_uint),
    (r"unsigned char .*", ctypes.c_ubyte),
    (r"int .*|CUdevice .*|CUresult .*|CU\w+_(attribute|flags) .*", ctypes.c_int),
]


@pytest.mark.parametrize("name", DECLARED)
def test_functions_are_declared_like_this(name: str) -> None:
    """The symbol is the one that the macros of the header choose, and takes these parameters."""
    base = re.sub(r"(_v\d+|WithFlags)$", "", name)
    text = re.search(rf"CUresult CUDAAPI {base}\(([^)]*)\);", header())
    assert text is not None
    chosen = re.search(rf"define {base}\s+(?:__CUDA_API_PT[SD][ZS]\()?(\w+)\)?$", header(), re.M)
    assert (chosen[1] if chosen is not None else base) == name
    declared = [piece.strip() for piece in text[1].split(",")]
    assert len(declared) == len(DECLARED[name])
    for parameter, type_ in zip(declared, DECLARED[name]):
        wanted = next(found for pattern, found in TYPES if re.fullmatch(pattern, parameter))
        if wanted is None:  # an address of the host's
            assert ctypes.sizeof(type_) == 8 and type_ in (ctypes.c_void_p, ctypes.c_char_p)
        else:
            assert type_ is wanted


def test_the_parameters_of_a_node() -> None:
    """Its fields are those of the header, in order; the sizes are seven of them."""
    text = re.search(r"CUDA_KERNEL_NODE_PARAMS_v2_st \{(.*?)\n\}", header(), re.DOTALL)
    assert text is not None
    declared = re.findall(r"(.*?)\s*(\w+);", _plain(text[1]))
    sizes = [name for type_, name in declared if type_.strip() == "unsigned int"]
    assert len(sizes) == 7 and sizes[-1] == "sharedMemBytes"
    names = [name for _, name in declared if name not in sizes]
    assert names == [name for name, *_ in NodeParameters._fields_ if name != "sizes"]
    assert all(kind.strip() in _HANDLES for kind, name in declared if name in names)
    assert ctypes.sizeof(NodeParameters) == 72  # as C lays it out


_HANDLES = ("CUfunction", "void **", "CUkernel", "CUcontext")


def test_numbers_are_those_of_the_header() -> None:
    """Every constant by its name."""
    named = {
        member.name: int(member)
        for kind in vars(constants).values()
        if isinstance(kind, type) and issubclass(kind, constants.IntEnum)
        for member in kind
    }
    named |= {
        name: value for name, value in vars(constants).items() if re.fullmatch("CU_[A-Z_]+", name)
    }
    assert len(named) > 30
    for name, value in named.items():
        assert value_of(name) == value, name


def value_of(name: str) -> int:
    """What a macro stands for, or a name in an enumeration, which may count on."""
    macro = re.search(rf"#define {name}\s+(0x[0-9a-fA-F]+|\d+)\b", header())
    if macro is not None:
        return int(macro[1], 0)
    enums = re.findall(r"enum \w+\s*\{(.*?)\n\s*\}\s*\w*;", header(), re.DOTALL)
    body = next(text for text in enums if re.search(rf"\b{name}\b", _plain(text)))
    value = -1
    for one in _plain(body).split(","):
        found = re.fullmatch(r"\s*(\w+)\s*(?:=\s*(\w+))?\s*", one)
        assert found is not None, one
        value = int(found[2], 0) if found[2] else value + 1
        if found[1] == name:
            break
    return value


def _plain(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("capability", "chip"),
    [((7, 0), "sm_70"), ((8, 9), "sm_89"), ((9, 0), "sm_90"), ((9, 9), "sm_90")]
    + [((10, 0), "sm_100"), ((12, 1), "sm_121"), ((99, 0), "sm_121")],
)
def test_ptx_is_for_the_newest_chip_that_the_card_runs(
    capability: tuple[int, int], chip: str
) -> None:
    """Never for one of a single architecture, with a letter."""
    assert chip in CHIPS
    stub = Stub(capability=capability)  # which has the functions
    driver = CudaDriver(stub.functions())
    assert driver.connection.chip == chip


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"devices": 0}, "the driver finds no GPU"),
        ({"version": OLDEST_DRIVER - 10}, r"the driver supports CUDA 11\.1, expected .* 11\.2"),
        ({"capability": (6, 1)}, r"a stub has compute capability 6\.1, expected 7\.0"),
    ],
)
def test_what_cannot_be_used_is_said(options: dict[str, Any], why: str) -> None:
    """By what is wrong with it."""
    stub = Stub(**options)
    with pytest.raises(UnavailableError, match=why):
        CudaDriver(stub.functions())


def test_a_context_that_is_not_to_be_had() -> None:
    """Another process may have the GPU to itself."""
    stub = Stub()
    stub.fail("cuDevicePrimaryCtxRetain", 46)
    with pytest.raises(UnavailableError, match="cannot make a context: CUDA_ERROR_46"):
        CudaDriver(stub.functions())


class TestMemory:
    """The driver alone."""

    @pytest.fixture
    def stub(self) -> Iterator[Stub]:
        made = Stub(total=1 << 20)
        yield made
        assert made.mistakes == [] and all(len(held) == 1 for held in made.contexts.values())

    def test_copies(self, stub: Stub) -> None:
        """There, on it, and back, in order."""
        driver = CudaDriver(stub.functions())
        first, second = driver.allocate(1000), driver.allocate(1000)
        assert first % 256 == second % 256 == 0
        sent = ctypes.create_string_buffer(bytes(range(250)) * 4, 1000)
        driver.write(first, ctypes.addressof(sent), 1000)
        ctypes.memset(sent, 0, 1000)  # which was taken over
        driver.copy(second, first, 1000)
        driver.fill(first, 7, 10)
        got = ctypes.create_string_buffer(2000)
        driver.read(ctypes.addressof(got), second, 1000)
        driver.read(ctypes.addressof(got) + 1000, first, 1000)
        numbers = bytes(range(250)) * 4
        assert got.raw == numbers + bytes([7] * 10) + numbers[10:]
        assert driver.holds(first + 999) and not driver.holds(ctypes.addressof(got))
        driver.free(first)
        driver.free(second)
        assert stub.allocations == 0

    def test_large_copies_are_waited_for(self, stub: Stub) -> None:
        """The host's memory may change behind them."""
        driver, size = CudaDriver(stub.functions()), 1 << 17
        address = driver.allocate(size)
        sent = ctypes.create_string_buffer(size)
        stub.counts.clear()
        driver.write(address, ctypes.addressof(sent), size)
        assert stub.counts["cuStreamSynchronize"] == 1

    def test_no_room(self, stub: Stub) -> None:
        """What was asked for, what there is, and that one may go on."""
        driver = CudaDriver(stub.functions())
        driver.allocate(1 << 19)
        with pytest.raises(
            ti.TaichiMemoryError,
            match=r"1048576 bytes \(1\.0 MiB\) .* of a stub: 0\.5 MiB of 1\.0 MiB are free; "
            "the program can continue",
        ):
            driver.allocate(1 << 20)
        assert stub.counts["cuMemPoolTrimTo"] == 1  # before it is given up
        driver.allocate(1 << 19)

    def test_an_error_that_stays(self, stub: Stub) -> None:
        """Nothing is asked of the driver any more; what is given back is gone already."""
        driver = CudaDriver(stub.functions())
        address, locked = driver.allocate(10), driver.page_locked(10)
        stub.fail("cuStreamSynchronize", constants.CUresult.CUDA_ERROR_LAUNCH_TIMEOUT)
        with pytest.raises(ti.TaichiRuntimeError, match=r"LAUNCH_TIMEOUT.*process is restarted"):
            driver.synchronize()
        stub.counts.clear()
        driver.free(address)
        driver.free_page_locked(locked)
        driver.connection.unload(1, set())
        with pytest.raises(ti.TaichiRuntimeError, match=r"LAUNCH_TIMEOUT.*process is restarted"):
            driver.fill(address, 0, 10)
        assert not stub.counts


def test_no_driver() -> None:
    """By the name of the library."""
    with pytest.raises(UnavailableError, match=r"no NVIDIA driver .* \(libnothing\.so\.1: "):
        driver_functions("libnothing.so.1")


def test_a_driver_that_lacks_functions(tmp_path: Path) -> None:
    """Those it lacks are named."""
    library = driver_library(tmp_path, without=["cuMemAllocAsync"])
    with pytest.raises(UnavailableError, match=r"too old: .* has no cuMemAllocAsync"):
        driver_functions(str(library))


def run_with(folder: Path) -> subprocess.CompletedProcess[str]:
    """A program on a GPU, in a process that finds a driver in a folder."""
    script = folder / "program.py"
    script.write_text(INIT)
    return subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "MLIRAD_ARCH": "x64",  # no stub, with --stub
            "LD_LIBRARY_PATH": str(folder),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path]),
        },
    )


def test_a_driver_is_loaded_by_its_name(tmp_path: Path) -> None:
    """Its launches do nothing, its copies do: that of a real GPU is loaded like this."""
    driver_library(tmp_path)
    done = run_with(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2.0", "0.0"] and done.stderr == ""


def test_a_driver_without_a_gpu(tmp_path: Path) -> None:
    """The CPU runs the program, and a warning says why."""
    driver_library(tmp_path, result=100)
    done = run_with(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1.0", "1.0"]
    assert re.search(
        r"program\.py:3: UserWarning: arch=cuda is not available on this machine "
        r"\(the driver finds no GPU\), falling back to x64",
        done.stderr,
    )


class TestFallback:
    """`ti.init` where there is no GPU."""

    @pytest.fixture(autouse=True)
    def nothing(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        def missing() -> Any:
            raise UnavailableError("there is none")

        monkeypatch.setitem(EXECUTORS, "cuda", missing)
        monkeypatch.setattr("mlirad.lang.start._warned", set())
        yield
        ti.reset()

    @pytest.mark.parametrize("arch", [ti.cuda, ti.gpu, [ti.gpu[0], ti.vulkan]])
    def test_warns_once(self, arch: Any) -> None:
        """And says why; the program runs on the CPU."""
        with pytest.warns(UserWarning, match=r"arch=cuda .*\(there is none\).* back to x64") as got:
            ti.init(arch=arch)
            ti.init(arch=arch)
        assert len(got) == 1 and got[0].filename == __file__
        assert program().config.arch == "x64"

    @pytest.mark.parametrize("arch", [ti.cuda, ti.gpu])
    def test_raises_where_the_cpu_will_not_do(self, arch: Any) -> None:
        """And what ran goes on running."""
        ti.init(arch=ti.cpu)
        running = program()
        with pytest.raises(ti.TaichiRuntimeError, match=r"arch=cuda .*\(there is none\)"):
            ti.init(arch=arch, enable_fallback=False)
        assert program() is running

    def test_the_first_that_is_there(self) -> None:
        """Without a word."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ti.init(arch=[ti.vulkan, ti.cuda, ti.simt, ti.cpu])
        assert program().config.arch == "simt"
