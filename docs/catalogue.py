"""The figures of the gallery: their code, data and pictures."""

from __future__ import annotations

import ast
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd
import tomllib

from pqchain import algorithms, plots
from pqchain.bench import stored
from pqchain.plots.canvas import panels
from pqchain.plots.marks import FAMILIES, annotate, family_mark
from pqchain.works import papers

DOCS = Path(__file__).parent

NARROW = "3.6in"
"""Width of pictures for screens of 400 pixels."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A figure of the gallery."""

    name: str
    title: str
    topic: str
    kinds: list[str]
    """Kinds of the numbers, as in `pqchain.figures.Kind`."""
    caption: str
    """What is drawn, where the data come from, and what intervals and marks mean; in plain text.

    `$name` is a name of `phrases()` or of the code.
    """
    code: str
    notebook: str = ""
    """The notebook that shows the figure, if its code takes minutes."""
    interactive: str = ""
    """A function of `interactive` that draws the data with Vega-Lite; "" if there is none."""
    _names: dict[str, Any] = field(default_factory=dict, repr=False)

    def draw(self) -> Any:
        """Return the figure; code before the last line runs once for all styles."""
        tree = ast.parse(self.code.strip())
        last = tree.body[-1]
        assert isinstance(last, ast.Expr), self.name
        if not self._names:
            exec(compile(ast.Module(tree.body[:-1], []), self.name, "exec"), self._names)
        return eval(compile(ast.Expression(last.value), self.name, "eval"), self._names)

    @property
    def data(self) -> pd.DataFrame:
        """The frame that the figure draws."""
        if not self._names:
            self.draw()
        frame: pd.DataFrame = self._names["data"]
        return frame

    @cached_property
    def families(self) -> list[str]:
        """The families of the schemes in the code or the data."""
        named = {
            word.value
            for word in ast.walk(ast.parse(self.code))
            if isinstance(word, ast.Constant) and isinstance(word.value, str)
        }
        if not self.notebook and "algorithm" in self.data:
            named |= set(self.data["algorithm"])
        found = {algorithms.ALGORITHMS[name].family for name in named & set(algorithms.ALGORITHMS)}
        return [name for name in FAMILIES if name in found]

    @cached_property
    def text(self) -> str:
        """The caption with the values of its names."""
        template = Template(self.caption)
        try:
            return template.substitute(phrases())
        except KeyError:
            # The code, which may take long, runs only if the caption uses its names.
            if not self._names:
                self.draw()
            return template.substitute(phrases() | self._names)

    @property
    def plot(self) -> str:
        """The name of the plot function."""
        return next(
            node.attr
            for node in ast.walk(ast.parse(self.code))
            if isinstance(node, ast.Attribute) and node.attr.startswith("plot_")
        )

    def pictures(self) -> dict[str, str]:
        """Return HTML by width, "wide" and "narrow"; a notebook's picture has one width."""
        if self.notebook:
            return {"wide": _of_notebook(self.notebook, self.plot)}
        wide = plots.screen_svg(self.draw(), inline=True)
        with plots.style("screen", width=NARROW):
            narrow = plots.screen_svg(self.draw(), inline=True)
        return {"wide": wide, "narrow": narrow}


def entries() -> list[Entry]:
    """Return the figures of the gallery in their order."""
    table: Mapping[str, Any] = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    return [Entry(name=name, **facts) for name, facts in table.items()]


@cache
def phrases() -> dict[str, Any]:
    """Return sentences that captions share, by the names for them in `gallery.toml`."""
    computer = stored.load().attrs["provenance"]
    short = "A whisker that is not visible is shorter than its mark."
    falcon, dpol = _signatures_of_falcon(), papers.paper("pqdpol")
    return {
        "samples": f"Whiskers reach from the fastest sample to the 95th percentile. {short}",
        "interval": f"Whiskers are 95\u202f% confidence intervals. {short}",
        "deviation": "Whiskers are the median absolute deviation on both sides of the median. "
        f"{short}",
        "short": short,
        "runs": "Whiskers reach from the shortest to the longest run.",
        "single": "Each value is that of one run, so there is no interval.",
        "falcon": falcon,
        "exact": f"{falcon} All other sizes are exact, so there is no interval.",
        "deterministic": "The model is deterministic, so there is no interval.",
        "narrow": "Narrow figures leave SHA2 and simple out of the names of SPHINCS+ and SLH-DSA.",
        "pqdpol": f'"{dpol.title}" ({dpol.venue.partition("(")[2].partition(")")[0]})',
        "computer": f"{computer['cpu_count']} processors of an {computer['cpu_model']}",
    }


def _signatures_of_falcon() -> str:
    """Return which length of Falcon's signatures is used, and that of the specification."""
    mean, padded = (
        " and ".join(
            f"{algorithms.get(f'Falcon-{kind}{degree}').signature_bytes}\u202fB"
            f"{'' if kind else f' with Falcon-{degree}'}"
            for degree in (512, 1024)
        )
        for kind in ("", "padded-")
    )
    return (
        f"Falcon's signatures vary in length: the mean of those counted is used, {mean}, while the "
        f"specification pads them to {padded}."
    )


def marks() -> str:
    """Return a picture of the colours and marks of all families."""
    columns, names = 4, list(FAMILIES)
    down = -(-len(names) // columns)
    with panels(1, 1, 0.24 * down) as (axes,):
        for at, name in enumerate(names):
            x, y = at // down, at % down
            mark = family_mark(name)
            axes.plot([x], [y], linestyle="none", **mark.style(7))
            annotate(axes, name, (x, y), (9, 0))
        axes.set(xlim=(-0.1, columns - 0.1), ylim=(down - 0.4, -0.6))
        axes.set_axis_off()
    return plots.screen_svg(axes, inline=True)


def _of_notebook(name: str, plot: str) -> str:
    """Return the picture that a cell with this plot has in a committed notebook."""
    path = DOCS.parent / "notebooks" / f"{name}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if f".{plot}(" not in "".join(cell["source"]):
            continue
        for output in cell["outputs"]:
            data = output.get("data", {})
            if svg := "".join(data.get("image/svg+xml", "")):
                return svg
            if png := data.get("image/png"):
                content = base64.b64encode(base64.b64decode(png)).decode()
                return f'<img alt="" src="data:image/png;base64,{content}">'
    raise LookupError(f"{path.name} has no picture of {plot}. Run `make notebooks`.")
