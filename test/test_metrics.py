"""The figures of the package (`tools/metrics.py`), of sources that show one each."""

import subprocess
from functools import partial
from pathlib import Path, PurePosixPath

import pytest
from metrics import kinds_of_lines, length, main, measure, repeated_basenames, vague_definitions
from sources import Source, folder_cycles, import_graph, read_revision, read_tree

TEXT = '''"""A module,
documented on two lines."""

# a comment
found = "arith.addf"  # not a line of comments


def made(part: int) -> int:
    """A line."""
    return part
'''


def source(path: str, text: str = "") -> Source:
    """Return a source of a package `p`."""
    return Source(PurePosixPath(f"p/{path}"), text)


def test_kinds_of_lines() -> None:
    """Documentation and comments are no code; what a blank line stands in does not matter."""
    assert kinds_of_lines(source("a.py", TEXT)) == {
        "docstrings": 3,
        "comments": 1,
        "code": 3,
        "blank": 3,
    }


def test_names() -> None:
    """Variables, parameters and functions are bound; `made` is a participle alone."""
    figures = measure([source("a.py", TEXT)])
    assert (figures["bound names"], figures["  fillers"]) == (3, 3)
    assert figures["literals that name upstream ops"] == 1
    assert figures["  longest"] == 2


@pytest.mark.parametrize("name", ["known", "_parts", "Told", "of", "_copied"])
def test_a_name_that_needs_a_noun(name: str) -> None:
    """Participles and pronouns alone, with a `_` or as a class."""
    assert [*vague_definitions(source("a.py", f"class {name}: pass"))] == [(1, name)]


@pytest.mark.parametrize("name", ["known_size", "read", "seed", "KeptValues", "padding"])
def test_a_name_that_says_what(name: str) -> None:
    """Nouns, verbs, and participles before a noun."""
    assert not [*vague_definitions(source("a.py", f"def {name}(): pass"))]


def test_a_basename_occurs_once_in_a_layer() -> None:
    """Two layers may have files of one name."""
    paths = ["x/order.py", "x/y/order.py", "z/order.py", "x/__init__.py", "x/y/__init__.py"]
    assert repeated_basenames(map(source, paths)) == ["p/x/y/order.py: a second p/x/order.py"]


def test_folders_in_a_cycle() -> None:
    """Two folders that reach each other through a third are in it; one that is only imported is
    not."""
    sources = [
        source("a/one.py", "from p.b.two import f"),
        source("b/two.py", "def f():\n    from p.c import three"),
        source("c/three.py", "import p.a.one\nimport p.d.four"),
        source("d/four.py"),
    ]
    assert folder_cycles(sources) == [("p/a", "p/b"), ("p/b", "p/c"), ("p/c", "p/a")]


def test_imports_by_call() -> None:
    """A module that is imported by its name is imported."""
    text = "from importlib import import_module\nimport_module('p.b')"
    assert import_graph([source("a.py", text), source("b.py")])["p.a"] == {"p.b"}


def test_length() -> None:
    """A decorator or a docstring is no line of a function."""
    assert [*map(length, source("a.py", "@d\ndef f():\n    pass\n").functions)] == [2]
    text = 'class C:\n    """C."""\n    def f():\n        """f\n        """\n        pass\n'
    assert [*map(length, source("a.py", text).classes)] == [3]


def test_a_revision_beside_the_working_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column for each, of the files of the package that each has."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t"]
    (tmp_path / "mlirad").mkdir()
    (tmp_path / "mlirad" / "a.py").write_text("x = 1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one file"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "mlirad" / "b.py").write_text("y = 2\nz = 3\n")
    monkeypatch.setattr("metrics.read_tree", partial(read_tree, root=tmp_path))
    monkeypatch.setattr("metrics.read_revision", partial(read_revision, root=tmp_path))
    main(["HEAD"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[:3] == [["HEAD", "now"], ["files", "1", "2"], ["lines", "1", "3"]]
