"""Check a block's signatures on one and on four threads, against a bare loop of C.

1000 transactions with Falcon-512, in alternating rounds of one process. Exit code 1 if the median
speed-up of four threads is below 3.3, or one thread takes more than 1.05 times the bare loop. Needs
four processors that nobody else uses: `control` runs four of the bare loops at once and says how
much four processors give at all, and the row below it how much of that is reached.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from harness import spread, table

from pqchain.chain import Block, Rules, State, Verifier, Wallet
from pqchain.crypto import native

TRANSACTIONS, ROUNDS, THREADS = 1000, 41, 4
SPEED_UP, OVERHEAD = 3.3, 1.05
ALGORITHM, IMPLEMENTATION = "Falcon-512", "liboqs-0.13/avx2"


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> int:
    """Measure and print; return the exit code."""
    wallet = Wallet(ALGORITHM, implementation=IMPLEMENTATION)
    state = State.genesis({wallet.address: TRANSACTIONS}, Rules(sealed=False))
    payments = [wallet.transfer(bytes(32), 1, nonce=i) for i in range(TRANSACTIONS)]
    block = state.propose(payments, proposer=wallet.address, timestamp=0)
    data, checks = block.encode(), state.checks(block)
    verifiers = {
        count: Verifier(threads=count, implementations={ALGORITHM: IMPLEMENTATION})
        for count in (1, THREADS)
    }
    columns = (
        [check.message for check in checks],
        [check.signature for check in checks],
        [check.public_key or b"" for check in checks],
    )
    loops = [native.plain_loop(verifiers[1].signer(ALGORITHM), *columns) for _ in range(THREADS)]
    pool = ThreadPoolExecutor(THREADS)

    def control() -> None:
        """Run as many bare loops as there are threads, each over all signatures."""
        list(pool.map(lambda loop: loop() if loop else None, loops))

    cases: dict[str, Callable[[], object]] = {
        "bare loop of C": lambda: loops[0] and loops[0](),
        "signatures, 1 thread": lambda: verifiers[1].wrong(checks),
        "signatures, 4 threads": lambda: verifiers[THREADS].wrong(checks),
        "four bare loops at once": control,
        "decode the block": lambda: Block.decode(data),
        "whole block, 1 thread": lambda: state.apply(data, verifier=verifiers[1]),
        "whole block, 4 threads": lambda: state.apply(data, verifier=verifiers[THREADS]),
    }
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for index in range(ROUNDS + 1):
        for name, call in cases.items():
            taken = seconds(call)
            if index:  # the first round warms up
                samples[name].append(taken)
    rows = [[name, *(f"{1e3 * x:.2f}" for x in spread(values))] for name, values in samples.items()]
    print(table([f"{TRANSACTIONS} x {ALGORITHM}, ms", "least", "median", "greatest"], rows))

    def ratio(over: str, under: str, factor: float = 1.0) -> list[float]:
        pairs = zip(samples[over], samples[under], strict=True)
        return [factor * a / b for a, b in pairs]

    one, four = "signatures, 1 thread", "signatures, 4 threads"
    judged = {
        "1 thread over the bare loop": (ratio(one, "bare loop of C"), f"<= {OVERHEAD}"),
        "1 thread over 4 threads": (ratio(one, four), f">= {SPEED_UP}"),
        "control: what 4 processors give": (
            ratio("bare loop of C", "four bare loops at once", THREADS),
            "",
        ),
        "4 threads against the control": (
            ratio("four bare loops at once", four, 1 / THREADS),
            "",
        ),
        "whole block, 1 thread over 4": (
            ratio("whole block, 1 thread", "whole block, 4 threads"),
            "",
        ),
    }
    print()
    print(
        table(
            ["ratio within a round", "least", "median", "greatest", "asked"],
            [
                [name, *(f"{x:.3f}" for x in spread(values)), asked]
                for name, (values, asked) in judged.items()
            ],
        )
    )
    overhead, speed_up = (spread(values)[1] for values, _ in list(judged.values())[:2])
    return 0 if overhead <= OVERHEAD and speed_up >= SPEED_UP else 1


if __name__ == "__main__":
    sys.exit(main())
