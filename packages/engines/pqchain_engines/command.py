"""Run engines of other projects with post-quantum signatures: consensus, EVM.

Examples:
  pqchain engine list
  pqchain engine build simplex
  pqchain engine run simplex --algorithm Ed25519,ML-DSA-65 --nodes 4,16 --bits-per-second 1e8
  pqchain engine run revm
  pqchain engine compare
  pqchain engine certificates --nodes 4,64,1024

The engines run as their projects release them; adapters in Go and Rust start them.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain_engines.setup import Setup

if TYPE_CHECKING:
    SetupOptions = dict[str, Any]
else:
    SetupOptions = values.options_of(
        Setup,
        "mode heights latency_seconds rate_bits_per_second block_bytes "
        "warmup transactions sign_seconds verify_seconds poll_seconds flush_seconds "
        "commit_timeout_seconds leader_timeout_seconds limit_seconds seed killed_node "
        "killed_after_height slow_node slow_latency_seconds",
        group="setup",
        rate_bits_per_second="bits_per_second",
        commit_timeout_seconds="commit_timeout",
        leader_timeout_seconds="leader_timeout",
    )

engine = values.command_group("engine", __doc__)


@engine.command
def list_(*, form: values.Format = values.TEXT) -> int:
    """List the engines, and why others cannot run here."""
    from pqchain_engines import registry, tables

    table = tables.availability(registry.engines().values())
    return console.show(form, {"engines": table.records()}, table)


@engine.command
def build(*names: str, form: values.Format = values.TEXT) -> int:
    """Build engines from pinned sources in the user's cache.

    The package manager of the language fetches the sources, pinned by a lock file. The first build
    takes minutes, with 2 GB of memory; later ones compile only what changed. Exit code 1 if a build
    failed.

    Args:
        names: default: all whose toolchains are installed

    Examples:
      pqchain engine build simplex
    """
    from pqchain.render.table import Column, Table, verdict
    from pqchain_engines import registry

    chosen = [registry.get(name).name for name in names] or None
    console.print_stderr("Building; simplex takes 20 minutes of processor time the first time ...")
    builds = registry.build(chosen)
    labels = {"built": "ok", "cached": "ok"}
    rows = [
        [name, verdict(labels.get(status, status)), reason or status]
        for name, (status, reason) in builds.items()
    ]
    table = Table(columns=[Column("engine"), Column("status"), Column("reason")], rows=rows)
    # Engines are optional, so a missing toolchain fails the command only if it was asked for.
    failures = ("failed", "unsupported") if chosen else ("failed",)
    ok = all(status not in failures for status, _ in builds.values())
    return console.show(form, {"engines": table.records()}, table, ok=ok)


@engine.command
def run(
    name: str,
    /,
    *,
    algorithm: values.Names = (),
    nodes: values.Integers = (4,),
    timeout: values.Whole = 600,
    runs: values.Whole = 7,
    setup: SetupOptions | None = None,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Run an engine for every scheme and number of validators; medians per block height.

    In the mode virtual, signing and verifying take their measured seconds (`pqchain engine prices`)
    of virtual time, and two runs of simplex give the same digest. Exit code 1 if a run failed.

    Args:
        name: an engine of `pqchain engine list`
        algorithm: signature schemes; default: Ed25519,ML-DSA-65
        nodes: numbers of validators, such as 4,16 or 4..7
        timeout: timeout of each run in seconds
        runs: revm: processes that time every precompile, at least 2

    Examples:
      pqchain engine run simplex --algorithm ML-DSA-65 --nodes 4..7
      pqchain engine run simplex --mode loopback --nodes 4
      pqchain engine run simplex --nodes 7 --leader-timeout 1 --killed-node 3
    """
    from pqchain_engines import frames, prices, registry, runner, tables

    chosen = registry.get(name)
    if timeout <= 0:
        raise UsageError(f"--timeout must be at least 1; got {timeout}")
    changed = dict(setup or {})
    if not chosen.modes:
        if changed:
            raise UsageError(
                f"{chosen.name} is an EVM without validators; leave out {', '.join(changed)}"
            )
        return _run_evm(form, algorithm, runs, timeout, output)
    changed.setdefault("mode", chosen.modes[0])
    setups = [
        Setup(algorithm=scheme, nodes=count, **changed)
        for count, scheme in product(nodes, algorithm or ("Ed25519", "ML-DSA-65"))
    ]
    for row in setups:
        runner.check(chosen, row)
    setups = [prices.with_prices(chosen.name, row) for row in setups]
    heights = runner.run(chosen.name, setups, limit_seconds=timeout)
    console.save(heights, output)
    summary = frames.summarize(heights)
    data = {
        "provenance": heights.attrs["provenance"],
        "runs": console.records(summary),
        "heights": console.records(heights),
    }
    return console.show(form, data, tables.runs(summary), ok=console.all_ran(summary))


def _run_evm(
    form: values.Format, algorithm: tuple[str, ...], runs: int, timeout: int, output: Path | None
) -> int:
    from pqchain_engines import evm, tables

    frame = evm.measure(algorithm or evm.ALGORITHMS, runs=runs, limit_seconds=timeout)
    console.save(frame, output)
    data = {"provenance": frame.attrs["provenance"], "precompiles": console.records(frame)}
    return console.show(form, data, tables.precompiles(frame), ok=console.all_ran(frame))


@engine.command
def prices(
    name: str,
    /,
    *,
    samples: values.Whole = 400,
    runs: values.Whole = 7,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Measure signing and verifying with the libraries of an engine.

    Args:
        name: an engine of `pqchain engine list`
        samples: samples per scheme and run
        runs: processes that time every scheme, at least 2

    Examples:
      pqchain engine prices simplex --output prices.csv
    """
    from pqchain.figures import SECONDS, Kind
    from pqchain.render.table import Column, Table
    from pqchain_engines import prices as measured

    frame = measured.measure(name, samples=samples, runs=runs)
    console.save(frame, output)
    columns: list[Column | str] = ["algorithm"]
    for name in ("sign", "verify"):
        columns.append(f"{name}_seconds")
        group = f"95 % interval, {name}"
        for end in ("low", "high"):
            key = f"{name}_{end}_seconds"
            columns.append(Column(end, group=group, key=key, numeric=True, unit=SECONDS))
    columns.append("aggregate_seconds")
    table = Table.of(frame, columns, remark="reason", source=[Kind.MEASURED])
    data = {"provenance": frame.attrs["provenance"], "prices": console.records(frame)}
    return console.show(form, data, table, ok=console.all_ran(frame))


@engine.command
def compare(
    file: Path | None = None,
    /,
    *,
    engine_: str = "simplex",
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Compare the consensus model with runs of engines.

    The stored runs have setups drawn after the model was written (benchmarks/engines.py). A row per
    setup and quantity: latency, its ratio to that of Ed25519, messages, bytes, processor time. Two
    null models have the same rows: no scheme has an effect, and latency is that of the links. The
    goal of a ratio is a quarter of its effect. Exit code 1 if a row is outside its goal, or the
    model's skill or bias does not meet the engine's bar.

    Args:
        file: runs of `benchmarks/engines.py`; default: those of this version
        engine_: engine of the stored runs

    Examples:
      pqchain engine compare
      pqchain engine compare --engine cometbft
      pqchain engine compare runs.csv --output comparison.csv
    """
    from pqchain_engines import comparison, registry, tables

    name = registry.get(engine_).name
    runs = comparison.stored(name) if file is None else comparison.load(file)
    frame = comparison.compare(runs)
    skills = comparison.skill(frame)
    console.save(frame, output, provenance=runs.attrs["provenance"])
    data = {
        "provenance": runs.attrs["provenance"],
        "comparison": console.records(frame),
        "skill": console.records(skills),
    }
    counts = frame["status"].value_counts()
    remarks = [f"{len(frame)} rows: {', '.join(f'{n} {name}' for name, n in counts.items())}"]
    ok = bool((skills["status"] == "ok").all())
    return console.show(form, data, *tables.comparison(frame, skills), remarks=remarks, ok=ok)


@engine.command
def certificates(
    *,
    nodes: values.Integers = (),
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Show bytes and verification time of a quorum's certificate by number of validators.

    Lists of signatures and BLS aggregates are computed from the prices of `pqchain engine prices`;
    proofs are those of data/provers, measured or published, and are not interpolated.

    Args:
        nodes: numbers of validators, such as 4,16 or 4..7; default: powers of 2 from 4 to 8192

    Examples:
      pqchain engine certificates
      pqchain engine certificates --nodes 4..16 --output certificates.csv
      pqchain plot certificates certificates.csv --quantity verify
    """
    from pqchain_engines import certificates as sizes

    frame = sizes.certificate_sizes(list(nodes) or sizes.NODES)
    console.save(frame, output)
    data = {"provenance": frame.attrs["provenance"], "certificates": console.records(frame)}
    return console.show(form, data, *sizes.tables(frame))
