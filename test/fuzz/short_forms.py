"""Short forms, tried: `python -m fuzz.short_forms round-trip` writes and reads every program of the
corpus, or with a number each so many; `python -m fuzz.short_forms FIRST COUNT` parses spoilt texts
in short form."""

from __future__ import annotations

import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator

from fuzz.corpus import programs
from fuzz.mutations import drop_token, replace_token, split_tokens
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import MLIRError
from mlirad.ir.assembly import expand, shorten
from mlirad.ir.reports.location import source_location
from mlirad.pipeline.opt.parsing import Reading

SECONDS = 20  # that one text may take
_CALLED = re.compile(r"grad\.(?:vjp|jvp) @\w+\(")
_GENERIC = re.compile(r'"((?:field|grad|snode|te)\.\w+)"\(')


def differences(module: ir.Operation) -> Iterator[str]:
    """Yield in what a module differs that was written in short form and read again."""
    for locations in (True, False):
        text = str(module.get_asm(enable_debug_info=locations, assume_verified=True))
        short = shorten(text)
        expanded = expand(short, "-").text
        joined = len(_CALLED.findall(short))
        lines = [len(written.split("\n")) for written in (text, short, expanded)]
        if not lines[0] - joined == lines[1] == lines[2]:
            yield "lines are added or lost"
        if _generic(expanded, locations) != _generic(text, locations):
            yield f"{'with' if locations else 'without'} locations:\n{short}"


def _generic(text: str, locations: bool) -> str:
    module = ir.Module.parse(text, context())
    generic = module.operation.get_asm(
        enable_debug_info=locations, print_generic_op_form=True, assume_verified=True
    )
    return str(generic)


def left_generic(module: ir.Operation) -> Counter[str]:
    """Return how often ops of ours are written in generic form."""
    return Counter(_GENERIC.findall(shorten(str(module))))


def short_programs() -> list[str]:
    """Return the programs of the corpus that have ops of ours, in short form."""
    texts = []
    for text in programs().right:
        module = Reading(text, "-", is_whole_file=False).module()
        short = shorten(str(module))
        if short != str(module):
            texts.append(short)
    return texts


def spoil(text: str, texts: list[str], chance: random.Random) -> str:
    """Return a text that is cut off, or that has fewer, other or exchanged words."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.random()
        if kind < 0.15:
            text = text[: chance.randrange(len(text) + 1)]
        elif kind < 0.45:
            text = drop_token(text, texts, chance)
        elif kind < 0.75:
            text = replace_token(text, texts, chance)
        else:
            words = split_tokens(text)
            if len(words) > 1:
                first, second = chance.randrange(len(words)), chance.randrange(len(words))
                words[first], words[second] = words[second], words[first]
            text = "".join(words)
    return text


def verdict(text: str) -> str:
    """Parse a text: "read", or "refused" with a place in it, or what is wrong with the error."""
    reading = Reading(text, "-", is_whole_file=False)
    try:
        reading.module()
    except MLIRError as error:
        place = error.source
    except ir.MLIRError as error:
        place = source_location(error.error_diagnostics[0].location)
        place = None if place is None else reading.place(place)
    else:
        return "read"
    lines = text.split("\n")
    if place is None or place.file != "-" or not 0 <= place.line <= len(lines):
        return f"refused at {place}"
    width = len(lines[place.line - 1].encode()) + 1 if place.line else 0
    return "refused" if place.column <= width else f"refused at {place}, behind the line"


def spoilt(texts: list[str], number: int) -> str:
    """Return the text of a number."""
    chance = random.Random(number)
    return spoil(chance.choice(texts), texts, chance)


def _round_trips(step: int) -> int:
    count, failures, generic = 0, 0, Counter[str]()
    for text in programs().right[::step]:
        module = Reading(text, "-", is_whole_file=False).module()
        count += 1
        generic += left_generic(module.operation)
        for difference in differences(module.operation):
            failures += 1
            print(difference)
    print(f"{count} programs, {failures} differ; in generic form: {dict(generic)}")
    return failures


def _spoilt(first: int, count: int) -> int:
    texts, verdicts = short_programs(), Counter[str]()
    start = time.perf_counter()
    with context().attach_diagnostic_handler(lambda diagnostic: True):
        for number in range(first, first + count):
            signal.alarm(SECONDS)
            answer = verdict(spoilt(texts, number))
            verdicts[answer] += 1
            if answer not in ("read", "refused"):
                print(number, answer)
    signal.alarm(0)
    print(f"{len(texts)} texts, {dict(verdicts)}, {time.perf_counter() - start:.0f} s")
    return len(verdicts.keys() - {"read", "refused"})


if __name__ == "__main__":
    if sys.argv[1] == "round-trip":
        sys.exit(bool(_round_trips(int(sys.argv[2]) if sys.argv[2:] else 1)))
    sys.exit(bool(_spoilt(int(sys.argv[1]), int(sys.argv[2]))))
