"""Files of the cache: what is whole is read, and nothing else."""

import pytest

from mlirad.runtime.cache.entry import decode_file, encode_file

KEY, PARTS = "key", [b"some", b"", b"\0parts" * 9]


def test_there_and_back() -> None:
    """Parts of any bytes, none too."""
    assert decode_file(KEY, encode_file(KEY, PARTS)) == PARTS
    assert decode_file(KEY, encode_file(KEY, [])) == []


def test_another_key() -> None:
    """A file that was renamed."""
    assert decode_file("other", encode_file(KEY, PARTS)) is None


def test_cut_off_and_damaged() -> None:
    """At every byte."""
    content = encode_file(KEY, PARTS)
    for position in range(len(content)):
        assert decode_file(KEY, content[:position]) is None
        damaged = bytearray(content)
        damaged[position] ^= 1
        assert decode_file(KEY, bytes(damaged)) is None
    assert decode_file(KEY, content + b"\0") is None


@pytest.mark.parametrize("content", [b"", b"\0" * 1000, b"#!/bin/sh\n" * 10])
def test_foreign(content: bytes) -> None:
    """Of another program."""
    assert decode_file(KEY, content) is None
