"""Measure block validation on one and several threads, compared with a plain C loop.

The block has 1000 transactions with Falcon-512. Cases alternate in rounds of one process. Exit code
1 if a median exceeds its limit:

    block validation / plain loop over its signatures, same number of threads    <= 1.15
    signature verification / plain loop, one thread                              <= 1.05
    speed-up of four threads over one, on at least four processors               >= 3.3

Needs idle processors. `control` runs one plain loop per thread at once, which shows what the
processors can reach; the row below it shows the part of that which is reached. The second block has
a different sender and recipient in every transaction; it has no limit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness import seconds, spread, table

from pqchain.chain import Block, Rules, State, Verifier, Wallet
from pqchain.crypto import native

TRANSACTIONS, ROUNDS = 1000, 41
MIN_SPEED_UP, MAX_SIGNATURES, MAX_BLOCK = 3.3, 1.05, 1.15
MAX_THREADS = 4
ALGORITHM, IMPLEMENTATION = "Falcon-512", "liboqs-0.13/avx2"


def blocks() -> dict[str, tuple[State, Block]]:
    """Return a block with one sender and recipient, and one in which all are distinct."""
    wallets = [Wallet(ALGORITHM, implementation=IMPLEMENTATION) for _ in range(TRANSACTIONS)]
    cases = {}
    for name, senders in (("block", wallets[:1]), ("block of many senders", wallets)):
        state = State.genesis(
            {wallet.address: TRANSACTIONS for wallet in senders}, Rules(sealed=False)
        )
        payments = [
            senders[i % len(senders)].transfer(
                bytes(32) if len(senders) == 1 else i.to_bytes(32, "big"),
                1,
                nonce=i // len(senders),
            )
            for i in range(TRANSACTIONS)
        ]
        cases[name] = (state, state.propose(payments, proposer=senders[0].address, timestamp=0))
    return cases


def main() -> int:
    """Measure and print; return the exit code."""
    threads = min(MAX_THREADS, os.cpu_count() or 1)
    counts = sorted({1, 2, threads})
    states_and_blocks = blocks()
    state, block = states_and_blocks["block"]
    data, checks = block.encode(), state.checks(block)
    verifiers = {
        count: Verifier(threads=count, implementations={ALGORITHM: IMPLEMENTATION})
        for count in counts
    }
    columns = (
        [check.message for check in checks],
        [check.signature for check in checks],
        [check.public_key or b"" for check in checks],
    )
    signer = verifiers[1].signer(ALGORITHM)
    plain_loops = {count: native.plain_loop(signer, *columns, threads=count) for count in counts}
    loops = [native.plain_loop(signer, *columns) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def control() -> None:
        """Run one plain loop per thread at once, each over all signatures."""
        list(pool.map(lambda loop: loop() if loop else None, loops))

    cases: dict[str, Callable[[], object]] = {"decode the block": lambda: Block.decode(data)}
    cases |= {f"plain loop in C, {count}": call for count, call in plain_loops.items() if call}
    for count, verifier in verifiers.items():
        cases[f"signatures, {count}"] = partial(verifier.wrong, checks)
        for name, (before, after) in states_and_blocks.items():
            cases[f"{name}, {count}"] = partial(before.apply, after.encode(), verifier=verifier)
    cases[f"{threads} plain loops at once"] = control
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for index in range(ROUNDS + 1):
        for name, call in cases.items():
            duration = seconds(call)
            if index:  # the first round warms up
                samples[name].append(duration)
    rows = [[name, *(f"{1e3 * x:.2f}" for x in spread(values))] for name, values in samples.items()]
    head = f"{TRANSACTIONS} x {ALGORITHM}; case, threads; ms"
    sys.stdout.write(table([head, "least", "median", "greatest"], rows) + "\n\n")

    def ratio(over: str, under: str, factor: float = 1.0) -> list[float]:
        pairs = zip(samples[over], samples[under], strict=True)
        return [factor * a / b for a, b in pairs]

    ratios: dict[str, tuple[list[float], float | None]] = {
        f"block / plain loop, {count}": (
            ratio(f"block, {count}", f"plain loop in C, {count}"),
            MAX_BLOCK,
        )
        for count in counts
    }
    ratios |= {
        f"block of many senders / plain loop, {count}": (
            ratio(f"block of many senders, {count}", f"plain loop in C, {count}"),
            None,
        )
        for count in counts
    }
    ratios["signatures / plain loop, 1"] = (
        ratio("signatures, 1", "plain loop in C, 1"),
        MAX_SIGNATURES,
    )
    ratios[f"{threads} threads / 1, signatures"] = (
        ratio(f"signatures, {threads}", "signatures, 1"),
        1 / MIN_SPEED_UP if threads == MAX_THREADS else None,
    )
    control_name = f"{threads} plain loops at once"
    ratios[f"control: {threads} processors / 1"] = (
        ratio(control_name, "plain loop in C, 1", 1 / threads),
        None,
    )
    ratios[f"{threads} threads / control"] = (
        ratio(f"signatures, {threads}", control_name, threads),
        None,
    )
    rows = [
        [name, *(f"{x:.3f}" for x in spread(values)), f"<= {limit:.3g}" if limit else ""]
        for name, (values, limit) in ratios.items()
    ]
    head = "ratio within a round; case, threads"
    sys.stdout.write(table([head, "least", "median", "greatest", "limit"], rows) + "\n")
    return int(any(limit and spread(values)[1] > limit for values, limit in ratios.values()))


if __name__ == "__main__":
    sys.exit(main())
