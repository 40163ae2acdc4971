"""Test signature verifiers and KEMs on boundary vectors.

Examples:
  pqchain conform vectors --output vectors        files for other projects
  pqchain conform run --algorithm ML-DSA-44       test all verifiers
  pqchain conform run -- ./my-verifier            test your verifier
  pqchain conform explain ML-DSA-44:17            the numbers that decide a vector
  pqchain conform list --json

Verifiers that disagree split a chain. Report a wrong one to its maintainers first
(CONTRIBUTING.md).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pqchain import results
from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table, verdict
from pqchain.results import outputs

if TYPE_CHECKING:
    import pandas as pd

conform = values.command_group("conform", __doc__)

_EXPECTED = ("valid", "invalid", "acceptable")
_COUNTS = ("families", "vectors", *_EXPECTED)


@conform.command
def vectors(
    *, output: Path, algorithm: values.Names = (), form: values.Format = values.TEXT
) -> int:
    """Write the boundary vectors as files for other projects.

    The vectors take a minute or two and are identical on every machine. Their expected results come
    from a model of the specification, from portable C, and from OpenSSL where it has the scheme.
    Each file is compared with its digest in this version; exit code 1 if one differs.

    Args:
        output: output folder, created if missing
        algorithm: such as ML-DSA-65 or Falcon-padded-512; default: all

    Examples:
      pqchain conform vectors --output vectors
      pqchain conform vectors --algorithm Falcon-512,Falcon-padded-512 --output vectors
    """
    from pqchain_conform import suite

    names = suite.known(algorithm)  # a wrong name leaves no folder
    outputs.claim(output)
    all_vectors = suite.vectors(names or None, progress=console.is_interactive())
    written = suite.write(all_vectors, output)
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
        "folder": str(output),
        "vectors": table.records(),
        "sha256": written,
        "different": different,
    }
    remarks = [f"wrote {len(written)} files to {output}"]
    remarks += [
        f"{name} differs from the digest of this version; see the changelog, or report it"
        for name in different
    ]
    return console.show(form, data, table, remarks=remarks, ok=not different)


@conform.command
def build(*, form: values.Format = values.TEXT) -> int:
    """Build the adapters whose toolchains are installed: cargo, go, java, node.

    The package manager of each language fetches the sources, pinned by lock files. Builds are
    cached. Rust takes minutes the first time, the others take seconds. Exit code 1 if a build
    failed.
    """
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
    return console.show(form, {"adapters": table.records()}, table, ok=ok)


@conform.command
def list_(*, form: values.Format = values.TEXT) -> int:
    """List the available verifiers, and why others are unavailable."""
    from pqchain_conform import registry, tables

    table = tables.availability(registry.select(None))
    return console.show(form, {"verifiers": table.records()}, table)


@conform.command
def run(
    *command: str,
    algorithm: values.Names = (),
    name: str | None = None,
    verifier: values.Names = (),
    vectors: Annotated[tuple[str, ...], values.FILES] = (),
    timeout: values.Whole = 60,
    output: Path | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Run verifiers on the vectors and show wrong verdicts.

    Exit code 1 for a wrong verdict that is not a publicly known defect, 2 for invalid use.

    Args:
        command: after --: command line of your verifier
        algorithm: default: all that have vectors
        name: name of the verifier after --; default: that of its script or program
        verifier: see `pqchain conform list`; default: all that are built
        vectors: files of vectors to use instead of those of pqchain: JSON of Project Wycheproof or
            of ACVP, response files of NIST, which are of the --algorithm with their lengths
            whatever their header says
        timeout: timeout per verdict in seconds
        output: folder in which the result is saved as CSV

    Examples:
      pqchain conform run --algorithm ML-DSA-44,Falcon-512
      pqchain conform run --verifier circl,noble --output conformance
      pqchain conform run --vectors mldsa_65_verify_test.json     of Project Wycheproof
      pqchain conform run --vectors prompt.json expectedResults.json     of ACVP
      pqchain conform run --algorithm ML-DSA-44 --vectors PQCsignKAT_Dilithium2.rsp
      pqchain conform run --algorithm ML-DSA-65 -- ./my-verifier --fast

    Your verifier reads one line of JSON per vector and writes one line:
      {"id": 1, "operation": "verify", "algorithm": "ML-DSA-65", "public_key": "5f...",
       "message": "", "context": "", "signature": "8a...", "repeat": 1}
      {"id": 1, "verdict": "accept", "nanoseconds": [71000]}

    The verdict is accept, reject, refuse (an error instead of a verdict), unsupported or panic. An
    answer may have "parts": {"decode_key": [19000]}, and "decode_signature", as part of these
    times. A KEM gets "operation": "encapsulate" with "encapsulation_key", and has to accept or to
    refuse it; or "decapsulate" with "decapsulation_key" and "ciphertext", and answers accept with
    "shared_secret".
    """
    from pqchain_conform import reading, registry, runner, suite, tables

    if name and not command:
        raise UsageError("--name names the verifier of a command after --; give the command")
    if command and verifier:
        raise UsageError("--verifier and a command after -- exclude each other; leave one out")
    if command:
        # Before vectors are made, which takes half a minute.
        if shutil.which(command[0]) is None:
            raise UsageError(
                f"the command after -- must start with a program; got {command[0]!r}. Files of "
                "vectors follow --vectors."
            )
        verifiers = [registry.from_command(list(command), name or "")]
    else:
        verifiers = registry.select(list(verifier) or None)
    if timeout <= 0:
        raise UsageError(f"--timeout must be at least 1; got {timeout}")
    names = suite.known(algorithm, reading.READABLE) if vectors else suite.known(algorithm)
    if output is not None:
        outputs.claim(output)
    progress = console.is_interactive()
    files = []
    if vectors:
        files = reading.read(*map(Path, vectors), algorithms=names)
        chosen = tuple(vector for file in files for vector in file.vectors)
    else:
        chosen = suite.vectors(names or None, progress=progress)
    verdicts, summary = runner.run(
        verifiers, chosen, limit_seconds=timeout, progress=progress,
        stop_at_malformed=bool(command),
    )  # fmt: skip
    known = {row.name: row.public_defect for row in verifiers if row.public_defect}
    wrong = tables.wrong_verdicts(verdicts)
    remarks = [*map(str, files), *_doubts(verdicts if files else verdicts[:0])]
    if output is not None:
        with outputs.staged(output) as folder:
            results.save(summary, folder / "summary.csv")
            results.save(verdicts, folder / "verdicts.csv")
        remarks.append(f"wrote summary.csv and verdicts.csv to {output}")
    if wrong.rows:
        words = [f"--vectors={path}" for path in vectors]
        line = shlex.join(["pqchain", "conform", "explain", *words, "VECTOR"])
        remarks.append(f"`{line}` shows the numbers that decide a vector.")
    data = {
        "files": [file._asdict() | {"vectors": len(file.vectors)} for file in files],
        "summary": console.records(summary),
        "wrong": wrong.records(),
    }
    # Defects that are already public do not fail the command.
    failed = set(summary[summary["status"] == "failed"]["implementation"]) - set(known)
    ok = bool((summary["status"] == "ok").any()) and not failed
    shown = [tables.overview(summary, known=known), *([wrong] if wrong.rows else [])]
    return console.show(form, data, *shown, remarks=remarks, ok=ok)


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


@conform.command
def mutants(
    *,
    algorithm: values.Names = (),
    compare: Annotated[tuple[str, ...], values.FILES] = (),
    scheduler: str | None = None,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Show which vectors detect which faulty verifiers.

    A mutant is the model of the specification with one rule removed or changed. --compare also
    shows which mutants the vectors of Project Wycheproof or of ACVP detect. All algorithms take
    some minutes. Exit code 1 if the vectors of pqchain do not detect a mutant.

    Args:
        algorithm: default: all that have vectors
        compare: files of vectors of other projects
        scheduler: test the mutants on a Dask cluster, such as tls://host:8786

    Examples:
      pqchain conform mutants --algorithm ML-DSA-44
      pqchain conform mutants --compare mldsa_65_verify_test.json --output mutants.csv
    """
    from pqchain.results import machine
    from pqchain_conform import mutants as models
    from pqchain_conform import reading, suite

    names = suite.known(list(algorithm) or None)
    sources = {"ours": suite.vectors(names, progress=console.is_interactive())}
    for path in compare:
        (file,) = reading.read(Path(path), algorithms=names)
        sources[Path(path).stem] = file.vectors
    frame = models.caught(sources, progress=console.is_interactive(), scheduler=scheduler)
    frame.attrs["provenance"] = machine.provenance()
    console.save(frame, output)
    survivors = models.survivors(frame)
    table = models.detection_table(frame)
    data = {
        "mutants": table.records(),
        "survivors": [{"algorithm": name, "mutant": mutant} for name, mutant in survivors],
    }
    remarks = [f"{name}: no vector detects {mutant!r}" for name, mutant in survivors]
    return console.show(form, data, table, remarks=remarks, ok=not survivors)


@conform.command
def explain(
    vector: str,
    /,
    *,
    vectors: tuple[str, ...] = (),
    form: values.Format = values.TEXT,
) -> int:
    """Show the rules and numbers that decide a vector.

    Args:
        vector: such as ML-DSA-44:17
        vectors: file of the vector, instead of those of pqchain; may be repeated

    Examples:
      pqchain conform explain ML-DSA-44:17
      pqchain conform explain Falcon-512:3 --json     with all bytes
      pqchain conform explain ML-DSA-65:9 --vectors mldsa_65_verify_test.json
    """
    from pqchain_conform import explain as explained
    from pqchain_conform import generators, reading, suite
    from pqchain_conform import vector as all_vectors

    algorithm, colon, number = vector.partition(":")
    if vectors:
        (known,) = suite.known([algorithm], reading.READABLE)
        files = reading.read(*map(Path, vectors), algorithms=[known])
        known_vectors = tuple(row for file in files for row in file.vectors)
    else:
        (known,) = suite.known([algorithm])
        known_vectors = generators.generate(known)
    chosen = all_vectors.by_ident(known_vectors, f"{known}{colon}{number}")
    return console.show(
        form, explained.plain(chosen), explained.text(chosen), explained.table(chosen)
    )
