"""Proofs by yosys of queue, registers, bus and serial line; skipped without yosys."""

from __future__ import annotations

import pytest

from hls_kernels.rtl import proofs
from hls_kernels.rtl.assembler.__main__ import write

BROKEN = {
    "control": [
        ("wstrb[0] & busy) abort", "wstrb[0]) abort"),
        ("wdata[0] & wstrb[0] & ~busy", "wdata[0] & wstrb[0]"),
        ("end else if (rready) rvalid <= 1'b0;", "end else rvalid <= 1'b0;"),
    ],
    "draws": [
        ("tail       = head + held[2:0]", "tail       = head + held[2:0] + 3'd1"),
        ("if (~held[3]) begin", "begin"),
        ("& ~busy & ~full & ~filled[filling]", "& ~busy & ~full"),
    ],
    "mover": [
        ("beats_left == '0 ? ASK : TAKE;", "beats_left == '0 ? ASK : ASK;"),
        ("room  = 4'd15 - (state", "room  = 4'd14 - (state"),
        ("words_left == '0 | bresp != '0 | abort ? WIPE", "words_left == '0 | abort ? WIPE"),
        ("state  <= abort ? SETTLE : ASK;", "state  <= ASK;"),
    ],
    "bridge": [
        ("if (check_good & possible) begin", "if (possible) begin"),
        ("if (command == WRITE_MEMORY & possible) begin", "if (command == WRITE_MEMORY) begin"),
        ("if (place[11:0] == '1) begin", "if (place[10:0] == '1) begin"),
        ("(state == SAY_TRAILER & ~check_busy)", "(state == SAY_TRAILER)"),
    ],
    "board_memory": [
        ("awready   = state == FREE & ~arvalid", "awready   = state == FREE"),
        ("{wdata, ~outside, wlast}", "{wdata, 1'b1, wlast}"),
    ],
    "serial_send": [
        ("{1'b1, bits[9:1]}", "{1'b0, bits[9:1]}"),
        ("left <= 4'd10;", "left <= 4'd9;"),
    ],
    "serial_receive": [
        ("valid <= samples[1];", "valid <= 1'b1;"),
        ("if (index == 3'd7)", "if (index == 3'd6)"),
    ],
}
"""Faults that the properties have to notice."""


@pytest.fixture(scope="module")
def yosys() -> str:
    found = proofs.find_yosys()
    if found is None:
        pytest.skip("no yosys: make fpga")
    if not proofs.ROM.is_dir():
        write(proofs.ROM)
    return found


def test_yosys_elaborates_the_engine(yosys: str) -> None:
    success, output = proofs.elaborate(yosys)
    assert success, output
    mixed = ("{less, equal} <=", "{less, equal, halvings} <=")
    success, output = proofs.elaborate(yosys, broken=mixed)
    assert not success
    assert "incompatible mix" in output


@pytest.mark.parametrize("proof", proofs.PROOFS, ids=lambda proof: proof.module)
@pytest.mark.timeout(300)
def test_every_property_is_proved(proof: proofs.Proof, yosys: str) -> None:
    proved, said = proofs.prove(proof, yosys)
    assert proved, said[-3000:]


@pytest.mark.parametrize(
    ("proof", "broken"),
    [(proof, broken) for proof in proofs.PROOFS for broken in BROKEN[proof.module]],
    ids=lambda value: value.module if isinstance(value, proofs.Proof) else value[0][:20],
)
@pytest.mark.timeout(300)
def test_injected_fault_is_not_proved(
    proof: proofs.Proof, broken: tuple[str, str], yosys: str
) -> None:
    proved, _ = proofs.prove(proof, yosys, broken=broken)
    assert not proved


def test_faults_match_the_source() -> None:
    for proof in proofs.PROOFS:
        for broken in BROKEN[proof.module]:
            assert proofs.with_properties(proof, "", broken=broken)
    with pytest.raises(ValueError, match="must occur once"):
        proofs.with_properties(proofs.PROOFS[0], "", broken=("no such text", ""))
