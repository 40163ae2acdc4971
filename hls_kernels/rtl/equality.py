"""Compare the netlist with the C++ kernel on random keys, messages and seeds, byte for byte.

`python -m hls_kernels.rtl.equality <library> --count 10000`: new keys of both degrees in turn, one
attempt each, and an engine that keeps expanded keys signs another message without the key in the
request. Exit code 1 if one status or response differs.
"""

from __future__ import annotations

import argparse
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tqdm import tqdm

from pqchain.falcon import FalconSigner, core, kernel
from pqchain.falcon.netlist import Netlist

CHUNK = 25
"""Keys of a task: each opens the netlist again."""


def compare(library: Path, seed: int, count: int) -> tuple[int, int]:
    """Return the numbers of attempts and of differences for `count` keys."""
    source = random.Random(seed)
    netlist = Netlist(library)
    keeps_keys = netlist.keeps_keys()
    attempts = differences = 0
    for number in range(count):
        logn = 9 + (seed + number) % 2
        signer = FalconSigner(1 << logn, "kernel", random_bytes=source.randbytes)
        _, secret_key = signer.generate_keypair()
        for kept in (False, True)[: 1 + keeps_keys]:
            if keeps_keys:
                netlist.write("key", core.USE if kept else core.KEEP)
            inputs = {
                "secret_key": secret_key, "nonce": source.randbytes(kernel.NONCE_BYTES),
                "message": source.randbytes(source.randrange(200)),
            }  # fmt: skip
            with kernel.request_of(signer.algorithm, **inputs) as request:
                kernel.seed_request(request, source.randbytes(kernel.SEED_BYTES), 0, logn)
                expected = kernel.run_request(request, logn)[::2]
                if kept:
                    request[: 4 << logn] = bytes(4 << logn)
                result = netlist.attempt(request, logn)
            attempts += 1
            differences += (result.status, result.response) != expected
    return attempts, differences + netlist.violations()


def main() -> bool:
    """Compare, print the counts, and return whether everything is equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--count", type=int, default=10_000, help="keys")
    parser.add_argument("--seed", type=int, default=1, help="of the first chunk")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    chunks = -(-options.count // CHUNK)
    attempts = differences = 0
    with ProcessPoolExecutor(options.processes) as pool:
        seeds = range(options.seed, options.seed + chunks)
        tasks = [pool.submit(compare, options.library, seed, CHUNK) for seed in seeds]
        for task in tqdm(tasks, desc=f"{CHUNK} keys each", disable=None):
            compared, different = task.result()
            attempts, differences = attempts + compared, differences + different
    sys.stdout.write(
        f"{chunks * CHUNK} keys, {attempts} attempts, {differences} differ from the C++ kernel\n"
    )
    return differences == 0


if __name__ == "__main__":
    sys.exit(not main())
