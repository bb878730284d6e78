"""SHA-256, without the OpenSSL that `hashlib` loads: it takes longer than all that is digested."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol


class Digest(Protocol):
    """Of the bytes so far."""

    def update(self, data: bytes, /) -> None:
        """Take in more."""

    def digest(self) -> bytes:
        """32 bytes."""

    def hexdigest(self) -> str:
        """The same as text."""


def _found() -> Callable[..., Digest]:
    """Python's own implementation, whose name has changed in 3.12."""
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            found: Callable[..., Digest] = import_module(name).sha256
        except ImportError:
            continue
        return found
    raise ImportError("no SHA-256")


sha256 = _found()
