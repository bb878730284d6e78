"""The capacity of memory, and the requests of a program: an allocation that does not fit is refused
by name."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from weakref import finalize

from mlirad.dialect.turn import compiling
from mlirad.errors import TaichiMemoryError

_GROUPS = Path("/sys/fs/cgroup")


class Capacity:
    """The memory that a program asked for: it may be reserved and never touched, so what counts is
    whether it could be. It is this machine's, or what a device has: the bytes in `total`, and those
    that are free now. What is committed lazily, as far as there is `address_space`, takes none of
    them."""

    def __init__(
        self,
        total: Callable[[], int] | None = None,
        available: Callable[[], int] | None = None,
        name: str = "this machine's memory",
        *,
        address_space: int | None = None,
    ) -> None:
        self._ask, self._ask_available, self._name = total, available, name
        self.relieve: Callable[[], object] = lambda: None  # gives back what is not needed
        self._taken: dict[Hashable, int] = {}
        self._total = 0
        self._reserved = (
            None
            if address_space is None
            else Capacity(lambda: address_space, lambda: address_space, "the address space")
        )

    def take(self, sizes: Mapping[Hashable, int], name: str, *, lazily: bool = False) -> None:
        """Count some bytes, each under a key. Raises TaichiMemoryError if all that was asked for
        would never fit."""
        if lazily and self._reserved is not None:
            return self._reserved.take(sizes, name)
        with compiling:
            new = {key: size for key, size in sizes.items() if key not in self._taken}
            size = sum(new.values())
            if self._total + size > self._most():
                self.relieve()
                gc.collect()  # which gives back what nobody can reach
            if self._total + size > self._most():
                raise TaichiMemoryError(self._message(name, size))
            self._taken.update(new)
            self._total += size

    def give_back(self, key: Hashable) -> None:
        """Count the bytes of a key no more."""
        if self._reserved is not None:
            self._reserved.give_back(key)
        self._total -= self._taken.pop(key, 0)

    def lend(self, array: Any, name: str) -> None:
        """Count the bytes of an array as long as it lives. Raises TaichiMemoryError as `take`
        does."""
        key = object()
        self.take({key: array.nbytes}, name)
        finalize(array, self.give_back, key).atexit = False

    def _most(self) -> int:
        return machine_memory() if self._ask is None else self._ask()

    def _available(self) -> int:
        return available_memory() if self._ask_available is None else self._ask_available()

    def _message(self, name: str, size: int) -> str:
        earlier = (
            f", in addition to {_format_size(self._total)} that the program already uses"
            if self._total
            else ""
        )
        return (
            f"{name}: {size} bytes ({_format_size(size)}){earlier} do not fit into {self._name} "
            f"of {_format_size(self._most())}, of which {_format_size(self._available())} are "
            "available"
        )


@cache
def machine_memory() -> int:
    """The bytes of memory and swap that this process may ever have."""
    facts = _facts()
    limits = [
        facts.get("MemTotal", 1 << 62) + facts.get("SwapTotal", 0),
        *_group_limits(facts.get("SwapTotal", 0)),
    ]
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    return min(limits if space == resource.RLIM_INFINITY else [*limits, space])


def available_memory() -> int:
    """The bytes that nobody uses now."""
    facts = _facts()
    return min(machine_memory(), facts.get("MemAvailable", 1 << 62) + facts.get("SwapFree", 0))


def _facts() -> dict[str, int]:
    """Return the memory that the system reports, in bytes."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {"MemTotal": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")}
    return {
        name: int(amount.split()[0]) * 1024
        for name, _, amount in (line.partition(":") for line in lines)
    }


def _group_limits(swap: int) -> list[int]:
    """The limits of the control groups that the process is in."""
    try:
        paths = [
            line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()
        ]
    except OSError:
        return []
    limits = []
    for path in dict.fromkeys([*paths, "/"]):
        for folder in (_GROUPS / path.lstrip("/"), *(_GROUPS / path.lstrip("/")).parents):
            limit = _number(folder / "memory.max")
            if limit is not None:
                swap_limit = _number(folder / "memory.swap.max")
                limits.append(limit + (swap if swap_limit is None else min(swap_limit, swap)))
    return limits


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _format_size(size: int) -> str:
    if size >= 1 << 40:
        return f"{size / 2**40:.1f} TiB"
    return f"{size / 2**30:.1f} GiB" if size >= 1 << 30 else f"{size / 2**20:.1f} MiB"
