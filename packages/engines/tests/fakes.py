"""Engines for tests, run as `python fakes.py KIND`: a correct one, and failing ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def main() -> None:
    kind = sys.argv[1]
    if kind == "deaf":
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        if kind == "crash":
            sys.stderr.write("thread 'main' panicked\n")
            sys.exit(101)
        if kind == "child":
            code = f"import time, pathlib; time.sleep(1.5); pathlib.Path({sys.argv[2]!r}).touch()"
            subprocess.Popen([sys.executable, "-c", code])
            time.sleep(60)
        if kind == "lines":
            for text in sys.argv[2:]:
                answer(text)
            continue
        if kind == "closes":
            os.close(1)
            time.sleep(60)
        if kind == "garbage":
            answer("yes")
        if kind == "list":
            answer("[1]")
        if kind == "refuses":
            answer({"id": request["id"], "error": "nodes must be 1 to 256; got 0"})
            continue
        if kind == "evm":
            (row,) = request["precompiles"]
            length = sum(len(row.get(n, "")) // 2 for n in ("message", "signature", "public_key"))
            call = 10e-6 if row["precompile"] == "ecrecover" else 20e-6
            seconds, loop = ([t * request["calls"]] * request["repeats"] for t in (call, 1e-6))
            record = {"input_bytes": length, "seconds": seconds, "loop_seconds": loop}
            answer({"id": request["id"]} | record)
            answer({"id": request["id"], "done": True})
            continue
        if "price_of" in request:
            answer(
                {"id": request["id"], "done": True, "sign_seconds": 1e-4, "verify_seconds": 2e-5}
            )
            continue
        ident = request["id"] + (kind == "other")
        first = request["warmup"] + 1
        for height in range(first, first + request["heights"]):
            record = {"id": ident, "height": height, "nullified": kind == "stalls"}
            if kind != "stalls":
                record |= {
                    "start_seconds": 0.1 * height, "latency_seconds": 0.15 + height / 1000,
                    "vote_messages": 24, "vote_bytes": 2400, "block_messages": 3,
                    "block_bytes": 3 * request["block_bytes"], "signs": 8, "cpu_seconds": 0.002,
                }  # fmt: skip
            answer(record)
        answer({"id": ident, "done": True, "audit": "bafdb4e5"})


def answer(value: object) -> None:
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
