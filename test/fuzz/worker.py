"""Run inputs in forks, one after another, so that a death, a hang or a traceback is seen and
named."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz.corpus import Corpus, is_program
from fuzz.mutations import mutate
from mlirad.dialect import context
from mlirad.pipeline.opt import run
from mlirad.pipeline.opt.command import CommandError, parse_command
from mlirad.pipeline.opt.supervision import FRAMES, Progress
from mlirad.pipeline.options import PipelineError

SECONDS = 20  # that one input may take
A_PROCESS = 500  # inputs
MAKING = "making the input"
_LOCATED = re.compile(r"^\S.*:\d+:\d+: (error|warning|remark|note): ", re.MULTILINE)
_BARE = re.compile(r"^mlirad-opt: (error|warning|remark|note): (.*)", re.MULTILINE)
_ABOUT_OPTIONS = re.compile(
    r"option '|has no option|no such option|is not the name of an operation|runs on "
    r"'builtin.module'"
    r"|unknown chip|pipeline, character|value invalid|is in CUDA's libdevice"
)


@dataclass(frozen=True)
class Failure:
    """What went wrong with one input, which its number makes again."""

    number: int
    kind: str  # of failure: where it is the same, one rule is broken
    details: str


def fuzz(corpus: Corpus, numbers: range) -> list[Failure]:
    """The failures among the inputs of these numbers."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="mlirad-fuzz-") as folder:
        for first in range(numbers.start, numbers.stop, A_PROCESS):
            waiting = range(first, min(first + A_PROCESS, numbers.stop))
            while waiting:
                found, waiting = _in_a_fork(corpus, waiting, Path(folder))
                failures += found
    return failures


def made(corpus: Corpus, number: int) -> tuple[str, list[str]]:
    """The program and the options of an input."""
    chance = random.Random(number)
    return mutate(corpus.pick(chance), corpus.right, chance, is_program), corpus.options(chance)


def _in_a_fork(corpus: Corpus, numbers: range, folder: Path) -> tuple[list[Failure], range]:
    """The failures of a fork, and the numbers behind the one that it died of."""
    progress = Progress()
    results = folder / "results"
    results.write_bytes(b"")
    child = os.fork()
    if child == 0:
        _work(corpus, numbers, folder, progress)
    _, ended = os.waitpid(child, 0)
    failures = list(_read(results))
    if not os.WIFSIGNALED(ended):
        assert os.WEXITSTATUS(ended) == 0, f"the worker failed at {progress.read()}"
        return failures, range(0)
    number, _, doing = progress.read().partition(" ")
    remaining = range(int(number) + 1, numbers.stop)
    name = signal.Signals(os.WTERMSIG(ended)).name
    if doing.strip(": ") == MAKING and name != "SIGALRM":
        return failures, remaining  # upstream's parser died: `mlirad-opt` reports that
    kind = f"{'hang' if name == 'SIGALRM' else name} {doing.strip(': ')}"
    return [*failures, Failure(int(number), kind, "")], remaining


def _read(results: Path) -> Iterator[Failure]:
    with results.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except EOFError:
                return


class _Numbered(Progress):
    """Progress that begins with the number of the input."""

    def __init__(self, below: Progress) -> None:
        self.below, self.number = below, 0

    def note(self, text: str) -> None:
        """Say what is being done now, without the place."""
        self.below.note(f"{self.number} {text.partition('error: ')[2]}")


def _work(corpus: Corpus, numbers: range, folder: Path, progress: Progress) -> None:
    """Run every input in this process, write the failures, and end."""
    status = 1
    sys.setrecursionlimit(FRAMES)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        numbered = _Numbered(progress)
        with (folder / "results").open("wb") as results:
            for number in numbers:
                numbered.number = number
                numbered.note(f"error: {MAKING}")
                signal.alarm(SECONDS)
                failure = _judged(corpus, number, folder / "input.mlir", numbered)
                if failure is not None:
                    pickle.dump(failure, results)
                    results.flush()
        status = 0
    finally:
        os._exit(status)


def _judged(corpus: Corpus, number: int, file: Path, progress: Progress) -> Failure | None:
    reported = io.StringIO()
    try:
        text, options = made(corpus, number)
        file.write_bytes(text.encode(errors="replace"))
        with contextlib.redirect_stderr(reported):
            status = _run([str(file), "-o", os.devnull, *options], progress)
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "mlirad" in f.filename]
        last = frames[-1] if frames else None
        where = f"{Path(last.filename).name}:{last.name}" if last else "?"
        return Failure(number, f"{type(error).__name__} in {where}", traceback.format_exc()[-3000:])
    return _problem(number, status, reported.getvalue())


def _run(options: list[str], progress: Progress) -> int:
    try:
        with context():
            settings = parse_command(options)
    except (CommandError, PipelineError):
        return 0  # it said so
    return run(settings, progress)


def _problem(number: int, status: int, reported: str) -> Failure | None:
    for _, message in _BARE.findall(reported):
        if not _ABOUT_OPTIONS.search(message):
            return Failure(number, f"no line: {message[:60]}", reported[:2000])
    if status and not _LOCATED.search(reported) and not _BARE.search(reported):
        return Failure(number, "failed without a word", reported[:2000])
    return None
