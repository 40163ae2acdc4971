"""Run drawn setups of an engine and store the runs with which its model is compared.

    python benchmarks/engines.py simplex

The setups follow from a seed that was chosen after the model was written. Runs in virtual time do
not depend on the load of this machine.
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd

from pqchain import installation, machine, results
from pqchain.engines import frames, prices, runner
from pqchain.engines.setup import Setup

SEED = 20261124
CONFIGURATIONS = 36
SCHEMES = ("ML-DSA-44", "ML-DSA-65", "Falcon-padded-512")


def drawn() -> list[Setup]:
    """Return the setups: each configuration with Ed25519 and with one post-quantum scheme."""
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
    return [prices.with_prices("simplex", setup) for setup in setups]


def main() -> None:
    """Run the drawn setups and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["simplex"])
    parser.add_argument("--limit-seconds", type=float, default=600.0, help="timeout of a run")
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time")
    arguments = parser.parse_args()
    setups = drawn()

    def measure(number: int) -> pd.DataFrame:
        setup = setups[number]
        heights = runner.run(arguments.engine, [setup], limit_seconds=arguments.limit_seconds)
        print(number + 1, setup.algorithm, setup.nodes, heights["status"].iloc[-1], flush=True)
        return frames.summarize(heights).assign(run=number + 1)

    with ThreadPoolExecutor(arguments.workers) as pool:
        parts = list(pool.map(measure, range(len(setups))))
    frame = frames.RUNS.frame(pd.concat(parts).to_dict("records"))
    frame.attrs["provenance"] = machine.provenance() | {"preset": f"seed {SEED}"}
    folder = installation.data("engines") / "runs"
    folder.mkdir(exist_ok=True)
    results.save(frame, folder / f"{arguments.engine}.csv")


if __name__ == "__main__":
    main()
