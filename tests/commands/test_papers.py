"""`pqchain papers`: works, their tables as printed, their findings."""

from __future__ import annotations

import json

import pytest

from pqchain.commands.main import main


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


def test_a_table_is_shown_as_printed(capsys):
    assert main(["papers", "pqdpol", "table4"]) == 0
    captured = capsys.readouterr()
    assert "11.444\N{NARROW NO-BREAK SPACE}ms" in captured.out
    assert "section 4.3" in captured.out
    assert main(["papers", "pqdpol", "table4", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["sign_seconds"] == 0.000163
    assert shown["units"]["sign_seconds"] == "s"


def test_numbers_without_a_value_are_null(capsys):
    assert main(["papers", "mini-blockchain", "blockchain", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["value"] for row in rows if row["quantity"] == "block_hash"} == {None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["papers", "pqdpool"], "did you mean 'pqdpol'?"),
        (["papers", "pqdpol", "table9"], "table"),
        (["papers", "--findings"], "no work was named"),
        (["papers", "pqdpol", "table4", "--findings"], "the table table4 was named"),
    ],
)
def test_an_unknown_work_or_table_is_refused(arguments, message, refused):
    refused(arguments, message)
