"""What `pqchain consensus` does: scenarios of the command line run and shown."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.commands import console as commands
from pqchain.commands.console import CHECK_FAILED, FINE, talk
from pqchain.errors import DataError, UsageError
from pqchain.render import numbers

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.consensus import Network
    from pqchain.costs import CostTable

RULES = ("votes", "luck", "dpos")
VOTING = ("plurality", "approval", "weighted")
ENGINES = ("fast", "numpy", "simpy")
"""Those of `pqchain.consensus`, repeated here because importing it would slow `--help` down."""

MANY_BLOCKS = 20_000
"""So many take a few seconds at least, which is said where no bar is shown."""

MAX_RUNS = 100_000
"""More scenarios than that are a slip of the keyboard rather than a question."""


def add(subparsers: Any, formatter: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "consensus", help="model PQ-DPoL: latency and throughput by scheme, network and size",
        description="Model a consensus of delegates: how long a block takes and how many "
        "transactions\nare final each second. All of it is modelled; --costs says from what.",
        formatter_class=formatter,
        epilog="""networks, named for the law that they imply (all nodes vote):
  paper-serial  one shared server, N * N grants: latency ~ N^2, as in the paper's Table 6
  csma          one shared channel, N * (N - 1) grants: latency ~ N^2
  star          a hub between links of 5 Mb/s: latency ~ N
  mesh          a link of 5 Mb/s for every pair: nearly constant
  regions       six regions of the world, uplinks shared among receivers: ~ N above a constant
  gossip        every node passes the block on to 8 peers at 100 Mb/s: ~ log N, up to 2^20 nodes

examples:
  pqchain consensus --algorithm Falcon-512 --exponents 1..5 --network paper-serial
  pqchain consensus --algorithm Falcon-512,Dilithium2 --network mesh,star,gossip --exponents 3,5,8
  pqchain consensus --network gossip --exponents 10,20 --delegates 128 --rate 1e9
  pqchain consensus --network regions --nodes 100 --seeds 0..9            mean and 95 % interval
  pqchain consensus --costs measured --algorithm ML-DSA-44,Falcon-512     timed here first
  pqchain consensus --rule luck --round-seconds 10 --network gossip --exponents 10 --delegates 21
  pqchain consensus --network mesh --nodes 16 --timeout 5 --faults crashed=0,1 --faults \
loss_probability=0.01
  pqchain consensus --network mesh --exponents 1..10 --seeds 0..99 --store runs.jsonl   resumable

`pqchain reproduce --only pqdpol` sets Tables 5 and 6 beside ours and says what that is worth.""",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
    parser.set_defaults(run=run_consensus)
    what = parser.add_argument_group("what is modelled; lists are commas and ranges such as 1..5")
    what.add_argument(
        "--algorithm", action="append", metavar="NAMES", help="default: Falcon-512; all: every "
        "scheme that the costs have",
    )  # fmt: skip
    sizes = what.add_mutually_exclusive_group()
    sizes.add_argument("--exponents", metavar="LIST", help="2^n nodes; default: 1..5")
    sizes.add_argument("--nodes", metavar="LIST", help="numbers of nodes, instead of exponents")
    what.add_argument(
        "--network", action="append", metavar="NAMES", help="see below; default: paper-serial"
    )
    what.add_argument(
        "--delegates", metavar="LIST", default="all",
        help="how many nodes verify and vote; default: all; with --exponents smaller networks take "
        "all their nodes",
    )  # fmt: skip
    what.add_argument(
        "--costs", metavar="SOURCE", default="paper:pqdpol",
        help="paper:pqdpol (default), measured (now, on this machine), or a file that "
        "`pqchain bench --output` wrote",
    )  # fmt: skip
    what.add_argument(
        "--preset", choices=("quick", "paper"), help="how long --costs measured measures"
    )
    what.add_argument("--seeds", "--seed", metavar="LIST", default="0", help="default: 0")
    how = parser.add_argument_group("protocol")
    how.add_argument(
        "--rule", choices=RULES, default="votes",
        help="who proposes: delegates by votes, the luckiest (Proof of Luck), or in turns (DPoS)",
    )  # fmt: skip
    how.add_argument(
        "--voting", choices=VOTING, default="plurality",
        help="how nodes elect delegates; default: plurality",
    )  # fmt: skip
    options: tuple[tuple[str, Any, str, str], ...] = (
        ("--round-seconds", float, "S", "Proof of Luck's ROUND_TIME; default: 0, no waiting"),
        ("--vote-phases", int, "N", "0, 1 or 2; default: what the network's law implies"),
        ("--block-bytes", int, "N", "default: 50000, as in the paper"),
        ("--blocks", int, "N", "heights, one after the other; default: 1"),
        ("--arrivals", float, "RATE", "new transactions per second; default: 0, always enough"),
        ("--threads", int, "N", "that verify a block; default: 1"),
        ("--timeout", float, "S", "then the next delegate proposes; faults need it"),
    )
    for option, kind, metavar, text in options:
        how.add_argument(option, type=kind, metavar=metavar, help=text)
    how.add_argument(
        "--faults", action="append", metavar="FIELD=VALUE", default=[],
        help="repeat: crashed, slow, invalid or equivocating=RANKS (0 has most votes), "
        "slow_factor, loss_probability, delay_probability, delay_seconds, partition_fraction, "
        "heal_seconds",
    )  # fmt: skip
    link = parser.add_argument_group("network; without them the defaults of its kind")
    link.add_argument("--rate", type=float, metavar="BITS", help="bits per second of a link")
    link.add_argument("--latency", type=float, metavar="S", help="seconds of a link, one way")
    link.add_argument(
        "--peers", type=int, metavar="N", help="gossip: whom a node passes a block to"
    )
    link.add_argument(
        "--world", action="store_true", default=None, help="gossip: nodes live in six regions"
    )
    running = parser.add_argument_group("running")
    running.add_argument(
        "--engine", choices=ENGINES, default="fast",
        help="all give the same, to the nanosecond; simpy is the readable reference",
    )  # fmt: skip
    running.add_argument(
        "--workers", type=int, metavar="N", help="processes; default: one per core"
    )
    running.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on Dask workers, such as tcp://host:8786"
    )
    running.add_argument(
        "--store", type=Path, metavar="FILE", help="keep results there; what it has is not run"
    )
    running.add_argument(
        "--output", type=Path, metavar="FILE.csv", help="save, with its provenance in FILE.json"
    )


def run_consensus(arguments: argparse.Namespace) -> int:
    """Run every combination and show it."""
    from pqchain import machine, results
    from pqchain.consensus import model, over_seeds, sweep
    from pqchain.consensus.engines import simulate

    output: Path | None = arguments.output
    commands._check_output(output)
    asked = _scenarios(arguments)
    if len(asked) == 1 and arguments.engine == "simpy":
        # In a table what an engine cannot run is a row; alone it is a wrong question.
        simulate.check(model.single_view(asked[0]))
    blocks = sum(one.blocks for one in asked)
    if blocks >= MANY_BLOCKS and not sys.stderr.isatty():
        talk(f"Running {blocks} blocks, and showing nothing until the last ...")
    runs = sweep(
        asked,
        engine=arguments.engine,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        store=arguments.store,
        progress=sys.stderr.isatty(),
    )
    if output is not None:
        results.save(runs, output, provenance=machine.provenance())
        talk(f"Saved: {output}")
    seeds = runs["seed"].nunique()
    means = over_seeds(runs) if seeds > 1 else None
    if arguments.json:
        written = {"kind": "modelled", "costs": asked[0].costs.source}
        extra = {} if means is None else {"over_seeds": commands._records(means)}
        commands._write_json({**written, "runs": commands._records(runs), **extra})
    else:
        commands._write(_table(runs) if means is None else _mean_table(means))
        _remarks(arguments, runs, asked[0].costs)
    return FINE if (runs["status"] == "ok").all() and runs["is_safe"].all() else CHECK_FAILED


def _scenarios(arguments: argparse.Namespace) -> list[Any]:
    """Return a scenario for every combination, refused before anything is measured or run."""
    from pqchain.consensus import Scenario

    names = commands._split(arguments.algorithm) or ["Falcon-512"]
    nodes = _nodes(arguments)
    networks = _networks(arguments)
    counts = _delegates(arguments.delegates)
    _check_delegates(arguments, nodes, counts)
    seeds = _whole(arguments.seeds, "--seeds")
    total = len(names) * len(nodes) * len(networks) * len(counts) * len(seeds)
    if total > MAX_RUNS:
        raise UsageError(
            f"that makes {total} runs; expected at most {MAX_RUNS}: give shorter lists"
        )
    fields = _fields(arguments)
    costs = _costs(arguments, names)
    for name in names:
        if name != "all" and algorithms.get(name).name not in costs:
            raise UsageError(
                f"--algorithm {name}: {costs.source} has no costs of it, only of "
                f"{', '.join(costs)}; name one of these, or give --costs measured"
            )
    chosen = _fitting(costs, arguments.block_bytes or 50_000) if names == ["all"] else names
    return [
        Scenario(
            algorithm=name,
            costs=costs,
            nodes=count,
            delegates=None if voting is None else min(voting, count),
            network=network,
            seed=seed,
            **fields,
        )
        for name in chosen
        for network in networks
        for count in nodes
        for voting in counts
        for seed in seeds
    ]


def _fitting(costs: CostTable, block_bytes: int) -> list[str]:
    """Return the schemes of which a block holds a transaction, and name the others."""
    from pqchain.consensus import Layout

    layout = Layout()
    least = {
        name: layout.block_overhead_bytes() + layout.transaction_bytes(row, row.signature_bytes)
        for name, row in costs.items()
    }
    large = [name for name in costs if least[name] > block_bytes]
    if large:
        talk(f"Left out, as no transaction fits into {block_bytes} bytes: {', '.join(large)}")
    return [name for name in costs if name not in large]


def _nodes(arguments: argparse.Namespace) -> list[int]:
    """Return the numbers of nodes."""
    if arguments.nodes is not None:
        return _whole(arguments.nodes, "--nodes", least=1, most=2**22)
    return [2**n for n in _whole(arguments.exponents or "1..5", "--exponents", most=22)]


def _delegates(text: str) -> list[int | None]:
    """Return numbers of delegates; None for all nodes."""
    parts = [part.strip() for part in text.split(",")]
    return [
        count
        for part in parts
        for count in ([None] if part == "all" else _whole(part, "--delegates", least=1))
    ]


def _check_delegates(
    arguments: argparse.Namespace, nodes: list[int], counts: list[int | None]
) -> None:
    """Refuse more delegates than named nodes; say where a row of sizes has fewer."""
    most = max(count or 0 for count in counts)
    fewer = [count for count in nodes if count < most]
    if fewer and arguments.nodes is not None:
        raise UsageError(
            f"--delegates {most} is more than the {fewer[0]} of --nodes; give at most {fewer[0]}, "
            "or all"
        )
    if fewer:
        shown = ", ".join(map(str, fewer))
        talk(f"--delegates {most}: networks of {shown} nodes are too small and take all of theirs.")


def _networks(arguments: argparse.Namespace) -> list[Network]:
    """Return the networks with what was changed on all of them."""
    from pqchain.consensus import named

    changes = {
        "rate_bits_per_second": arguments.rate,
        "latency_seconds": arguments.latency,
        "peers": arguments.peers,
        "world": arguments.world,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    names = commands._split(arguments.network) or ["paper-serial"]
    return [named(law, **given) for law in names]


def _fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a scenario that were given."""
    given = {
        "round_seconds": arguments.round_seconds,
        "vote_phases": arguments.vote_phases,
        "block_bytes": arguments.block_bytes,
        "blocks": arguments.blocks,
        "arrivals_per_second": arguments.arrivals,
        "verification_threads": arguments.threads,
        "view_timeout_seconds": arguments.timeout,
        "faults": _faults(arguments.faults),
    }
    if arguments.round_seconds and arguments.rule != "luck":
        raise UsageError(
            f"--round-seconds {arguments.round_seconds:g} needs --rule luck; {arguments.rule} "
            "does not wait"
        )
    faults = given["faults"]
    if faults is not None and faults.any and arguments.timeout is None:
        raise UsageError(
            f"--faults {' '.join(arguments.faults)} needs --timeout S: after how many seconds the "
            "next delegate proposes, such as 10"
        )
    found = {name: value for name, value in given.items() if value is not None}
    return {"proposal": arguments.rule, "voting": arguments.voting, **found}


def _faults(given: list[str]) -> Any:
    """Return Faults, or None without any."""
    from pqchain.consensus import Faults

    fields: dict[str, Any] = {}
    known = list(Faults.__slots__)
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals or name not in known:
            raise UsageError(f"--faults {entry}: expected FIELD=VALUE with one of {known}")
        if name in fields:
            raise UsageError(f"--faults {name} was given twice; give all its ranks with commas")
        if name in ("crashed", "slow", "invalid", "equivocating"):
            fields[name] = tuple(_whole(value, f"--faults {name}"))
        elif name == "slow_factor":
            (fields[name],) = _whole(value, "--faults slow_factor", least=1)[:1]
        else:
            try:
                fields[name] = float(value)
            except ValueError:
                raise UsageError(f"--faults {entry}: expected a number after =") from None
    return Faults(**fields) if fields else None


def _whole(text: str, option: str, *, least: int = 0, most: int = 2**63) -> list[int]:
    """Return the whole numbers of a list such as "1..5,8", each once."""
    found: list[int] = []
    for part in text.split(","):
        low, dots, high = part.strip().partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise UsageError(
                f"{option} {text}: {part.strip()!r} is neither a whole number nor a range; "
                "expected such as 1..5 or 1,2,8"
            ) from None
        if last < first:
            raise UsageError(
                f"{option} {text}: {part.strip()} runs backwards; give {last}..{first}"
            )
        for value in (first, last):
            if not least <= value <= most:
                raise UsageError(f"{option} has {value}; expected {least} to {most}")
        if last - first >= MAX_RUNS:
            raise UsageError(f"{option} {text}: more than {MAX_RUNS} values; give a shorter range")
        found += range(first, last + 1)
    return list(dict.fromkeys(found))


def _costs(arguments: argparse.Namespace, names: list[str]) -> CostTable:
    """Return the costs asked for; measuring comes last, when all else is known to be right."""
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
    """Measure the schemes that were named, or all."""
    from pqchain import costs
    from pqchain.bench import operations as bench
    from pqchain.bench import presets

    wanted = algorithms.names("signature") if names == ["all"] else names
    for name in wanted:
        if algorithms.get(name).kind != "signature":
            raise UsageError(f"--algorithm {name} does not sign; expected a signature scheme")
    talk(f"Measuring {len(wanted)} scheme{'s'[: len(wanted) != 1]} on this machine ...")
    measured = bench.measure(
        [algorithms.get(name).name for name in wanted],
        preset=arguments.preset or presets.preset(),
        progress=sys.stderr.isatty(),
    )
    return costs.from_frame(measured)


def _table(runs: pd.DataFrame) -> str:
    """Lay out runs; a cell of the paper's Table 6 stands beside the print."""
    printed = _printed(runs)
    head = ["algorithm", "network", "nodes", "delegates", "latency", "tx / s", "tx / block"]
    right = [2, 3, 4, 5, 6, 7]
    rows = []
    for row in runs.to_dict("records"):
        shown = [
            row["algorithm"], row["network"], numbers.integer(row["nodes"]),
            numbers.integer(row["delegates"]), numbers.seconds(row["latency_seconds"]),
            numbers.significant(row["throughput_per_second"]),
            f"{row['transactions_per_block']:.2f}",
        ]  # fmt: skip
        if printed:
            beside = printed.get(row["scenario"])
            shown += [
                "" if beside is None else numbers.exact_seconds(beside),
                "" if beside is None
                else f"{100 * (row['latency_seconds'] / beside - 1):+.1f}{numbers.NARROW_SPACE}%",
            ]  # fmt: skip
        rows.append([*shown, numbers.integer(row["messages"]), _state(row)])
    if printed:
        head += ["printed", "error"]
        right += [8, 9]
    head += ["messages", "remark"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return numbers.text_table(head, rows, right=right, width=commands._terminal_width())


def _printed(runs: pd.DataFrame) -> dict[str, float]:
    """Return the printed latencies of the runs that are cells of Table 6, by scenario."""
    if not (runs["network"] == "paper-serial").any() or (runs["costs"] != "paper:pqdpol").any():
        return {}
    from pqchain.works.pqdpol import work as pqdpol

    cells = pqdpol.tables()
    known = dict(zip(cells["scenario"], cells["published_latency_seconds"], strict=True))
    return {name: known[name] for name in runs["scenario"] if name in known}


def _mean_table(means: pd.DataFrame) -> str:
    """Lay out means over seeds with their confidence intervals."""
    head = ["algorithm", "network", "nodes", "delegates", "latency", "± 95 %", "tx / s", "± 95 %"]
    rows = [
        [
            row["algorithm"], row["network"], numbers.integer(row["nodes"]),
            numbers.integer(row["delegates"]), numbers.seconds(row["latency_seconds"]),
            numbers.seconds(row["latency_seconds_half_width"]),
            numbers.significant(row["throughput_per_second"]),
            numbers.significant(row["throughput_per_second_half_width"]), str(row["seeds"]),
            f"{100 * row['live']:.0f}{numbers.NARROW_SPACE}%",
        ]
        for row in means.to_dict("records")
    ]  # fmt: skip
    return numbers.text_table([*head, "seeds", "live"], rows, right=range(2, 10))


def _state(row: dict[Any, Any]) -> str:
    """Say what is not as it should be; nothing if all is well."""
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    if not row["is_safe"]:
        return "UNSAFE: different blocks are final at one height"
    return str(row["reason"])


def _remarks(arguments: argparse.Namespace, runs: pd.DataFrame, costs: CostTable) -> None:
    """Say what kind of numbers these are."""
    kinds = {"paper": "published, Tables 1 to 4 of pqdpol", "measured": "measured on this machine"}
    kind = costs.source.partition(":")[0]
    origin = costs.source if arguments.costs.endswith(".csv") else kinds.get(kind, costs.source)
    if kind == "paper" and costs.source != "paper:pqdpol":
        origin = f"published, {costs.source}"
    talk(f"Modelled. Costs of the schemes: {origin}.")
    if (runs["transactions_per_block"] % 1 != 0).any():
        talk(
            "Signatures vary in length: tx / block is the mean, tx / s counts what the blocks that "
            "were drawn hold; more --blocks or --seeds bring both together."
        )
    if (runs["network"] == "paper-serial").any():
        talk(
            "paper-serial describes the paper's Table 6; its prices were fitted to that table and "
            "explain nothing: `pqchain reproduce --only pqdpol`."
        )
