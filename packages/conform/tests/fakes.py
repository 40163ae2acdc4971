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
    kind, arguments = sys.argv[1], sys.argv[2:]
    if kind == "deaf":
        time.sleep(60)
    if kind == "right":
        from pqchain_conform.oracles import model
    names = ("message", "signature", "public_key", "context")
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        answer = {"id": request["id"], "verdict": "accept"}
        answer["nanoseconds"] = [1000] * max(1, request["repeat"])
        if kind == "right":
            case = [bytes.fromhex(request[name]) for name in names]
            if not model(request["algorithm"]).verify(*case):
                answer["verdict"] = "reject"
        elif kind == "crash" and number % 2 == 0:
            sys.stderr.write("segmentation fault, more or less\n")
            sys.exit(3)
        elif kind == "crash-always":
            sys.exit(1)
        elif kind == "hang":
            time.sleep(60)
        elif kind in ("drips", "floods"):
            while True:
                write("0" if kind == "drips" else "0" * 100_000)
                time.sleep(0.1 if kind == "drips" else 0)
        elif kind == "line":
            write(arguments[0] * int(arguments[1]) + "\n")
            continue
        elif kind == "closes":
            os.close(1)
            time.sleep(60)
        elif kind == "grandchild":
            late = f"import time, pathlib; time.sleep(1.5); pathlib.Path({arguments[0]!r}).touch()"
            subprocess.Popen([sys.executable, "-c", late])
            if arguments[1] == "hang":
                time.sleep(60)
        elif kind == "talkative":
            sys.stderr.write(("x" * 999 + "\n") * 2000)
            sys.exit(3)
        elif kind in ("perhaps", "panic", "refuse", "unsupported"):
            answer["verdict"] = kind
        elif kind in ("id", "nanoseconds", "parts"):
            answer[kind] = json.loads(arguments[0])
        write(json.dumps(answer).replace("Infinity", "1e400") + "\n")


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
