"""Take pictures of pages of the built site, as they look on a desktop and on a phone.

    python -m pip install playwright  # and Chromium: apt install chromium
    python -m mkdocs build && python tools/screenshots.py site FOLDER [PAGE ...]

Prints what is wrong with a page: requests to other hosts, content wider than the screen, pictures
that do not load, errors of scripts. The exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from threading import Thread

from playwright.sync_api import Browser, sync_playwright

WIDTHS = {"desktop": 1280, "phone": 390}
PAGES = [
    *("index", "gallery", "examples", "guide/01-first-gradient", "gradients"),
    *("performance", "compatibility", "reference/ti.ad", "dialects/field", "notebooks/walker"),
]
WRONG = """() => [
  ...(document.documentElement.scrollWidth > innerWidth ? ["wider than the screen"] : []),
  ...[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => "no " + i.src)]"""


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not print requests."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def take(browser: Browser, address: str, device: str, file: Path, scheme: str) -> Iterator[str]:
    """Write the picture of a page, and yield what is wrong with it."""
    size = {"width": WIDTHS[device], "height": 844}
    page = browser.new_page(viewport=size, is_mobile=device == "phone", color_scheme=scheme)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: requests.append(f"error: {error}"))
    page.goto(address, wait_until="networkidle")
    page.screenshot(path=file, clip={"x": 0, "y": 0, **size, "height": 2400}, full_page=True)
    yield from page.evaluate(WRONG)
    yield from (url for url in requests if not url.startswith(("http://localhost", "data:")))
    page.close()


def main() -> int:
    """Take all pictures; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", metavar="SITE", help="folder of the built site")
    parser.add_argument("folder", metavar="FOLDER", help="folder for the pictures")
    parser.add_argument(
        "names", nargs="*", metavar="PAGE", help=f"pages (default: {' '.join(PAGES)})"
    )
    settings = parser.parse_args()
    folder = Path(settings.folder)
    server = ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=settings.site))
    Thread(target=server.serve_forever, daemon=True).start()
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"))
        for name in settings.names or PAGES:
            address = f"http://localhost:{server.server_port}/{'' if name == 'index' else name}/"
            for device, scheme in (("desktop", "light"), ("phone", "dark")):
                file = folder / f"{name.replace('/', '-')}-{device}.png"
                for problem in take(browser, address, device, file, scheme):
                    wrong += 1
                    print(f"{name}, {device}: {problem}")
        browser.close()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
