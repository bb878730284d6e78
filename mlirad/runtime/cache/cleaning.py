"""Removal of entries from a full cache, by Taichi's policies."""

from __future__ import annotations

import re
from time import time_ns
from typing import NamedTuple

from mlirad.runtime.cache.private_folder import PrivateFolder, StoredFile

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
        """Return whether the size is."""
        return self.policy in (LRU, FIFO)

    def clean(self, folder: PrivateFolder, version: str) -> int:
        """Remove what is to go; the bytes of what stays. Other programs' files are left alone."""
        files = []
        for file in folder.files():
            match = _OURS.fullmatch(file.name)
            if self._is_left_over(file) or (
                match and self.policy == VERSION and match[1] != version
            ):
                folder.remove(file.name)
            elif match:
                files.append(file)
        size = sum(file.size for file in files)
        if not self.is_bounded or size <= self.most:
            return size
        files.sort(key=lambda file: file.used if self.policy == LRU else file.written)
        for file in files:
            if size <= self.most * (1 - self.share):
                break
            folder.remove(file.name)
            size -= file.size
        return size

    def _is_left_over(self, file: StoredFile) -> bool:
        """Return whether this is a file that its process did not finish."""
        is_old = file.written < time_ns() - _ABANDONED
        return self.policy != NEVER and is_old and bool(_UNFINISHED.fullmatch(file.name))
