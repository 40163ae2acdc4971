"""Cells of the papers' tables, read for tests."""

import csv

from pqchain import installation
from pqchain.works import papers


def printed(key: str, name: str) -> list[list[str]]:
    """Return the cells of a CSV file, headings first."""
    path = installation.data("papers") / key / papers.paper(key).tables[name].file
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def cell(key: str, table: str, printed_name: str, quantity: str, implementation: str = ""):
    """Return one number of a paper."""
    (found,) = [
        found
        for found in papers.cells(key)
        if (found.table, found.printed_name, found.quantity, found.implementation)
        == (table, printed_name, quantity, implementation)
    ]
    return found
