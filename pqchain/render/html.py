"""Building blocks of self-contained HTML pages, which load nothing from elsewhere.

Text is escaped unless it is `Markup`, which only the functions of this module create.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from importlib.resources import files

from pqchain.errors import visible
from pqchain.figures import Kind
from pqchain.render import palette
from pqchain.results.files import MADE_BY

VERDICTS = {
    "holds": ("good", "\N{CHECK MARK}"),
    "does not hold": ("bad", "\N{BALLOT X}"),
    "mixed": ("open", "\N{PLUS-MINUS SIGN}"),
    "property of the algorithm": ("open", "\N{CHECK MARK}"),
    "not at our threshold": ("open", "\N{BALLOT X}"),
    "holds on this clock": ("open", "\N{CHECK MARK}"),
    "holds with this code": ("open", "\N{CHECK MARK}"),
    "holds at this size": ("open", "\N{CHECK MARK}"),
    "holds on this machine": ("open", "\N{CHECK MARK}"),
    "not on this clock": ("open", "\N{BALLOT X}"),
    "not with this code": ("open", "\N{BALLOT X}"),
    "not at this size": ("open", "\N{BALLOT X}"),
    "not on this machine": ("open", "\N{BALLOT X}"),
    "fitted": ("open", "\N{ALMOST EQUAL TO}"),
    "cannot be decided here": ("open", "?"),
    "equal": ("good", "="),
    "version": ("open", "v"),
    "definition": ("open", "d"),
    "erratum": ("open", "!"),
    "different": ("bad", "\N{NOT EQUAL TO}"),
    "ok": ("good", "\N{CHECK MARK}"),
    "unsupported": ("open", "\N{EN DASH}"),
    "failed": ("bad", "\N{BALLOT X}"),
}
"""Tone and sign of every verdict and status: colour is never the only difference."""


class Markup(str):
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """Return an HTML element; the keyword `class_` becomes class, `aria_label` aria-label."""
    # Empty attributes are left out, so that callers can pass them conditionally.
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(visible(value))}"'
        for name, value in attributes.items()
        if value
    )
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")


def join(*parts: str) -> Markup:
    """Concatenate parts; escape those that are not `Markup`."""
    escaped = (part if isinstance(part, Markup) else html.escape(visible(part)) for part in parts)
    return Markup("".join(escaped))


def badge(verdict: str) -> Markup:
    """Return a verdict as sign and word in a colour."""
    tone, sign = VERDICTS.get(verdict, ("open", ""))
    mark = element("span", sign, aria_hidden="true")
    return element("span", mark, f" {verdict}", class_=f"badge {tone}")


def labels(*kinds: str, short: bool = False) -> Markup:
    """Return labels for kinds of evidence; if short, marks whose words only screen readers get.

    Raises ValueError for an unknown kind.
    """
    return join(
        *(
            element(
                "span", element("span", it, class_="unseen") if short else it,
                class_=f"label {it}{' mark' * short}", title=f"{it}: {it.meaning}",
            )
            for it in map(Kind, kinds)
        )
    )  # fmt: skip


def link(text: str, target: str) -> Markup:
    """Return a link to a file, an anchor of the page, or a source on the web."""
    return element("a", text, href=target)


def figure(svg: bytes, *, identifier: str, description: str, caption: str) -> Markup:
    """Return an SVG plot as a figure element in the page's colours of text and background."""
    drawing = palette.themed(svg)
    # Identifiers of several plots in one page must differ.
    drawing = re.sub(r'\bid="', f'id="{identifier}-', drawing)
    drawing = re.sub(r'(href="|url\()#', rf"\g<1>#{identifier}-", drawing)
    # The role and label make the plot one image for screen readers instead of hundreds of paths.
    head = f'<svg role="img" aria-label="{html.escape(visible(description))}" '
    drawing = drawing.replace("<svg ", head, 1)
    return element(
        "figure", Markup(drawing), element("figcaption", caption), id=identifier, class_="plot"
    )


def section(identifier: str, title: str, *children: str) -> Markup:
    """Return a section whose heading links to itself."""
    anchor = element(
        "a", "#", href=f"#{identifier}", class_="anchor", aria_label=f"Link to {title}"
    )
    heading = element("h2", title, Markup(" "), anchor)
    return element("section", heading, *children, id=identifier)


def bullets(items: Iterable[str]) -> Markup:
    """Return an unordered list."""
    return element("ul", *(element("li", item) for item in items))


def pairs(items: Iterable[tuple[str, str]]) -> Markup:
    """Return a description list of names and values."""
    entries = (join(element("dt", name), element("dd", value)) for name, value in items)
    return element("dl", *entries)


def folded(summary: str, *children: str) -> Markup:
    """Return content that is collapsed until the reader opens it."""
    return element("details", element("summary", summary), *children)


def document(
    title: str,
    contents: Iterable[tuple[str, str]],
    *children: str,
    pages: Iterable[tuple[str, str]] = (),
) -> str:
    """Return a page; `contents` are (identifier, title), `pages` of the site (file, title)."""
    # Style and script are embedded, because a page must not load other files.
    style = (files("pqchain.render") / "report.css").read_text(encoding="utf-8")
    style = palette.style_sheet() + "\n" + style
    items = [link(text, f"#{identifier}") for identifier, text in contents]
    siblings = [
        element("b", text, aria_current="page") if text == title else link(text, file)
        for file, text in pages
    ]
    lists = [bullets(entries) for entries in (siblings, items) if entries]
    navigation = element("nav", *lists, aria_label="Contents")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="{MADE_BY}">\n'
        f"<title>{html.escape(visible(title))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{navigation}\n{element('main', *children)}\n</body>\n</html>\n"
    )
