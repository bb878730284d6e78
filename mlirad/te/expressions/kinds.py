"""What arguments have to be beyond their types: `Annotated[Any, Kind(...)]` is the annotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of argument: its names in messages, and a test of values; `advice` is for those
    who give something else."""

    singular: str
    plural: str
    fits: Callable[[Any], bool]
    advice: Callable[[Any], str] = lambda value: ""
