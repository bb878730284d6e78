"""The description of the package on an index page: the README without links into the repository,
which an index page cannot follow."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_PICTURE = re.compile(r"!\[[^]]*\]\((?!https?://)[^)]*\) ?")
_LINK = re.compile(r"\[([^]]+)\]\((?!https?://)[^)]*\)")


def description(readme: str) -> str:
    """Return a README in Markdown with the text of relative links in place of the links, and
    without pictures from the repository."""
    return _LINK.sub(r"\1", _PICTURE.sub("", readme))


if __name__ == "__main__":  # so that tests can import `description`
    setup(
        long_description=description(Path(__file__).with_name("README.md").read_text()),
        long_description_content_type="text/markdown",
    )
