"""Lint of the SystemVerilog: no warning without a waiver, and no waiver without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from hls_kernels.rtl.assembler.__main__ import write
from tests.falcon.rtl import ROOT

RTL = ROOT / "hls_kernels" / "rtl"
WAIVERS = (RTL / "lint.vlt").read_text(encoding="utf-8")


def waivers() -> list[tuple[str, str, str]]:
    """Return rule, file and message of each waiver, with wildcards."""
    return re.findall(r'^lint_off -rule (\w+) -file "(.*)" -match "(.*)"$', WAIVERS, re.M)


def warnings(folder: Path, top: str, *folders: str) -> set[tuple[str, str, str]]:
    """Return rule, file and message of each warning of Verilator without the waivers."""
    sources = [path for name in folders for path in (RTL / name).glob("*.sv")]
    command = ["verilator", "--lint-only", "-Wall", "--top-module", top]
    command += [f"-I{RTL / 'core'}", f"-I{folder}", *map(str, sources)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(re.findall(r"^%Warning-(\w+): (.*?):\d+:\d+: (.*)$", run.stderr, re.M))


def test_every_waiver_has_a_reason() -> None:
    assert len(waivers()) == WAIVERS.count("lint_off")
    lines = WAIVERS.splitlines()[3:]
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("lint_off"):
            assert before.startswith(("// ", "lint_off")), line


def test_warnings_and_waivers_match(tmp_path: Path) -> None:
    if shutil.which("verilator") is None:
        pytest.skip("verilator is not installed (Debian: apt-get install verilator)")
    write(tmp_path)
    unused = dict.fromkeys(waivers())
    engine = warnings(tmp_path, "falcon_sign", "core")
    for warning in engine | warnings(tmp_path, "falcon_serial", "core", "serial"):
        matching = [waiver for waiver in waivers() if all(map(fnmatch, warning, waiver))]
        assert matching, warning
        for waiver in matching:
            unused.pop(waiver, None)
    assert not unused, "these waivers match no warning"
