"""Time cryptographic operations on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pqchain.commands import console, values
from pqchain.errors import UsageError


def bench(
    *,
    algorithm: values.Names = (),
    operation: values.Names = (),
    implementation: values.Names = (),
    scheme: values.Schemes = (),
    proofs: values.Names = (),
    signatures: Annotated[Path | None, values.RARE] = None,
    preset: values.Preset | None = None,
    append: values.TableFile | None = None,
    submit: Annotated[Path | None, values.RARE] = None,
    cycles: Annotated[bool, values.RARE] = False,
    resume: bool = False,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Time cryptographic operations on this machine.

    The preset quick takes 2 to 3 minutes for everything, and seconds for one scheme; paper gives
    numbers for publication.

    Args:
        algorithm: default: every algorithm of the default build
        operation: generate_keypair, sign, verify, encapsulate, decapsulate; default: all; also
            decode_key, the part of verify that keeping a key decoded saves
        implementation: see `pqchain algorithms --implementations`; default: all
        proofs: instead of operations, measure proofs of so many leanXMSS signatures, or merged
            ones (2x64), by py-lean-pq; signing takes a third of a second each
        signatures: with --proofs: keep the signatures in this file, or use those that it has
        append: append the run, with date and commit, to a history, which `pqchain compare`
            compares or plots over time
        submit: measure everything with preset paper and write FOLDER/<machine id> for
            data/measurements; refused on a busy machine or with uncommitted changes
        cycles: show quartiles and median in cycles, as SUPERCOP does
        resume: go on with the last run of the same command, which was interrupted

    Examples:
      pqchain bench --algorithm Falcon-512,ML-DSA-44 --operation sign,verify
      pqchain bench --algorithm Dilithium2 --implementation liboqs-0.13/avx2,liboqs-0.13/ref
      pqchain bench --scheme ./libmine.so                       time your own code
      pqchain bench --algorithm Falcon-512 --cycles --latex     quartiles for a paper
      pqchain bench --proofs 16,64,256,2x64                     proofs that aggregate signatures
      pqchain bench --append history.csv                        history for `pqchain compare`
      pqchain bench --preset paper --output mine.csv
      pqchain bench --submit data/measurements                  for a pull request
    """
    asked = {
        "algorithm": algorithm, "operation": operation, "implementation": implementation,
        "scheme": scheme,
    }  # fmt: skip
    if proofs:
        others = {"append": append, "cycles": cycles, "resume": resume, "submit": submit}
        _exclude("--proofs cannot be combined with", {**asked, **others})
        from pqchain.bench import proofs as proving
        from pqchain.bench import tables

        frame = proving.measure_proofs(proving.parse_sizes(proofs), signatures=signatures)
        console.save(frame, output)
        return console.show_measurements(form, "proofs", frame, tables.proof_table(frame))
    if signatures is not None:
        raise UsageError("--signatures is for --proofs; add it, or leave --signatures out")
    names = console.algorithm_names(algorithm, console.register_schemes(scheme)) or None
    # Imported after the names are checked, so that a wrong name is rejected quickly.
    from pqchain.bench import operations, runs, stored, tables, variation

    if submit is not None:
        _exclude("--submit measures everything; leave out", asked)
        stored.check_submission(submit, preset or "paper")
        preset = "paper"
    if output is not None and runs.is_history(output):
        raise UsageError(f"{output} is a history; use --append, or name a new file")
    with console.resumable("bench", preset=preset, resume=resume, **asked) as options:
        measurements = operations.measure(
            names,
            list(operation) or None,
            list(implementation) or None,
            keep_samples=cycles,
            warn=False,  # shown with the table, and in --json
            **options,
        )
        samples = measurements.attrs.pop("samples", None)
        console.save(measurements, output)
        if submit is not None:
            console.print_stderr(f"Saved: {stored.save(measurements, submit).parent}")
        if append is not None:
            runs.append(measurements, append)
            console.print_stderr(f"Added to: {append}")
    if samples is not None:
        quartiles = variation.quartiles(samples)
        table = tables.quartile_table(quartiles)
        return console.show_measurements(form, "quartiles", measurements, table, rows=quartiles)
    table = tables.operation_table(measurements)
    return console.show_measurements(form, "measurements", measurements, table)


def _exclude(message: str, options: dict[str, Any]) -> None:
    if named := [f"--{name}" for name, value in options.items() if value]:
        raise UsageError(f"{message} {', '.join(named)}; leave those out")
