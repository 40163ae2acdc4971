"""`pqchain consensus`: model or execute the consensus scenarios that options define."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms, checks
from pqchain.commands import console, options, values
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import MAX_NODES, Layout, Scenario
from pqchain.errors import Unsupported, UsageError
from pqchain.figures import Kind
from pqchain.results import outputs

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.costs import CostTable
    from pqchain.delegates.service_times import Computer
    from pqchain.wire.drivers.cluster import Cluster
    from pqchain.wire.drivers.fork_server import ForkServer

_DEFAULTS = {row.name: row.default for row in fields(Scenario)}

MANY_BLOCKS = 20_000
"""Number of blocks that take a few seconds, announced where no progress bar is shown."""


def _fault_help(row: checks.Declaration) -> str:
    metavar = "RANKS" if row.type is tuple else "N"
    return f"  {f'{row.name}={metavar}':<22}{options.field_help(row)}"


FAULTS = "\n".join(map(_fault_help, checks.declarations(Faults).values()))
"""Fields that --faults takes, one per line."""


def run(arguments: argparse.Namespace) -> int:
    """Run every combination of the options, and show the results."""
    _check_names(arguments)
    # Imported after _check_names, which reports wrong names before these slower imports.
    from pqchain import consensus, machine, scheduler
    from pqchain.consensus import model, tables
    from pqchain.consensus.engines import simulate

    scenarios = _scenarios(arguments)
    if arguments.mode != "model":
        # Raises UsageError for options that need another mode, before slow imports.
        cluster = values.cluster(arguments, arguments.mode)
        return _run_delegates(arguments, scenarios, cluster)
    for option in ("transport", "log", "nodes_per_worker", "first_port"):
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} needs executed delegates; add --mode virtual")
    if len(scenarios) == 1 and arguments.engine == "simpy":
        # Among several scenarios an unsupported one becomes a row; alone it is wrong use.
        simulate.check(model.single_view(scenarios[0]))
    blocks = sum(scenario.blocks for scenario in scenarios)
    if blocks >= MANY_BLOCKS and not console.is_interactive():
        console.print_stderr(f"Running {blocks} blocks; results are shown at the end ...")
    if arguments.scheduler is not None:
        console.print_stderr(
            f"Waiting up to {scheduler.CONNECT_SECONDS} s for the Dask scheduler at "
            f"{arguments.scheduler} ..."
        )
    runs = consensus.sweep(
        scenarios,
        engine=arguments.engine,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        store=arguments.store,
        progress=console.is_interactive(),
    )
    if arguments.output is not None:
        console.save(runs, arguments.output, provenance=machine.provenance())
    means = consensus.over_seeds(runs) if runs["seed"].nunique() > 1 else None
    costs = scenarios[0].costs
    data = {"kind": Kind.MODELLED, "costs": costs.source, "runs": console.records(runs)}
    if means is not None:
        data["over_seeds"] = console.records(means)
    table = tables.runs(runs, _printed(runs)) if means is None else tables.over_seeds(means)
    remarks = _remarks(arguments.costs, runs, costs)
    ok = (runs["status"] == "ok").all() and runs["is_safe"].all()
    return console.show(arguments, data, table, remarks=remarks, ok=bool(ok))


def _check_names(arguments: argparse.Namespace) -> None:
    if not _wants_all(arguments):
        console.algorithm_names(arguments)
    source = Path(arguments.costs)
    if source.suffix != ".csv":
        arguments.costs = arguments.costs.casefold()
    if source.suffix == ".csv" and not source.is_file():
        raise UsageError(
            f"--costs {source} does not exist; name a file of `pqchain bench --output`"
        )


def _wants_all(arguments: argparse.Namespace) -> bool:
    return [name.casefold() for name in arguments.algorithm or ()] == ["all"]


def _run_delegates(
    arguments: argparse.Namespace, scenarios: list[Scenario], cluster: Cluster | None
) -> int:
    from tqdm import tqdm

    from pqchain import consensus, machine
    from pqchain.consensus import tables
    from pqchain.delegates import modes

    for option in ("workers", "store"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} needs --mode model; delegates run one after the other")
    for scenario in scenarios:
        # All scenarios are checked before the first one runs.
        modes.check_mode(scenario, arguments.mode, arguments.transport, arguments.log)
    if arguments.log is not None:
        outputs.claim(arguments.log)
    runs = []
    settings = {"mode": arguments.mode, "transport": arguments.transport}
    # All runs on loopback share the process that starts their nodes.
    loopback = arguments.mode == "loopback"
    opened = modes.open_fork_server(scenarios[0], arguments.transport) if loopback else None
    with opened or nullcontext() as fork_server:
        bar = tqdm(scenarios, disable=not console.is_interactive(), unit="run")
        for number, scenario in enumerate(bar):
            log = arguments.log and arguments.log / f"run-{number}"
            run = modes.run(
                scenario, **settings, log=log, fork_server=fork_server, scheduler=cluster
            )
            runs.append(run)
        if loopback and (computer := _computer(arguments, scenarios, fork_server)):
            runs = list(map(computer.predicted, runs))
    frame = consensus.frame(runs)
    if arguments.output is not None:
        machines = {"cluster": runs[-1].cluster} if cluster else {}
        console.save(frame, arguments.output, provenance=machine.provenance() | machines)
    data = {
        "kind": runs[0].kind,
        "mode": arguments.mode,
        "transport": runs[0].transport,
        "costs": scenarios[0].costs.source,
        "runs": console.records(frame),
    }
    ok = bool(frame["is_safe"].all() and frame["is_live"].all())
    if cluster is None:
        remarks = [_RUN_REMARKS[runs[0].kind].format(transport=runs[0].transport)]
    else:
        data["cluster"] = runs[-1].cluster
        remarks = [_CLUSTER_REMARK.format(transport=runs[0].transport)]
        remarks += values.cluster_remarks(runs[-1].cluster)
    remarks += _user_remarks(frame, scenarios[0].costs)
    # NaN differs from itself: without a prediction there is no remark.
    if (worst := frame["prediction_error_percent"].abs().max()) == worst:
        remarks.append(_PREDICTION_REMARK.format(worst=worst))
    return console.show(arguments, data, tables.delegates(frame), remarks=remarks, ok=ok)


def _computer(
    arguments: argparse.Namespace, scenarios: list[Scenario], fork_server: ForkServer | None
) -> Computer | None:
    from pqchain import costs
    from pqchain.bench import operations, presets
    from pqchain.delegates import service_times

    # The calibration runs use one scheme, and the predictions need the costs of all others.
    names = dict.fromkeys(
        [service_times.ALGORITHM, *(scenario.algorithm for scenario in scenarios)]
    )
    console.print_stderr("Measuring this computer to predict these runs ...")
    try:
        preset = arguments.preset or presets.preset()
        here = costs.from_frame(operations.measure(list(names), preset=preset))
        return service_times.calibrate(
            here,
            transport=arguments.transport,
            fork_server=fork_server,
            progress=console.is_interactive(),
        )
    except Unsupported as error:
        console.print_stderr(f"No prediction: {error}")
        return None


_PREDICTION_REMARK = (
    "Prediction by the network host: all work of all delegates on these processors, with the costs "
    "of a message, a byte, a transaction and a height from smaller runs measured just before; its "
    "error is at most {worst:.0f} %."
)


_RUN_REMARKS: dict[str, str] = {
    Kind.REPLAYED: "Replayed in virtual time over {transport}: bytes, signatures and protocol are "
    "real, time is modelled from the costs.",
    Kind.MEASURED: "Measured on this machine over {transport}: every signature was made and "
    "verified. The delegates share its processors; --costs and --network have no effect.",
}


_CLUSTER_REMARK = (
    "Measured on the machines of a cluster over {transport}: every signature was made and "
    "verified; --costs and --network have no effect."
)


def _scenarios(arguments: argparse.Namespace) -> list[Scenario]:
    names = ["all"] if _wants_all(arguments) else console.algorithm_names(arguments, ["Falcon-512"])
    link = options.changed_fields(arguments, Network)
    networks = [named(name, **link) for name in arguments.network or ["paper-serial"]]
    sizes = _sizes(arguments)
    seeds = values.integers(arguments.seeds, "--seeds")
    total = len(names) * len(networks) * len(sizes) * len(seeds)
    # Each list is bounded on its own, but their product is not.
    if total > (most := values.MAX_VALUES):
        raise UsageError(f"the options must give at most {most} runs; got {total}. Shorten lists.")
    changes = _changes(arguments)
    costs = _with_user_schemes(_costs(arguments, names), arguments.user_schemes)
    for name in names:
        if name != "all" and name not in costs:
            raise UsageError(
                f"--algorithm must be one of {', '.join(costs)} with costs {costs.source}; got "
                f"{name}. Add --costs measured."
            )
    if names == ["all"]:
        names = _fitting(costs, changes.get("block_bytes", _DEFAULTS["block_bytes"]))
    changes["costs"] = costs
    return [
        Scenario(algorithm=name, network=link, nodes=size, delegates=count, seed=seed, **changes)
        for name, link, (size, count), seed in product(names, networks, sizes, seeds)
    ]


def _with_user_schemes(costs: CostTable, names: list[str]) -> CostTable:
    from pqchain import schemes

    rows = (schemes.costs_of(name) for name in names if name not in costs)
    return costs.plus(*(row for row in rows if row is not None))


def _fitting(costs: CostTable, block_bytes: int) -> list[str]:
    layout = Layout()
    least = {
        name: layout.block_overhead_bytes() + layout.transaction_bytes(row, row.signature_bytes)
        for name, row in costs.items()
    }
    if large := [name for name in costs if least[name] > block_bytes]:
        names = ", ".join(large)
        console.print_stderr(f"Left out: no transaction fits into {block_bytes} bytes with {names}")
    return [name for name in costs if name not in large]


def _sizes(arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """Return pairs (nodes, delegates); in small networks all nodes are delegates."""
    counts: list[int | None] = []
    for part in map(str.strip, arguments.delegates.split(",")):
        counts += [None] if part == "all" else values.integers(part, "--delegates", least=1)
    if arguments.nodes is None:
        exponents = "1..5" if arguments.exponents is None else arguments.exponents
        most = MAX_NODES.bit_length() - 1
        powers = values.integers(exponents, "--exponents", most=most)
        nodes = [2**power for power in powers]
    else:
        nodes = values.integers(arguments.nodes, "--nodes", least=1, most=MAX_NODES)
    most = max(count or 0 for count in counts)
    small = [count for count in nodes if count < most]
    # Only sizes given by --nodes are an error; powers of two include small ones anyway.
    if small and arguments.nodes is not None:
        raise UsageError(
            f"--delegates must be all, or at most the number of --nodes, {small[0]}; got {most}"
        )
    if small:
        sizes = ", ".join(map(str, small))
        console.print_stderr(f"In networks of {sizes} nodes, which are too small, all nodes vote.")
    return [(count, min(voting or count, count)) for count in nodes for voting in counts]


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    changes = options.changed_fields(arguments, Scenario)
    rule = changes.get("proposal", _DEFAULTS["proposal"])
    if changes.get("round_seconds") and rule != "luck":
        raise UsageError(
            f"--round-seconds needs --rule luck; got {changes['round_seconds']:g} and --rule {rule}"
        )
    faults = Faults(**values.field_values(Faults, arguments.faults, "--faults"))
    if faults.any and "view_timeout_seconds" not in changes:
        raise UsageError(
            f"--faults {' '.join(arguments.faults)} needs --timeout, the seconds after which the "
            "next delegate proposes, such as --timeout 10"
        )
    return {**changes, "faults": faults}


def _costs(arguments: argparse.Namespace, names: list[str]) -> CostTable:
    """Return the costs of --costs; called late, because they may have to be measured."""
    from pqchain import costs, results
    from pqchain.works import papers

    source: str = arguments.costs
    if source.startswith("paper:"):
        return papers.costs(source.removeprefix("paper:"))
    if source == "measured":
        return _measured(arguments, names)
    if source.endswith(".csv"):
        frame = results.load(Path(source))
        if "median_seconds" not in frame:
            raise UsageError(
                f"--costs {source} is not a table of measurements; name one of `pqchain bench`"
            )
        return costs.from_frame(frame)
    raise UsageError(
        "--costs must be paper:<work>, measured, or a .csv of `pqchain bench --output`; "
        f"got {source}"
    )


def _measured(arguments: argparse.Namespace, names: list[str]) -> CostTable:
    from pqchain import costs
    from pqchain.bench import operations, presets

    rows = [algorithms.get(name) for name in names if name != "all"]
    for row in rows:
        if row.kind != "signature":
            raise UsageError(f"--algorithm must be a signature scheme; got {row.name}")
    wanted = [row.name for row in rows] or list(algorithms.names("signature"))
    plural = "s"[: len(wanted) != 1]
    console.print_stderr(f"Measuring {len(wanted)} scheme{plural} on this machine ...")
    preset = arguments.preset or presets.preset()
    progress = console.is_interactive()
    return costs.from_frame(operations.measure(wanted, preset=preset, progress=progress))


def _printed(runs: pd.DataFrame) -> dict[str, float]:
    """Return the latencies that the paper's Table 6 prints for these runs, by scenario."""
    if not (runs["network"] == "paper-serial").any() or (runs["costs"] != "paper:pqdpol").any():
        return {}
    from pqchain.works import registry

    cells = registry.get("pqdpol").models()["table5-6"]()
    latencies = dict(zip(cells["scenario"], cells["published_latency_seconds"], strict=True))
    return {name: latencies[name] for name in runs["scenario"] if name in latencies}


def _user_remarks(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    for name in runs["algorithm"].unique():
        if costs[name].is_given:
            yield f"{name}: {costs[name].source}."


def _remarks(source: str, runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    origin = costs.source
    if costs.source == "paper:pqdpol":
        origin = "published, Tables 1 to 4 of pqdpol; lengths of Falcon's signatures counted"
    elif source == "measured":
        origin = "measured on this machine"
    elif source.startswith("paper:"):
        origin = f"published, {costs.source}"
    yield f"Modelled. Costs of the schemes: {origin}."
    yield from _user_remarks(runs, costs)
    if (runs["transactions_per_block"] % 1 != 0).any():
        yield (
            "Signatures vary in length: tx / block is the expected number, tx / s counts the "
            "transactions of the simulated blocks; with more --blocks or --seeds they agree."
        )
    if (runs["network"] == "paper-serial").any():
        yield (
            "paper-serial is not a network of the paper: its four coefficients are fitted to the "
            "paper's Table 6 and have no physical meaning. See `pqchain reproduce --only pqdpol`."
        )
