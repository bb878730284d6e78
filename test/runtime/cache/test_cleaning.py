"""What goes when the cache is full."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlirad.runtime.cache.cleaning import POLICIES, Cleaning
from mlirad.runtime.cache.private_folder import PrivateFolder

MINE, OTHER = "a" * 16, "b" * 16
SIZE = 1000


def name(number: int, version: str = MINE) -> str:
    """Of a file of the cache."""
    return f"{version}-{number:064x}.mlirad"


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    """Ten files, the later the newer; of the first five, the earlier the later used; and others'
    files."""
    os.chmod(tmp_path, 0o700)
    found = PrivateFolder(str(tmp_path))
    for number in range(10):
        version = OTHER if number == 9 else MINE
        found.write(name(number, version), bytes(SIZE))
        used = 10**18 + (100 - number if number < 5 else number)
        os.utime(tmp_path / name(number, version), ns=(used, 10**18 + number))
    found.write("notes.txt", bytes(10 * SIZE))
    found.write("x" + name(0), bytes(10 * SIZE))
    return found


def left(folder: PrivateFolder) -> set[int]:
    """The numbers of the files that are left."""
    names = [one.name for one in folder.files()]
    assert "notes.txt" in names and "x" + name(0) in names  # which are not ours to remove
    return {n for n in range(10) if {name(n), name(n, OTHER)} & set(names)}


@pytest.mark.parametrize(
    "policy, expected",
    [
        ("never", set(range(10))),
        ("version", set(range(9))),
        ("fifo", {5, 6, 7, 8, 9}),
        ("lru", {0, 1, 2, 3, 4}),
    ],
)
def test_policies(folder: PrivateFolder, policy: str, expected: set[int]) -> None:
    """Two bytes too many, of which a third goes: five files are left of ten."""
    size = Cleaning(policy, 8 * SIZE, 1 / 3).clean(folder, MINE)
    assert left(folder) == expected
    assert size == SIZE * len(expected)


def test_what_has_room_stays(folder: PrivateFolder) -> None:
    """Other versions' files too, which another process may use."""
    for policy in ("lru", "fifo"):
        assert Cleaning(policy, 10 * SIZE, 0.5).clean(folder, MINE) == 10 * SIZE


def test_nothing_may_be_kept(folder: PrivateFolder) -> None:
    """A limit of 0."""
    assert Cleaning("lru", 0, 0.0).clean(folder, MINE) == 0
    assert left(folder) == set()


@pytest.mark.parametrize("policy", POLICIES)
def test_unfinished_files(folder: PrivateFolder, tmp_path: Path, policy: str) -> None:
    """Of a process that was killed while it wrote; a new one may still be written to."""
    old, new = f".{name(0)}.123.0a1b2c3d", f".{name(1)}.124.0a1b2c3e"
    for one in (old, new):
        folder.write(one, b"")
    os.utime(tmp_path / old, ns=(10**18, 10**18))
    Cleaning(policy, 10**9, 0.5).clean(folder, MINE)
    assert (tmp_path / old).exists() == (policy == "never")
    assert (tmp_path / new).exists()


def test_reading_counts_as_use(folder: PrivateFolder) -> None:
    """What was used longest ago is used again, and stays."""
    assert folder.read(name(5)) is not None
    Cleaning("lru", 2 * SIZE, 0.0).clean(folder, MINE)
    assert left(folder) == {0, 5}
