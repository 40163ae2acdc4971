"""Adapter of pqchain's own implementations: `python -m pqchain_conform.serve NAME`.

NAME is an implementation in pqchain's registry, or `openssl`. The module is also a short example
of an adapter.
"""

from __future__ import annotations

import argparse
import json
import sys
from time import perf_counter_ns

from pqchain import algorithms
from pqchain.errors import UnknownName
from pqchain_conform.implementations import IN_BATCH, answer
from pqchain_conform.protocol import OPERATIONS


def main() -> None:
    """Answer requests until stdin ends; exit with code 2 if NAME is missing or unknown."""
    parser = argparse.ArgumentParser(prog="python -m pqchain_conform.serve")
    parser.add_argument(
        "name", metavar="NAME", help="an implementation, such as liboqs-0.13/ref, or openssl"
    )
    parser.add_argument("--batch", action="store_true", help="verify in batches of valid ones")
    arguments = parser.parse_args()
    name = arguments.name
    try:
        if name != "openssl":
            algorithms.implementation(name)
    except UnknownName as error:
        parser.error(str(error))
    name += IN_BATCH * arguments.batch
    for line in sys.stdin:
        request = json.loads(line)
        operation, algorithm = request["operation"], request["algorithm"]
        case = [bytes.fromhex(request[field]) for field in OPERATIONS[operation]]
        # The clock is read around each operation only: neither JSON nor the pipe counts.
        nanoseconds = []
        for _ in range(max(1, request["repeat"])):
            start = perf_counter_ns()
            result, secret = answer(name, operation, algorithm, *case)
            nanoseconds.append(perf_counter_ns() - start)
        response = {"id": request["id"], "verdict": result, "nanoseconds": nanoseconds}
        if secret:
            response["shared_secret"] = secret.hex()
        sys.stdout.write(f"{json.dumps(response)}\n")
        # The client waits for this line before it sends the next request.
        sys.stdout.flush()


if __name__ == "__main__":
    main()
