"""Child processes that sign with a stateful key and are killed."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from pqchain.crypto import key_files
from pqchain.crypto.stateful import StatefulSigner

SIGNATURE_BYTES = 2500
"""Length of a signature of XMSS-SHA2_10_256."""

STEPS = ("sign", "open", "fsync", "rename", "folder", "mark", "marked")
"""Moments of one signature: after the computation, around each write, before it leaves."""


def kill_at(step: str) -> None:
    """Replace the system calls of `crypto.key_files` so that this process dies at a step."""

    files: Any = os

    def die(*_: object, **__: object) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    if step == "sign":
        key_files.KeyFile.replace = die
    elif step == "open":
        files.write = die
    elif step == "fsync":
        files.fsync = die
    elif step == "rename":
        files.rename = die
    elif step == "folder":
        original = os.fsync
        files.fsync = lambda d: die() if Path(f"/proc/self/fd/{d}").is_dir() else original(d)
    elif step == "mark":
        files.pwrite = die
    else:
        write = os.pwrite
        files.pwrite = lambda *a: (write(*a), die())[0]


def signatures_before_kill(
    path: Path, message: bytes, draw: random.Random, step: str | None = None
) -> list[bytes]:
    """Return the signatures that left a child: one before `step`, or some of 3 by random moments.

    A random moment is up to 8 ms after a random number of signatures.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signer = StatefulSigner(path)
            os.write(writing, b"\x01")  # the key is open
            for number in range(3):
                if step and number == 1:
                    kill_at(step)
                os.write(writing, signer.sign(message + bytes([number])))
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read(1) == b"\x01", "the child could not open the key"
            data = b""
            if step is None:
                data = pipe.read(SIGNATURE_BYTES * draw.randrange(4))
                time.sleep(draw.random() * 0.008)
                os.kill(child, signal.SIGKILL)
            data += pipe.read()
    finally:
        os.waitpid(child, 0)
    # The last one may be a part, which uses its leaf as well.
    return [data[i : i + SIGNATURE_BYTES] for i in range(0, len(data), SIGNATURE_BYTES)]
