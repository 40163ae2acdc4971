"""Conformance results as tables, for a terminal, an HTML page, Markdown and JSON."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pqchain import escapes, figures, results
from pqchain.figures import RATIO, SECONDS
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table, verdict
from pqchain.results import outputs
from pqchain_conform.registry import VerifierSpec

TITLE = "Which verifiers agree"


def _count(title: str, group: str = "") -> Column:
    return Column(title, group, numeric=True, show=figures.integer, key=title)


def overview(
    summary: pd.DataFrame, times: pd.DataFrame | None = None, *, known: dict[str, str] | None = None
) -> Table:
    """Return a table of results with one row per verifier and algorithm.

    `summary` is SUMMARY of the runner, `times` is TIMES; `known` maps verifiers to publicly known
    defects.
    """
    decided, left_open = ("right", "wrong", "crashes", "timeouts"), ("accepted", "rejected")
    columns = [
        Column("verifier", key="implementation"),
        *map(Column, ("version", "algorithm", "status")),
        *map(_count, decided),
        *(_count(name, group="left open") for name in left_open),
        Column("wrong in", key="families"),
    ]
    if times is not None:
        columns += [
            Column("median", group="one verification", numeric=True, key="verify_seconds"),
            Column("to ours", group="one verification", numeric=True, key="ratio"),
        ]
    rows, remarks = [], []
    for (name, algorithm), group in summary.groupby(["implementation", "algorithm"], sort=False):
        sums = group.sum(numeric_only=True)
        bad = group[group["status"] == "failed"]["family"].tolist()
        status = "unsupported" if not algorithm else "failed" if bad else "ok"
        row = [name, group["version"].iloc[0], algorithm, verdict(status)]
        row += [*(int(sums[column]) for column in (*decided, *left_open)), ", ".join(bad)]
        if times is not None:
            timed = times[(times["implementation"] == name) & (times["algorithm"] == algorithm)]
            row += _time_cells(timed)
        rows.append(row)
        remark = "; ".join(dict.fromkeys(reason for reason in group["reason"] if reason))
        # A publicly known defect comes before the reasons of this run.
        if bad and (known or {}).get(str(name)):
            remark = f"publicly known: {(known or {})[str(name)]}" + (remark and f"; {remark}")
        remarks.append(remark)
    return Table(
        columns=columns,
        rows=rows,
        caption="Verifiers on boundary vectors",
        source=("measured",),
        row_headers=2,
        remarks=remarks,
        notes=(
            "Left open: the specification lets the verifier decide; a chain has to decide.",
            "A verification includes decoding the public key.",
        ),
    )


def findings(summary: pd.DataFrame, *, known: dict[str, str]) -> list[str]:
    """Return the findings as sentences: correct, failing and unavailable verifiers."""
    # A verifier without verdicts is a row without an algorithm.
    tested = summary[summary["algorithm"] != ""]
    failed = tested[tested["status"] == "failed"]
    names = tested["implementation"].unique()
    wrong_names = failed["implementation"].unique()
    sentences = [
        f"{len(names) - len(wrong_names)} of {len(names)} verifiers are correct on every vector "
        "that they support and that the specification decides."
    ]
    for name in wrong_names:
        rows = tested[tested["implementation"] == name]
        bad = int(rows[["wrong", "crashes", "timeouts"]].to_numpy().sum())
        families = ", ".join(failed.loc[failed["implementation"] == name, "family"].unique())
        public = f" Publicly known: {known[name]}." if name in known else ""
        count = int(rows["vectors"].sum())
        sentences.append(f"{name} fails on {bad} of {count}: {families}.{public}")
    absent = summary.loc[summary["algorithm"] == "", "implementation"]
    if len(absent):
        sentences.append(f"Without verdicts, for the reason in the table: {', '.join(absent)}.")
    return sentences


def _time_cells(timed: pd.DataFrame) -> list[Shown]:
    if timed.empty:
        return [Shown(None, "")] * 2
    seconds, ratio = float(timed["verify_seconds"].iloc[0]), float(timed["ratio"].iloc[0])
    ratio_text = "" if pd.isna(ratio) else RATIO.text(ratio)
    return [Shown(seconds, SECONDS.text(seconds, 3)), Shown(ratio, ratio_text)]


def wrong_verdicts(verdicts: pd.DataFrame, limit: int = 20) -> Table:
    """Return a table of wrong verdicts, crashes and timeouts, up to `limit` per verifier."""
    bad = verdicts[verdicts["outcome"].isin(["wrong", "crash", "timeout"])]
    columns = [
        Column("verifier", key="implementation"),
        Column("vector"),
        Column("probes", key="probe"),
        Column("expected"),
        Column("verdict"),
    ]
    rows = bad.groupby("implementation", sort=False).head(limit)
    omitted = len(bad) - len(rows)
    notes = [f"{omitted} more are left out here; `--output FOLDER` saves all."] if omitted else []
    return Table.of(
        rows, columns, caption="Wrong verdicts", source=("measured",), row_headers=1, notes=notes
    )


def by_family(summary: pd.DataFrame) -> Table:
    """Return a table of the counts per family and verifier, summed over algorithms."""
    tested = summary[summary["algorithm"] != ""]
    sums = tested.groupby(["family", "implementation"], sort=False).sum(numeric_only=True)
    columns = [
        Column("family"),
        Column("verifier", key="implementation"),
        *map(_count, ("vectors", "right", "wrong", "crashes", "accepted", "rejected")),
    ]
    return Table.of(
        sums.reset_index(), columns, caption="By family", source=("measured",), row_headers=2
    )


def save(
    folder: Path,
    summary: pd.DataFrame,
    verdicts: pd.DataFrame,
    times: pd.DataFrame | None,
    *,
    known: dict[str, str],
) -> list[str]:
    """Write the tables as CSV, Markdown and one HTML page; return the names of the files.

    Raises UsageError as `pqchain.results.outputs.claim` does.
    """
    tables = [overview(summary, times, known=known), wrong_verdicts(verdicts), by_family(summary)]
    frames = {"summary": summary, "verdicts": verdicts}
    if times is not None:
        frames["times"] = times
    # Without wrong verdicts, their table is left out.
    parts = [table for table in tables if table.rows]
    sentences = findings(summary, known=known)
    bullets = "\n".join(f"- {escapes.markdown(sentence)}" for sentence in sentences)
    markdown = "\n\n".join(f"## {part.caption}\n\n{part.markdown()}" for part in parts)
    sections = [html.section(f"t{i}", part.caption, part.html()) for i, part in enumerate(parts)]
    contents = [(f"t{i}", part.caption) for i, part in enumerate(parts)]
    head = html.element("section", html.element("h1", TITLE), html.bullets(sentences))
    page = html.document(TITLE, contents, head, *sections)
    with outputs.staged(folder) as building:
        for name, frame in frames.items():
            results.save(frame, building / f"{name}.csv")
        about = f"# {TITLE}\n\n{bullets}\n\n{markdown}\n"
        (building / "conformance.md").write_text(about, encoding="utf-8")
        (building / "index.html").write_text(page, encoding="utf-8")
    return [*(f"{name}.csv" for name in frames), "conformance.md", "index.html"]


def availability(verifiers: list[VerifierSpec]) -> Table:
    """Return a table of verifiers, with the reason for each that is unavailable."""
    columns = [Column(name) for name in ("verifier", "version", "language", "status", "reason")]
    rows = []
    for verifier in verifiers:
        reason = verifier.unavailable_reason()
        status = verdict("unsupported" if reason else "ok")
        rows.append([verifier.name, verifier.version, verifier.language, status, reason])
    return Table(columns=columns, rows=rows, caption="Verifiers")
