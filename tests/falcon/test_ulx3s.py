"""The build of the ULX3S bitstream: sources, pins, provenance, missing tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hls_kernels.boards.ulx3s import build, cells


def ports() -> set[str]:
    """Return the ports of the top module, with an index for each bit of a vector."""
    text = (build.BOARD / "ulx3s.sv").read_text(encoding="utf-8")
    head = text[text.index(") (") : text.index(");")]
    names = set()
    for width, name in re.findall(r"put\s+logic\s+(?:\[(\d+):0\]\s+)?(\w+)", head):
        names |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    return names


def test_every_port_has_a_pin_of_its_own() -> None:
    text = build.LPF.read_text(encoding="utf-8")
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
    row = {"seed": 3, "mhz": 80.5, "cells": {"DP16KD": 64}, "sha256": "ab" * 32}
    about = build.provenance(row)
    assert about["tools"] == {name: f"version of {name}" for name in build.TOOLS}
    assert (about["seed"], about["mhz"], about["sha256"]) == (3, 80.5, "ab" * 32)
    assert about["kind"] == "routed"
    names = {path.name for path in build.sources()}
    assert {"ulx3s.sv", "bridge.sv", "falcon_serial.sv", "falcon_sign.sv"} <= names


def test_missing_tool_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no-such-tool is not installed.*make fpga"):
        build.run(tmp_path, "no-such-tool")


def test_failing_tool_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"(?s)missing.*ls failed with exit code 2"):
        build.run(tmp_path, "ls", "missing")


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Replace the tools: they write a clock, and a bitstream that depends on the seed."""
    routed: list[int] = []

    def run(folder: Path, *command: str) -> None:
        # the real tools do not find a checkout in /tmp by an absolute path
        assert not [argument for argument in command if Path(argument).is_absolute()]
        if "--seed" in command:
            routed.append(int(command[command.index("--seed") + 1]))
            report = {
                "fmax": {"clk": {"achieved": 80 + routed[-1] / 8}},
                "utilization": {"DP16KD": {"used": 64}, "ALU54B": {"used": 0}},
            }
            (folder / "report.json").write_text(json.dumps(report))
        else:
            (folder / command[-1]).write_text(f"bitstream of {routed[-1]}")

    monkeypatch.setattr(build, "run", run)
    (tmp_path / f"{build.NAME}.netlist").write_text("netlist")
    return routed


def test_every_seed_is_routed_once_for_a_netlist(tmp_path: Path, tools: list[int]) -> None:
    rows = build.placements(tmp_path, 2)
    assert [(row["seed"], row["mhz"], row["cells"]) for row in rows] == [
        (1, 80.12, {"DP16KD": 64}), (2, 80.25, {"DP16KD": 64}),
    ]  # fmt: skip
    assert build.placements(tmp_path, 3)[:2] == rows
    assert tools == [1, 2, 3]
    assert (tmp_path / build.LPF.name).read_bytes() == build.LPF.read_bytes()
    (tmp_path / f"{build.NAME}.netlist").write_text("another netlist")
    assert build.placements(tmp_path) == []


def test_seed_with_other_bytes_ends_the_build(tmp_path: Path, tools: list[int]) -> None:
    first = build.place(tmp_path, 1)
    assert build.place(tmp_path, 1) == first
    rows = [{**first, "sha256": "0" * 64}]
    (tmp_path / "placements.json").write_text(json.dumps(rows))
    with pytest.raises(SystemExit, match="seed 1 gave other bytes"):
        build.place(tmp_path, 1)


def test_cell_models_have_the_pins_of_the_cells() -> None:
    text = cells.models()
    for module, inputs, outputs in (("DP16KD", 2 * (18 + 14 + 3 + 5), 36), ("MULT18X18D", 58, 36)):
        head = text[text.index(f"module {module}(") :].partition(");")[0]
        assert (head.count("input "), head.count("output ")) == (inputs, outputs)
    assert "<" not in re.sub(r"<=|< \d|<<", "", text), "a placeholder is left"
