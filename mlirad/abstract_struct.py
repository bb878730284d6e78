"""Structs with abstract methods."""

from abc import ABCMeta

from msgspec import StructMeta


class AbstractStruct(StructMeta, ABCMeta):
    """The metaclass of a struct that implements an abstract class."""
