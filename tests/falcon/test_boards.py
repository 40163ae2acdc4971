"""Vivado scripts of the boards, run with mocked commands."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from hls_kernels.rtl.boards import hwh

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


def test_misspelt_command_is_an_error(tmp_path: Path) -> None:
    tkinter = pytest.importorskip("tkinter")
    script = tmp_path / "wrong.tcl"
    script.write_text("creat_project overlay")
    with pytest.raises(tkinter.TclError, match="creat_project"):
        run_tcl(str(script))


@pytest.mark.parametrize("board", BOARDS)
def test_engine_is_synthesised_separately(board: str) -> None:
    calls = run_tcl("rtl/boards/out_of_context.tcl", f"boards/{board}", "/images")
    (synthesis,) = [call for call in calls if call.startswith("synth_design")]
    assert '-mode out_of_context -generic ROM="/images/"' in synthesis
    assert "route_design" in calls


def test_core_identity_and_registers_match_the_driver() -> None:
    """test_registers compares them with the hardware."""
    assert hwh.identity() == "xilinx.com:hls:falcon_sign:1.0"
    tree = ElementTree.fromstring(hwh.describe())
    names = [register.get("NAME") for register in tree.iter("REGISTER")]
    assert names == list(hwh.registers())
