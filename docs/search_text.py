"""Sphinx extension: excerpts of search results on pages that are opened from files.

Sphinx's search fetches each page that it found to show an excerpt, which browsers forbid for files.
The texts of all pages are therefore in a script, which only the search page loads.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FILE = "search_text.js"

MAX_CHARACTERS = 20_000
"""Maximum length of a page's text."""

_SCRIPT = """\
{
  const texts = %s;
  const fetched = window.fetch;
  window.fetch = (address, options) => {
    const path = new URL(address, location.href).pathname;
    const name = Object.keys(texts).find((page) => path.endsWith(`/${page}`));
    if (name === undefined) return fetched(address, options);
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = texts[name];
    return Promise.resolve(new Response(main.outerHTML));
  };
}
"""

_BODY = re.compile(r'<article[^>]*role="main"[^>]*>(.*?)</article>', re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|svg|math)\b.*?</\1>|<!--.*?-->", re.DOTALL)


def page_text(markup: str) -> str:
    """Return the text of a page's main part; "" for a page without one."""
    match = _BODY.search(markup)
    if match is None:
        return ""
    text = re.sub(r"<[^>]+>", " ", _HIDDEN.sub(" ", match[1]))
    return " ".join(unescape(text).split())[:MAX_CHARACTERS]


def script(folder: Path) -> str:
    """Return the script with the texts of all pages below a folder."""
    texts = {
        page.relative_to(folder).as_posix(): text
        for page in sorted(folder.rglob("*.html"))
        if (text := page_text(page.read_text(encoding="utf-8")))
    }
    return _SCRIPT % json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        folder = Path(app.outdir)
        (folder / "_static" / FILE).write_text(script(folder), encoding="utf-8")


def _add(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == "search":
        app.add_js_file(FILE, priority=100)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the event handlers."""
    app.connect("html-page-context", _add)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
