"""`pqchain conform`: boundary vectors, the verdicts of verifiers, and explanations."""

from __future__ import annotations

import argparse
from pathlib import Path

from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table, verdict
from pqchain.results import outputs

_EXPECTED = ("valid", "invalid", "acceptable")
_COUNTS = ("families", "vectors", *_EXPECTED)


def vectors(arguments: argparse.Namespace) -> int:
    """Write the vectors, and compare them with the digests of this version."""
    from pqchain.conform import suite

    outputs.claim(arguments.output)
    made = suite.vectors(arguments.algorithm, progress=console.watched())
    written = suite.write(made, arguments.output)
    expected = suite.digests()
    different = [name for name, digest in written.items() if expected.get(name) != digest]
    rows = []
    for name in dict.fromkeys(each.algorithm for each in made):
        own = [each for each in made if each.algorithm == name]
        counts = [sum(each.expected == word for each in own) for word in _EXPECTED]
        rows.append([name, len({each.family for each in own}), len(own), *counts])
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


def build(arguments: argparse.Namespace) -> int:
    """Build the adapters whose toolchains are installed."""
    from pqchain.conform import registry

    console.talk("building; the adapters in Rust take five minutes the first time")
    found = registry.build(registry.folders())
    words = {"built": "ok", "cached": "ok"}
    rows = [
        [folder, verdict(words.get(status, status)), reason or status]
        for folder, (status, reason) in found.items()
    ]
    table = Table(columns=[Column("adapters"), Column("status"), Column("reason")], rows=rows)
    # Adapters are optional, so a missing toolchain ("unsupported") is not a failure.
    fine = all(status != "failed" for status, _ in found.values())
    return console.show(arguments, {"adapters": table.records()}, table, fine=fine)


def show_list(arguments: argparse.Namespace) -> int:
    """Show which verifiers are available here."""
    from pqchain.conform import registry, tables

    table = tables.availability(registry.select(None))
    return console.show(arguments, {"verifiers": table.records()}, table)


def run(arguments: argparse.Namespace) -> int:
    """Run verifiers on vectors, show their verdicts, and save them."""
    from pqchain.conform import formats, registry, runner, suite, tables, timing

    if arguments.command and arguments.verifier:
        raise UsageError("--verifier and a command line after -- exclude each other; give one")
    if arguments.command:
        verifiers = [registry.from_command(arguments.command)]
    else:
        verifiers = registry.select(arguments.verifier)
    if arguments.limit_seconds <= 0:
        raise UsageError(f"--limit-seconds {arguments.limit_seconds}; expected more than 0")
    if arguments.output is not None:
        outputs.claim(arguments.output)
    watched = console.watched()
    if arguments.vectors:
        given = tuple(each for path in arguments.vectors for each in formats.read(Path(path)))
        if arguments.algorithm:
            names = suite.known(arguments.algorithm)
            given = tuple(each for each in given if each.algorithm in names)
    else:
        given = suite.vectors(arguments.algorithm, progress=watched)
    verdicts, summary = runner.run(
        verifiers, given, limit_seconds=arguments.limit_seconds, progress=watched
    )
    times = timing.measure(verifiers, given, progress=watched) if arguments.times else None
    known = {each.name: each.public_defect for each in verifiers if each.public_defect}
    shown = [tables.overview(summary, times, known=known)]
    bad = tables.wrong_verdicts(verdicts)
    if bad.rows:
        shown.append(bad)
    remarks = []
    if arguments.output is not None:
        files = tables.save(arguments.output, summary, verdicts, times, known=known)
        remarks.append(f"wrote {', '.join(files)} to {arguments.output}")
    if bad.rows:
        remarks.append("`pqchain conform explain VECTOR` shows the numbers that decide a vector.")
    plain = {
        "summary": console.records(summary),
        "wrong": bad.records(),
        "times": [] if times is None else console.records(times),
    }
    # Defects that are already public do not fail the command.
    failed = set(summary[summary["status"] == "failed"]["implementation"]) - set(known)
    fine = bool((summary["status"] == "ok").any()) and not failed
    return console.show(arguments, plain, *shown, remarks=remarks, fine=fine)


def show_mutants(arguments: argparse.Namespace) -> int:
    """Show which faulty verifiers each set of vectors detects."""
    from pqchain import machine
    from pqchain.conform import formats, mutants, suite

    names = suite.known(arguments.algorithm)
    sources = {"ours": suite.vectors(names, progress=console.watched())}
    for path in arguments.compare or []:
        read = formats.read(Path(path))
        sources[Path(path).stem] = tuple(each for each in read if each.algorithm in names)
    found = mutants.caught(sources, progress=console.watched())
    found.attrs["provenance"] = machine.provenance()
    console.save(found, arguments.output)
    survivors = mutants.survivors(found)
    plain = {
        "mutants": mutants.detection_table(found).records(),
        "survivors": [{"algorithm": name, "mutant": mutant} for name, mutant in survivors],
    }
    remarks = [f"{name}: nothing catches {mutant!r}" for name, mutant in survivors]
    return console.show(
        arguments, plain, mutants.detection_table(found), remarks=remarks, fine=not survivors
    )


def explain(arguments: argparse.Namespace) -> int:
    """Show the rules that decide a vector."""
    from pqchain.conform import explain as explained
    from pqchain.conform import generators, suite, vector

    algorithm, colon, number = arguments.vector.partition(":")
    (known,) = suite.known([algorithm])
    found = vector.by_ident(generators.generate(known), f"{known}{colon}{number}")
    return console.show(
        arguments, explained.plain(found), explained.text(found), explained.table(found)
    )
