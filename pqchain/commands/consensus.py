"""Model and execute delegated consensus."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pqchain.commands import console, values
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import MAX_NODES, Scenario
from pqchain.errors import UsageError
from pqchain.figures import Kind
from pqchain.results import outputs

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.costs import CostTable
    from pqchain.wire.drivers.cluster import Cluster

    ScenarioOptions: TypeAlias = dict[str, Any]
    NetworkOptions: TypeAlias = dict[str, Any]
    FaultOptions: TypeAlias = dict[str, Any]
else:
    ScenarioOptions = values.options_of(
        Scenario,
        "proposal round_seconds vote_phases certificates pipelined block_bytes blocks "
        "verification_threads view_timeout_seconds",
        group="protocol",
        proposal="rule",
        verification_threads="threads",
        view_timeout_seconds="timeout",
    )
    NetworkOptions = values.options_of(
        Network,
        "rate_bits_per_second latency_seconds peers processors world",
        group="network; each kind has its own defaults",
        defaults=False,
        rate_bits_per_second="bits_per_second",
        latency_seconds="delay_seconds",
    )
    FaultOptions = values.options_of(
        Faults, " ".join(row.name for row in fields(Faults)), group="faults", prefix="faults."
    )


def consensus(
    *,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    network: values.Names = ("paper-serial",),
    exponents: values.Integers = (),
    nodes: values.Integers = (),
    delegates: values.Integers = (),
    costs: str = "paper:pqdpol",
    preset: values.Preset | None = None,
    seeds: values.Integers = (0,),
    protocol: ScenarioOptions | None = None,
    link: NetworkOptions | None = None,
    faults: FaultOptions | None = None,
    mode: Literal["model", "virtual", "loopback", "netns", "cluster"] = "model",
    transport: str | None = None,
    log: Path | None = None,
    engine: Literal["fast", "simpy"] = "fast",
    workers: values.Whole | None = None,
    hosts: values.ClusterOptions = values.NO_CLUSTER,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Model delegated consensus (PQ-DPoL): latency and throughput by scheme, network and size.

    A LIST has commas and ranges, such as 1..5,8. --mode executes the delegates instead of
    modelling them.

    Args:
        algorithm: signature schemes; default: Falcon-512
        network: paper-serial, csma, star, mesh, regions, uplink, host or gossip
        exponents: networks of 2^n nodes; default: 1..5
        nodes: numbers of nodes, instead of exponents
        delegates: numbers of nodes that verify and vote; default: all nodes, as with --exponents in
            smaller networks
        costs: costs of the schemes: paper:pqdpol, measured (now, on this machine), or a file of
            `pqchain bench --output`
        seeds: seeds of the random numbers, one run each
        mode: model: compute the result; virtual: execute the delegates in virtual time; loopback:
            as processes on this machine; netns: between network namespaces (root); cluster: on the
            workers of --scheduler
        transport: transport of executed delegates: plain (virtual time only, the default there),
            native, aioquic, tcp-tls
        log: save the ledgers of executed delegates in this folder
        engine: engine of the model; results are identical to the nanosecond, simpy is the readable
            reference
        workers: number of processes; default: one per core

    Examples:
      pqchain consensus --algorithm Falcon-512 --exponents 1..5 --network paper-serial
      pqchain consensus --algorithm Falcon-512,Dilithium2 --network mesh,star --exponents 3,5,8
      pqchain consensus --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
      pqchain consensus --costs measured --algorithm ML-DSA-44,Falcon-512     measure first
      pqchain consensus --mode loopback --algorithm Falcon-512,Dilithium2 --exponents 1..3

    `pqchain reproduce --only pqdpol` compares the paper's Tables 5 and 6 with this model.
    """
    added = console.register_schemes(scheme)
    names = console.algorithm_names(algorithm or ["Falcon-512"], added)
    # Imported after the names are checked, because a wrong name is reported before slow imports.
    from pqchain import consensus as models
    from pqchain import scheduler as remote
    from pqchain.consensus import model, tables
    from pqchain.consensus.engines import simulate
    from pqchain.results import machine

    sizes = _sizes(exponents, nodes, delegates)
    networks = [named(name, **(link or {})) for name in network]
    values.within("--seeds", seeds, 0)
    # Each list is bounded on its own, but their product is not.
    total = len(names) * len(networks) * len(sizes) * len(seeds)
    if total > (most := values.MAX_VALUES):
        raise UsageError(f"the options must give at most {most} runs; got {total}. Shorten lists.")
    changes = _changes(protocol or {}, faults or {})
    changes["costs"] = table = _costs(costs, names, preset)
    scenarios = [
        Scenario(algorithm=name, network=law, nodes=size, delegates=count, seed=seed, **changes)
        for name, law, (size, count), seed in product(names, networks, sizes, seeds)
    ]
    others: dict[str, Any] = {"workers": workers}
    needed = "--mode model; delegates run one after the other"
    if mode == "model":
        others = {"transport": transport, "log": log, **vars(hosts)}
        needed = "executed delegates; add --mode virtual"
        del others["scheduler"]  # which runs parts of a sweep, too
    for option, value in others.items():
        if value is not None:
            raise UsageError(f"--{option.replace('_', '-')} needs {needed}")
    if mode != "model":
        return _run_delegates(form, scenarios, mode, transport, hosts.cluster(mode), log, output)
    if len(scenarios) == 1 and engine == "simpy":
        # Among several scenarios an unsupported one becomes a row; alone it is wrong use.
        simulate.check(model.single_view(scenarios[0]))
    if hosts.scheduler is not None:
        console.print_stderr(
            f"Waiting up to {remote.CONNECT_SECONDS} s for the Dask scheduler at "
            f"{hosts.scheduler} ..."
        )
    runs = models.sweep(
        scenarios,
        engine=engine,
        workers=workers,
        scheduler=hosts.scheduler,
        progress=console.is_interactive(),
    )
    console.save(runs, output, provenance=machine.provenance())
    data = {"kind": Kind.MODELLED, "costs": table.source, "runs": console.records(runs)}
    shown = tables.runs(runs, _printed(runs))
    if runs["seed"].nunique() > 1:
        means = models.over_seeds(runs)
        data["over_seeds"] = console.records(means)
        shown = tables.over_seeds(means)
    ok = (runs["status"] == "ok").all() and runs["is_safe"].all()
    remarks = [*tables.modelled_remarks(runs, table), *tables.given_remarks(runs, table)]
    return console.show(form, data, shown, remarks=remarks, ok=bool(ok))


def _run_delegates(
    form: values.Format,
    scenarios: list[Scenario],
    mode: Any,
    transport: str | None,
    cluster: Cluster | None,
    log: Path | None,
    output: Path | None,
) -> int:
    from tqdm import tqdm

    from pqchain import consensus
    from pqchain.consensus import tables
    from pqchain.delegates import modes
    from pqchain.results import machine

    for scenario in scenarios:
        # All scenarios are checked before the first one runs.
        modes.check_mode(scenario, mode, transport, log)
    if log is not None:
        outputs.claim(log)
    runs = []
    # All runs on loopback share the process that starts their nodes.
    opened = modes.open_fork_server(scenarios[0], transport) if mode == "loopback" else None
    with opened or nullcontext() as fork_server:
        bar = tqdm(scenarios, disable=not console.is_interactive(), unit="run")
        for number, scenario in enumerate(bar):
            shared: dict[str, Any] = {"fork_server": fork_server, "scheduler": cluster}
            folder = log and log / f"run-{number}"
            runs.append(modes.run(scenario, mode=mode, transport=transport, log=folder, **shared))
    last, costs = runs[-1], scenarios[0].costs
    frame = consensus.frame(runs)
    machines = {"cluster": last.cluster} if cluster else {}
    console.save(frame, output, provenance=machine.provenance() | machines)
    data = {"kind": last.kind, "mode": mode, "transport": last.transport, "costs": costs.source}
    data |= {"runs": console.records(frame), **machines}
    remarks = [
        *tables.executed_remarks(frame, is_cluster=cluster is not None),
        *console.cluster_remarks(machines.get("cluster", {})),
        *tables.given_remarks(frame, costs),
    ]
    ok = bool(frame["is_safe"].all() and frame["is_live"].all())
    return console.show(form, data, tables.runs(frame), remarks=remarks, ok=ok)


def _costs(source: str, names: list[str], preset: Any) -> CostTable:
    """Return the costs of "paper:<work>", of a .csv of `pqchain bench`, or "measured" now."""
    # Imported late: the costs may have to be measured.
    from pqchain import algorithms, costs, results, schemes
    from pqchain.bench import operations, presets
    from pqchain.works import papers

    kind, _, key = source.casefold().partition(":")
    if kind == "paper" and key:
        table = papers.costs(key)
    elif source.casefold() == "measured":
        for row in map(algorithms.get, names):
            if row.kind != "signature":
                raise UsageError(f"--algorithm must be a signature scheme; got {row.name}")
        how: dict[str, Any] = {"preset": preset or presets.preset()}
        measured = operations.measure(names, progress=console.is_interactive(), **how)
        table = costs.from_frame(measured)
    elif source.endswith(".csv"):
        table = costs.from_frame(results.load(values.existing_file(Path(source))))
    else:
        raise UsageError(
            "--costs must be paper:<work>, measured, or a .csv of `pqchain bench --output`; got "
            f"{source}"
        )
    given = (schemes.costs_of(name) for name in names if name not in table)
    table = table.plus(*(row for row in given if row is not None))
    if missing := [name for name in names if name not in table]:
        raise UsageError(
            f"--algorithm must be one of {', '.join(table)} with costs {table.source}; got "
            f"{missing[0]}. Add --costs measured."
        )
    return table


def _sizes(
    exponents: tuple[int, ...], nodes: tuple[int, ...], delegates: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return pairs (nodes, delegates); of powers of two, small networks have all as delegates."""
    if exponents and nodes:
        raise UsageError("--exponents and --nodes exclude each other; give one")
    values.within("--delegates", delegates, 1)
    values.within("--exponents", exponents, 0, MAX_NODES.bit_length() - 1)
    values.within("--nodes", nodes, 1, MAX_NODES)
    if nodes and delegates and max(delegates) > min(nodes):
        raise UsageError(
            f"--delegates must be at most the number of --nodes, {min(nodes)}; got {max(delegates)}"
        )
    sizes = nodes or tuple(2**power for power in exponents or range(1, 6))
    return [(count, min(voting, count)) for count in sizes for voting in delegates or [count]]


def _changes(changes: dict[str, Any], faults: dict[str, Any]) -> dict[str, Any]:
    if (seconds := changes.get("round_seconds")) and changes.get("proposal") != "luck":
        raise UsageError(f"--round-seconds needs --rule luck; got {seconds:g} without that rule")
    made = Faults(**faults)
    if made.any and "view_timeout_seconds" not in changes:
        raise UsageError(
            "--faults needs --timeout, the seconds after which the next delegate proposes, such as "
            "--timeout 10"
        )
    return {**changes, "faults": made}


def _printed(runs: pd.DataFrame) -> dict[str, float]:
    """Return the latencies that the paper's Table 6 prints for these runs, by scenario."""
    if not (runs["network"] == "paper-serial").any() or (runs["costs"] != "paper:pqdpol").any():
        return {}
    from pqchain.works import registry
    from pqchain.works.work import Bench

    cells = registry.get("pqdpol").compute(Bench())["table5-6"]
    latencies = dict(zip(cells["scenario"], cells["published_latency_seconds"], strict=True))
    return {name: latencies[name] for name in runs["scenario"] if name in latencies}
