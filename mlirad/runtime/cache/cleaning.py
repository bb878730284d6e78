"""What goes when the cache is full, by Taichi's policies."""

from __future__ import annotations

import re
from time import time_ns
from typing import NamedTuple

from mlirad.runtime.cache.private_folder import Held, PrivateFolder

NEVER, VERSION, LRU, FIFO = "never", "version", "lru", "fifo"
POLICIES = (NEVER, VERSION, LRU, FIFO)
SUFFIX = ".mlirad"
_OURS = re.compile(r"([0-9a-f]{16})-[0-9a-f]{64}\.mlirad")
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}-[0-9a-f]{64}\.mlirad\.\d+\.[0-9a-f]+")
_ABANDONED = 600 * 10**9  # nanoseconds after which nobody finishes a file


class Cleaning(NamedTuple):
    """`most` bytes in all, of which `share` is freed when there are more: what was not used for
    longest (lru) or is oldest (fifo). `version` removes what other versions made instead, and
    `never` nothing."""

    policy: str
    most: int
    share: float

    @property
    def is_bounded(self) -> bool:
        """Whether the size is."""
        return self.policy in (LRU, FIFO)

    def clean(self, folder: PrivateFolder, version: str) -> int:
        """Remove what is to go; the bytes of what stays. Other programs' files are left alone."""
        kept = []
        for one in folder.files():
            match = _OURS.fullmatch(one.name)
            if self._is_left_over(one) or (
                match and self.policy == VERSION and match[1] != version
            ):
                folder.remove(one.name)
            elif match:
                kept.append(one)
        size = sum(one.size for one in kept)
        if not self.is_bounded or size <= self.most:
            return size
        kept.sort(key=lambda one: one.used if self.policy == LRU else one.made)
        for one in kept:
            if size <= self.most * (1 - self.share):
                break
            folder.remove(one.name)
            size -= one.size
        return size

    def _is_left_over(self, one: Held) -> bool:
        """Whether this is a file that its process did not finish."""
        is_old = one.made < time_ns() - _ABANDONED
        return self.policy != NEVER and is_old and bool(_UNFINISHED.fullmatch(one.name))
