"""Failures of a launch: the record of the first check that failed, as an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from mlirad.errors import TaichiRuntimeError, located
from mlirad.ir.reports.loop_names import in_loop
from mlirad.ir.reports.message import Message


def raise_recorded(
    messages: Sequence[Message], record: Sequence[int], kind: type[TaichiRuntimeError]
) -> NoReturn:
    """Raise an error for a record: the number of a message, from 1, then the words that go into its
    holes."""
    message = messages[record[0] - 1]
    text = message.fill([int(word) for word in record[1:]])
    error = kind(text if message.place is None else located(text, message.place))
    if message.loop is not None:
        error.add_note(in_loop(message.loop))
    raise error
