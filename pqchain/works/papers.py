"""The published works by their keys: what each is, its tables as printed, its costs.

The data lie in `data/papers/<key>`; `paper` says what a folder holds, `printed` turns its tables
into numbers in SI units.
"""

from __future__ import annotations

import pandas as pd

from pqchain import installation, results
from pqchain.costs import CostTable
from pqchain.errors import DataError, UnknownPaper
from pqchain.works import printed
from pqchain.works.paper import Paper, read
from pqchain.works.printed import PUBLISHED, Cell


def keys() -> list[str]:
    """Return the keys of all papers. Raises DataError if the data are missing."""
    return sorted(path.parent.name for path in installation.data("papers").glob("*/paper.toml"))


def paper(key: str) -> Paper:
    """Return what the paper is, its tables and its errata. Raises UnknownPaper and DataError."""
    if key not in keys():
        raise UnknownPaper("paper", key, keys(), "`pqchain papers`.")
    return read(installation.data("papers") / key)


def tables(key: str) -> list[str]:
    """Return the names of the paper's tables, in printed order. Raises UnknownPaper."""
    return list(paper(key).tables)


def table(key: str, name: str) -> pd.DataFrame:
    """Return one published table, tidy: times in seconds, sizes in bytes, else as printed.

    A wide table has a column per quantity; one laid out across has the parameter (`n`) and the
    quantity; a long one has quantity, printed, value and unit. `algorithm` is the registry's name
    and `printed_name` the paper's. attrs: caption, description, section, source, units (by
    column), errata. Raises UnknownPaper for an unknown paper or table and DataError for a file
    that breaks its layout.
    """
    return printed.table(paper(key), name)


def cells(key: str) -> list[Cell]:
    """Return every published number of the paper, exact. Raises UnknownPaper and DataError."""
    return printed.cells(paper(key))


def published(key: str | None = None) -> pd.DataFrame:
    """Return every published number of one paper, or of all, one per row.

    Columns: paper, table, algorithm (canonical name or ""), printed_name, implementation ("ref",
    "avx2", "cortex-m4" or ""), quantity, value, unit (B, s, 1/s, cycles, %, MHz or as printed),
    note (the erratum or ""). Where a table goes across a parameter, the printed name ends in it
    ("Falcon 512, n = 1"). Raises UnknownPaper and DataError.
    """
    chosen = keys() if key is None else [key]
    return results.joined((printed.published(paper(name)) for name in chosen), PUBLISHED)


def costs(key: str, implementation: str | None = None) -> CostTable:
    """Return the costs that the paper prints, of each signature scheme it prints all times of.

    Sizes are as printed: 666 bytes for Falcon-512 in two papers, which is its padded form. A
    paper that prints a maximum only gets the registry's mean, and the row says so. Of a paper with
    several implementations the AVX2 one is taken unless `implementation` names another. Raises
    UnknownPaper, and DataError if the paper prints no complete costs.

    >>> costs("pqdpol")["Falcon-512"].verify_seconds
    7.5e-05
    """
    source = paper(key)
    offered = printed.implementations(source)
    if implementation is None:
        implementation = "avx2" if "avx2" in offered else ""
    table = printed.costs(source, implementation)
    if not len(table):
        raise DataError(
            f"paper {key!r} prints no public key with times of key generation, signing and "
            f"verification together for implementation {implementation!r} (it has "
            f"{sorted(offered)}); papers with costs: {', '.join(with_costs())}"
        )
    return table


def with_costs() -> tuple[str, ...]:
    """Return the keys of the papers that print costs, by whatever implementation."""
    return tuple(
        source.key
        for source in map(paper, keys())
        if any(len(printed.costs(source, each)) for each in printed.implementations(source))
    )
