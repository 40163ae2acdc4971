"""`pqchain papers`: works, their published tables, their coverage."""

from __future__ import annotations

import json

import pytest

from pqchain.commands.main import main
from pqchain.works import papers


def test_papers_are_listed_and_shown(capsys):
    assert main(["papers"]) == 0
    assert "round3" in capsys.readouterr().out
    assert main(["papers", "pqdpol"]) == 0
    shown = capsys.readouterr().out
    assert "Intel i3-6100U" in shown
    assert "table6" in shown
    assert "0.4907" in shown
    assert main(["papers", "--json"]) == 0
    assert {work["key"] for work in json.loads(capsys.readouterr().out)} >= {"pqdpol", "round3"}
    assert main(["papers", "falcon-hls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title_korean"].startswith("HLS")


def test_table_is_shown_as_printed(capsys):
    assert main(["papers", "pqdpol", "table4"]) == 0
    captured = capsys.readouterr()
    assert "11.444\N{NARROW NO-BREAK SPACE}ms" in captured.out
    assert "section 4.3" in captured.out
    assert main(["papers", "pqdpol", "table4", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["sign_seconds"] == 0.000163
    assert shown["units"]["sign_seconds"] == "s"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["papers", "pqdpool"], "did you mean 'pqdpol'?"),
        (["papers", "pqdpol", "table9"], "table"),
        (["papers", "pqdpol", "table4", "--coverage"], "exclude each other"),
    ],
)
def test_unknown_work_or_table_is_rejected(arguments, message, refused):
    refused(arguments, message)


def test_coverage_counts_every_printed_number(capsys):
    assert main(["papers", "--coverage"]) == 0
    lines = capsys.readouterr().out.splitlines()
    counts = {line.split()[0]: list(map(int, line.split()[1:])) for line in lines[3:]}
    assert all(sum(rest) == whole for whole, *rest in counts.values())
    assert counts["all"][0] == len(papers.published())


def test_uncovered_numbers_have_a_reason(capsys):
    assert main(["papers", "falcon-hls", "--coverage"]) == 0
    assert "placed for no device of this family" in capsys.readouterr().out
    assert main(["papers", "falcon-hls", "--coverage", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    degree = next(row for row in rows if row["quantity"] == "ring_degree")
    assert (degree["printed"], degree["kind"], degree["ours"]) == (512, "registry", 512)
    assert {row["ours"] for row in rows if row["kind"] == "none"} == {None}
