"""`pqchain consensus`: scenarios given by options, modelled or run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import Field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms, checks, outputs
from pqchain.commands import console, values
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import MAX_NODES, Faults, Layout, Scenario
from pqchain.errors import DataError, Unsupported, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.costs import CostTable
    from pqchain.delegates.service_times import Computer
    from pqchain.wire.drivers.nursery import Nursery

_DEFAULTS = {each.name: each.default for each in fields(Scenario)}

MANY_BLOCKS = 20_000
"""Number of blocks that take a few seconds, announced where no progress bar is shown."""


def _fault_line(each: Field[Any], meaning: checks.Meaning) -> str:
    takes = "RANKS" if checks.kind(each) is tuple else "N"
    return f"  {f'{each.name}={takes}':<22}{console.described(meaning, each.default)}"


FAULTS = "\n".join(_fault_line(*fault) for fault in checks.meanings(Faults).values())
"""Fields that --faults takes, one per line."""


def run(arguments: argparse.Namespace) -> int:
    """Run every combination of the options, and show the results."""
    _refuse(arguments)
    # Imported after _refuse, which reports wrong names before these slower imports.
    from pqchain import consensus, machine
    from pqchain.consensus import model, sweeps, tables
    from pqchain.consensus.engines import simulate

    scenarios = _scenarios(arguments)
    if arguments.mode != "model":
        return _run_delegates(arguments, scenarios)
    for option in ("transport", "log"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} needs delegates that run: give --mode virtual as well")
    if len(scenarios) == 1 and arguments.engine == "simpy":
        # Among several scenarios an unsupported one becomes a row; alone it is wrong use.
        simulate.check(model.single_view(scenarios[0]))
    blocks = sum(one.blocks for one in scenarios)
    if blocks >= MANY_BLOCKS and not console.watched():
        console.talk(f"Running {blocks} blocks, and showing nothing until the last ...")
    if arguments.scheduler is not None:
        console.talk(
            f"Waiting up to {sweeps.SCHEDULER_SECONDS} s for the Dask scheduler at "
            f"{arguments.scheduler} ..."
        )
    runs = consensus.sweep(
        scenarios,
        engine=arguments.engine,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        store=arguments.store,
        progress=console.watched(),
    )
    if arguments.output is not None:
        console.save(runs, arguments.output, provenance=machine.provenance())
    means = consensus.over_seeds(runs) if runs["seed"].nunique() > 1 else None
    costs = scenarios[0].costs
    plain = {"kind": "modelled", "costs": costs.source, "runs": console.records(runs)}
    if means is not None:
        plain["over_seeds"] = console.records(means)
    table = tables.runs(runs, _printed(runs)) if means is None else tables.over_seeds(means)
    remarks = _remarks(arguments.costs, runs, costs)
    fine = (runs["status"] == "ok").all() and runs["is_safe"].all()
    return console.show(arguments, plain, table, remarks=remarks, fine=bool(fine))


def _refuse(arguments: argparse.Namespace) -> None:
    """Reject unknown names and missing files before slow imports."""
    for name in arguments.algorithm or ():
        if name.casefold() != "all" and not arguments.scheme:
            algorithms.get(name)
    source = Path(arguments.costs)
    if source.suffix != ".csv":
        arguments.costs = arguments.costs.casefold()
    if source.suffix == ".csv" and not source.is_file():
        raise UsageError(
            f"--costs {source}: there is no such file; give one that `pqchain bench --output` wrote"
        )


def _run_delegates(arguments: argparse.Namespace, scenarios: list[Scenario]) -> int:
    """Run the delegates of every combination in turn, and show the results."""
    from tqdm import tqdm

    from pqchain import machine
    from pqchain.consensus import tables
    from pqchain.delegates import modes

    for option in ("workers", "scheduler", "store"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option} is for --mode model; delegates run one after the other")
    for one in scenarios:
        # All scenarios are checked before the first one runs.
        modes.refuse(one, arguments.mode, arguments.transport, arguments.log)
    if arguments.log is not None:
        outputs.claim(arguments.log)
    runs = []
    given = {"mode": arguments.mode, "transport": arguments.transport}
    nursery = (
        # All runs on loopback share the process that starts their nodes.
        modes.nursery(scenarios[0], arguments.transport) if arguments.mode == "loopback" else None
    )
    with nursery or nullcontext() as using:
        for number, one in enumerate(tqdm(scenarios, disable=not console.watched(), unit="run")):
            log = arguments.log and arguments.log / f"run-{number}"
            runs.append(modes.run(one, **given, log=log, using=using))
        if arguments.mode == "loopback" and (computer := _computer(arguments, scenarios, using)):
            runs = [computer.predicted(one) for one in runs]
    frame = modes.frame(runs)
    if arguments.output is not None:
        console.save(frame, arguments.output, provenance=machine.provenance())
    plain = {
        "kind": runs[0].kind,
        "mode": arguments.mode,
        "transport": runs[0].transport,
        "costs": scenarios[0].costs.source,
        "runs": console.records(frame),
    }
    fine = bool(frame["is_safe"].all() and frame["is_live"].all())
    remarks = [_RUN_REMARKS[runs[0].kind].format(transport=runs[0].transport)]
    remarks += _given_remarks(frame, scenarios[0].costs)
    # NaN differs from itself: without a prediction there is no remark.
    if (worst := frame["prediction_error_percent"].abs().max()) == worst:
        remarks.append(_PREDICTION_REMARK.format(worst=worst))
    return console.show(arguments, plain, tables.delegates(frame), remarks=remarks, fine=fine)


def _computer(
    arguments: argparse.Namespace, scenarios: list[Scenario], using: Nursery | None
) -> Computer | None:
    """Measure this computer to predict its runs; return None where that is not supported."""
    from pqchain import costs
    from pqchain.bench import operations, presets
    from pqchain.delegates import service_times

    # The calibration runs use one scheme, and the predictions need the costs of all others.
    names = dict.fromkeys([service_times.ALGORITHM, *(one.algorithm for one in scenarios)])
    console.talk("Measuring what this computer needs, to predict these runs ...")
    try:
        preset = arguments.preset or presets.preset()
        here = costs.from_frame(operations.measure(list(names), preset=preset))
        return service_times.calibrate(
            here, transport=arguments.transport, using=using, progress=console.watched()
        )
    except Unsupported as error:
        console.talk(f"No prediction: {error}")
        return None


_PREDICTION_REMARK = (
    "Law host: all work of all delegates on these processors, with the costs of a message, a byte, "
    "a transaction and a height measured just before in other, smaller runs; it is off by at most "
    "{worst:.0f} %."
)


_RUN_REMARKS = {
    "replayed": "Replayed in virtual time over {transport}: bytes, signatures and protocol are "
    "real, time is modelled from the costs.",
    "measured": "Measured on this machine over {transport}: every signature was made and "
    "verified. The delegates share its processors; costs and network do not count.",
}


def _scenarios(arguments: argparse.Namespace) -> list[Scenario]:
    """Return a scenario for every combination, validated before anything is run."""
    own: list[str] = arguments.own
    names, link = arguments.algorithm or ["Falcon-512"], console.changes(arguments, Network)
    everything = [name.casefold() for name in names] == ["all"]
    names = ["all"] if everything else console.beside(names, own)
    laws = arguments.network or ["paper-serial"]
    networks = [named(law, **link) for law in laws]
    sizes = _sizes(arguments)
    seeds = values.whole_numbers(arguments.seeds, "--seeds")
    total = len(names) * len(networks) * len(sizes) * len(seeds)
    # Each list is bounded on its own, but their product is not.
    if total > (most := values.MOST_VALUES):
        raise UsageError(f"that makes {total} runs; expected at most {most}: give shorter lists")
    changes = _changes(arguments)
    costs = _with_given(_costs(arguments, names), own)
    for name in names:
        if name != "all" and algorithms.get(name).name not in costs:
            raise UsageError(
                f"--algorithm {name}: {costs.source} has no costs of it, only of "
                f"{', '.join(costs)}; name one of these, or give --costs measured"
            )
    if names == ["all"]:
        names = _fitting(costs, changes.get("block_bytes", _DEFAULTS["block_bytes"]))
    changes["costs"] = costs
    return [
        Scenario(algorithm=name, network=law, nodes=size, delegates=count, seed=seed, **changes)
        for name, law, (size, count), seed in product(names, networks, sizes, seeds)
    ]


def _with_given(costs: CostTable, own: list[str]) -> CostTable:
    """Add the costs of the user's own schemes that are given by numbers, unless measured."""
    from pqchain import schemes

    rows = (schemes.costs_of(name) for name in own if name not in costs)
    return costs.plus(*(row for row in rows if row is not None))


def _fitting(costs: CostTable, block_bytes: int) -> list[str]:
    """Return the schemes of which a transaction fits into a block, and report the others."""
    layout = Layout()
    least = {
        name: layout.block_overhead_bytes() + layout.transaction_bytes(row, row.signature_bytes)
        for name, row in costs.items()
    }
    if large := [name for name in costs if least[name] > block_bytes]:
        left = ", ".join(large)
        console.talk(f"Left out, as no transaction fits into {block_bytes} bytes: {left}")
    return [name for name in costs if name not in large]


def _sizes(arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """Return pairs of numbers of nodes and of delegates, which small networks limit."""
    counts: list[int | None] = []
    for part in map(str.strip, arguments.delegates.split(",")):
        counts += [None] if part == "all" else values.whole_numbers(part, "--delegates", least=1)
    if arguments.nodes is None:
        exponents = "1..5" if arguments.exponents is None else arguments.exponents
        most = MAX_NODES.bit_length() - 1
        powers = values.whole_numbers(exponents, "--exponents", most=most)
        nodes = [2**power for power in powers]
    else:
        nodes = values.whole_numbers(arguments.nodes, "--nodes", least=1, most=MAX_NODES)
    most = max(count or 0 for count in counts)
    small = [count for count in nodes if count < most]
    # Only sizes given by --nodes are an error; powers of two include small ones anyway.
    if small and arguments.nodes is not None:
        raise UsageError(
            f"--delegates {most} is more than the {small[0]} of --nodes; give at most {small[0]}, "
            "or all"
        )
    if small:
        networks = f"networks of {', '.join(map(str, small))} nodes"
        console.talk(f"--delegates {most}: {networks} are too small and take all of theirs.")
    return [(count, min(voting or count, count)) for count in nodes for voting in counts]


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    changes = console.changes(arguments, Scenario)
    rule = changes.get("proposal", _DEFAULTS["proposal"])
    if changes.get("round_seconds") and rule != "luck":
        raise UsageError(
            f"--round-seconds {changes['round_seconds']:g} needs --rule luck; {rule} does not wait"
        )
    faults = Faults(**values.assigned(Faults, arguments.faults, "--faults"))
    if faults.any and "view_timeout_seconds" not in changes:
        raise UsageError(
            f"--faults {' '.join(arguments.faults)} needs --timeout S: after how many seconds the "
            "next delegate proposes, such as 10"
        )
    return {**changes, "faults": faults}


def _costs(arguments: argparse.Namespace, names: list[str]) -> CostTable:
    """Return the requested costs; they may be measured, so most other options are checked first."""
    from pqchain import costs, results
    from pqchain.works import papers

    source: str = arguments.costs
    if source.startswith("paper:"):
        return papers.costs(source.removeprefix("paper:"))
    if source == "measured":
        return _measured(arguments, names)
    if source.endswith(".csv"):
        try:
            frame = results.load(Path(source))
            if "median_seconds" not in frame:
                raise DataError("it holds no measurements")
            return costs.from_frame(frame)
        except DataError as error:
            raise UsageError(
                f"--costs {source}: {error}; give a file that `pqchain bench --output` wrote"
            ) from error
    raise UsageError(
        f"--costs {source}: expected paper:<work>, measured, or a .csv of `pqchain bench --output`"
    )


def _measured(arguments: argparse.Namespace, names: list[str]) -> CostTable:
    from pqchain import costs
    from pqchain.bench import operations, presets

    rows = [algorithms.get(name) for name in names if name != "all"]
    for row in rows:
        if row.kind != "signature":
            raise UsageError(f"--algorithm {row.name} does not sign; expected a signature scheme")
    wanted = [row.name for row in rows] or list(algorithms.names("signature"))
    console.talk(f"Measuring {len(wanted)} scheme{'s'[: len(wanted) != 1]} on this machine ...")
    preset = arguments.preset or presets.preset()
    return costs.from_frame(operations.measure(wanted, preset=preset, progress=console.watched()))


def _printed(runs: pd.DataFrame) -> dict[str, float]:
    """Return the printed latencies, by scenario, of the runs that are cells of Table 6."""
    if not (runs["network"] == "paper-serial").any() or (runs["costs"] != "paper:pqdpol").any():
        return {}
    from pqchain.works import registry

    cells = registry.get("pqdpol").models()["table5-6"]()
    known = dict(zip(cells["scenario"], cells["published_latency_seconds"], strict=True))
    return {name: known[name] for name in runs["scenario"] if name in known}


def _given_remarks(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield the source of each scheme that the user gave by numbers."""
    for name in runs["algorithm"].unique():
        if costs[name].is_given:
            yield f"{name}: {costs[name].source}."


def _remarks(source: str, runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield remarks on the kind and the origin of the numbers."""
    origin = costs.source
    if costs.source == "paper:pqdpol":
        origin = "published, Tables 1 to 4 of pqdpol; lengths of Falcon's signatures counted"
    elif source == "measured":
        origin = "measured on this machine"
    elif source.startswith("paper:"):
        origin = f"published, {costs.source}"
    yield f"Modelled. Costs of the schemes: {origin}."
    yield from _given_remarks(runs, costs)
    if (runs["transactions_per_block"] % 1 != 0).any():
        yield (
            "Signatures vary in length: tx / block is the expected number, tx / s counts the "
            "transactions of the simulated blocks; with more --blocks or --seeds they agree."
        )
    if (runs["network"] == "paper-serial").any():
        yield (
            "paper-serial is a law fitted to the paper's Table 6, not a network that it describes: "
            "its four coefficients are fitted to that table, and are no physical explanation. See "
            "`pqchain reproduce --only pqdpol`."
        )
