"""Engines for tests, run as `python fakes.py KIND`: a correct one, and failing ones."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    kind = sys.argv[1]
    if kind == "deaf":
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        ident = request["id"] + (kind == "other")
        done = {"id": ident, "done": True}
        if kind == "crash":
            sys.stderr.write("thread 'main' panicked\n")
            sys.exit(101)
        elif kind == "closes":
            os.close(1)
            time.sleep(60)
        elif kind == "lines":
            answer(*sys.argv[2:])
        elif kind == "refuses":
            answer({"id": ident, "error": "nodes must be 1 to 256; got 0"})
        elif kind == "evm":
            (row,) = request["precompiles"]
            length = sum(len(row.get(n, "")) // 2 for n in ("message", "signature", "public_key"))
            call = 10e-6 if row["precompile"] == "ecrecover" else 20e-6
            seconds, loop = ([t * request["calls"]] * request["repeats"] for t in (call, 1e-6))
            record = {"input_bytes": length, "seconds": seconds, "loop_seconds": loop}
            answer({"id": ident} | record, done)
        elif "price_of" in request:
            answer(done | {"sign_seconds": 1e-4, "verify_seconds": 2e-5})
        else:
            for number in range(request["heights"]):
                answer(final(request, ident, request["warmup"] + 1 + number, kind == "stalls"))
            answer(done | {"audit": "bafdb4e5"})


def final(request: dict, ident: int, height: int, stalls: bool) -> dict:
    """Return the record of a height, which has no quorum if the engine stalls."""
    record = {"id": ident, "height": height, "nullified": stalls}
    return record if stalls else record | {
        "start_seconds": 0.1 * height, "latency_seconds": 0.15 + height / 1000,
        "vote_messages": 24, "vote_bytes": 2400, "block_messages": 3,
        "block_bytes": 3 * request["block_bytes"], "signs": 8, "cpu_seconds": 0.002,
    }  # fmt: skip


def answer(*values: object) -> None:
    for value in values:
        sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
