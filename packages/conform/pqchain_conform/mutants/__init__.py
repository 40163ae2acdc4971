"""Mutation tests of the vectors: verifiers with one rule removed or changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from tqdm import tqdm

from pqchain.errors import DataError
from pqchain.render.table import Column, Table
from pqchain.results import Contract
from pqchain.scheduler import run_tasks
from pqchain_conform.models.checks import ReferenceModel
from pqchain_conform.mutants import falcon, ml_dsa, ml_kem, slh_dsa
from pqchain_conform.oracles import model
from pqchain_conform.vector import Vector, scheme

CAUGHT = Contract.of(
    "conform-mutants", ("str", "algorithm mutant source family"), ("Int64", "vectors caught")
)
"""A row for each mutant, source of vectors and family: the number of vectors, and of those on which
the mutant's verdict is wrong. Vectors whose expected result is "acceptable" do not count."""


_MUTANTS = {
    "ml-dsa": ml_dsa.MUTANTS,
    "falcon": falcon.MUTANTS,
    "slh-dsa": slh_dsa.MUTANTS,
    "ml-kem": ml_kem.MUTANTS,
}


def mutants(algorithm: str) -> dict[str, ReferenceModel]:
    """Return the mutants of an algorithm, keyed by the name of the defect."""
    correct = type(model(algorithm))
    return {
        name: type("Mutant", (correct,), overrides)(algorithm)
        for name, overrides in _MUTANTS[scheme(algorithm)].items()
        if algorithm in overrides.get("only", (algorithm,))
    }


_Row = tuple[str, str, str, str, int, int]
"""Row of a CAUGHT frame."""


def caught(
    sources: Mapping[str, Sequence[Vector]],
    *,
    progress: bool = False,
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Return a CAUGHT frame for vectors by source, as {"ours": vectors}; 10 s per algorithm.

    With the address of a Dask `scheduler` its workers run the mutants.
    """
    names = dict.fromkeys(v.algorithm for vectors in sources.values() for v in vectors)
    tasks = [(algorithm, mutant) for algorithm in names for mutant in mutants(algorithm)]
    results: Iterable[tuple[int, list[_Row]]]
    if scheduler is None:
        results = ((number, _rows(sources, *task)) for number, task in enumerate(tasks))
    else:
        results = run_tasks(_rows, tasks, address=scheduler, shared=(sources,), check=_check_rows)
    by_number = dict(tqdm(results, total=len(tasks), unit="mutant", disable=not progress))
    return CAUGHT.frame(row for number in range(len(tasks)) for row in by_number[number])


def _rows(sources: Mapping[str, Sequence[Vector]], algorithm: str, mutant: str) -> list[_Row]:
    """Return the rows of one mutant; workers call this function."""
    verifier = mutants(algorithm)[mutant]
    return [
        (algorithm, mutant, source, *row)
        for source, vectors in sources.items()
        for row in _family_counts(verifier, [v for v in vectors if v.algorithm == algorithm])
    ]


def _check_rows(task: tuple[str, str], rows: Iterable[_Row]) -> None:
    if any(row[:2] != task for row in rows):
        raise DataError(f"every row must be of {task}")


def _family_counts(mutant: ReferenceModel, vectors: Iterable[Vector]) -> list[tuple[str, int, int]]:
    total, unexpected = Counter[str](), Counter[str]()
    for vector in vectors:
        if vector.expected != "acceptable":
            total[vector.family] += 1
            unexpected[vector.family] += _differs(mutant, vector)
    return [(family, total[family], unexpected[family]) for family in total]


def survives(verifier: ReferenceModel, vectors: Iterable[Vector]) -> bool:
    """Return whether the verdict on every vector is as expected; stop at the first that is not."""
    return not any(_differs(verifier, v) for v in vectors if v.expected != "acceptable")


def _differs(verifier: ReferenceModel, vector: Vector) -> bool:
    return verifier.verify(*vector.case) != (vector.expected == "valid")


def survivors(frame: pd.DataFrame, source: str = "ours") -> list[tuple[str, str]]:
    """Return (algorithm, mutant) of the mutants that no vector of a source detects."""
    rows = frame[frame["source"] == source]
    sums = rows.groupby(["algorithm", "mutant"], sort=False, as_index=False)["caught"].sum()
    return [(str(row.algorithm), str(row.mutant)) for row in sums.itertuples() if not row.caught]


def detection_table(frame: pd.DataFrame) -> Table:
    """Return a table of mutants: detections per source, and families of "ours" that detect them."""
    others = [name for name in dict.fromkeys(frame["source"]) if name != "ours"]
    columns = [
        *map(Column, ("algorithm", "mutant")),
        Column("ours", numeric=True),
        Column("families"),
        *(Column(name, numeric=True) for name in others),
    ]
    rows = []
    for (algorithm, mutant), group in frame.groupby(["algorithm", "mutant"], sort=False):
        ours = group[group["source"] == "ours"]
        by_family = ours[ours["caught"] > 0]
        row = [algorithm, mutant, int(ours["caught"].sum()), ", ".join(by_family["family"])]
        for name in others:
            counts = group.loc[group["source"] == name, "caught"]
            row.append(int(counts.sum()) if len(counts) else "")
        rows.append(row)
    return Table(
        columns=columns,
        rows=rows,
        caption="Number of vectors that catch each mutant",
        row_headers=2,
        notes=["0: no vector distinguishes the mutant from a correct verifier."],
    )
