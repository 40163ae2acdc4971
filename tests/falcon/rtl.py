"""The RTL engine for tests, built once by the first worker."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from pqchain.falcon import netlist

ROOT = Path(__file__).parent.parent.parent


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
