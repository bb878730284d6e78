"""What MkDocs calls while it builds the site.

python -m mkdocs build --strict
"""

from __future__ import annotations

import re
from logging import getLogger
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from website.elsewhere import KEYWORDS
from website.mlir_lexer import register_lexer
from website.notebook_pages import notebook_page
from website.reference import NAMESPACES, namespace_page, passes_page

ROOT = Path(__file__).parents[1]
FRONT = {  # the repository's pages outside docs/
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changes",
}
AS_TEXT = ("LICENSE", "CITATION.cff")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXAMPLES = ROOT / "mlirad" / "examples"
SOURCES = sorted(EXAMPLES.rglob("[!_]*.py"))
TARGETS = {
    **{name: f"{page}.md" for name, page in FRONT.items()},
    **{name: f"{name}.txt" for name in AS_TEXT},
}
_NAMED = re.compile(r"\[(?P<file>[\w/-]+\.md)\](?=\()")  # a link that shows the name of a file
_EXAMPLE = re.compile(r"\]\((?:\.\./)*mlirad/examples/(?P<name>[a-z][\w/]*)\.py\)")
_PICTURE = re.compile(r"!\[(?P<title>[^\]]*)\]\(simulators/(?P<name>\w+)\.png\)")
_PLAYED = "autoplay controls loop muted playsinline"
_FETCHED = re.compile(
    r"<(?:script|img|iframe|video|source|link rel=\"(?:stylesheet|preconnect)\")\b[^>]*"
    r"(?:src|href)=\"?(https?:[^\s\">]*)"
)


def on_config(config: MkDocsConfig) -> None:
    """Prepare the colors of MLIR."""
    register_lexer()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = {f"reference/{name}": namespace_page(name) for name in NAMESPACES}
    pages["reference/passes"] = passes_page()
    pages |= {page: (ROOT / name).read_text() for name, page in FRONT.items()}
    pages |= {f"notebooks/{file.stem}": notebook_page(file) for file in NOTEBOOKS}
    pages |= {source_name(file): source_page(file) for file in SOURCES}
    texts = {f"{name}.txt": (ROOT / name).read_text() for name in AS_TEXT}
    for name, text in {**{f"{name}.md": page for name, page in pages.items()}, **texts}.items():
        files.append(File.generated(config, name, content=text))
    return files


def source_name(file: Path) -> str:
    """Return the name of the page that shows a program."""
    return f"sources/{file.relative_to(EXAMPLES).with_suffix('')}"


def source_page(file: Path) -> str:
    """Return a page that shows a program, and that searches do not list."""
    head = "---\nsearch: {exclude: true}\nhide: [toc]\n---\n\n"
    return f"{head}# `{file.relative_to(ROOT)}`\n\n```python\n{file.read_text().rstrip()}\n```"


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Have links to files of the repository lead to pages here, and fences be known by MkDocs."""
    if page.file.src_uri.removesuffix(".md") in KEYWORDS:
        page.meta["tags"] = KEYWORDS[page.file.src_uri.removesuffix(".md")].split("; ")
    up = "../" * page.file.src_uri.count("/")
    markdown = _NAMED.sub(lambda link: f"[{title_of(link['file'])}]", markdown)
    for name, target in TARGETS.items():
        markdown = re.sub(rf"\]\((\.\./)*{re.escape(name)}", f"]({up}{target}", markdown)
    markdown = _EXAMPLE.sub(rf"]({up}sources/\g<name>.md)", markdown)
    markdown = re.sub(r"(\]\(|src=\")docs/", rf"\1{up}", markdown).replace(".ipynb)", ".md)")
    markdown = re.sub(r"^(\s*```\w+) norun$", r"\1", markdown, flags=re.MULTILINE)
    markdown = re.sub(r"^(\s*```\w+) ([\w.]+)$", r'\1 title="\2"', markdown, flags=re.MULTILINE)
    if page.file.name != "gallery":
        return markdown
    return _PICTURE.sub(lambda picture: video_of(picture, page), markdown)


def video_of(picture: re.Match[str], page: Page) -> str:
    """Return the video that is beside a picture of a simulator, or the picture."""
    file = f"simulators/{picture['name']}.mp4"
    if not (ROOT / "docs" / file).exists():
        return picture[0]
    address = get_relative_url(file, page.url)
    return f'<video src="{address}" title="{picture["title"]}" {_PLAYED}></video>'


def title_of(name: str) -> str:
    """Return the heading of a document of the repository, for a link that shows its file name."""
    files = [file for file in (ROOT / name, *(ROOT / "docs").rglob(name)) if file.exists()]
    return files[0].read_text().partition("\n")[0].lstrip("# ") if files else name


def on_post_page(output: str, page: Page, **_: object) -> None:
    """Warn of a page that has a browser ask another host for something."""
    for address in _FETCHED.findall(output):
        getLogger("mkdocs.hooks").warning("%s asks for %s", page.file.src_uri, address)
