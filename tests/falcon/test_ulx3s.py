"""The build of the ULX3S bitstream: sources, pins, provenance, missing tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hls_kernels.boards.ulx3s import build


def ports() -> set[str]:
    """Return the ports of the top module, with an index for each bit of a vector."""
    text = (build.BOARD / "ulx3s.sv").read_text(encoding="utf-8")
    head = text[text.index(") (") : text.index(");")]
    names = set()
    for width, name in re.findall(r"put\s+logic\s+(?:\[(\d+):0\]\s+)?(\w+)", head):
        names |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    return names


def test_every_port_has_a_pin_of_its_own() -> None:
    text = (build.BOARD / "ulx3s.lpf").read_text(encoding="utf-8")
    located = re.findall(r'LOCATE COMP "(\S+)" SITE "(\w+)";', text)
    assert {name for name, _ in located} == ports()
    assert len({site for _, site in located}) == len(located)
    assert set(re.findall(r'IOBUF PORT "(\S+)"', text)) == ports()


def test_bit_of_the_line_is_a_whole_number_of_cycles() -> None:
    assert build.MHZ * 1_000_000 % build.BAUD == 0
    serial = pytest.importorskip("pqchain.falcon.serial", reason="the driver needs Linux")
    assert serial.BITS_PER_SECOND == build.BAUD
    # the driver waits longer than the board until it drops an incomplete frame
    assert 2**22 / (build.MHZ * 1e6) < serial._RECOVERY_SECONDS


def test_provenance_names_what_a_bitstream_was_made_of(monkeypatch) -> None:
    monkeypatch.setattr(build, "version", lambda name: f"version of {name}")
    about = build.provenance({"seed": 3, "mhz": 80.5, "cells": {"DP16KD": 64}}, "ab" * 32)
    assert about["tools"] == {name: f"version of {name}" for name in build.TOOLS}
    assert (about["seed"], about["mhz"], about["sha256"]) == (3, 80.5, "ab" * 32)
    assert about["kind"] == "routed"
    names = {path.name for path in build.sources()}
    assert {"ulx3s.sv", "bridge.sv", "falcon_serial.sv", "falcon_sign.sv"} <= names


def test_missing_tool_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no-such-tool is not installed.*\[fpga\]"):
        build.run(tmp_path, "no-such-tool")


def test_failing_tool_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"(?s)missing.*ls failed with exit code 2"):
        build.run(tmp_path, "ls", "missing")
