"""Measure the signing core of a board: a PYNQ board from its login shell, a ULX3S from its host.

`python3 boards/measure.py <bitstream or serial device> <output.csv> [count]` signs `count` messages
(default: 100) of each degree by the back end `overlay`, or `serial` for a name in /dev, verifies
every signature, and writes a row for each: degree, cycles of the core (empty for the core of Vitis
HLS, which does not count them), and seconds of the signature. A JSON file next to the CSV has the
provenance.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pqchain import results
from pqchain.falcon import FalconSigner
from pqchain.results import machine

CONTRACT = results.Contract.of(
    "board", ("str", "algorithm"), ("Int64", "signature"), ("float64", "cycles sign_seconds")
)


def measure(source: Path, count: int, device: Any = None) -> list[tuple[str, int, float, float]]:
    """Sign and return the rows; `device` replaces the board that pynq finds."""
    rows = []
    for degree in (512, 1024):
        if source.parts[:2] == ("/", "dev"):
            signer = FalconSigner(degree, "serial", device=source)
        else:
            signer = FalconSigner(degree, "overlay", bitstream=source, device=device)
        public_key, secret_key = signer.generate_keypair()
        for index in tqdm(range(count), desc=signer.algorithm.name, disable=None):
            message = index.to_bytes(4, "big")
            begin = time.perf_counter()
            signature = signer.sign(message, secret_key)
            seconds = time.perf_counter() - begin
            if not signer.verify(message, signature, public_key):
                sys.exit(f"signature {index} of {signer.algorithm.name} does not verify")
            cycles = float("nan") if signer.cycles is None else float(signer.cycles)
            rows.append((signer.algorithm.name, index, cycles, seconds))
        signer.close()
    return rows


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    rows = measure(Path(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) == 4 else 100)
    frame = CONTRACT.frame(rows)
    results.save(frame, sys.argv[2], contract=CONTRACT, provenance=machine.provenance())
