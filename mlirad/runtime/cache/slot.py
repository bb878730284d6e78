"""The place of one thing in the cache."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.runtime.cache.cache import Cache


class Slot:
    """A slot of the cache: what an earlier process compiled from some texts, `found` if there is
    any, and the place for what this one compiles."""

    def __init__(self, cache: Cache, *texts: str) -> None:
        self._cache = cache
        self._key = cache.key(*texts) if cache.is_on else None
        self.found = None if self._key is None else cache.find(self._key)

    @property
    def is_on(self) -> bool:
        """Return whether what is made is kept."""
        return self._key is not None

    def keep(self, contents: Sequence[bytes]) -> None:
        if self._key is not None:
            self._cache.keep(self._key, contents)
