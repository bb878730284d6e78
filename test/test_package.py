"""What the package says of itself."""

from __future__ import annotations

from importlib.metadata import metadata, version
from importlib.resources import files

import mlirad as ti


def test_the_version_is_the_distribution_s() -> None:
    assert ti.__version__ == version("mlirad")


def test_types_and_licence_are_shipped() -> None:
    assert (files("mlirad") / "py.typed").is_file()
    assert metadata("mlirad")["License-Expression"] == "Apache-2.0"


def test_everything_public_is_there_and_nothing_else() -> None:
    assert len(ti.__all__) == len(set(ti.__all__)) > 100
    assert all(hasattr(ti, name) for name in ti.__all__)
    assert not {"lang", "passes", "frontend", "runtime", "pipeline", "dialect", "bindings"} & set(
        dir(ti)
    )
