"""Examples of the reference: the lines of the programs in `docs/names*.md` that are for one name.

A program there often serves several names. The example of a name has the statements that mention
it, the statements that they need, and the assertions about what these compute.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from symtable import SymbolTable, symtable

DOCS = Path(__file__).parents[2] / "docs"
IMPORTED = frozenset((*vars(builtins), "np", "ti", "te", "nn", "dist"))
WHOLE = ("ti.init(", "ti.mlir.lowering(")  # such blocks change what follows without a variable
_BLOCK = re.compile(r"```python( norun)?\n(.*?)```", re.DOTALL)
_HEADING = re.compile(r"# ((?:ti|te|dist|ensemble)\.[^\n]*)\n")


@dataclass(frozen=True)
class Statement:
    """A statement of a program, as text and as a tree."""

    text: str
    tree: ast.stmt
    block: int

    @cached_property
    def scope(self) -> SymbolTable:
        """The names of the statement, by the rules of Python."""
        return symtable(self.text, "program", "exec")

    @cached_property
    def uses(self) -> frozenset[str]:
        """The variables of the program that it reads, or writes into."""
        names = (one.get_name() for one in self.scope.get_symbols() if one.is_referenced())
        bound_first = self.defines if isinstance(self.tree, ast.For) else IMPORTED
        return frozenset((*names, *_free(self.scope))) - IMPORTED - bound_first

    @cached_property
    def defines(self) -> frozenset[str]:
        """The variables that it binds."""
        symbols = self.scope.get_symbols()
        return frozenset(
            one.get_name() for one in symbols if one.is_assigned() or one.is_imported()
        )

    @property
    def is_definition(self) -> bool:
        """Whether it only binds variables."""
        if isinstance(self.tree, ast.Assign):
            return all(isinstance(target, ast.Name | ast.Tuple) for target in self.tree.targets)
        if not isinstance(self.tree, ast.FunctionDef | ast.ClassDef):
            return False
        decorators = " ".join(map(ast.unparse, self.tree.decorator_list))  # `@function.def_vjp`
        return not {*re.findall(r"\w+", decorators)} & self.uses

    @property
    def is_check(self) -> bool:
        """Whether it only asserts."""
        return _is_check(self.tree)


def _is_check(tree: ast.stmt) -> bool:
    """Whether a statement only asserts."""
    if isinstance(tree, ast.For | ast.If):
        return all(map(_is_check, tree.body))
    return isinstance(tree, ast.Assert)


def _free(scope: SymbolTable) -> Iterator[str]:
    """Yield the variables of the program that functions and comprehensions read."""
    for inner in scope.get_children():
        yield from (one.get_name() for one in inner.get_symbols() if one.is_global())
        yield from _free(inner)


def statements_of(program: str, block: int) -> list[Statement]:
    """Return the statements of a program, each with the comments before and behind it."""
    lines, end, statements = program.splitlines(), 0, []
    for tree in ast.parse(program).body:
        stop = tree.end_lineno or 0
        text = "\n".join(lines[end:stop]).strip("\n").replace("  # fmt: skip", "")
        statements.append(Statement(text, tree, block))
        end = stop
    return statements


def examples() -> dict[str, str]:
    """Return the example of every name that has one."""
    shown = {}
    for document in sorted(DOCS.glob("names*.md")):
        statements: list[Statement] = []
        for block, (_, program) in enumerate(_BLOCK.findall(document.read_text())):
            heading = _HEADING.match(program)
            statements += statements_of(program[heading.end() :] if heading else program, block)
            for name in heading[1].split() if heading else ():
                shown[name] = _example(name, heading[1].split(), statements, block)
    return shown


def _example(name: str, names: list[str], statements: list[Statement], block: int) -> str:
    """Return the part of a block that is for one of its names, and what it needs."""
    here = range(len(statements))[-sum(one.block == block for one in statements) :]
    mention = mention_of(name, [statements[place].text for place in here])
    if any(statements[place].text.startswith(WHOLE) for place in here):
        return _spaced([one.text for one in _closed({*here}, statements)])
    seeds = {place for place in here if mention.search(statements[place].text)}
    chosen = seeds | _followers(seeds, statements, names)
    checks = {place for place in chosen if statements[place].is_check}
    chosen -= checks - seeds if checks & seeds else set()
    texts = [_pruned(one, mention) for one in _closed(chosen, statements)]
    return _spaced(texts)


def mention_of(name: str, texts: Iterable[str]) -> re.Pattern[str]:
    """Return how a program spells a name."""
    spellings = (name, name.replace("te.nn.", "nn."), name.rpartition(".")[2])
    patterns = [re.compile(rf"(?<![\w.]){re.escape(one)}\b") for one in spellings]
    bare = re.compile(rf"\b{re.escape(spellings[-1])}\b")
    return next((one for one in patterns if any(map(one.search, texts))), bare)


def _followers(seeds: set[int], statements: list[Statement], names: list[str]) -> set[int]:
    """Return the statements that use what the seeds bind, and the assertions behind them."""
    of_a_name = re.compile("|".join(map(re.escape, names)))
    results = {name for place in seeds for name in statements[place].defines}
    followers: set[int] = set()
    for place in range(min(seeds) + 1, len(statements)):
        one = statements[place]
        if results & one.uses:
            results |= one.defines
        elif not (one.is_check and place - 1 in followers) or of_a_name.search(one.text):
            continue
        followers.add(place)
    return followers - seeds


def _closed(chosen: set[int], statements: list[Statement]) -> list[Statement]:
    """Return statements with those that they need, in order."""
    waiting = sorted(chosen)
    while waiting:
        place = waiting.pop()
        for name in statements[place].uses:
            waiting += (needed := {*_before(name, place, statements)} - chosen)
            chosen |= needed
    return [statements[place] for place in sorted(chosen)]


def _before(name: str, place: int, statements: list[Statement]) -> Iterator[int]:
    """Yield the last statement that binds a variable, and what writes into it from there on.

    Of an earlier block, only what writes there counts.
    """
    bound = [earlier for earlier in range(place) if name in statements[earlier].defines]
    blocks = {statements[at].block for at in (*bound[-1:], place)}
    for earlier in range(*bound[-1:], place) if bound else ():
        one = statements[earlier]
        writes = name in one.uses and not one.is_definition and not one.is_check
        if earlier == bound[-1] or (writes and one.block in blocks):
            yield earlier


def _pruned(statement: Statement, mention: re.Pattern[str]) -> str:
    """Return an assertion without the parts that are about other names."""
    tree = ast.parse(statement.text).body[0]
    if not (isinstance(tree, ast.Assert) and isinstance(tree.test, ast.BoolOp)):
        return statement.text
    parts = [ast.get_source_segment(statement.text, part) or "" for part in tree.test.values]
    about = [part for part in parts if mention.search(part)]
    whole = isinstance(tree.test.op, ast.Or) or len(about) in (0, len(parts))
    return statement.text if whole else f"assert {' and '.join(about)}"


def _spaced(texts: list[str]) -> str:
    """Return a program, with two lines around its functions."""
    program = ""
    for text in texts:
        is_block = re.match(r"(@|def |class )", text) is not None
        program += (
            "\n\n" if program and is_block and not program.endswith("\n\n\n") else ""
        ) + text
        program += "\n\n\n" if is_block else "\n"
    return program.rstrip()
