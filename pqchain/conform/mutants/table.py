"""Detection of mutants by families of vectors, of pqchain and of other sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from tqdm import tqdm

from pqchain.conform.models.checks import Model
from pqchain.conform.mutants import falcon, ml_dsa
from pqchain.conform.oracles import model
from pqchain.conform.vector import Vector, scheme
from pqchain.render.table import Column, Table
from pqchain.results import Contract

CAUGHT = Contract.of(
    "conform-mutants",
    ("str", "algorithm mutant source family"),
    ("Int64", "vectors caught"),
)
"""A row for each mutant, source of vectors and family: number of vectors, and of those with an
unexpected verdict. Vectors whose expected result is "acceptable" do not count."""


def mutants(algorithm: str) -> dict[str, Model]:
    """Return the mutants of an algorithm by the name of their defect."""
    right = type(model(algorithm))
    made: dict[str, Model] = {}
    known = ml_dsa.MUTANTS if scheme(algorithm) == "ml-dsa" else falcon.MUTANTS
    for name, overrides in known.items():
        if algorithm in overrides.get("only", (algorithm,)):
            methods = {key: value for key, value in overrides.items() if key != "only"}
            made[name] = type("Mutant", (right,), methods)(algorithm)
    return made


def caught(sources: Mapping[str, Sequence[Vector]], *, progress: bool = False) -> pd.DataFrame:
    """Return CAUGHT for vectors by source, such as {"ours": vectors}.

    Takes about ten seconds for each algorithm.
    """
    rows = []
    names = dict.fromkeys(each.algorithm for vectors in sources.values() for each in vectors)
    for algorithm in names:
        wrong = mutants(algorithm)
        for mutant, verifier in tqdm(wrong.items(), desc=algorithm, disable=not progress):
            for source, vectors in sources.items():
                own = [each for each in vectors if each.algorithm == algorithm]
                rows += _counted(algorithm, mutant, verifier, source, own)
    return CAUGHT.frame(rows)


def _counted(
    algorithm: str, mutant: str, verifier: Model, source: str, vectors: Iterable[Vector]
) -> list[tuple[str, str, str, str, int, int]]:
    asked, found = Counter[str](), Counter[str]()
    for each in vectors:
        if each.expected == "acceptable":
            continue
        asked[each.family] += 1
        found[each.family] += _differs(verifier, each)
    return [(algorithm, mutant, source, family, asked[family], found[family]) for family in asked]


def survives(verifier: Model, vectors: Iterable[Vector]) -> bool:
    """Return whether all vectors get the expected verdict; stop at the first that does not."""
    return not any(_differs(verifier, each) for each in vectors if each.expected != "acceptable")


def _differs(verifier: Model, vector: Vector) -> bool:
    """Return whether the verdict differs from the expected one."""
    return verifier.verify(*vector.case) != (vector.expected == "valid")


def survivors(frame: pd.DataFrame, source: str = "ours") -> list[tuple[str, str]]:
    """Return (algorithm, mutant) of the mutants that no vector of a source detects."""
    own = frame[frame["source"] == source]
    sums = own.groupby(["algorithm", "mutant"], sort=False, as_index=False)["caught"].sum()
    return [(str(row.algorithm), str(row.mutant)) for row in sums.itertuples() if not row.caught]


def shown(frame: pd.DataFrame) -> Table:
    """Return a row for each mutant: detections by source, and the detecting families of "ours"."""
    others = [name for name in dict.fromkeys(frame["source"]) if name != "ours"]
    columns = [
        Column("algorithm", key="algorithm"),
        Column("mutant", key="mutant"),
        Column("ours", numeric=True, key="ours"),
        Column("families", key="families"),
        *(Column(name, numeric=True, key=name) for name in others),
    ]
    rows = []
    for (algorithm, mutant), group in frame.groupby(["algorithm", "mutant"], sort=False):
        own = group[group["source"] == "ours"]
        by_family = own[own["caught"] > 0]
        row = [algorithm, mutant, int(own["caught"].sum()), ", ".join(by_family["family"])]
        for name in others:
            theirs = group[group["source"] == name]
            row.append(int(theirs["caught"].sum()) if len(theirs) else "")
        rows.append(row)
    return Table(
        columns=columns,
        rows=rows,
        caption="Wrong verifiers, and how many vectors catch them",
        row_headers=2,
        notes=["0: no vector tells the wrong verifier from a right one."],
    )
