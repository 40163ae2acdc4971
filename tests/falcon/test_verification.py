"""Verification of the RTL engine: coverage, lint, proofs by yosys, and the t-test on cycles."""

import math
import re
import shutil
import subprocess
from collections import Counter
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import pytest

from hls_kernels.rtl import coverage, leaks, proofs
from hls_kernels.rtl.assembler.__main__ import write
from pqchain.falcon import rtl
from tests.falcon.rtl import ROOT, need_netlist


def test_counts_are_summed_by_kind_module_and_line(tmp_path: Path) -> None:
    points = [("v_line/mover", 12, 3), ("v_line/mover", 12, 4), ("v_user/draws_checks", 9, 0)]
    lines = [
        f"C '\x01f\x02a.sv\x01l\x02{line}\x01n\x023\x01page\x02{page}\x01h\x02top.u' {count}"
        for page, line, count in points
    ]
    (tmp_path / "x.dat").write_text("# SystemC::Coverage-3\n" + "\n".join(lines) + "\n")
    counts = coverage.read(tmp_path / "x.dat")
    assert counts["line", "mover", 12, 3] == 7
    assert counts["user", "draws_checks", 9, 3] == 0
    assert len(counts) == 2


def test_lines_are_counted_by_module_without_the_checks() -> None:
    counts = Counter(
        {("line", "fp_add", 1, 5): 5, ("branch", "fp_add", 2, 5): 3, ("branch", "fp_add", 2, 6): 0,
         ("line", "bank__P5", 1, 5): 1, ("line", "mover_checks", 1, 5): 0}
    )  # fmt: skip
    assert coverage.summarize(counts) == [
        {"module": "bank", "covered": 1, "points": 1},
        {"module": "fp_add", "covered": 2, "points": 3},
    ]


def test_cover_points_have_different_names() -> None:
    names = list(coverage.cover_points().values())
    assert len(names) == len(set(names)) == coverage.CHECKS.read_text().count("    `COVER(")


RTL = ROOT / "hls_kernels" / "rtl"
WAIVERS = re.findall(
    r'^lint_off -rule (\w+) -file "(.*)" -match "(.*)"$', (RTL / "lint.vlt").read_text(), re.M
)
"""Rule, file and message of each waiver, with wildcards."""


def warnings(folder: Path, top: str, *folders: str) -> set[tuple[str, str, str]]:
    """Return rule, file and message of each warning of Verilator without the waivers."""
    sources = [path for name in folders for path in (RTL / name).glob("*.sv")]
    command = ["verilator", "--lint-only", "-Wall", "--top-module", top]
    command += [f"-I{RTL / 'core'}", f"-I{folder}", *map(str, sources)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(re.findall(r"^%Warning-(\w+): (.*?):\d+:\d+: (.*)$", run.stderr, re.M))


def test_warnings_and_waivers_match(tmp_path: Path) -> None:
    if shutil.which("verilator") is None:
        pytest.skip("verilator is not installed (Debian: apt-get install verilator)")
    write(tmp_path)
    unused = dict.fromkeys(WAIVERS)
    engine = warnings(tmp_path, "falcon_sign", "core")
    for warning in engine | warnings(tmp_path, "falcon_serial", "core", "serial"):
        matching = [waiver for waiver in WAIVERS if all(map(fnmatch, warning, waiver))]
        assert matching, warning
        for waiver in matching:
            unused.pop(waiver, None)
    assert not unused, "these waivers match no warning"


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
SOUND = ("", "")


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


@pytest.mark.parametrize(
    ("proof", "broken"),
    [(proof, broken) for proof in proofs.PROOFS for broken in (SOUND, *BROKEN[proof.module])],
    ids=lambda value: value.module if isinstance(value, proofs.Proof) else value[0][:20] or "sound",
)
@pytest.mark.timeout(300)
def test_every_property_is_proved_and_no_injected_fault_is(proof, broken, yosys):
    proved, said = proofs.prove(proof, yosys, broken=broken)
    assert proved == (broken == SOUND), said[-3000:]


def test_faults_match_the_source() -> None:
    for proof in proofs.PROOFS:
        for broken in BROKEN[proof.module]:
            assert proofs.with_properties(proof, "", broken=broken)
    with pytest.raises(ValueError, match="must occur once"):
        proofs.with_properties(proofs.PROOFS[0], "", broken=("no such text", ""))


def made(shift: int, rest: int = 300_000, count: int = 2000) -> list[leaks.Attempt]:
    """Return attempts of two keys whose sampler differs by a number of cycles."""
    return [
        leaks.Attempt(
            key=number % 2,
            cycles=rest + 100_000 + 37 * (number * 7919 % 101) + shift * (number % 2),
            sampler=100_000 + 37 * (number * 7919 % 101) + shift * (number % 2),
            rounds=700,
        )
        for number in range(count)
    ]


def test_welch_t_equals_its_closed_form() -> None:
    # means 2 and 4, variances 1 and 4, three values each
    assert leaks.welch([1, 2, 3], [2, 4, 6]) == pytest.approx(-2 / math.sqrt(5 / 3))
    assert leaks.welch([5, 5], [5, 5]) == 0
    assert leaks.welch([6, 6], [5, 5]) == math.inf


def test_key_dependent_timing_is_detected() -> None:
    same, other = leaks.judge(made(0), 512), leaks.judge(made(400), 512)
    assert not leaks.leaks(same)
    assert leaks.leaks(other)
    assert other["t"] < -leaks.THRESHOLD
    assert other["least_difference"] < 400
    one_cycle_outside = made(0, rest=300_001, count=2)
    assert leaks.leaks(leaks.judge([*made(0), *one_cycle_outside], 512))


@pytest.mark.long
@pytest.mark.native
@pytest.mark.timeout(600)
def test_netlist_signatures_of_two_keys_show_no_leak() -> None:
    attempts = leaks.attempts(need_netlist()[0], 512, chunk=0, count=6)
    assert [each.key for each in attempts] == [0, 1, 0, 1, 0, 1]
    assert len({each.rest for each in attempts}) == 1
    assert len({each.sampler for each in attempts}) > 1, "rejections differ"


@pytest.mark.parametrize("degree", [512, 1024])
@pytest.mark.parametrize("configuration", [rtl.STANDARD, rtl.COMPACT, rtl.FAST, rtl.NEW_KEY])
def test_hundred_keys_take_equal_time_outside_the_sampler(configuration: str, degree: int) -> None:
    """Each known answer has another key: every other phase has constant cycles."""
    frame = rtl.cycles().query(f"configuration == {configuration!r} and degree == {degree}")
    assert (frame["attempts"] >= 100).all()
    frame = frame.set_index("phase").drop(["sampler", "random bits", "total"])
    assert (frame["least"] == frame["greatest"]).all()


def test_recorded_cycles_show_no_leak() -> None:
    """Checks the record of `make -C hls_kernels leaks`."""
    found = rtl.figures()["leaks"]
    rows = [(row["configuration"], row["degree"]) for row in found]
    assert rows == list(product((rtl.COMPACT, rtl.FAST), (512, 1024)))
    for recorded in found:
        assert recorded["attempts"] >= 10_000
        assert not leaks.leaks(recorded)
