"""Verifiers for tests, run as `python fakes.py KIND`: correct, wrong, and failing ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqchain_conform.registry import VerifierSpec


def fake(kind: str, *arguments: str, **fields: Any) -> VerifierSpec:
    """Return a verifier that runs this program."""
    from pqchain_conform.registry import VerifierSpec

    command = (sys.executable, str(Path(__file__)), kind, *arguments)
    return VerifierSpec(name=kind, folder="", command=command, **fields)


def main() -> None:
    kind = sys.argv[1]
    if kind == "deaf":
        time.sleep(60)
    if kind == "right":
        from pqchain_conform.oracles import model
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        verdict, ident = "accept", request["id"]
        case = [
            bytes.fromhex(request[name])
            for name in ("message", "signature", "public_key", "context")
        ]
        if kind == "right":
            verdict = "accept" if model(request["algorithm"]).verify(*case) else "reject"
        elif kind == "crash" and number % 2 == 0:
            sys.stderr.write("segmentation fault, more or less\n")
            sys.exit(3)
        elif kind == "crash-always":
            sys.exit(1)
        elif kind == "hang":
            time.sleep(60)
        elif kind in ("drips", "floods"):
            while True:
                sys.stdout.write("0" if kind == "drips" else "0" * 100_000)
                sys.stdout.flush()
                time.sleep(0.1 if kind == "drips" else 0)
        elif kind == "garbage":
            sys.stdout.write("yes\n")
            sys.stdout.flush()
            continue
        elif kind == "closes":
            os.close(1)
            time.sleep(60)
        elif kind == "nested":
            sys.stdout.write("[" * 100_000 + "\n")
            sys.stdout.flush()
            continue
        elif kind == "grandchild":
            late = f"import time, pathlib; time.sleep(1.5); pathlib.Path({sys.argv[2]!r}).touch()"
            subprocess.Popen([sys.executable, "-c", late])
            if sys.argv[3] == "hang":
                time.sleep(60)
        elif kind == "talkative":
            for _ in range(2000):
                sys.stderr.write("x" * 999 + "\n")
            sys.exit(3)
        elif kind == "other-id":
            ident += 1
        elif kind in ("perhaps", "panic", "refuse", "unsupported"):
            verdict = kind
        nanoseconds = [1000] * max(1, request["repeat"])
        answer = {"id": ident, "verdict": verdict, "nanoseconds": nanoseconds}
        if kind == "true-id":
            answer["id"] = True
        elif kind == "numbers":
            answer["nanoseconds"] = json.loads(sys.argv[2])
        elif kind == "parts":
            answer["parts"] = json.loads(sys.argv[2])
        sys.stdout.write(json.dumps(answer).replace("Infinity", "1e400") + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
