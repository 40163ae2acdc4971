"""`pqchain bench`: time operations on this machine."""

from __future__ import annotations

import argparse

from pqchain.commands import console, options
from pqchain.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Measure operations, or proofs, and show the results."""
    if arguments.proofs:
        return _run_proofs(arguments)
    if arguments.signatures:
        raise UsageError("--signatures is for --proofs; add it, or leave --signatures out")
    names = console.algorithm_names(arguments) or None
    # Imported after the names are checked, so that a wrong name is rejected quickly.
    from pqchain.bench import operations, presets, runs, stored, tables, variation

    output = samples_output = arguments.output
    if arguments.samples:
        if output is None:
            raise UsageError(
                "--samples needs --output FILE.csv; the samples go to FILE-samples.csv"
            )
        # Output files are checked before the measurement, which may take minutes.
        samples_output = options.table_path(output.with_name(f"{output.stem}-samples.csv"))
    if arguments.submit is not None:
        _check_submission(arguments)
    if output is not None and runs.is_history(output):
        raise UsageError(f"{output} is a history; use --append, or name a new file")
    wanted = ("algorithm", "operation", "implementation")
    with console.resumable(arguments, "bench", wanted) as checkpoint:
        measurements = operations.measure(
            names,
            arguments.operation,
            arguments.implementation,
            preset="paper" if arguments.submit else arguments.preset or presets.preset(),
            progress=console.is_interactive(),
            # --cycles computes its quartiles from the samples.
            keep_samples=arguments.samples or arguments.cycles,
            checkpoint=checkpoint,
            warn=False,  # shown with the table, and in --json
        )
        provenance = measurements.attrs["provenance"]
        samples = measurements.attrs.pop("samples", None)
        console.save(measurements, output)
        if samples is not None and arguments.samples:
            console.save(samples, samples_output, provenance=provenance)
        if arguments.submit is not None:
            console.print_stderr(f"Saved: {stored.save(measurements, arguments.submit).parent}")
        if arguments.append:
            runs.append(measurements, arguments.append)
            console.print_stderr(f"Added to: {arguments.append}")
    if arguments.cycles and samples is not None:
        quartiles = operations.quartiles(samples)
        warnings = variation.warnings(measurements)
        data = {"provenance": provenance, "warnings": warnings}
        data["quartiles"] = console.records(quartiles)
        first = ["\n".join(warnings)] if warnings else []
        return console.show(arguments, data, *first, tables.quartile_table(quartiles))
    table = tables.operation_table(measurements)
    return console.show_measurements(arguments, "measurements", measurements, table)


def _check_submission(arguments: argparse.Namespace) -> None:
    """Raise UsageError, before minutes of measuring, if the run could not be stored."""
    from pqchain import machine
    from pqchain.bench import stored
    from pqchain.results.files import check_writable

    chosen = ("algorithm", "operation", "implementation", "scheme")
    if named := [f"--{name}" for name in chosen if getattr(arguments, name)]:
        raise UsageError(f"--submit measures everything; leave out {', '.join(named)}")
    provenance = machine.provenance() | {"preset": arguments.preset or "paper"}
    if found := stored.obstacles(provenance):
        raise UsageError(f"nothing was measured: {'; '.join(found)}")
    arguments.submit.mkdir(parents=True, exist_ok=True)
    check_writable(arguments.submit / stored.FILE)


def _run_proofs(arguments: argparse.Namespace) -> int:
    from pqchain.bench import proofs, tables

    others = (
        *("algorithm", "operation", "implementation", "scheme", "append", "cycles", "samples"),
        *("resume", "submit"),
    )
    if named := [f"--{name}" for name in others if getattr(arguments, name)]:
        raise UsageError(f"--proofs cannot be combined with {', '.join(named)}; leave those out")
    sizes = proofs.parse_sizes(arguments.proofs)
    frame = proofs.measure_proofs(sizes, signatures=arguments.signatures)
    console.save(frame, arguments.output)
    return console.show_measurements(arguments, "proofs", frame, tables.proof_table(frame))
