"""Shared by tests of Falcon: the RTL engine, built once by the first worker, and signers."""

import fcntl
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.falcon import FalconSigner, netlist

ROOT = Path(__file__).parent.parent.parent
SEED = bytes(range(48))


def signs_as_liboqs(
    backend: str, degree: int, messages: Iterable[bytes], *, seed: bytes = SEED, **options: Any
) -> Any:
    """Compare keys and signatures from the same randomness with liboqs; return the signer."""
    padded = options.get("padded", False)
    reference = FalconSigner(degree, "reference", padded=padded, random_bytes=NistDrbg(seed))
    signer = FalconSigner(degree, backend, random_bytes=NistDrbg(seed), **options)
    public_key, secret_key = reference.generate_keypair()
    assert signer.generate_keypair() == (public_key, secret_key)
    for message in messages:
        signature = signer.sign(message, secret_key)
        assert signature == reference.sign(message, secret_key)
        assert not padded or len(signature) == signer.algorithm.signature_bytes
    assert signer.verify(message, signature, public_key)
    return signer


def need_netlist(target: str = "rtl") -> tuple[Path, str]:
    """Return the netlist's library and the output of make; skip without Verilator."""
    if shutil.which("verilator") is None:
        pytest.skip("verilator is not installed (Debian: apt-get install verilator)")
    build = ROOT / "hls_kernels" / "build"
    build.mkdir(exist_ok=True)
    with (build / "rtl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        targets = dict.fromkeys(["rtl", target])
        command = ["make", "--silent", "-C", str(ROOT / "hls_kernels"), *targets]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    return netlist.find_library(), made.stdout
