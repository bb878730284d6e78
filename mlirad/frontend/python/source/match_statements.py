"""`match` statements as `if` statements: comparisons of the subject with patterns of values,
alternatives, sequences and names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TypeVar

from mlirad.errors import TaichiSyntaxError

_Node = TypeVar("_Node", bound=ast.AST)


class MatchesAsBranches(ast.NodeTransformer):
    """Replaces the `match` statements of a function. Raises TaichiSyntaxError, without a place, for
    a pattern that the language does not have."""

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """The subject in a variable that no program can name, then the cases."""
        name = f"match.{node.lineno}.{node.col_offset}"
        subject = at_place(ast.Name(name, ast.Load()), node.subject)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            self.generic_visit(case)
            chain = _branch(case, subject, chain)
        target = at_place(ast.Name(name, ast.Store()), node.subject)
        return [at_place(ast.Assign([target], node.subject), node), *chain]


def _branch(case: ast.match_case, subject: ast.expr, alternative: list[ast.stmt]) -> list[ast.stmt]:
    """A case, and the statements that run if it does not match."""
    names = dict(_captures(case.pattern, subject))
    tests = [test for test in [_test(case.pattern, subject)] if test is not None]
    if case.guard is not None:
        tests.append(_ReplaceNames(names).visit(case.guard))
    body = [
        at_place(ast.Assign([at_place(ast.Name(name, ast.Store()), value)], value), value)
        for name, value in names.items()
    ] + case.body
    if not tests:
        return body
    test = tests[0] if len(tests) == 1 else at_place(ast.BoolOp(ast.And(), tests), tests[0])
    return [at_place(ast.If(test, body, alternative), case.pattern)]


def _test(pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
    """The test of a pattern; None for one that always matches."""
    if isinstance(pattern, ast.MatchValue):
        return at_place(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        value = at_place(ast.Constant(pattern.value), pattern)
        kind = ast.Eq() if isinstance(pattern.value, bool) else ast.Is()
        return at_place(ast.Compare(subject, [kind], [value]), pattern)
    if isinstance(pattern, ast.MatchAs):
        return None if pattern.pattern is None else _test(pattern.pattern, subject)
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(alternative, subject) for alternative in pattern.patterns]
        conditions = [test for test in tests if test is not None]
        return (
            at_place(ast.BoolOp(ast.Or(), conditions), pattern)
            if len(conditions) == len(tests)
            else None
        )
    if isinstance(pattern, ast.MatchSequence):
        return _test_of_sequence(pattern, subject)
    raise _refusal(pattern)


def _test_of_sequence(pattern: ast.MatchSequence, subject: ast.expr) -> ast.expr:
    length = at_place(ast.Call(ast.Name("len", ast.Load()), [subject], []), pattern)
    count = at_place(ast.Constant(len(pattern.patterns)), pattern)
    tests: list[ast.expr] = [at_place(ast.Compare(length, [ast.Eq()], [count]), pattern)]
    for k, element in enumerate(pattern.patterns):
        test = _test(element, _entry(subject, k, element))
        tests += [] if test is None else [test]
    return tests[0] if len(tests) == 1 else at_place(ast.BoolOp(ast.And(), tests), pattern)


def _captures(pattern: ast.pattern, subject: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names that a pattern gives to the subject and its parts."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from _captures(pattern.pattern, subject)
        if pattern.name is not None:
            yield pattern.name, at_place(copy(subject), pattern)
    elif isinstance(pattern, ast.MatchSequence):
        for k, element in enumerate(pattern.patterns):
            if isinstance(element, ast.MatchStar):
                raise _refusal(element)
            yield from _captures(element, _entry(subject, k, element))
    elif isinstance(pattern, ast.MatchOr) and any(
        True for alternative in pattern.patterns for _ in _captures(alternative, subject)
    ):
        raise TaichiSyntaxError("pattern alternatives that bind names are not supported")


def _entry(subject: ast.expr, position: int, pattern: ast.pattern) -> ast.expr:
    return at_place(ast.Subscript(subject, ast.Constant(position), ast.Load()), pattern)


class _ReplaceNames(ast.NodeTransformer):
    """Puts parts of the subject in the place of the names that a pattern gives them."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name, or the expression that it stands for."""
        return self.names.get(node.id, node)


def at_place(node: _Node, place: ast.AST) -> _Node:
    """Give a node, and those in it, the place of another."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _refusal(pattern: ast.pattern) -> TaichiSyntaxError:
    kind = {ast.MatchStar: "'*'", ast.MatchMapping: "mappings", ast.MatchClass: "classes"}
    return TaichiSyntaxError(
        f"a pattern of {kind[type(pattern)]} is not supported: use values, alternatives, "
        "sequences and names"
    )
