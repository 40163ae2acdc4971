"""Count the instructions of Falcon's signing on a Cortex-M4 under QEMU, and estimate cycles.

The firmware of pqchain runs the portable Falcon of the liboqs source that the build has fetched.
Cycles are estimated by one factor, calibrated on the cycles that pqm4 published for two parameter
sets.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pqchain import open_signer
from pqchain.crypto import native
from pqchain.falcon import model

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent / "pqchain" / "native" / "falcon"
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
PACKAGES = "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
FLAGS = [
    "-O3", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-std=c11",
    "-ffreestanding", "-ffunction-sections", "-Wl,--gc-sections", "-nostartfiles",
    "--specs=nano.specs",
]  # fmt: skip


def find_source() -> Path | None:
    """Return the folder of Falcon in the liboqs source of the build, or None."""
    override = os.environ.get("PQCHAIN_LIBOQS_SOURCE")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pqchain" / "sources"
    for root in [Path(override)] if override else sorted(cache.glob("liboqs-0.13.0-*")):
        folder = root / "src" / "sig" / "falcon"
        if folder.is_dir():
            return folder
    return None


def random_source():
    """Return the deterministic random generator of the firmware."""
    state = 0

    def draw(count: int) -> bytes:
        nonlocal state
        out = bytearray()
        for _ in range(count):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            out.append(state >> 56)
        return bytes(out)

    return draw


def expected_hash(degree: int, secret_key: bytes) -> int:
    """Return the hash of five signatures made on this machine, which the firmware must print."""
    signer = open_signer(f"Falcon-{degree}", "liboqs-0.13/ref")
    value = 0
    with native.library("liboqs-0.13/ref").randomness(random_source()):
        for index in range(5):
            message = bytes((index + k) % 256 for k in range(33))
            for byte in signer.sign(message, secret_key):
                value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def count(degree: int, source: Path) -> dict[str, int]:
    """Build and run the firmware; return the printed numbers by name."""
    logn = 9 if degree == 512 else 10
    _, secret_key = open_signer(f"Falcon-{degree}", "liboqs-0.13/ref").generate_keypair()
    portable = source / f"pqclean_falcon-{degree}_clean"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sign = f"PQCLEAN_FALCON{degree}_CLEAN_crypto_sign_signature"
        key_bytes = ", ".join(map(str, secret_key))
        (folder / "key.h").write_text(
            f"enum {{ LOGN = {logn} }};\n#define SIGN {sign}\n"
            f"static const unsigned char secret_key[] = {{{key_bytes}}};\n",
            encoding="utf-8",
        )
        files = [
            HERE / "cortex_m4" / "firmware.c",
            *(NATIVE / part for part in ("../shake.c", "ntt.c", "codec.c")),
            *sorted(portable.glob("*.c")),
        ]
        image = folder / "firmware.elf"
        subprocess.run(
            [
                COMPILER, *FLAGS, f"-T{HERE / 'cortex_m4' / 'firmware.ld'}", f"-I{folder}",
                f"-I{HERE / 'cortex_m4'}", f"-I{NATIVE}", f"-I{portable}", "-o", image, *files,
            ],
            check=True,
        )  # fmt: skip
        process = subprocess.run(
            [
                EMULATOR, "-M", "mps2-an386", "-nographic", "-semihosting", "-icount", "shift=0",
                "-monitor", "none", "-serial", "none", "-kernel", image,
            ],
            check=True, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    rows = (line.split() for line in (process.stdout + process.stderr).splitlines())
    numbers = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    if numbers.get("wrong") != 0 or numbers["hash"] != expected_hash(degree, secret_key):
        raise SystemExit(f"the signatures of the firmware differ from this machine's: {numbers}")
    return numbers


def main() -> int:
    """Count instructions for both degrees and print a table; skip if a tool is missing."""
    missing = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]
    source = find_source()
    if missing or source is None:
        reason = f"{', '.join(missing)} not found; run `{PACKAGES}`" if missing else ""
        print(f"bench-m4: skipped: {reason or 'liboqs source not found; run `make`'}")
        return 0
    counted = {degree: count(degree, source) for degree in (512, 1024)}
    print(f"{'':24}{'Falcon-512':>14}{'Falcon-1024':>14}")
    for name in counted[512]:
        if name not in ("hash", "wrong"):
            row = "".join(f"{counted[degree][name]:>14,}" for degree in counted)
            print(f"{name:24}{row}  instructions")
    for label, values in (
        (
            "sign, estimated",
            {n: counted[n]["sign"] * model.CYCLES_PER_INSTRUCTION for n in counted},
        ),
        ("sign, pqm4 clean", model.PQM4_CYCLES),
    ):
        print(f"{label:24}" + "".join(f"{values[n]:>14,.0f}" for n in counted) + "  cycles")
    for degree, numbers in counted.items():
        ratio = model.PQM4_CYCLES[degree] / numbers["sign"]
        print(f"Falcon-{degree}: cycles of pqm4 / instructions here = {ratio:.4f}")
    print("Signatures equal those of liboqs on this machine for the same key and randomness.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
