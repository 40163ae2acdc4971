"""Colours of figures on light pages, on dark pages and in print, and the styling of SVG by a page.

Figures are drawn in the colours of light pages. `themed` replaces them by CSS variables, so that a
figure follows the colours of the page that contains it.
"""

from __future__ import annotations

import re

COLOURS = {
    "ink": ("#222222", "#e6e3dc", "#222222"),
    "muted": ("#7b7f85", "#9ba0a6", "#7b7f85"),
    "line": ("#dcdcdc", "#3a3d42", "#dcdcdc"),
    "paper": ("#ffffff", "#16171a", "#ffffff"),
    # Families of schemes, ordered by their lightness in print.
    "blue": ("#0072b2", "#4da6ea", "#0b3751"),
    "brown": ("#7a5a3a", "#c9a27a", "#564331"),
    "purple": ("#aa4499", "#dc8fcc", "#834378"),
    "vermilion": ("#d55e00", "#ff8a4c", "#aa5817"),
    "green": ("#00936b", "#3cc99a", "#149471"),
    "grey": ("#6f7780", "#a4acb4", "#94999c"),
    "sky": ("#3390d0", "#84cbf8", "#93b2c8"),
    "amber": ("#b87f00", "#f0bb45", "#dac28e"),
    # Series that are not schemes.
    "indigo": ("#4c5c8a", "#94a5dc", "#2f3549"),
    "crimson": ("#a23b4a", "#ec8391", "#b3737c"),
    "violet": ("#7a5ea8", "#b9a0e4", "#725f93"),
    "teal": ("#2f8080", "#6cc4c4", "#2a5353"),
    "slate": ("#6b7686", "#a9b3c1", "#9ba0a5"),
    "olive": ("#8a7a1f", "#d0be5c", "#c4ba81"),
}
"""Colours by name: on light pages, on dark pages, in print.

Those of light and dark pages have a contrast of at least 3 with their background; those in print
differ in grey by at least 8 steps of lightness within the families and within the series."""


def light(name: str) -> str:
    """Return a colour as figures are drawn in it."""
    return COLOURS[name][0]


def in_print() -> dict[str, str]:
    """Return the colour in print of each colour that figures are drawn in."""
    return {drawn: printed for drawn, _, printed in COLOURS.values() if drawn != printed}


def themed(svg: bytes) -> str:
    """Return the svg element of a figure with CSS variables for its colours.

    A variable that the page does not set has the colour of light pages.
    """
    drawing = svg[svg.index(b"<svg") :].decode()
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    for name, (drawn, _, _) in COLOURS.items():
        drawing = re.sub(drawn, f"var(--figure-{name},{drawn})", drawing, flags=re.IGNORECASE)
    return drawing


def style_sheet() -> str:
    """Return CSS that sets the variables of `themed` for light and dark pages.

    It follows the switch of the documentation and of JupyterLab, or else the browser's setting.
    """
    light_page, dark_page = (
        "{" + "".join(f"--figure-{name}:{row[at]};" for name, row in COLOURS.items()) + "}"
        for at in (0, 1)
    )
    dark = ",".join(f'body[data-{theme}"]' for theme in ('theme="dark', 'jp-theme-light="false'))
    bright = ",".join(f'body[data-{theme}"]' for theme in ('theme="light', 'jp-theme-light="true'))
    return (
        f":root{light_page}@media screen and (prefers-color-scheme:dark){{:root{dark_page}}}"
        f"{dark}{dark_page}{bright}{light_page}"
    )


def standalone(svg: bytes) -> str:
    """Return a figure as an SVG file that follows the setting of the browser that shows it."""
    drawing = themed(svg)
    # The background makes the figure legible on a page of the other kind, too.
    style = f"<style>{style_sheet()}svg{{background:var(--figure-paper)}}</style>"
    end = drawing.index(">") + 1
    return drawing[:end] + style + drawing[end:]
