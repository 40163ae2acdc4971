"""Conformance results as tables, for a terminal, an HTML page, Markdown and JSON."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pqchain import figures, results
from pqchain.conform.registry import Verifier
from pqchain.figures import RATIO, SECONDS
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table, verdict
from pqchain.results import outputs

TITLE = "Which verifiers agree"


def _count(title: str, key: str = "", group: str = "") -> Column:
    return Column(title, group, numeric=True, show=figures.integer, key=key or title)


def overview(
    summary: pd.DataFrame, times: pd.DataFrame | None = None, *, known: dict[str, str] | None = None
) -> Table:
    """Return a row for each verifier and algorithm.

    `summary` is SUMMARY of the runner, `times` is TIMES; `known` maps verifiers to publicly known
    defects.
    """
    columns = [
        Column("verifier", key="implementation"),
        Column("version", key="version"),
        Column("algorithm", key="algorithm"),
        Column("status", key="status"),
        _count("right"),
        _count("wrong"),
        _count("crashes"),
        _count("time-outs", "timeouts"),
        _count("accepted", group="left open"),
        _count("rejected", group="left open"),
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
        row += [
            int(sums[column])
            for column in ("right", "wrong", "crashes", "timeouts", "accepted", "rejected")
        ]
        row.append(", ".join(bad))
        if times is not None:
            timed = times[(times["implementation"] == name) & (times["algorithm"] == algorithm)]
            row += _shown_times(timed)
        rows.append(row)
        said = "; ".join(dict.fromkeys(each for each in group["reason"] if each))
        # A publicly known defect comes before the reasons of this run.
        if bad and (known or {}).get(str(name)):
            said = "; ".join(filter(None, [f"publicly known: {(known or {})[str(name)]}", said]))
        remarks.append(said)
    return Table(
        columns=columns,
        rows=rows,
        caption="Verifiers on boundary vectors",
        source=("measured",),
        row_headers=2,
        remarks=remarks,
        notes=(
            "Left open: the specification lets the verifier decide, and a chain must.",
            "A verification includes decoding the public key.",
        ),
    )


def findings(summary: pd.DataFrame, *, known: dict[str, str]) -> list[str]:
    """Return the findings as sentences: correct, failing and unavailable verifiers."""
    # A verifier that is unavailable here is a row without an algorithm.
    asked = summary[summary["algorithm"] != ""]
    failed = asked[asked["status"] == "failed"]
    names = asked["implementation"].unique()
    wrong_names = failed["implementation"].unique()
    right = f"{len(names) - len(wrong_names)} of {len(names)} verifiers are right on every vector"
    said = [f"{right} that they take and that the specification decides."]
    for name in wrong_names:
        own = asked[asked["implementation"] == name]
        bad = int(own[["wrong", "crashes", "timeouts"]].to_numpy().sum())
        families = ", ".join(failed.loc[failed["implementation"] == name, "family"].unique())
        public = f" Publicly known: {known[name]}." if name in known else ""
        said.append(f"{name} fails on {bad} of {int(own['vectors'].sum())}: {families}.{public}")
    absent = summary.loc[summary["algorithm"] == "", "implementation"]
    if len(absent):
        said.append(f"Not asked, for the reason that the table gives: {', '.join(absent)}.")
    return said


def _shown_times(timed: pd.DataFrame) -> list[Shown]:
    if timed.empty:
        return [Shown(None, "", None), Shown(None, "", None)]
    seconds, ratio = float(timed["verify_seconds"].iloc[0]), float(timed["ratio"].iloc[0])
    shown = "" if pd.isna(ratio) else RATIO.text(ratio)
    return [Shown(seconds, SECONDS.text(seconds, 3)), Shown(ratio, shown)]


def wrong(verdicts: pd.DataFrame, most: int = 20) -> Table:
    """Return up to `most` vectors of each verifier with a wrong verdict, a crash or a timeout."""
    bad = verdicts[verdicts["outcome"].isin(["wrong", "crash", "timeout"])]
    columns = [
        Column("verifier", key="implementation"),
        Column("vector", key="vector"),
        Column("probes", key="probe"),
        Column("expected", key="expected"),
        Column("said", key="verdict"),
    ]
    shown = bad.groupby("implementation", sort=False).head(most)
    left = len(bad) - len(shown)
    notes = [f"{left} more are in the saved verdicts."] if left else []
    return Table.of(
        shown, columns, caption="Wrong verdicts", source=("measured",), row_headers=1, notes=notes
    )


def families(summary: pd.DataFrame) -> Table:
    """Return the counts of each family and verifier, summed over algorithms."""
    asked = summary[summary["algorithm"] != ""]
    sums = asked.groupby(["family", "implementation"], sort=False).sum(numeric_only=True)
    columns = [
        Column("family", key="family"),
        Column("verifier", key="implementation"),
        *(
            _count(name)
            for name in ("vectors", "right", "wrong", "crashes", "accepted", "rejected")
        ),
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
    shown = [overview(summary, times, known=known), wrong(verdicts), families(summary)]
    frames = {"summary": summary, "verdicts": verdicts}
    if times is not None:
        frames["times"] = times
    # Without wrong verdicts, their table is left out.
    parts = [each for each in shown if each.rows]
    said = findings(summary, known=known)
    bullets = "\n".join(f"- {each}" for each in said)
    markdown = "\n\n".join(f"## {each.caption}\n\n{each.markdown()}" for each in parts)
    sections = [html.section(f"t{i}", each.caption, each.html()) for i, each in enumerate(parts)]
    contents = [(f"t{i}", each.caption) for i, each in enumerate(parts)]
    head = html.element("section", html.element("h1", TITLE), html.bullets(said))
    page = html.document(TITLE, contents, head, *sections)
    with outputs.filled(folder) as building:
        for name, frame in frames.items():
            results.save(frame, building / f"{name}.csv")
        about = f"# {TITLE}\n\n{bullets}\n\n{markdown}\n"
        (building / "conformance.md").write_text(about, encoding="utf-8")
        (building / "index.html").write_text(page, encoding="utf-8")
    return [*(f"{name}.csv" for name in frames), "conformance.md", "index.html"]


def listed(verifiers: list[Verifier]) -> Table:
    """Return a row for each verifier, with the reason if it is unavailable."""
    columns = [Column(name) for name in ("verifier", "version", "language", "status", "reason")]
    rows = []
    for each in verifiers:
        reason = each.obstacle()
        status = verdict("unsupported" if reason else "ok")
        rows.append([each.name, each.version, each.language, status, reason])
    return Table(columns=columns, rows=rows, caption="Verifiers")
