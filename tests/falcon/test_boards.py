"""Vivado scripts of the boards, run with mocked commands."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from hls_kernels.rtl.boards import hwh

HLS = Path(__file__).parent.parent.parent / "hls_kernels"
BOARDS = sorted(path.parent.name for path in (HLS / "boards").glob("*/board.tcl"))


def run_tcl(script: str, *arguments: str) -> list[str]:
    """Run a script with every unknown command mocked; return the calls of mocked commands.

    Expressions, loops and lists are Tcl's own, so an unbalanced brace or a wrong variable fails.
    """
    tkinter = pytest.importorskip("tkinter", reason="no Tcl interpreter comes with this Python")
    try:
        tcl = tkinter.Tcl()
    except tkinter.TclError as error:
        pytest.skip(f"no Tcl interpreter: {error}")
    calls: list[str] = []
    tcl.createcommand("mocked", lambda *words: calls.append(" ".join(words)) or "1")
    tcl.eval("proc unknown args { return [mocked {*}$args] }")
    for changes in ("exec", "exit"):
        tcl.eval(f"proc {changes} args {{ return [mocked {changes} {{*}}$args] }}")
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


def test_package_holds_every_source_and_register() -> None:
    calls = run_tcl("rtl/boards/package_ip.tcl", "xc7z020clg400-1", "/images")
    copied = " ".join(call for call in calls if call.startswith("file copy"))
    for path in (HLS / "rtl" / "core").glob("*.sv"):
        assert path.name in copied
    added = [call.split()[1] for call in calls if call.startswith("ipx::add_register")]
    assert added == list(hwh.registers())
    assert "set_property version 1.0 1" in calls


@pytest.mark.parametrize("board", BOARDS)
def test_engine_is_synthesised_separately(board: str) -> None:
    calls = run_tcl("rtl/boards/out_of_context.tcl", f"boards/{board}", "/images")
    (synthesis,) = [call for call in calls if call.startswith("synth_design")]
    assert '-mode out_of_context -generic ROM="/images/"' in synthesis
    assert "route_design" in calls


def test_missing_argument_is_an_error() -> None:
    tkinter = pytest.importorskip("tkinter")
    with pytest.raises(tkinter.TclError, match=r"package_ip\.tcl <part>"):
        run_tcl("rtl/boards/package_ip.tcl", "xc7z020clg400-1")


def test_core_identity_and_registers_match_the_driver() -> None:
    """The names that control.sv decodes; test_registers compares their offsets."""
    assert hwh.identity() == "xilinx.com:hls:falcon_sign:1.0"
    verilog = (HLS / "rtl" / "core" / "control.sv").read_text(encoding="utf-8")
    for name in hwh.registers():
        assert f"REGISTER_{name.upper()}:" in verilog
    tree = ElementTree.fromstring(hwh.describe())
    names = [register.get("NAME") for register in tree.iter("REGISTER")]
    assert names == list(hwh.registers())
