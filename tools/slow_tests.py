"""Choose the tests that a quick run omits, by their times, and write test/slow.txt.

    python -m pytest --junitxml=times.xml
    python tools/slow_tests.py times.xml

A test is slow if all its cases together take more than 0.4 seconds, and more than 0.05 seconds per
case. The first case of a slow test stays in the quick run if it takes at most 0.2 seconds.
So does one case of a file that has no other quick test, if it takes at most 1 second: the quick run
keeps the fastest tests of every folder and almost every file.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).parent.parent / "test" / "slow.txt"
A_TEST, A_CASE, FIRST_CASE, ONLY_CASE = 0.4, 0.05, 0.2, 1.0  # seconds
HEADER = "# Written by tools/slow_tests.py. [1:] are all cases of a test but the first.\n"


def read_times(results: Path) -> dict[str, list[float]]:
    """Return for each test, `file.py::name`, the seconds that its cases take, in their order."""
    times: dict[str, list[float]] = {}
    for case in ElementTree.parse(results).iter("testcase"):
        *path, name = [*case.get("classname", "").split("."), case.get("name", "").split("[")[0]]
        files = [number for number, word in enumerate(path) if word.startswith("test_")]
        if files:
            test = "::".join([f"{path[files[0]]}.py", *path[files[0] + 1 :], name])
            times.setdefault(test, []).append(float(case.get("time", 0)))
    return times


def choose(times: Mapping[str, list[float]]) -> list[str]:
    """Return the tests that are slow, with `[1:]` if their first case is quick."""
    slow: list[str] = []
    for _, tests in groupby(sorted(times), key=lambda test: test.split("::")[0]):
        names = [*tests]
        listed = {name: first_slow_case(times[name]) for name in names}
        if all(first == 0 for first in listed.values()):
            fastest = min(names, key=lambda name: times[name][0])
            listed[fastest] = int(times[fastest][0] <= ONLY_CASE)
        slow += [
            f"{name}{'[1:]' * first}"
            for name, first in listed.items()
            if first is not None and first < len(times[name])
        ]
    return slow


def first_slow_case(seconds: list[float]) -> int | None:
    """Return from which case on a test is slow, if it is."""
    if sum(seconds) <= A_TEST or sum(seconds) / len(seconds) <= A_CASE:
        return None
    return int(seconds[0] <= FIRST_CASE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "times", type=Path, metavar="TIMES", help="file that pytest --junitxml wrote"
    )
    times = read_times(parser.parse_args().times)
    LIST.write_text(HEADER + "".join(f"{test}\n" for test in choose(times)))
