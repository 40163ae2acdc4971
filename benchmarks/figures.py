"""Render every figure of the gallery: light, dark, narrow, and for a column of a paper."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import vl_convert

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import catalogue  # noqa: E402

from pqchain import plots  # noqa: E402
from pqchain.plots.canvas import figure_of  # noqa: E402
from pqchain.render import palette  # noqa: E402


def main() -> None:
    """Write the pictures and the caption of each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="names of figures, separated by commas")
    parser.add_argument("--styles", default="light,dark,narrow,paper", help="of these")
    parser.add_argument("--slow", action="store_true", help="also those that take minutes")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = arguments.only.split(",") if arguments.only else None
    for entry in catalogue.entries():
        if chosen is not None and entry.name not in chosen:
            continue
        if entry.notebook and not arguments.slow:
            print(f"{entry.name}: takes minutes; SLOW=1 draws it")
            continue
        start = time.perf_counter()
        write(entry, arguments.folder, arguments.styles.split(","))
        print(f"{entry.name}: {time.perf_counter() - start:.1f} s", flush=True)


def write(entry: catalogue.Entry, folder: Path, styles: list[str]) -> None:
    """Write the pictures of a figure in some styles."""
    figure = entry.draw()
    caption = f"{figure_of(figure).caption}. {entry.text}\n"
    (folder / f"{entry.name}.txt").write_text(caption, encoding="utf-8")
    (folder / f"{entry.name}.svg").write_text(plots.screen_svg(figure), encoding="utf-8")
    svg = plots.screen_svg(figure, inline=True)
    for column, theme in enumerate(("light", "dark")):
        if theme in styles:
            (folder / f"{entry.name}-{theme}.png").write_bytes(_png(svg, column))
    if "narrow" in styles:
        with plots.style("screen", width=catalogue.NARROW):
            svg = plots.screen_svg(entry.draw(), inline=True)
        (folder / f"{entry.name}-narrow.png").write_bytes(_png(svg, 0))
    if "paper" in styles:
        with plots.style("paper", width="single"):
            content = plots.figure_bytes(entry.draw(), "png")
        (folder / f"{entry.name}-paper.png").write_bytes(content)


def _png(svg: str, column: int) -> bytes:
    """Return the picture of an SVG of light (0) or dark (1) pages, twice its size."""
    colours = {name: row[column] for name, row in palette.COLOURS.items()}
    drawing = re.sub(r"var\(--figure-(\w+),#\w+\)", lambda match: colours[match[1]], svg)
    end = drawing.index(">") + 1
    background = f'<rect width="100%" height="100%" fill="{colours["paper"]}"/>'
    content: bytes = vl_convert.svg_to_png(drawing[:end] + background + drawing[end:], scale=2)
    return content


if __name__ == "__main__":
    main()
