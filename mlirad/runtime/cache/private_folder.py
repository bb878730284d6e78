"""A folder to which nobody but the user can write, and its files: what is found there, the user has
put there.

Nobody else may be able to put a file there, nor another folder in its place: every folder on the
way to it, and every symbolic link, has to belong to the user or to root, and be writable by nobody
else (a folder with the sticky bit, such as /tmp, may be: who writes there cannot replace what
others have there). Beyond that the folder is used through a descriptor, whatever becomes of its
name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from errno import ELOOP, ENOENT
from time import time_ns
from typing import NamedTuple
from weakref import finalize

from mlirad.errors import TaichiRuntimeError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40
_LARGEST = 1 << 30  # bytes of a file


class UntrustedError(TaichiRuntimeError):
    """A folder that others may write to, or own."""


class StoredFile(NamedTuple):
    """A file of the folder: its size, and when it was made and last used, in nanoseconds."""

    name: str
    size: int
    written: int
    used: int


class PrivateFolder:
    """A folder that is created if it is missing, for its user only.

    Raises UntrustedError, and OSError if it cannot be made or written to.
    """

    def __init__(self, path: str) -> None:
        expanded = os.path.expanduser(path)
        if expanded.startswith("~"):
            raise FileNotFoundError(ENOENT, f"'{path}': there is no such home directory")
        target = os.path.abspath(expanded)
        _make(target)
        self.path = _resolve(target)
        self._file = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        finalize(self, os.close, self._file)
        status = os.fstat(self._file)
        if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
            raise UntrustedError(_may_write(self.path))
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise PermissionError(f"'{self.path}' cannot be written to")

    def read(self, name: str) -> bytes | None:
        """A file that nobody else can write to, which counts as used now; None if there is no
        such file."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            file = os.open(name, flags, dir_fd=self._file)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            is_own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
            if not stat.S_ISREG(status.st_mode) or not is_own or status.st_size > _LARGEST:
                return None
            with suppress(OSError):  # a file system that cannot be written to
                os.utime(file, ns=(time_ns(), status.st_mtime_ns))
            return _read_all(file, status.st_size)
        except OSError:  # of a disk that is broken
            return None
        finally:
            os.close(file)

    def write(self, name: str, content: bytes) -> None:
        """Make a file, or replace it; others see the old one or the whole new one. Raises OSError
        if that fails."""
        # What is lost of it when the machine stops is noticed when it is read: no `fsync`.
        waiting = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(waiting, flags, 0o600, dir_fd=self._file)
        try:
            try:
                _write_all(file, content)
            finally:
                os.close(file)
            os.rename(waiting, name, src_dir_fd=self._file, dst_dir_fd=self._file)
        except BaseException:
            self.remove(waiting)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, where it is there and can be."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self._file)

    def files(self) -> Iterator[StoredFile]:
        """All files, of which some may be gone meanwhile."""
        with os.scandir(self._file) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield StoredFile(
                            entry.name, status.st_size, status.st_mtime_ns, status.st_atime_ns
                        )


def _make(path: str) -> None:
    """Make a folder and those around it, for the user only."""
    if not os.path.isdir(path):
        if os.path.dirname(path) != path:
            _make(os.path.dirname(path))
        with suppress(FileExistsError):  # another process was faster, or it is no folder
            os.mkdir(path, 0o700)


def _resolve(path: str) -> str:
    """Return the folder that a path leads to. Raises UntrustedError if others may change that."""
    place, ahead, links = "/", [segment for segment in path.split("/") if segment][::-1], 0
    _check(place, os.lstat(place))
    while ahead:
        segment = ahead.pop()
        if segment == "..":
            place = os.path.dirname(place)
            continue
        inner = os.path.join(place, segment)
        status = os.lstat(inner)
        _check(inner, status)
        if not stat.S_ISLNK(status.st_mode):
            place = inner
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(ELOOP, f"'{path}' goes through too many symbolic links")
        target = os.readlink(inner)
        ahead += [segment for segment in target.split("/") if segment not in ("", ".")][::-1]
        place = "/" if target.startswith("/") else place
    return place


def _check(path: str, status: os.stat_result) -> None:
    """Raise UntrustedError if others may replace what is in a folder, or a symbolic link."""
    if status.st_uid not in (0, os.geteuid()):
        raise UntrustedError(_may_write(path))
    if stat.S_ISLNK(status.st_mode):
        return
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"'{path}' is not a folder")
    if status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX:
        raise UntrustedError(_may_write(path))


def _may_write(path: str) -> str:
    return f"another user owns '{path}' or may write to it"


def _read_all(file: int, size: int) -> bytes:
    chunks, left = [], size
    while left > 0 and (chunk := os.read(file, left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
