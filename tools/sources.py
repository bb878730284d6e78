"""The Python files of a package, read from the working tree or from a git revision."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A file: its path from the root of the repository, and its text."""

    path: PurePosixPath
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return all nodes of the syntax tree."""
        return list(ast.walk(ast.parse(self.text, str(self.path))))

    @property
    def layer(self) -> str:
        """Return the folder or the module directly under the package."""
        return self.path.parts[1].removesuffix(".py")

    @property
    def module(self) -> str:
        """Return the dotted name under which the file is imported."""
        return ".".join(self.path.with_suffix("").parts).removesuffix(".__init__")

    @property
    def functions(self) -> list[Function]:
        """Return all functions and methods."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        """Return all classes."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    @cached_property
    def docstrings(self) -> list[ast.Constant]:
        """Return the constants that document the module, its classes and functions."""
        first = [node.body[0] for node in self.nodes if isinstance(node, DOCUMENTED) and node.body]
        return [
            node.value
            for node in first
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ]

    @property
    def literals(self) -> list[str]:
        """Return the text constants, without the documentation."""
        documentation = {id(node) for node in self.docstrings}
        return [
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ]

    @property
    def bound_names(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the name of each binding: variable, parameter, function or class."""
        for node in self.nodes:
            match node:
                case ast.Name(id=str(name), ctx=ast.Store()) | ast.arg(arg=str(name)):
                    yield node.lineno, name
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                    yield node.lineno, name
                case ast.FunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
                    yield node.lineno, name

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Return the line and the full name of every import of the package, inside functions
        too."""
        return [
            (node.lineno, name)
            for node in self.nodes
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
            for name in imported_names(node)
            if name.split(".")[0] == self.path.parts[0]
        ]


def imported_names(node: ast.Import | ast.ImportFrom | ast.Call) -> list[str]:
    """Return the full names that a statement imports, or a call of `import_module`."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            return [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        case ast.Call(
            func=ast.Attribute(attr=function) | ast.Name(id=function),
            args=[
                ast.Constant(value=str(name))
                | ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]),
                *_,
            ],
        ) if function in ("import_module", "__import__"):
            return [name]
    return []


def read_tree(package: str = "mlirad", root: Path = ROOT) -> list[Source]:
    """Read the files of a package in the working tree."""
    paths = sorted((root / package).rglob("*.py"))
    return [Source(PurePosixPath(path.relative_to(root)), path.read_text()) for path in paths]


def read_revision(revision: str, package: str = "mlirad", root: Path = ROOT) -> list[Source]:
    """Read the files of a package as a git revision has them."""
    command = ["git", "-C", str(root), "archive", revision, package]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        return [
            Source(PurePosixPath(member.name), content.read().decode())
            for member in sorted(files.getmembers(), key=lambda member: member.name)
            if member.name.endswith(".py") and (content := files.extractfile(member))
        ]


def import_graph(sources: Iterable[Source]) -> dict[str, set[str]]:
    """Return for each module the modules of the package that it imports, without the package
    itself."""
    files = {source.module: source for source in sources}
    return {
        name: {
            target
            for _, imported in source.imports
            for target in (imported, imported.rpartition(".")[0])
            if target in files and target not in (name, source.path.parts[0])
        }
        for name, source in files.items()
    }


def folder_cycles(sources: Iterable[Source]) -> list[tuple[str, str]]:
    """Return the pairs of sibling folders of which the first imports the second, and the second,
    directly or through other siblings, the first."""
    sources = list(sources)
    folders = {source.module: source.path.parent.parts for source in sources}
    edges: dict[str, set[str]] = {}
    for name, targets in import_graph(sources).items():
        for target in targets:
            siblings = sibling_folders(folders[name], folders[target])
            if siblings:
                edges.setdefault(siblings[0], set()).add(siblings[1])
    return sorted(
        (folder, target)
        for folder, targets in edges.items()
        for target in targets
        if folder in reachable(edges, target)
    )


def sibling_folders(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the folders in which two paths part, or nothing if one path holds the other."""
    for depth, (here, there) in enumerate(zip(first, second)):
        if here != there:
            return "/".join(first[: depth + 1]), "/".join(second[: depth + 1])
    return None


def reachable(edges: dict[str, set[str]], start: str) -> set[str]:
    """Return what is reached from a node along one edge or more."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for target in edges.get(waiting.pop(), set()) - reached:
            reached.add(target)
            waiting.append(target)
    return reached
