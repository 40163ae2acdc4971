"""Comparison of every printed number of a work with pqchain's: kind, ratio, verdict, reason.

`coverage.toml` in a work's folder has rules, and the first one that matches a number decides what
ours is. A number that no rule matches is an error, so that no printed number is left out. Times,
sizes and the layouts of single tables are views of the one frame.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd

from pqchain import algorithms, checks, figures, installation, results
from pqchain.errors import DataError, UnknownAlgorithm, UnknownName
from pqchain.figures import SECONDS, Kind
from pqchain.installation import read_toml
from pqchain.results import Contract
from pqchain.works import papers, readers
from pqchain.works.paper import Paper
from pqchain.works.papers import operation_of
from pqchain.works.readers import SIZES, Chosen, Number, NumberReader, Undecided

PRINTED = Contract.of(
    "printed",
    ("str", "paper table algorithm printed_name variant quantity"),
    ("float64", "printed"),
    ("str", "unit kind"),
    ("float64", "ours ours_low ours_high deviation ratio"),
    ("str", "implementation verdict note reason"),
)

SIZE = Contract.of(
    "sizes",
    ("str", "paper table algorithm quantity"),
    ("float64", "printed ours"),
    ("str", "verdict note"),
)

NONE = "none"
"""Kind of a printed number to which no number of pqchain corresponds."""

KINDS = (
    Kind.REGISTRY,
    Kind.MEASURED,
    Kind.RUN,
    Kind.SYNTHESISED,
    Kind.REPLAYED,
    Kind.MODELLED,
    Kind.FITTED,
    Kind.CITED,
    Kind.TAKEN,
    NONE,
)
"""Kinds of our numbers, in the order in which they are counted."""

NOT_OURS = (Kind.TAKEN, NONE)
"""Kinds of printed numbers with which no result of pqchain is compared."""

SIZE_VERDICTS = ("equal", "version", "definition", "erratum", "different")
"""Printed size compared with ours: equal, of another version or definition, misprint or other."""

EXPLAINED = ("version", "definition", "erratum")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSize:
    """A published size that is correct for another version or definition of the algorithm."""

    name: str
    quantity: str
    bytes: int
    kind: Literal["version", "definition"]
    description: str
    source: str


@cache
def other_sizes() -> Mapping[tuple[str, str, int], OtherSize]:
    """Return the sizes of data/algorithms/versions.csv by (algorithm, quantity, bytes)."""
    path = installation.data("algorithms") / "versions.csv"
    with path.open(encoding="utf-8", newline="") as table:
        fields: list[dict[str, Any]] = [
            {**row, "bytes": int(row["bytes"])} for row in csv.DictReader(table)
        ]
    rows = [OtherSize(**row) for row in fields]
    return MappingProxyType({(row.name, row.quantity, row.bytes): row for row in rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that selects printed numbers and defines pqchain's numbers for them."""

    kind: str
    tables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    """Printed names of table rows."""
    implementations: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    """An empty selector matches everything."""
    of: str = ""
    to: str = ""
    """Ours is the number `of`, or `of` divided by `to`; {name}, {algorithm}, {implementation} and
    {quantity} stand for those of the printed number. Default: same name, same quantity; for a
    number taken from the paper, the printed one."""
    none: str = ""
    """Why pqchain has no number for the printed one."""
    note: str = ""
    """Why pqchain's number differs from the printed one."""

    def matches(self, row: Mapping[Any, Any]) -> bool:
        """Return whether the rule selects a row of a frame of published numbers."""
        selectors = (
            (self.tables, row["table"]),
            (self.rows, row["printed_name"].partition(", n = ")[0]),
            (self.implementations, row["implementation"]),
            (self.quantities, row["quantity"]),
        )
        return all(not allowed or value in allowed for allowed, value in selectors)

    def read(self, row: Mapping[Any, Any], sources: Iterable[NumberReader]) -> Number:
        """Return pqchain's number for a published number. Raises Undecided."""
        fields = {name: row[name] for name in ("algorithm", "implementation", "quantity")}
        names = [name for name in (row["algorithm"], row["printed_name"]) if name]
        of, to = (side.format(name=row["printed_name"], **fields) for side in (self.of, self.to))
        # Of several sources of one kind the first that has the number decides, and a fitted model
        # is read like any other model.
        kinds = (Kind.MODELLED, Kind.REPLAYED) if self.kind == Kind.FITTED else (self.kind,)
        reason = f"this run has no such number ({self.kind})"
        for source in sources:
            if source.source not in kinds:
                continue
            reader = replace(source, implementation=row["implementation"])
            for text in [of] if of else [f"{name}: {row['quantity']}" for name in names]:
                try:
                    return reader(text) / reader(to) if to else reader(text)
                except (Undecided, UnknownAlgorithm) as error:
                    reason = str(error)
        raise Undecided(reason)


def read_rules(folder: Path) -> tuple[Rule, ...]:
    """Return the rules in a work's `coverage.toml`. Raises DataError, or UnknownName for a kind."""
    file = folder / "coverage.toml"
    content = read_toml(file) if file.is_file() else {}
    # No rule has a value of its own, because every number of ours comes from the code.
    rules: tuple[Rule, ...] = checks.typed(content.get("rules", []), tuple[Rule, ...], str(file))
    for rule in rules:
        if rule.kind not in KINDS:
            raise UnknownName("kind of number", rule.kind, KINDS, "pqchain/works/printed.py.")
        if bool(rule.none) != (rule.kind == NONE):
            raise DataError(
                f"{file}: `none` of a rule must be a reason for kind {NONE!r}, and empty "
                f"otherwise; got {rule.none!r} for kind {rule.kind!r}"
            )
    return rules


def compare(
    paper: Paper,
    published: pd.DataFrame,
    readers_of_work: Iterable[NumberReader] = (),
    measurements: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one row per printed number of tables and text, with pqchain's number for it.

    `published` is `papers.published(paper)`. Columns: paper, table, algorithm, printed_name,
    variant (of the printed implementation), quantity, printed, unit, kind (one of KINDS), ours (in
    the same unit; NaN if there is none, or several that are equally possible), ours_low and
    ours_high (the least and the greatest of several; else NaN), deviation (median absolute
    deviation of a measured time), ratio (ours over printed), implementation (ours), verdict (one of
    SIZE_VERDICTS for sizes; "ok",
    "unsupported", "failed" or "not measured" for times and cycles of operations; else ""), note
    (the explanation of the verdict) and reason (why there is none, or why the two differ). Raises
    DataError for a number that no rule matches and for a frame that breaks its contract.
    """
    rules = read_rules(paper.folder)
    chosen = readers.chosen(measurements)
    measured = readers.measured(measurements, paper)
    sources = [readers.registry(), *readers_of_work, readers.counted(measured), measured]
    rows = []
    for row in results.check(published, papers.PUBLISHED).to_dict("records"):
        rule = next((rule for rule in rules if rule.matches(row)), None)
        if rule is None:
            raise DataError(
                f"{row['paper']}, {row['table']}: no rule matches {row['printed_name']}, "
                f"{row['quantity']}; add one to data/papers/{row['paper']}/coverage.toml"
            )
        ours = _ours(rule, row, sources, chosen)
        reasons = [ours.pop("reason", ""), rule.none, rule.note]
        rows.append(next_to(row, rule.kind, reasons, **ours))
    frame = PRINTED.frame(rows)
    if measurements is not None:
        frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return frame


def next_to(
    row: Mapping[Any, Any],
    kind: str,
    reasons: Iterable[str] = (),
    *,
    ours: float = math.nan,
    **fields: object,
) -> dict[str, object]:
    """Return a row of the contract PRINTED: a published number with pqchain's number for it.

    `fields` are ours_low, ours_high, deviation, implementation, verdict and note, as `compare`
    describes them.
    """
    names = ("paper", "table", "algorithm", "printed_name", "quantity", "unit")
    printed = row["value"]
    return {
        **{name: row[name] for name in names},
        "variant": row["implementation"],
        "printed": printed,
        "kind": str(kind),
        "ours": ours,
        **dict.fromkeys(("ours_low", "ours_high"), math.nan),
        "deviation": math.nan,
        "ratio": ours / printed if printed else math.nan,  # dates and counts may be 0
        **dict.fromkeys(("implementation", "verdict", "note"), ""),
        "reason": "; ".join(filter(None, [*reasons, row["other_code"]])),
    } | fields


def _ours(
    rule: Rule, row: Mapping[Any, Any], sources: list[NumberReader], chosen: Chosen
) -> dict[str, Any]:
    """Return pqchain's number and its explanation, as keywords of `next_to` and a reason."""
    if rule.none:
        return {}
    if rule.kind == Kind.TAKEN and not rule.of:
        return {"ours": row["value"]}
    if row["algorithm"] and not rule.of:
        if rule.kind == Kind.REGISTRY and row["quantity"] in SIZES:
            return registry_size(row)
        if rule.kind == Kind.MEASURED and operation_of(row["quantity"]) in algorithms.OPERATIONS:
            return _measured(row, chosen)
    try:
        number = rule.read(row, sources)
        # None of several possible values is chosen: it would be the one nearest to the print.
        names = ("ours_low", "ours_high") if len(number.ends) > 1 else ("ours",)
        return dict(zip(names, number.ends, strict=True))
    except Undecided as error:
        return {"reason": str(error)}


def _measured(row: Mapping[Any, Any], chosen: Chosen) -> dict[str, Any]:
    """Return the measured time or cycles of an operation.

    A printed "ref" or "avx2" is compared with ours of that variant. Where the paper names none, or
    none was measured, the implementation that `measurements.choose` prefers replaces it and
    the note names it: a missing row would hide the algorithm.
    """
    algorithm, operation = algorithms.get(row["algorithm"]), operation_of(row["quantity"])
    wanted = row["implementation"]
    measured = chosen(algorithm.name, wanted).get(operation)
    if measured is None:
        verdict = "not measured" if algorithm.implementations else "unsupported"
        note = f"no measurement of {figures.humanize(operation)} of {algorithm.name} is given"
        if verdict == "unsupported":
            note = f"this version of pqchain has no {algorithm.name}"
        return {"verdict": verdict, "note": note, "reason": note}
    name, status, note = (measured[key] for key in ("implementation", "status", "reason"))
    ours = {"implementation": name, "verdict": status, "note": note}
    if status != "ok":
        return ours | {"reason": note}
    notes = [note]
    if wanted and not name.endswith(f"/{wanted}"):
        notes.append(f"published with {wanted}, compared with {name}")
    if row["quantity"].endswith("_cycles"):
        return ours | {"ours": measured["median_cycles"], "note": "; ".join(filter(None, notes))}
    # Rejection sampling skews the distribution, so that mean and median differ.
    if operation in algorithm.family_facts.restarts:
        mean = SECONDS.text(measured["mean_seconds"])
        notes.append(f"{operation} restarts at random: its mean here is {mean}")
    numbers = {"ours": measured["median_seconds"], "deviation": measured["mad_seconds"]}
    return ours | numbers | {"note": "; ".join(filter(None, notes))}


def registry_size(row: Mapping[Any, Any], implementation: str = "") -> dict[str, Any]:
    """Compare a printed size with the registry's for equality; return keywords of `next_to`.

    `implementation` chooses the size of one implementation where versions differ. The registry's
    length of a varying signature is the mean. Raises DataError for an erratum that a version or a
    definition explains, because such a print is correct.
    """
    algorithm = algorithms.get(row["algorithm"])
    sized = algorithm.sized_for(implementation) if implementation else algorithm
    size = float(getattr(sized, row["quantity"]))
    # A different size is no error of the print if the scheme has changed since, or if the length is
    # that of another encoding: data/algorithms/versions.csv has such sizes with their sources.
    verdict, note = "equal", ""
    if row["value"] != size:
        verdict, note = "erratum" if row["note"] else "different", row["note"]
        known = other_sizes().get((row["algorithm"], row["quantity"], int(row["value"])))
        if known is not None:
            verdict, note = known.kind, f"{known.bytes} is {known.description}"
            if row["note"]:
                raise DataError(
                    f"{row['paper']}, {row['table']}: {known.bytes} for the {row['quantity']} of "
                    f"{row['algorithm']} is listed as an erratum, but {note} ({known.source}); "
                    "remove it from the errata"
                )
    return {"ours": size, "implementation": implementation, "verdict": verdict, "note": note}


def sizes(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes in a frame of `compare`; a size repeated in a table is returned once."""
    # A table often repeats a size for each implementation.
    rows = printed[(printed["kind"] == Kind.REGISTRY) & (printed["verdict"] != "")]
    return results.check(rows[list(SIZE.columns)].drop_duplicates(), SIZE)


def times(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the times of operations in a frame of `compare`."""
    # Rules of kind "measured" also match ratios and quoted times; only operations have a verdict.
    is_time = (printed["unit"] == "s") & (printed["verdict"] != "")
    return printed[is_time & (printed["kind"] == Kind.MEASURED)].reset_index(drop=True)
