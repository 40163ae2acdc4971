"""Run drawn setups of an engine and store the runs with which its model is compared.

    python benchmarks/engines.py simplex
    python benchmarks/engines.py simplex-tcp
    python benchmarks/engines.py cometbft
    python benchmarks/engines.py cometbft-large
    python benchmarks/engines.py cometbft-tcp
    python benchmarks/engines.py holdout --seed DIGEST [--predict]
    python benchmarks/engines.py skill

Setups follow from a seed that was chosen after the model was written. Runs in virtual time do
not depend on the load of this machine; runs over TCP need an idle one, and those between network
namespaces also root. `skill` stores the skill and bias of the models over all stored runs, which
`pqchain study` and `pqchain whatif` print; it follows any change of the runs or of a model.
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd

from pqchain import installation, results
from pqchain.results import machine
from pqchain_engines import cometbft as model
from pqchain_engines import comparison, frames, prices, registry, runner
from pqchain_engines.setup import Setup

SEED = 20261124
CONFIGURATIONS = 36
ROUNDS = 3
"""Runs of each setup, with seeds of their own: their spread is the noise of a comparison."""
SCHEMES = ("ML-DSA-44", "ML-DSA-65", "Falcon-padded-512")


def simplex() -> list[Setup]:
    """Return setups: each configuration with Ed25519 and with one post-quantum scheme."""
    draw = random.Random(SEED)
    setups = []
    for number in range(CONFIGURATIONS):
        # The simulated network computes shares of a limited rate in exact fractions, which takes
        # minutes for more than 16 nodes.
        limited = number % 3 != 2
        nodes = draw.choice((4, 5, 7, 10, 13, 16) if limited else (4, 7, 16, 32, 64))
        setup = Setup(
            algorithm="Ed25519",
            nodes=nodes,
            heights=2,
            warmup=3,
            latency_seconds=round(draw.uniform(0.01, 0.15), 3),
            rate_bits_per_second=draw.choice((1e8, 2e8, 5e8, 1e9)) if limited else 0.0,
            block_bytes=round(10 ** draw.uniform(3, 6)),
            seed=number,
        )
        setups += [setup, replace(setup, algorithm=draw.choice(SCHEMES))]
    return setups


def simplex_tcp() -> list[Setup]:
    """Return setups of simplex over TCP; the first six give the prices of bytes and messages."""
    ed25519 = Setup(algorithm="Ed25519", mode="loopback", heights=40, latency_seconds=0.0)
    return [
        replace(ed25519, nodes=nodes, block_bytes=block_bytes)
        for nodes in (4, 7, 10)
        for block_bytes in (1000, 200_000)
    ] + [
        replace(ed25519, nodes=nodes, algorithm=algorithm)
        for nodes in (4, 7, 10)
        for algorithm in SCHEMES
    ]


def cometbft() -> list[Setup]:
    """Return setups: each configuration with Ed25519 and with one other scheme.

    Two of three have the released pause after a commit, and polls shorter than a link's latency, so
    that the number of messages is known.
    """
    draw = random.Random(SEED)
    setups = []
    for number in range(CONFIGURATIONS):
        latency_seconds = round(draw.uniform(0.05, 0.2), 3)
        transactions = draw.choice((0, 0, 20))
        setup = Setup(
            algorithm="Ed25519",
            nodes=draw.choice((4, 5, 7, 10)),
            heights=8,
            warmup=2,
            latency_seconds=latency_seconds,
            rate_bits_per_second=draw.choice((0.0, 4e7, 1e8)),
            block_bytes=round(10 ** draw.uniform(2, 5)),
            transactions=transactions,
            leader_timeout_seconds=3.0,
            poll_seconds=round(draw.uniform(0.1, 0.45) * latency_seconds, 3),
            flush_seconds=draw.choice((0.001, 0.01)),
            commit_timeout_seconds=0.0 if number % 3 == 2 else 1.0,
            seed=number,
        )
        setups += [setup, replace(setup, algorithm=("ECDSA-secp256k1", *SCHEMES)[number % 4])]
    return setups


def large(seed: int | str = SEED, configurations: int = 10) -> list[Setup]:
    """Return setups of CometBFT in which signatures have large effects.

    The intervals are the released ones. A run of 50 validators takes a minute of processor time or
    more, one of 100 ten. SLH-DSA has no stored price: its seconds are those of `price_of` on the
    machine of the runs, when it was busy.
    """
    draw = random.Random(seed)
    setups = []
    for number in range(configurations):
        nodes = 50 if number % 5 == 4 else draw.choice((16, 24, 32))
        latency_seconds = draw.uniform(0.05, 0.15) if number % 2 else draw.uniform(0.001, 0.005)
        setup = Setup(
            algorithm="Ed25519",
            nodes=nodes,
            heights=2 if nodes == 50 else 4,
            warmup=1,
            latency_seconds=round(latency_seconds, 4),
            rate_bits_per_second=draw.choice((2e7, 4e7, 1e8)),
            block_bytes=round(10 ** draw.uniform(2, 5)),
            leader_timeout_seconds=60.0,
            seed=number,
        )
        scheme = ("SLH-DSA-SHA2-128f", *SCHEMES)[number % 4]
        work = {"sign_seconds": 0.003, "verify_seconds": 0.00025} if number % 4 == 0 else {}
        setups += [setup, replace(setup, algorithm=scheme, **work)]
    return setups


def tcp() -> list[Setup]:
    """Return setups of CometBFT over TCP, whose processor time is compared with its prices.

    The first six, with Ed25519, are those from which `pqchain_engines.cometbft` takes the prices;
    they differ in bytes, polls and validators. Between network namespaces, of the last six, a
    node's links share its rate.
    """
    ed25519 = Setup(
        algorithm="Ed25519", mode="loopback", heights=3, warmup=1, latency_seconds=0.12,
        poll_seconds=0.05, commit_timeout_seconds=0.5, leader_timeout_seconds=3.0,
        limit_seconds=60.0,
    )  # fmt: skip
    calibration = [
        replace(ed25519, block_bytes=100),
        replace(ed25519, block_bytes=100, poll_seconds=0.01),
        replace(ed25519, block_bytes=500_000),
        replace(ed25519, block_bytes=100, nodes=7),
        replace(ed25519, block_bytes=200_000, nodes=7),
        replace(ed25519, block_bytes=100, nodes=10),
    ]
    compared = [
        replace(
            ed25519, algorithm=algorithm, nodes=nodes, transactions=transactions, block_bytes=1000
        )
        for nodes, transactions in ((4, 0), (4, 50), (7, 0))
        for algorithm in ("ML-DSA-65", "ML-DSA-44", "Falcon-padded-512")
    ]
    namespaces = [
        replace(
            ed25519, mode="netns", algorithm=algorithm, nodes=nodes, rate_bits_per_second=rate,
            latency_seconds=0.1, poll_seconds=0.04,
        )
        for nodes, rate in ((4, 0.0), (4, 2e7), (7, 1e8))
        for algorithm in ("Ed25519", "ML-DSA-65")
    ]  # fmt: skip
    return calibration + compared + namespaces


SETUPS = {
    "simplex": simplex,
    "simplex-tcp": simplex_tcp,
    "cometbft": cometbft,
    "cometbft-large": large,
    "cometbft-tcp": tcp,
    "holdout": large,
}


def skill() -> pd.DataFrame:
    """Return SKILL of all stored runs."""
    parts = [
        comparison.skill(comparison.compare(comparison.stored(name))) for name in comparison.BARS
    ]
    frame = comparison.SKILL.frame(row for part in parts for row in part.to_dict("records"))
    frame.attrs["provenance"] = {"preset": "data/engines/runs"}
    return frame


def predicted(setups: list[Setup]) -> pd.DataFrame:
    """Return RUNS with the latencies of CometBFT's model, to be stored before the runs."""
    rows = []
    for number, setup in enumerate(setups, 1):
        row = dict.fromkeys(frames.RUNS.columns) | frames.setup_columns(
            number, registry.get("cometbft"), setup
        )
        texts = {"kind": "modelled", "digest": "", "status": "predicted", "reason": ""}
        rows.append(row | texts | {"latency_seconds": model.latency_seconds(row)})
    return frames.RUNS.frame(rows)


def main() -> None:
    """Run the drawn setups and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", choices=[*SETUPS, "skill"])
    parser.add_argument("--seed", default=SEED, help="of the setups of holdout: a commit's digest")
    parser.add_argument("--predict", action="store_true", help="store the model's latencies")
    parser.add_argument("--limit-seconds", type=float, default=600.0, help="timeout of a run")
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time")
    arguments = parser.parse_args()
    if arguments.runs == "skill":
        results.save(skill(), installation.data("engines") / "skill.csv")
        return
    holdout = arguments.runs == "holdout"
    engine = "cometbft" if holdout else arguments.runs.partition("-")[0]
    setups = large(arguments.seed, 4) if holdout else SETUPS[arguments.runs]()
    drawn = [prices.with_prices(engine, setup) for setup in setups]
    preset = {"preset": f"seed {arguments.seed}"}
    if arguments.predict:
        frame = predicted(drawn)
        frame.attrs["provenance"] = machine.provenance() | preset
        results.save(frame, installation.data("engines") / "runs" / "holdout-predicted.csv")
        return
    setups = [
        replace(setup, seed=setup.seed + 1000 * number)
        for number in range(1 if SETUPS[arguments.runs] is large else ROUNDS)
        for setup in drawn
    ]

    def measure(number: int) -> pd.DataFrame:
        setup = setups[number]
        heights = runner.run(engine, [setup], limit_seconds=arguments.limit_seconds)
        print(number + 1, setup.algorithm, setup.nodes, heights["status"].iloc[-1], flush=True)
        return heights.assign(run=number + 1)

    folder = installation.data("engines")
    if arguments.runs.endswith("-tcp"):
        # A computer's speed changes within minutes, so each round has an order of its own, and
        # prices of signatures are measured before, between and after the rounds.
        parts, samples = [], [prices.sample(engine, prices.SAMPLES)]
        draw = random.Random(SEED)
        for start in range(0, len(setups), len(drawn)):
            numbers = range(start, start + len(drawn))
            parts += [measure(number) for number in draw.sample(numbers, len(numbers))]
            samples.append(prices.sample(engine, prices.SAMPLES))
        table = prices.summarize(engine, samples, prices.SAMPLES)
        if engine == "cometbft":
            results.save(table, folder / "prices" / f"{engine}.csv")
        else:
            # The prices that virtual time charges are another measurement.
            by_scheme = table.set_index("algorithm")
            names = ("sign_seconds", "verify_seconds")
            parts = [
                part.assign(**{n: by_scheme.loc[part["algorithm"].iloc[0], n] for n in names})
                for part in parts
            ]
    else:
        with ThreadPoolExecutor(arguments.workers) as pool:
            parts = list(pool.map(measure, range(len(setups))))
    frame = frames.summarize(pd.concat(parts).sort_values("run", kind="stable"))
    frame.attrs["provenance"] = machine.provenance() | preset
    results.save(frame, folder / "runs" / f"{arguments.runs}.csv")


if __name__ == "__main__":
    main()
