"""Addresses of paged memory, and the tables by which kernels find what is there.

A large tree of sparse blocks takes addresses and no memory. An address has a mark, the number of
the tree, and the byte in it:

    1 << 60 | tree << 46 | byte

The bytes of a tree come in pages, which lie in one pool. The tree's root has an entry for each
table, a table one for each page: the number of a page of the pool. A table is a page itself. The
first two pages are zeros, for ever: an entry of 0 stands for zeros, one of 1 for zeros whose page
somebody is about to take. What finds no room is written to the third, which is never read.

The pool has a header of words, which say how many bytes behind the header everything lies.
"""

from enum import IntEnum

PAGE_BITS, TABLE_BITS, BYTE_BITS = 12, 10, 46
PAGE = 1 << PAGE_BITS  # bytes
ENTRY = 4  # bytes
TABLE = 1 << TABLE_BITS  # entries, which fill a page
REACH = PAGE << TABLE_BITS  # bytes of a tree that a table is for
TREES = 1 << 14
MARK = 1 << (BYTE_BITS + 14)
ZEROS, TAKEN, NOWHERE, FIRST = range(4)  # pages; from the last one on they are lent


class Word(IntEnum):
    """The words of the header, and in front of which the roots are."""

    PAGES = 0  # where page 0 is
    RING = 1  # where the numbers of free pages are
    MASK = 2  # how many there is room for, less one: a power of two
    TAKEN = 3  # how many were taken so far
    OFFERED = 4  # how many there were to take so far
    REFUSED = 5  # how many could not be taken
    ROOTS = 8  # where the roots of trees are


def is_paged(address: int) -> bool:
    """Return whether an address is one of paged memory."""
    return address >= MARK


def byte_of(address: int) -> int:
    """Return the byte of its tree that an address is of."""
    return address & ((1 << BYTE_BITS) - 1)


def tree_of(address: int) -> int:
    """Return the number of the tree of an address."""
    return address >> BYTE_BITS & (TREES - 1)


def first_address(tree: int) -> int:
    """Return the address of the first byte of a tree."""
    return MARK | tree << BYTE_BITS
