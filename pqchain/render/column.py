"""Columns of tables: titles, units and the text of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from pqchain import figures
from pqchain.figures import Unit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; adjacent columns of the same `group` share a heading above their own."""

    title: str
    group: str = ""
    numeric: bool = False
    show: Callable[[Any], str] | None = None
    """The text of a value; None: numbers are written with their unit, anything else as it is."""
    key: str = ""
    """The name of the column in a frame and in records; "" for its headings."""
    unit: str = ""
    """The unit of its numbers; "" for the one that `name` ends in."""
    digits: int = 3
    exact: bool = False
    """Write all digits, as of published values."""

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame | None = None) -> Column:
        """Return a column for a frame's column `name`, which implies its title and unit."""
        is_numeric = bool(Unit.of(name))
        if frame is not None:
            is_numeric = frame[name].dtype.kind in "iuf"
        return cls(figures.title(name), numeric=is_numeric, key=name)

    @property
    def name(self) -> str:
        """The name of the column in records."""
        return self.key or f"{self.group} {self.title}".strip()

    def text(self, value: Any) -> str:
        """Return a value as text."""
        if self.show is not None:
            return self.show(value)
        # A numeric column may hold texts such as "1000 of 5000", which are written as they are.
        if self.numeric and isinstance(value, Real) and not isinstance(value, bool):
            unit = Unit.of(self.name, self.unit)
            return unit.text(float(value), self.digits, exact=self.exact)
        return str(value)
