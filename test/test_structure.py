"""The shape of the package: who imports whom, what a pass has beside it, how files are named."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.ir import structured

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mlirad"
MODULES = sorted(PACKAGE.rglob("*.py"))
PASSES = sorted(  # the file of each, or its folder
    path
    for path in (PACKAGE / "passes").glob("*/*")
    if not path.stem.startswith("_") and (path.is_dir() or path.suffix == ".py")
)

LEAVES = {
    *("bindings", "types", "errors", "checks", "loading", "signatures"),
    *("data_classes", "named_tuples"),
}
MAY_IMPORT = {
    "bindings": set(),
    "loading": set(),
    "signatures": set(),
    "types": {"data_classes"},
    "named_tuples": set(),
    "data_classes": {"named_tuples"},
    "errors": {"data_classes"},
    "checks": {"errors"},
    "dialect": LEAVES,
    "ir": LEAVES | {"dialect"},
    "analysis": LEAVES | {"dialect", "ir"},
    "sweeps": LEAVES | {"dialect", "ir", "analysis"},
    "passes": LEAVES | {"dialect", "ir", "analysis", "sweeps"},
    "pipeline": LEAVES | {"dialect", "ir", "analysis", "passes"},
    "kernel": LEAVES | {"dialect", "ir"},
    "frontend": LEAVES | {"dialect", "ir", "kernel"},
    "runtime": LEAVES | {"dialect", "ir", "analysis", "passes", "pipeline", "kernel"},
    "lang": LEAVES | {"dialect", "ir", "kernel", "pipeline", "frontend", "runtime"},
    "foreign": LEAVES | {"runtime"},
    "te": LEAVES
    | {"dialect", "ir", "analysis", "sweeps", "kernel", "pipeline", "runtime", "lang", "foreign"},
    "ad": LEAVES
    | {"dialect", "ir", "kernel", "pipeline", "frontend", "runtime", "lang", "foreign"},
    "dist": LEAVES | {"runtime", "lang", "ad"},
    "ensemble": LEAVES,
    "algorithms": LEAVES | {"lang", "drawing"},
    "linalg": LEAVES | {"frontend", "runtime", "lang"},
    "profiler": LEAVES | {"runtime", "lang"},
    "drawing": LEAVES,
    "gui": LEAVES | {"drawing"},
    "tools": LEAVES | {"drawing", "gui"},
    "ui": LEAVES | {"drawing", "gui"},
}
# folders of ideas, each of which imports only from those in front of it
ORDER_OF_IDEAS = {
    "frontend/python": ("building", "values", "places", "source", "translation", "calls"),
}
# the public names, and programs that a user writes: both see everything
PUBLIC = {
    "__init__",
    "examples",
}
NAMES_OF_NOTHING = {"utils", "common", "helpers", "misc", "impl", "base"}


def folder_of(path: Path) -> str:
    """The folder of a module directly under `mlirad`, or the name of a module that lies there
    itself."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    """A module's place in the package, as pytest shows it."""
    return str(path.relative_to(ROOT))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module of ours that a module imports, inside functions as
    well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = imported_by_call(node)
        for name in names:
            if name.split(".")[0] == "mlirad":
                yield node.lineno, name


def imported_by_call(node: ast.AST) -> list[str]:
    """The module that a call of `import_module` or `__import__` names by a text, whole or in
    part."""
    if not isinstance(node, ast.Call) or not node.args:
        return []
    called = (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    )
    text = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
    if called not in ("import_module", "__import__") or not isinstance(text, ast.Constant):
        return []
    return [str(text.value)]


def imported_folder(name: str) -> str:
    """The folder or module directly under `mlirad` that an import reaches; the package itself is
    `__init__`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] else "__init__"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    """Nothing imports upwards, not even inside a function."""
    folder = folder_of(path)
    if folder in PUBLIC:
        return
    allowed = MAY_IMPORT[folder] | {folder}
    wrong = [
        f"{name_of(path)}:{line}: {folder} imports {name}"
        for line, name in imported(path)
        if imported_folder(name) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("group", ORDER_OF_IDEAS)
def test_ideas_import_one_way(group: str) -> None:
    """A folder of a group imports only from the folders in front of it."""
    order = ORDER_OF_IDEAS[group]
    folder, prefix = PACKAGE / group, f"mlirad.{group.replace('/', '.')}."
    assert {path.parent.name for path in folder.glob("*/*.py")} == {*order}
    wrong = [
        f"{name_of(path)}:{line}: {idea} imports {name}"
        for number, idea in enumerate(order)
        for path in (folder / idea).rglob("*.py")
        for line, name in imported(path)
        if name.startswith(prefix)
        and name.removeprefix(prefix).split(".")[0] not in order[: number + 1]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_bindings_names_the_distribution(path: Path) -> None:
    """The provider of MLIR is known in one place."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for name in names:
            assert name.split(".")[0] not in ("torch_mlir", "mlir"), (
                f"{name_of(path)}:{node.lineno}: imports {name}"
            )


def test_imports_have_no_cycle() -> None:
    """Modules can be put in an order in which each imports earlier ones only, for types too."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in MODULES
    }
    graph = {
        name: {
            target
            for _, full in imported(path)
            for target in (full, full.rpartition(".")[0])
            if target in names and target not in (name, "mlirad")
        }
        for name, path in names.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.parametrize("path", PASSES, ids=name_of)
def test_a_pass_has_a_lit_test(path: Path) -> None:
    """The test of a pass has its name."""
    test = ROOT / "test" / "passes" / path.parent.name / f"{path.stem}.mlir"
    assert test.is_file(), f"no {name_of(test)}"
    assert f"--{path.stem.replace('_', '-')}" in test.read_text(), (
        f"{name_of(test)} does not run its pass"
    )


def test_passes_have_names_of_their_own() -> None:
    """A pass is found by its name alone."""
    stems = [path.stem for path in PASSES]
    assert len(stems) == len(set(stems))


@pytest.mark.parametrize("path", PASSES, ids=name_of)
def test_passes_are_closed(path: Path) -> None:
    """A pass imports no other pass: it knows the parts in its own folder."""
    own = f"mlirad.passes.{path.parent.name}.{path.stem}."
    for file in path.rglob("*.py") if path.is_dir() else [path]:
        for line, name in imported(file):
            if name.startswith("mlirad.passes."):
                is_old_part = name.split(".")[3].startswith("_")
                assert name.startswith(own) or is_old_part, (
                    f"{name_of(file)}:{line}: imports {name}"
                )


@pytest.mark.parametrize("path", PASSES, ids=name_of)
def test_a_pass_has_a_summary(path: Path) -> None:
    """A pass holds a function of its name, whose documentation begins with one short sentence."""
    file = path / "__init__.py" if path.is_dir() else path
    functions = {
        node.name: node
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert path.stem in functions, f"{name_of(path)} has no function {path.stem}"
    summary = (ast.get_docstring(functions[path.stem]) or "").partition("\n\n")[0]
    assert summary.endswith("."), f"{name_of(path)}: the summary of {path.stem} is not a sentence"
    assert len(summary) <= 160, f"{name_of(path)}: the summary of {path.stem} is long"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_are_named_after_what_is_in_them(path: Path) -> None:
    """No drawer for everything."""
    for part in path.relative_to(PACKAGE).with_suffix("").parts:
        assert part.strip("_") not in NAMES_OF_NOTHING, (
            f"{name_of(path)} says nothing about what is in it"
        )


def test_every_test_of_a_pass_has_its_pass() -> None:
    """A test whose pass is gone goes with it."""
    names = [(p.parent.name, p.stem) for p in PASSES]
    stray = [
        path.name
        for path in (ROOT / "test" / "passes").rglob("*.mlir")
        if not any(
            path.parent.name == group and f"{path.stem}_".startswith(f"{name}_")
            for group, name in names
        )
    ]
    assert not stray


OPS = sorted(
    {op.OPERATION_NAME for dialect in (Field, Grad, Snode) for op in dialect.operations}
    | {*structured.STRUCTURED, structured.YIELD, structured.CONDITION, structured.REDUCE}
)
MOST_FILES_WITH_AN_OP = 6
TYPED = ("dialect", "ir", "analysis", "sweeps", "passes", "pipeline", "kernel")
MOST_UNTYPED = {"frontend": 0.15, "lang": 0.15}  # of the parameters of a folder
LONGEST_CLASS, MOST_METHODS, LONGEST_FUNCTION = 200, 20, 46


def texts(path: Path) -> set[str]:
    """The text constants of a module, without its documentation."""
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
    }


@pytest.fixture(scope="module")
def spelled() -> dict[str, set[str]]:
    """The text constants of every module."""
    return {name_of(path): texts(path) for path in MODULES}


@pytest.mark.parametrize("op", OPS)
def test_an_op_is_spelled_where_it_is_defined(op: str, spelled: dict[str, set[str]]) -> None:
    """And where it is dispatched on: everyone else asks its class."""
    whole = re.compile(rf"(?<![\w.]){re.escape(op)}(?![\w.])")
    files = sorted(name for name, found in spelled.items() if any(map(whole.search, found)))
    assert len(files) <= MOST_FILES_WITH_AN_OP, ", ".join(files)


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """The parameters of a function."""
    given = node.args
    extra = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]


def untyped(path: Path) -> Iterator[bool]:
    """For each parameter of a module, whether a checker does not see what it takes."""
    for node in ast.walk(ast.parse(path.read_text())):
        for parameter in parameters(node) if isinstance(node, ast.FunctionDef) else []:
            if parameter.arg not in ("self", "cls"):
                annotation = ast.walk(parameter.annotation or parameter)
                yield any(isinstance(one, ast.Name) and one.id == "Any" for one in annotation)


@pytest.mark.parametrize("path", [p for p in MODULES if folder_of(p) in TYPED], ids=name_of)
def test_parameters_have_types(path: Path) -> None:
    """A checker sees what a function takes."""
    assert not any(untyped(path)), f"{name_of(path)}: a parameter is Any"


@pytest.mark.parametrize("folder", MOST_UNTYPED)
def test_most_parameters_have_types(folder: str) -> None:
    """Nearer to the user `Any` is for where Python's dynamism is the point."""
    found = [one for path in MODULES if folder_of(path) == folder for one in untyped(path)]
    assert sum(found) <= MOST_UNTYPED[folder] * len(found), f"{sum(found)} of {len(found)}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_classes_and_functions_are_short(path: Path) -> None:
    """One idea a class, one idea a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        assert node.end_lineno is not None
        lines, where = node.end_lineno - node.lineno + 1, f"{name_of(path)}:{node.lineno}"
        if isinstance(node, ast.FunctionDef):
            assert lines <= LONGEST_FUNCTION, f"{where}: {node.name} has {lines} lines"
            continue
        methods = [
            child.name
            for child in node.body
            if isinstance(child, ast.FunctionDef) and not child.name.startswith("__")
        ]
        assert lines <= LONGEST_CLASS, f"{where}: {node.name} has {lines} lines"
        assert len(methods) <= MOST_METHODS, f"{where}: {node.name} has {len(methods)} methods"


def test_files_of_tests_have_names_of_their_own() -> None:
    """Folders of tests are no packages: pytest knows a file by its name alone."""
    names = [path.name for path in (ROOT / "test").rglob("test_*.py")]
    assert len(names) == len({*names})
