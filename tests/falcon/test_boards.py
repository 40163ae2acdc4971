"""Builds of the boards: register map, Vivado scripts with mocked commands, bitstream of a ULX3S."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hls_kernels.boards.ulx3s import build, cells
from hls_kernels.rtl import registers
from hls_kernels.rtl.boards import hwh
from pqchain.falcon.registers import OFFSETS, RTL_OFFSETS

HLS = Path(__file__).parent.parent.parent / "hls_kernels"
BOARDS = sorted(path.parent.name for path in (HLS / "boards").glob("*/board.tcl"))


VIVADO = """
    add_files apply_bd_automation assign_bd_address create_bd_cell create_bd_design create_clock
    create_project current_fileset current_project generate_target get_bd_intf_pins get_files
    get_ports get_property get_timing_paths launch_runs make_wrapper opt_design phys_opt_design
    place_design read_verilog report_timing_summary report_utilization route_design set_property
    synth_design update_compile_order update_ip_catalog validate_bd_design wait_on_run
    ipx::add_address_block ipx::add_memory_map ipx::add_register ipx::associate_bus_interfaces
    ipx::check_integrity ipx::create_xgui_files ipx::current_core ipx::get_address_blocks
    ipx::get_bus_interfaces ipx::get_memory_maps ipx::get_user_parameters ipx::infer_bus_interfaces
    ipx::package_project ipx::save_core ipx::update_checksums
"""
"""Commands of Vivado (UG835, UG1118) that the scripts may call; any other name is an error."""


def run_tcl(script: str, *arguments: str) -> list[str]:
    """Run a script with Vivado's commands mocked; return the calls of mocked commands and `puts`.

    Expressions, loops and lists are Tcl's own, so an unbalanced brace, a wrong variable or a
    misspelt command fails.
    """
    tkinter = pytest.importorskip("tkinter", reason="no Tcl interpreter comes with this Python")
    try:
        tcl = tkinter.Tcl()
    except tkinter.TclError as error:
        pytest.skip(f"no Tcl interpreter: {error}")
    calls: list[str] = []
    tcl.createcommand("mocked", lambda *words: calls.append(" ".join(words)) or "1")
    tcl.eval("namespace eval ipx {}")
    for name in (*VIVADO.split(), "exec", "exit", "puts"):
        tcl.eval(f"proc {name} args {{ return [mocked {name} {{*}}$args] }}")
    tcl.eval("rename file real_file")
    tcl.eval(
        "proc file {what args} { if {$what in {mkdir copy delete}} { mocked file $what {*}$args } "
        "else { return [real_file $what {*}$args] } }"
    )
    tcl.eval("rename glob real_glob")
    tcl.eval(
        "proc glob args { if {[catch {real_glob {*}$args} found]} { return [lindex $args end] }; "
        "return $found }"
    )
    tcl.setvar("argv", arguments)
    tcl.eval(f"cd {{{HLS}}}")
    here = Path.cwd()
    try:
        tcl.eval(f"source {{{script}}}")
    finally:
        tcl.eval(f"cd {{{here}}}")
    return calls


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("how", [(), ("packaged",)])
def test_every_board_has_an_overlay_build(board: str, how: tuple[str, ...]) -> None:
    calls = run_tcl("vitis/build_overlay.tcl", f"boards/{board}", *how)
    assert any(call.startswith("create_bd_cell") and "falcon_sign:1.0" in call for call in calls)
    assert any(call.startswith("launch_runs impl_1") for call in calls)
    assert any(call.startswith("exec unzip") for call in calls) == (not how)
    assert any("falcon_sign.hwh" in call for call in calls)
    (message,) = [call for call in calls if call.startswith("puts")]
    assert "MHz: slack 1 ns" in message


def test_package_holds_every_source_and_register() -> None:
    calls = run_tcl("rtl/boards/package_ip.tcl", "xc7z020clg400-1", "/images")
    copied = " ".join(call for call in calls if call.startswith("file copy"))
    for path in (HLS / "rtl" / "core").glob("*.sv"):
        assert path.name in copied
    added = [call.split()[1] for call in calls if call.startswith("ipx::add_register")]
    assert added == list(hwh.registers())
    assert "set_property version 1.0 1" in calls
    assert (
        calls[-1] == f"puts falcon_sign: {len(added)} registers, packaged in build/ip/falcon_sign"
    )


@pytest.mark.parametrize("board", BOARDS)
def test_engine_is_synthesised_separately(board: str) -> None:
    calls = run_tcl("rtl/boards/out_of_context.tcl", f"boards/{board}", "/images")
    (synthesis,) = [call for call in calls if call.startswith("synth_design")]
    assert '-mode out_of_context -generic ROM="/images/"' in synthesis
    assert "route_design" in calls


def test_every_port_has_a_pin_of_its_own() -> None:
    module, pins = (path.read_text() for path in (build.BOARD / "ulx3s.sv", build.LPF))
    head = module[module.index(") (") : module.index(");")]
    ports = set()
    for width, name in re.findall(r"put\s+logic\s+(?:\[(\d+):0\]\s+)?(\w+)", head):
        ports |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    located = re.findall(r'LOCATE COMP "(\S+)" SITE "(\w+)";', pins)
    names, sites = map(set, zip(*located, strict=True))
    assert names == set(re.findall(r'IOBUF PORT "(\S+)"', pins)) == ports
    assert len(sites) == len(located)


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


def test_missing_or_failing_tool_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no-such-tool is not installed.*make fpga"):
        build.run(tmp_path, "no-such-tool")
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


def test_committed_lists_are_what_the_description_gives() -> None:
    for path, text in registers.files().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_every_list_has_the_same_offsets() -> None:
    described = {register.name: register.offset for register in registers.registers()}
    assert described == OFFSETS | RTL_OFFSETS == hwh.registers()
    assert hwh.identity() == "xilinx.com:hls:falcon_sign:1.0"
    listed = ElementTree.fromstring(hwh.describe()).iter("REGISTER")
    assert [register.get("NAME") for register in listed] == list(described)
    for text in (registers.systemverilog(), registers.c_header()):
        found = re.findall(r"REGISTER_(\w+) = (?:7'h|0x)(\w+)", text)
        expected = [(name.upper(), offset) for name, offset in described.items()]
        assert [(name, int(offset, 16)) for name, offset in found] == expected


def test_hardware_uses_every_described_register() -> None:
    source = (registers.RTL / "core" / "control.sv").read_text(encoding="utf-8")
    used = set(re.findall(r"\bREGISTER_(\w+)", source))
    assert used == {register.name.upper() for register in registers.registers()}


def test_changed_list_is_noticed(monkeypatch, tmp_path: Path, capsys) -> None:
    (tmp_path / "stale.py").write_text("old\n")
    files = {tmp_path / "stale.py": "new\n", tmp_path / "none.py": "new\n"}
    monkeypatch.setattr(registers, "files", lambda: files)
    monkeypatch.setattr("sys.argv", ["registers", "--check"])
    assert not registers.main()
    assert "stale.py is not what registers.toml gives" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["registers"])
    assert registers.main()
    assert (tmp_path / "none.py").read_text() == (tmp_path / "stale.py").read_text() == "new\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("0x04", "0x00", "offsets"), ("0x04", "0x06", "offsets"), ('"GIER"', '"CTRL"', "names")],
)
def test_impossible_description_is_rejected(old, new, message, tmp_path, monkeypatch):
    text = (registers.RTL / "registers.toml").read_text(encoding="utf-8")
    (tmp_path / "registers.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(registers, "RTL", tmp_path)
    with pytest.raises(ValueError, match=message):
        registers.registers()
