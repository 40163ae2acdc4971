"""Coverage of the RTL engine: reading Verilator's counts, and the list of cover points."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hls_kernels.rtl import coverage
from tests.falcon.rtl import ROOT


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


def test_testplan_names_every_command() -> None:
    text = (ROOT / "docs" / "design" / "falcon-testplan.md").read_text(encoding="utf-8")
    makefile = (ROOT / "hls_kernels" / "rtl" / "rtl.mk").read_text(encoding="utf-8")
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY"))
    for target in phony.split()[1:]:
        if target.endswith("-test") or target in (
            "rtl-lint",
            "resets",
            "proofs",
            "mutants",
            "leaks",
        ):
            assert f"`make {target}`" in text, target
