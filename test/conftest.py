"""Every test starts a program of its own."""

from __future__ import annotations

import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from slices import WHOLE, leave_out, slice_of

import mlirad as ti
from mlirad.bindings import PROVIDER
from mlirad.host import Feature, has
from mlirad.pipeline.runner import VERIFY
from mlirad.runtime.program import program

STUB, DRIVER = pytest.StashKey[Any](), pytest.StashKey[Any]()
MACHINE_OPTIONS = {
    "--arch": "MLIRAD_ARCH",
    "--simt-order": "MLIRAD_SIMT_ORDER",
    "--lanes": "MLIRAD_LANES",
}
HERE = Path(__file__).parent
SLOW = (HERE / "slow.txt").read_text().splitlines()
# files and folders whose tests run no kernel: another machine leaves them out
MACHINE_INDEPENDENT = (
    *("dialect", "fuzz", "ir", "tools", "typed"),
    *("test_lit.py", "test_metrics.py", "test_slow_tests.py", "test_structure.py"),
)
VERIFIES_ALL = VERIFY in os.environ
os.environ[VERIFY] = "1"  # for the programs that tests start, too
# nor do they look at what the user's programs keep, unless they are asked to
os.environ.setdefault("MLIRAD_OFFLINE_CACHE", "0")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that run the tests on another machine."""
    parser.addoption("--arch", help="what programs run on that do not name an arch: simt, cuda")
    parser.addoption("--simt-order", help="of threads: ascending, descending or shuffled")
    parser.addoption("--lanes", help="of programs that do not name a number: 1, 4, 8, 16")
    parser.addoption("--races", type=int, help="look for those of so many threads (races.py)")
    parser.addoption(
        "--classes", action="store_true", help="import upstream's classes of ops, as users may"
    )
    parser.addoption(
        "--slice", type=slice_of, default=WHOLE, help="K/N: of other machines' and rotating tests"
    )
    parser.addoption("--all-sliced", action="store_true", help="--slice is of all tests")
    parser.addoption("--stub", action="store_true", help="of CUDA's driver: --arch=cuda has no GPU")
    parser.addoption("--pages", action="store_true", help="there, for all sparse trees")


def pytest_configure(config: pytest.Config) -> None:
    """Have programs read the options, those that tests start as well."""
    config.addinivalue_line("markers", "cpu_code(why): looks at what is made for a CPU")
    config.addinivalue_line("markers", "host(feature, why): needs a feature of mlirad/host.py")
    config.addinivalue_line("markers", "rotating: random; --slice takes a part of its cases")
    config.addinivalue_line("markers", "slow: left out of a quick run (tools/slow_tests.py)")
    for option, name in MACHINE_OPTIONS.items():
        if config.getoption(option):
            os.environ[name] = config.getoption(option)
    if config.getoption("--races"):
        import races  # its fixture is one of every test

        races.record(config.getoption("--races"))
        config.pluginmanager.register(races)
    if config.getoption("--classes"):
        import_classes()
    if config.getoption("--stub"):
        from runtime.cuda.machine import stub_the_driver  # and an LLVM that few tests need

        let_programs_have_the_stub()
        least = {"paged_from": 0} if config.getoption("--pages") else {}
        config.stash[STUB] = partial(stub_the_driver, **least)
        config.stash[DRIVER] = config.stash[STUB]()


def let_programs_have_the_stub() -> None:
    """Those that tests start, with our environment or our path."""
    here = Path(__file__).parent
    paths = [str(here / "runtime" / "cuda" / "started"), str(here)]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])


def import_classes() -> None:
    """Import the classes that upstream's bindings have for ops.

    From then on the bindings give an op as one of them, and a function's `name` is its symbol.
    """
    folder = import_module(f"{PROVIDER}.dialects")
    for module in iter_modules(folder.__path__):
        if not module.name.startswith("_") and not module.ispkg:
            with suppress(ImportError):  # of a dialect that the library was built without
                import_module(f"{folder.__name__}.{module.name}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow. Skip what another machine has not: machine code of a CPU, its threads."""
    mark_slow(items)
    leave_out(config, items)
    arch = config.getoption("--arch")
    for item in items:
        for marker in item.iter_markers("host"):
            feature, why = marker.args
            if not has(Feature(feature)):
                item.add_marker(pytest.mark.skip(reason=f"without the host's {feature}: {why}"))
    for item in items if arch else []:
        if why := why_the_cpu_alone(item):
            item.add_marker(pytest.mark.skip(reason=f"not on {arch}: {why}"))


def why_the_cpu_alone(item: pytest.Item) -> str:
    """Return why another machine leaves a test out, nothing if it runs there, too."""
    file = item.path.relative_to(HERE)
    if any(file.is_relative_to(path) for path in MACHINE_INDEPENDENT):
        return "the same on every machine"
    marker = item.get_closest_marker("cpu_code")
    return marker.args[0] if marker else "threads of a CPU" * ("two_threads" in item.name)


def mark_slow(items: list[pytest.Item]) -> None:
    """Mark the tests that `slow.txt` lists: all their cases, or all but the first."""
    first_slow_case = {line.removesuffix("[1:]"): int(line.endswith("[1:]")) for line in SLOW}
    cases = Counter[str]()
    for item in items:
        test = name_of_test(item)
        if test in first_slow_case and cases[test] >= first_slow_case[test]:
            item.add_marker("slow")
        cases[test] += 1


def name_of_test(item: pytest.Item) -> str:
    """Return the file of a test and its name in it, which all its cases have."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2].partition('[')[0]}"


@pytest.fixture(autouse=True)
def use_of_the_driver(pytestconfig: pytest.Config) -> Iterator[None]:
    """Fail a test that uses CUDA's driver as it may not be used; the next one has another."""
    yield
    stub = pytestconfig.stash.get(DRIVER, None)
    if stub is not None and (stub.mistakes or stub.broken):
        pytestconfig.stash[DRIVER] = pytestconfig.stash[STUB]()
        pytest.fail(f"the driver: {stub.mistakes or stub.broken}")


@pytest.fixture(autouse=True)
def verification(request: pytest.FixtureRequest) -> Iterator[None]:
    """Verify behind every pass in a tenth of the tests, always the same ones: in all it is a fifth
    of their time. With the variable in the environment, in all of them."""
    with pytest.MonkeyPatch.context() as patch:
        if not VERIFIES_ALL and zlib.crc32(request.node.nodeid.encode()) % 10:
            patch.delenv(VERIFY)
        yield


@pytest.fixture(autouse=True)
def new_program() -> None:
    """Start each test with a program of default options: what an earlier one left depends on how
    tests are shared among processes."""
    ti.init()


@pytest.fixture(params=[1, 2], ids=["one_thread", "two_threads"])
def f64(request: pytest.FixtureRequest) -> Iterator[int]:
    """A program in double precision: on one thread, compiled fast; and on two, never verified,
    which share loops of any length, as users compile it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == 2:
            patch.delenv(VERIFY, raising=False)
        opt_level = {1: 0, 2: 3}[request.param]
        ti.init(default_fp=ti.f64, cpu_max_num_threads=request.param, opt_level=opt_level)
        program().config.thread_worth = 0
        yield request.param
        ti.reset()
