"""`pqchain conform`: boundary vectors, who gets them right, and why."""

from __future__ import annotations

import argparse

from pqchain.commands import console
from pqchain.render.table import Column, Table

BYTES = {"numeric": True, "show": "{:,}".format}


def vectors(arguments: argparse.Namespace) -> int:
    """Write the vectors, and compare them with the digests that come with this version."""
    from pqchain.conform import suite

    made = suite.vectors(arguments.algorithm, progress=console.watched())
    written = suite.write(made, arguments.output)
    expected = suite.digests()
    different = [name for name, digest in written.items() if expected.get(name) != digest]
    rows = []
    for name in dict.fromkeys(each.algorithm for each in made):
        own = [each for each in made if each.algorithm == name]
        counts = [sum(each.expected == word for each in own) for word in _EXPECTED]
        families = len({each.family for each in own})
        rows.append([name, families, len(own), *counts])
    columns = [Column("algorithm"), *(Column(name, numeric=True) for name in _COUNTS)]
    table = Table(columns=columns, rows=rows)
    plain = {
        "folder": str(arguments.output),
        "vectors": table.records(),
        "sha256": written,
        "different": different,
    }
    remarks = [f"wrote {len(written)} files to {arguments.output}"]
    remarks += [
        f"{name} is not what this version should make; see the changelog, or report it"
        for name in different
    ]
    return console.show(arguments, plain, table, remarks=remarks, fine=not different)


_EXPECTED = ("valid", "invalid", "acceptable")
_COUNTS = ("families", "vectors", *_EXPECTED)
