"""Check a block, and its signatures alone, on one thread and several, against a bare loop of C.

1000 transactions with Falcon-512, in alternating rounds of one process. Exit code 1 if a median is
over its bar:

    a whole block over the bare loop over its signatures, on as many threads     <= 1.15
    its signatures, by one thread, over the bare loop                            <= 1.05
    one thread over four, where there are four processors                        >= 3.3

Needs processors that nobody else uses: `control` runs as many of the bare loops at once and says
how much the processors give at all, and the row below it how much of that is reached. The second
block has a sender and a recipient of its own for every transaction; it has no bar.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness import spread, table

from pqchain.chain import Block, Rules, State, Verifier, Wallet
from pqchain.crypto import native

TRANSACTIONS, ROUNDS = 1000, 41
SPEED_UP, OVERHEAD, WHOLE = 3.3, 1.05, 1.15
FOUR = 4
ALGORITHM, IMPLEMENTATION = "Falcon-512", "liboqs-0.13/avx2"


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def blocks() -> dict[str, tuple[State, Block]]:
    """Return a block of one sender and recipient, and one in which nobody appears twice."""
    wallets = [Wallet(ALGORITHM, implementation=IMPLEMENTATION) for _ in range(TRANSACTIONS)]
    made = {}
    for name, senders in (("whole block", wallets[:1]), ("block of many senders", wallets)):
        state = State.genesis({each.address: TRANSACTIONS for each in senders}, Rules(sealed=False))
        payments = [
            senders[i % len(senders)].transfer(
                bytes(32) if len(senders) == 1 else i.to_bytes(32, "big"),
                1,
                nonce=i // len(senders),
            )
            for i in range(TRANSACTIONS)
        ]
        made[name] = (state, state.propose(payments, proposer=senders[0].address, timestamp=0))
    return made


def main() -> int:
    """Measure and print; return the exit code."""
    most = min(FOUR, os.cpu_count() or 1)
    counts = sorted({1, 2, most})
    made = blocks()
    state, block = made["whole block"]
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
    bare = {count: native.plain_loop(signer, *columns, threads=count) for count in counts}
    loops = [native.plain_loop(signer, *columns) for _ in range(most)]
    pool = ThreadPoolExecutor(most)

    def control() -> None:
        """Run as many bare loops as there are threads, each over all signatures."""
        list(pool.map(lambda loop: loop() if loop else None, loops))

    cases: dict[str, Callable[[], object]] = {"decode the block": lambda: Block.decode(data)}
    cases |= {f"bare loop of C, {count}": call for count, call in bare.items() if call}
    for count, verifier in verifiers.items():
        cases[f"signatures, {count}"] = partial(verifier.wrong, checks)
        for name, (before, after) in made.items():
            cases[f"{name}, {count}"] = partial(before.apply, after.encode(), verifier=verifier)
    cases[f"{most} bare loops at once"] = control
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for index in range(ROUNDS + 1):
        for name, call in cases.items():
            taken = seconds(call)
            if index:  # the first round warms up
                samples[name].append(taken)
    rows = [[name, *(f"{1e3 * x:.2f}" for x in spread(values))] for name, values in samples.items()]
    head = f"{TRANSACTIONS} x {ALGORITHM}; what, threads; ms"
    sys.stdout.write(table([head, "least", "median", "greatest"], rows) + "\n\n")

    def ratio(over: str, under: str, factor: float = 1.0) -> list[float]:
        pairs = zip(samples[over], samples[under], strict=True)
        return [factor * a / b for a, b in pairs]

    asked: dict[str, tuple[list[float], float | None]] = {
        f"whole block over the bare loop, {count}": (
            ratio(f"whole block, {count}", f"bare loop of C, {count}"),
            WHOLE,
        )
        for count in counts
    }
    asked |= {
        f"block of many senders over it, {count}": (
            ratio(f"block of many senders, {count}", f"bare loop of C, {count}"),
            None,
        )
        for count in counts
    }
    asked["signatures over the bare loop, 1"] = (
        ratio("signatures, 1", "bare loop of C, 1"),
        OVERHEAD,
    )
    asked[f"{most} threads over 1, signatures"] = (
        ratio(f"signatures, {most}", "signatures, 1"),
        1 / SPEED_UP if most == FOUR else None,
    )
    control_name = f"{most} bare loops at once"
    asked[f"control: {most} processors over 1"] = (
        ratio(control_name, "bare loop of C, 1", 1 / most),
        None,
    )
    asked[f"{most} threads over the control"] = (
        ratio(f"signatures, {most}", control_name, most),
        None,
    )
    judged = [
        [name, *(f"{x:.3f}" for x in spread(values)), f"<= {bar:.3g}" if bar else ""]
        for name, (values, bar) in asked.items()
    ]
    head = "ratio within a round; what, threads"
    sys.stdout.write(table([head, "least", "median", "greatest", "asked"], judged) + "\n")
    return int(any(bar and spread(values)[1] > bar for values, bar in asked.values()))


if __name__ == "__main__":
    sys.exit(main())
