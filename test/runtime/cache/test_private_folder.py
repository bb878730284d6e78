"""Whose files are read: nobody's but the user's, where nobody else can put one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlirad.runtime.cache.private_folder import PrivateFolder, UntrustedError

IS_ROOT = os.geteuid() == 0
STRANGER = 12345


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is the user's alone, as the one above it."""
    os.chmod(tmp_path, 0o700)
    return tmp_path / "cache"


def test_made_for_the_user_only(place: Path) -> None:
    """Whatever the user lets others do with his files."""
    before = os.umask(0)
    try:
        folder = PrivateFolder(str(place / "inner"))
        folder.write("a", b"content")
    finally:
        os.umask(before)
    for path in (place, place / "inner"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert (place / "inner" / "a").stat().st_mode & 0o777 == 0o600
    assert folder.read("a") == b"content"
    assert [one.name for one in folder.files()] == ["a"]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o1777])
def test_a_folder_that_others_may_write_to(place: Path, mode: int) -> None:
    """Not even with the sticky bit: others may put files there."""
    PrivateFolder(str(place)).write("a", b"content")
    os.chmod(place, mode)
    with pytest.raises(UntrustedError, match="cache' or may write to it"):
        PrivateFolder(str(place))


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_parent_that_others_may_write_to(place: Path, mode: int) -> None:
    """They could put a folder of theirs in the place of the user's."""
    place.mkdir(0o700)
    os.chmod(place, mode)
    with pytest.raises(UntrustedError, match="cache' or may write to it"):
        PrivateFolder(str(place / "inner"))


def test_a_parent_with_the_sticky_bit(place: Path) -> None:
    """As /tmp has it: nobody replaces what is not his."""
    place.mkdir()
    os.chmod(place, 0o1777)
    folder = PrivateFolder(str(place / "inner"))
    folder.write("a", b"content")
    assert folder.read("a") == b"content"


def test_links_are_followed_to_where_they_lead(place: Path) -> None:
    """A link of the user's own is one more way, every part of which counts."""
    real = place.parent / "real"
    real.mkdir(0o700)
    place.symlink_to("real/../real")
    PrivateFolder(str(place / "inner")).write("a", b"content")
    assert (real / "inner" / "a").read_bytes() == b"content"
    os.chmod(real, 0o777)
    with pytest.raises(UntrustedError, match="real' or may write to it"):
        PrivateFolder(str(place / "inner"))


def test_links_in_a_circle(place: Path) -> None:
    """They lead nowhere."""
    place.symlink_to("cache")
    with pytest.raises(OSError):
        PrivateFolder(str(place))


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")
@pytest.mark.parametrize("part", ["folder", "parent", "link"])
def test_what_belongs_to_others(place: Path, part: str) -> None:
    """Whatever its mode."""
    inner = place / "inner"
    if part == "link":
        (place.parent / "real").mkdir(0o700)
        place.symlink_to("real")
        os.lchown(place, STRANGER, STRANGER)
    else:
        inner.mkdir(0o700, parents=True)
        os.chown(inner if part == "folder" else place, STRANGER, STRANGER)
    with pytest.raises(UntrustedError, match="another user owns"):
        PrivateFolder(str(inner))


def test_files_that_are_not_read(place: Path) -> None:
    """Those that others may write to, and what is no file."""
    folder = PrivateFolder(str(place))
    folder.write("kept", b"content")
    for name, mode in (("group", 0o620), ("others", 0o602)):
        folder.write(name, b"content")
        os.chmod(place / name, mode)
        assert folder.read(name) is None
    (place / "link").symlink_to("kept")
    (place / "folder").mkdir()
    os.mkfifo(place / "pipe")
    for name in ("link", "folder", "pipe", "missing"):
        assert folder.read(name) is None
    if IS_ROOT:
        os.chown(place / "kept", STRANGER, STRANGER)
        assert folder.read("kept") is None


def test_written_whole_or_not_at_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads meanwhile finds what was there; a disk that is full leaves nothing behind."""
    folder = PrivateFolder(str(place))
    folder.write("a", b"before")
    written = os.write

    def full(file: int, content: bytes) -> int:
        assert folder.read("a") == b"before"
        if len(content) < 4:
            raise OSError(28, "No space left on device")
        return written(file, content[:1])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        folder.write("a", b"behind")
    assert folder.read("a") == b"before"
    assert os.listdir(place) == ["a"]


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of the name `~` is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="no such home"):
        PrivateFolder("~nobody-of-this-name/cache")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made(place: Path) -> None:
    """Its parent is a file."""
    place.write_bytes(b"")
    with pytest.raises(OSError):
        PrivateFolder(str(place / "inner"))
    with pytest.raises(OSError, match="not a folder"):
        PrivateFolder(str(place))
