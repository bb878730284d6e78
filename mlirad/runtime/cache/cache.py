"""The cache of compiled kernels on disk, for later processes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256

from mlirad.runtime.cache.cleaning import SUFFIX, Cleaning
from mlirad.runtime.cache.entry import decode_file, encode_file
from mlirad.runtime.cache.makers import are_unchanged, contents, makers, stamp
from mlirad.runtime.cache.private_folder import PrivateFolder, UntrustedError
from mlirad.runtime.config import Config

_SCANS = 16  # the folder is looked through when so many parts of its size were added
_VERSION = 16  # digits, with which the names of files begin


class Cache:
    """A folder of files by keys. A key is a digest of all that a file was made from.

    What cannot be read, is not whole, or comes from elsewhere, is as if it were not there. What
    cannot be written is not kept, of which a user who asked for the cache is told.
    """

    def __init__(self, path: str | None, cleaning: Cleaning, *, is_asked_for: bool = False) -> None:
        self._cleaning, self._is_asked_for = cleaning, is_asked_for
        self._path = path
        self._folder = None if path is None else self._open(path)
        self._added: int | None = None  # bytes since the folder was looked through
        self._size = 0  # of the folder then

    @property
    def is_on(self) -> bool:
        """Return whether anything is found or kept."""
        return self._folder is not None and self._makers is not None

    def key(self, *texts: str) -> str:
        """The key of what is made from some texts, by what runs here."""
        digest = sha256((self._makers or "").encode())
        for text in map(str.encode, texts):
            digest.update(b"%d:" % len(text) + text)
        return digest.hexdigest()

    def find(self, key: str) -> list[bytes] | None:
        """Return the stored parts of an entry."""
        content = self._folder.read(self._name(key)) if self._folder is not None else None
        return None if content is None else decode_file(key, content)

    def keep(self, key: str, contents: Sequence[bytes]) -> None:
        """Keep it for later processes, unless there is no room."""
        if self._folder is None or not are_unchanged():
            return
        content = encode_file(key, contents)
        self._write(self._folder, self._name(key), content)
        self._count(len(content))

    @cached_property
    def _makers(self) -> str | None:
        """Return a digest of what compiled code depends on besides the program; None if it is not
        known.

        The digest of the sources is kept too, by where and from when they are.
        """
        when = stamp()
        if self._folder is None or when is None:
            return None
        name = f"{when[:_VERSION]}-{when}{SUFFIX}"
        entry = decode_file(when, self._folder.read(name) or b"")
        try:
            sources = contents() if entry is None else entry[0].decode()
            if sources is None:
                return None
            if entry is None:
                self._write(self._folder, name, encode_file(when, [sources.encode()]))
            return makers(sources)
        except OSError:
            return None

    def _write(self, folder: PrivateFolder, name: str, content: bytes) -> None:
        if self._cleaning.is_bounded and len(content) > self._cleaning.most:
            return
        try:
            folder.write(name, content)
        except OSError as error:
            self._give_up(f"cannot be written to ({error.strerror or error})")

    def _count(self, size: int) -> None:
        most = self._cleaning.most
        if self._folder is None or (self._cleaning.is_bounded and size > most):
            return  # it was not written
        added = None if self._added is None else self._added + size
        is_full = added is not None and self._cleaning.is_bounded and self._size + added > most
        if added is None or is_full or added > most // _SCANS:
            self._size, added = self._cleaning.clean(self._folder, self._version), 0
        self._added = added

    def _name(self, key: str) -> str:
        return f"{self._version}-{key}{SUFFIX}"

    @property
    def _version(self) -> str:
        return (self._makers or "")[:_VERSION]

    def _open(self, path: str) -> PrivateFolder | None:
        try:
            return PrivateFolder(path)
        except UntrustedError as error:
            self._give_up(f"is not used: {error}")
        except OSError as error:
            self._give_up(f"is not used ({error.strerror or error})")
        return None

    def _give_up(self, why: str) -> None:
        self._folder = None
        if self._is_asked_for:
            warnings.warn(
                f"the cache of compiled kernels in '{self._path}' {why}: every process compiles "
                "them again",
                stacklevel=2,
            )


def open_cache(config: Config) -> Cache:
    """The cache that a program was asked for; IR is printed as it is made, so nothing is found."""
    cleaning = Cleaning(
        config.offline_cache_cleaning_policy,
        config.offline_cache_max_size_of_files,
        config.offline_cache_cleaning_factor,
    )
    is_on = config.offline_cache and not config.print_ir
    path = config.offline_cache_file_path if is_on else None
    return Cache(path, cleaning, is_asked_for=config.asks_for_cache)
