"""`pqchain conform`: test signature verifiers on boundary vectors."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pqchain import results
from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table, verdict
from pqchain.results import outputs

if TYPE_CHECKING:
    import pandas as pd

_EXPECTED = ("valid", "invalid", "acceptable")
_COUNTS = ("families", "vectors", *_EXPECTED)


def vectors(arguments: argparse.Namespace) -> int:
    """Write the test vectors, and compare their digests with those recorded for this version."""
    from pqchain_conform import suite

    outputs.claim(arguments.output)
    all_vectors = suite.vectors(arguments.algorithm, progress=console.is_interactive())
    written = suite.write(all_vectors, arguments.output)
    expected = suite.digests()
    different = [name for name, digest in written.items() if expected.get(name) != digest]
    rows = []
    for name in dict.fromkeys(vector.algorithm for vector in all_vectors):
        chosen = [vector for vector in all_vectors if vector.algorithm == name]
        counts = [sum(vector.expected == result for vector in chosen) for result in _EXPECTED]
        families = {vector.family for vector in chosen}
        rows.append([name, len(families), len(chosen), *counts])
    columns = [Column("algorithm"), *(Column(name, numeric=True) for name in _COUNTS)]
    table = Table(columns=columns, rows=rows)
    data = {
        "folder": str(arguments.output),
        "vectors": table.records(),
        "sha256": written,
        "different": different,
    }
    remarks = [f"wrote {len(written)} files to {arguments.output}"]
    remarks += [
        f"{name} differs from the digest of this version; see the changelog, or report it"
        for name in different
    ]
    return console.show(arguments, data, table, remarks=remarks, ok=not different)


def build(arguments: argparse.Namespace) -> int:
    """Build the adapters whose toolchains are installed."""
    from pqchain_conform import registry

    console.print_stderr("Building; the adapters in Rust take five minutes the first time ...")
    builds = registry.build(registry.folders())
    labels = {"built": "ok", "cached": "ok"}
    rows = [
        [folder, verdict(labels.get(status, status)), reason or status]
        for folder, (status, reason) in builds.items()
    ]
    table = Table(columns=[Column("adapters"), Column("status"), Column("reason")], rows=rows)
    # Adapters are optional, so a missing toolchain ("unsupported") is not a failure.
    ok = all(status != "failed" for status, _ in builds.values())
    return console.show(arguments, {"adapters": table.records()}, table, ok=ok)


def show_list(arguments: argparse.Namespace) -> int:
    """List the verifiers, and whether they are available on this machine."""
    from pqchain_conform import registry, tables

    table = tables.availability(registry.select(None))
    return console.show(arguments, {"verifiers": table.records()}, table)


def run(arguments: argparse.Namespace) -> int:
    """Run verifiers on vectors, show their verdicts, and save them."""
    from pqchain_conform import reading, registry, runner, suite, tables

    if arguments.name and not arguments.command:
        raise UsageError("--name names the verifier of a command after --; give the command")
    if arguments.command and arguments.verifier:
        raise UsageError("--verifier and a command after -- exclude each other; leave one out")
    if arguments.command:
        verifiers = [registry.from_command(arguments.command, arguments.name or "")]
    else:
        verifiers = registry.select(arguments.verifier)
    if arguments.timeout <= 0:
        raise UsageError(f"--timeout must be at least 1; got {arguments.timeout}")
    if arguments.output is not None:
        outputs.claim(arguments.output)
    progress = console.is_interactive()
    files = []
    if arguments.vectors:
        names = suite.known(arguments.algorithm or (), reading.READABLE)
        files = reading.read(*map(Path, arguments.vectors), algorithms=names)
        chosen = tuple(vector for file in files for vector in file.vectors)
    else:
        chosen = suite.vectors(arguments.algorithm, progress=progress)
    verdicts, summary = runner.run(
        verifiers, chosen, limit_seconds=arguments.timeout, progress=progress,
        stop_at_malformed=bool(arguments.command),
    )  # fmt: skip
    known = {row.name: row.public_defect for row in verifiers if row.public_defect}
    wrong = tables.wrong_verdicts(verdicts)
    overview = tables.overview(summary, known=known)
    remarks = [*map(str, files), *_doubts(verdicts if files else verdicts[:0])]
    if arguments.output is not None:
        with outputs.staged(arguments.output) as folder:
            results.save(summary, folder / "summary.csv")
            results.save(verdicts, folder / "verdicts.csv")
        remarks.append(f"wrote summary.csv and verdicts.csv to {arguments.output}")
    if wrong.rows:
        words = [f"--vectors={path}" for path in arguments.vectors or ()]
        command = shlex.join(["pqchain", "conform", "explain", *words, "VECTOR"])
        remarks.append(f"`{command}` shows the numbers that decide a vector.")
    data = {
        "files": [file._asdict() | {"vectors": len(file.vectors)} for file in files],
        "summary": console.records(summary),
        "wrong": wrong.records(),
    }
    # Defects that are already public do not fail the command.
    failed = set(summary[summary["status"] == "failed"]["implementation"]) - set(known)
    ok = bool((summary["status"] == "ok").any()) and not failed
    wrong_table = [wrong] if wrong.rows else []
    return console.show(arguments, data, overview, *wrong_table, remarks=remarks, ok=ok)


def _doubts(verdicts: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each algorithm of which no valid vector of the files was accepted."""
    from pqchain_conform import reading

    valid = verdicts[(verdicts["expected"] == "valid") & (verdicts["outcome"] != "unsupported")]
    for name, rows in valid.groupby("algorithm", sort=False):
        if not (rows["outcome"] == "right").any() and (others := reading.alternatives(str(name))):
            yield (
                f"No valid vector verifies as {name}. The files may be of {' or '.join(others)}, "
                "which has the same lengths: headers are not reliable; use --algorithm."
            )


def show_mutants(arguments: argparse.Namespace) -> int:
    """Show which faulty verifiers each set of test vectors detects."""
    from pqchain import machine
    from pqchain_conform import mutants, reading, suite

    names = suite.known(arguments.algorithm)
    sources = {"ours": suite.vectors(names, progress=console.is_interactive())}
    for path in arguments.compare or []:
        (file,) = reading.read(Path(path), algorithms=names)
        sources[Path(path).stem] = file.vectors
    frame = mutants.caught(
        sources, progress=console.is_interactive(), scheduler=arguments.scheduler
    )
    frame.attrs["provenance"] = machine.provenance()
    console.save(frame, arguments.output)
    survivors = mutants.survivors(frame)
    table = mutants.detection_table(frame)
    data = {
        "mutants": table.records(),
        "survivors": [{"algorithm": name, "mutant": mutant} for name, mutant in survivors],
    }
    remarks = [f"{name}: no vector detects {mutant!r}" for name, mutant in survivors]
    return console.show(arguments, data, table, remarks=remarks, ok=not survivors)


def explain(arguments: argparse.Namespace) -> int:
    """Show the rules and numbers that decide whether a test vector is valid."""
    from pqchain_conform import explain as explained
    from pqchain_conform import generators, reading, suite, vector

    algorithm, colon, number = arguments.vector.partition(":")
    if arguments.vectors:
        (known,) = suite.known([algorithm], reading.READABLE)
        files = reading.read(*map(Path, arguments.vectors), algorithms=[known])
        vectors = tuple(row for file in files for row in file.vectors)
    else:
        (known,) = suite.known([algorithm])
        vectors = generators.generate(known)
    chosen = vector.by_ident(vectors, f"{known}{colon}{number}")
    return console.show(
        arguments, explained.plain(chosen), explained.text(chosen), explained.table(chosen)
    )
