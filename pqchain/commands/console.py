"""What each command does: one thin function each, returning the exit code.

Data goes to stdout, talk to stderr. Heavy modules are imported where they are used, so that
`pqchain --help` stays quick.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.bench import presets, tables
from pqchain.errors import UnknownName, UsageError
from pqchain.render import numbers

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.works import papers

FINE, CHECK_FAILED = 0, 1
"""Exit codes of a command; wrong use is an error that `pqchain.commands.main` turns into a 2."""

_ASCII = str.maketrans({"µ": "u", numbers.TIMES: "x", numbers.NARROW_SPACE: " ", "…": "~",
                        "─": "-", numbers.MISSING: "-"})  # fmt: skip
"""What a terminal without Unicode is shown instead."""


def run_doctor(arguments: argparse.Namespace) -> int:
    """Show what was found; fail if something essential is broken."""
    from pqchain.commands import doctor

    findings = doctor.examine()
    healthy = all(finding.healthy for finding in findings)
    if arguments.json:
        records = [asdict(finding) for finding in findings]
        _write_json({"healthy": healthy, "findings": records})
        return FINE if healthy else CHECK_FAILED
    width = max(len(finding.name) for finding in findings)
    group, lines = "", []
    for finding in findings:
        if finding.group != group:
            group = finding.group
            lines += ["", group]
        mark = {"present": "ok", "missing": "--", "broken": "!!"}[finding.state]
        lines.append(f"  {mark}  {finding.name:<{width}}  {finding.detail}")
        if finding.disables:
            lines.append(f"      {'':<{width}}  disables: {finding.disables}")
        if finding.mend:
            lines.append(f"      {'':<{width}}  to mend:  {finding.mend}")
    missing = sum(finding.state == "missing" for finding in findings)
    verdict = "Nothing essential is broken" if healthy else "Something essential is broken"
    parts = "1 optional part is" if missing == 1 else f"{missing} optional parts are"
    _write("\n".join([*lines[1:], "", f"{verdict}; {parts} missing."]))
    return FINE if healthy else CHECK_FAILED


def list_algorithms(arguments: argparse.Namespace) -> int:
    """List the registry."""
    if arguments.implementations:
        return _implementations(arguments)
    if arguments.family is not None and arguments.family not in algorithms.FAMILIES:
        raise UnknownName("family", arguments.family, algorithms.FAMILIES, "`pqchain algorithms`.")
    names = algorithms.names(arguments.kind, family=arguments.family, everything=arguments.all)
    rows = [algorithms.get(name) for name in names]
    if arguments.json:
        _write_json([_algorithm_record(row) for row in rows])
        return FINE
    header = ["name", "level", "public key", "secret key", "sig / ct", "status", "from"]
    table = [
        [
            row.name, str(row.nist_level or numbers.MISSING), str(row.public_key_bytes),
            str(row.secret_key_bytes), _output_size(row), row.family_facts.security_status,
            _library_of(row),
        ]
        for row in rows
    ]  # fmt: skip
    _write(numbers.text_table(header, table, right=(1, 2, 3, 4), width=_terminal_width()))
    talk("Sizes in bytes; ~ marks a mean of varying length. --json has sources and aliases.")
    return FINE


def _algorithm_record(row: algorithms.Algorithm) -> dict[str, Any]:
    """Return an algorithm with the facts of its family."""
    family = row.family_facts
    return {
        **asdict(row),
        "signature_varies": row.signature_varies,
        "operations": list(row.operations),
        "problem": family.problem,
        "post_quantum": family.post_quantum,
        "context_bytes": family.context_bytes,
        "security_status": family.security_status,
        "security_note": family.security_note,
        "security_source": family.security_source,
        "avx2_corrected": family.avx2_corrected,
    }


def _output_size(row: algorithms.Algorithm) -> str:
    """Show what the scheme puts out: a signature or a ciphertext."""
    size = row.signature_bytes or row.ciphertext_bytes
    return f"~{size}" if row.signature_varies else str(size)


def _library_of(row: algorithms.Algorithm) -> str:
    """Name the libraries that offer an algorithm, each once."""
    libraries = dict.fromkeys(name.partition("/")[0] for name in row.implementations)
    if not row.default_build:
        return f"{', '.join(libraries)} (PQCHAIN_ALGORITHMS=all)"
    return ", ".join(libraries) or "none in this version"


def _implementations(arguments: argparse.Namespace) -> int:
    """List who computes, and whether it runs here."""
    for option in ("kind", "family", "all"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} selects algorithms, not --implementations; leave one out")
    from pqchain import crypto

    reasons = {name: crypto.available(name) for name in algorithms.IMPLEMENTATIONS}
    if arguments.json:
        _write_json(
            [
                {**asdict(row), "available": not reasons[name], "reason": reasons[name]}
                for name, row in algorithms.IMPLEMENTATIONS.items()
            ]
        )
        return FINE
    table = [
        [name, "runs here" if not reasons[name] else "no", reasons[name] or row.description]
        for name, row in algorithms.IMPLEMENTATIONS.items()
    ]
    _write(numbers.text_table(["implementation", "available", "what or why"], table))
    return FINE


def show_papers(arguments: argparse.Namespace) -> int:
    """Show the published works, one of them, or one of its tables."""
    from pqchain.works import papers

    if arguments.findings and (arguments.key is None or arguments.table is not None):
        given = "no work" if arguments.key is None else f"the table {arguments.table}"
        raise UsageError(
            f"--findings is about one whole work, but {given} was named; expected "
            "`pqchain papers KEY --findings`"
        )
    if arguments.key is None:
        return _paper_list(arguments)
    paper = papers.paper(arguments.key)
    if arguments.findings:
        from pqchain.report import findings

        if arguments.json:
            _write_json(_records(findings.judged(paper.key)))
        else:
            _write(findings.page(paper.key).rstrip())
        return FINE
    if arguments.table is not None:
        return _paper_table(arguments)
    if arguments.json:
        _write_json(asdict(paper))
        return FINE
    facts = [("title", paper.title), ("", paper.title_korean), ("", paper.title_note)]
    facts += [("authors", ", ".join(paper.authors)), ("venue", paper.venue), ("year", paper.year)]
    facts += list(paper.machine.items())
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}".rstrip() for name, value in facts if value]
    lines += ["", "tables"]
    longest = max(len(name) for name in paper.tables)
    lines += [f"  {name:<{longest}}  {layout.description}" for name, layout in paper.tables.items()]
    for title, entries in (
        ("errata", [_erratum(erratum) for erratum in paper.errata]),
        ("notes", list(paper.notes)),
    ):
        lines += ["", title, *(_wrapped(entry) for entry in entries)] if entries else []
    _write("\n".join(lines))
    return FINE


def _paper_list(arguments: argparse.Namespace) -> int:
    """List the published works."""
    from pqchain.works import papers

    works = list(map(papers.paper, papers.keys()))
    if arguments.json:
        _write_json(
            [
                {
                    "key": work.key,
                    "title": work.title,
                    "title_korean": work.title_korean,
                    "year": work.year,
                    "tables": list(work.tables),
                }
                for work in works
            ]
        )
        return FINE
    rows = [[work.key, work.title] for work in works]
    _write(numbers.text_table(["key", "title"], rows, width=_terminal_width()))
    talk("`pqchain papers KEY` shows one; `pqchain papers KEY TABLE` one of its tables.")
    return FINE


def _paper_table(arguments: argparse.Namespace) -> int:
    """Show one published table."""
    from pqchain.works import papers

    frame = papers.table(arguments.key, arguments.table)
    if arguments.json:
        about = {"paper": arguments.key, "table": arguments.table, **frame.attrs}
        _write_json({**about, "rows": _records(frame)})
        return FINE
    header, rows, right = numbers.published_cells(frame)
    _write(numbers.text_table(header, rows, right=right, width=_terminal_width()))
    caption, section = frame.attrs["caption"], frame.attrs["section"]
    talk(f"{caption or frame.attrs['description']} (section {section})")
    for note in frame.attrs["errata"]:
        talk(_wrapped(f"erratum: {note}"))
    return FINE


def _erratum(erratum: papers.Erratum) -> str:
    """Say where a print is wrong and how."""
    where = ", ".join(part for part in (erratum.table, erratum.row, erratum.column) if part)
    return f"{where}: {erratum.note}"


def _wrapped(text: str) -> str:
    """Break a remark into indented lines."""
    columns = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(text, columns, initial_indent="  - ", subsequent_indent="    ")


def run_bench(arguments: argparse.Namespace) -> int:
    """Measure and show."""
    from pqchain import results
    from pqchain.bench import operations as bench

    output: Path | None = arguments.output
    if arguments.samples and output is None:
        raise UsageError("--samples needs --output FILE.csv; the samples go to FILE-samples.csv")
    _check_output(output, samples=arguments.samples)
    names = _split(arguments.algorithm)
    measured = bench.measure(
        None if names is None else [algorithms.get(name).name for name in names],
        _split(arguments.operation),
        _split(arguments.implementation),
        preset=arguments.preset or presets.preset(),
        progress=sys.stderr.isatty(),
        keep_samples=arguments.samples,
    )
    samples = measured.attrs.pop("samples", None)
    provenance = measured.attrs["provenance"]
    if output is not None:
        results.save(measured, output)
        if samples is not None:
            beside = _samples_beside(output)
            results.save(samples, beside, provenance=provenance)
            talk(f"Samples: {beside}")
        talk(f"Saved: {output}")
    if arguments.json:
        _write_json({"provenance": provenance, "measurements": _records(measured)})
    else:
        _write(tables.operation_table(measured).text(_terminal_width()))
        talk(f"Machine: {provenance['machine_id']}, preset {provenance['preset']}")
    return _code(measured)


def _code(measured: pd.DataFrame) -> int:
    """Return the exit code for a table: a failed row is a failure, and so is no row that ran."""
    fine = (measured["status"] == "ok").any() and not (measured["status"] == "failed").any()
    return FINE if fine else CHECK_FAILED


def run_chain(arguments: argparse.Namespace) -> int:
    """Measure blocks and show them: one in words, several in a table."""
    from pqchain import results
    from pqchain.bench import blocks as blockbench

    output: Path | None = arguments.output
    names = _split(arguments.algorithm)
    if arguments.all and names is not None:
        raise UsageError(f"--all and --algorithm {','.join(names)} exclude each other; give one")
    _check_output(output)
    measured = blockbench.measure_blocks(
        None if arguments.all else names or ["Falcon-512"],
        transactions=arguments.transactions,
        threads=_numbers(_split(arguments.threads) or ["1", "2", "4"], "--threads"),
        public_key=arguments.public_key,
        implementation=arguments.implementation,
        data_bytes=arguments.data_bytes,
        preset=arguments.preset or presets.preset(),
        progress=sys.stderr.isatty(),
    )
    provenance = measured.attrs["provenance"]
    measured.attrs.pop("rounds", None)
    if output is not None:
        results.save(measured, output)
        talk(f"Saved: {output}")
    if arguments.json:
        _write_json({"provenance": provenance, "blocks": _records(measured)})
    else:
        alone = measured["algorithm"].nunique() == 1
        several = tables.block_table(measured).text(_terminal_width())
        _write("\n".join(tables.lines(measured)) if alone else several)
        talk(f"Machine: {provenance['machine_id']}, preset {provenance['preset']}")
    return _code(measured)


def _check_output(output: Path | None, *, samples: bool = False) -> None:
    """Refuse what cannot be written, before anything is measured."""
    if output is None:
        return
    if output.suffix != ".csv":
        raise UsageError(f"--output {output} should end in .csv; its provenance goes to a .json")
    from pqchain import results

    for path in (output, _samples_beside(output)) if samples else (output,):
        results.check_writable(path)
        results.check_writable(path.with_suffix(".json"))


def _samples_beside(output: Path) -> Path:
    """Return the file for the samples of a table."""
    return output.with_name(f"{output.stem}-samples.csv")


def _numbers(values: list[str], option: str) -> list[int]:
    """Return whole numbers; raises UsageError for anything else."""
    try:
        return [int(value) for value in values]
    except ValueError:
        raise UsageError(f"{option} {','.join(values)}: expected whole numbers") from None


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Write the report and say what it found."""
    from pqchain.report import reproduce as report
    from pqchain.works.pqdpol import tables as pqdpol_layout
    from pqchain.works.quic_reencoding import tables as replaylayout
    from pqchain.works.round3 import tables as layout
    from pqchain.works.round3 import work as round3

    done = report.reproduce(
        arguments.output,
        preset=arguments.preset or presets.preset(),
        only=_split(arguments.only),
        progress=sys.stderr.isatty(),
    )
    by_print = done.claims["source"] == "published"
    frames = (
        ("statements by the print", done.claims[by_print], "verdict"),
        ("statements by numbers from here", done.claims[~by_print], "verdict"),
        ("sizes", done.sizes, "verdict"),
        ("operations timed", done.measurements, "status"),
    )
    counts = {
        name: {str(value): int(count) for value, count in frame[column].value_counts().items()}
        for name, frame, column in frames
    }
    table = round3.table1(done.measurements) if round3.KEY in done.keys else None
    if arguments.json:
        extra: dict[str, Any] = {} if table is None else {"round3_table1": round3.columns(table)}
        if done.study:
            extra["pqdpol_tables"] = [row for frame in done.study.tables for row in _records(frame)]
        if done.replays:
            extra["quic_reencoding"] = {
                name: _records(frame) for name, frame in done.replays.items() if name != "runs"
            }
        _write_json(
            {
                "ok": not done.failures,
                "failures": done.failures,
                "index": str(done.index),
                "works": list(done.keys),
                **{name.replace(" ", "_"): found for name, found in counts.items()},
                **extra,
            }
        )
    else:
        for name, found in counts.items():
            talk(f"{name:>31}: " + ", ".join(f"{count} {what}" for what, count in found.items()))
        for failure in done.failures:
            talk(f"pqchain: {failure}")
        if table is not None and arguments.only:
            _write(layout.text(table, round3.cross_check(done.measurements)) + "\n")
        if done.replays and arguments.only:
            _write(replaylayout.text(done.replays) + "\n")
        if done.study and arguments.only:
            _write(pqdpol_layout.text(done.study) + "\n")
        _write(str(done.index))
    return CHECK_FAILED if done.failures else FINE


def _split(values: list[str] | None) -> list[str] | None:
    """Return the names of an option that may be repeated and hold commas.

    Raises UsageError if it was given without a name.
    """
    if values is None:
        return None
    names = [name.strip() for value in values for name in value.split(",") if name.strip()]
    if not names:
        raise UsageError(f"an option was given {values}, which holds no name; leave it out for all")
    return names


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain JSON: what is missing is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def _terminal_width() -> int | None:
    """Return the width to cut tables to; a file or a pipe gets whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _write_json(value: Any) -> None:
    """Write the only thing that a reader of JSON may see."""
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    _write(json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    """Turn numbers of numpy and paths into what JSON knows."""
    return value.item() if hasattr(value, "item") else str(value)


def _write(text: str) -> None:
    """Write data to stdout, in the characters that it can show."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    sys.stdout.write(f"{text}\n")


def talk(text: str) -> None:
    """Say something to the person, not to the pipe."""
    sys.stderr.write(f"{text}\n")
