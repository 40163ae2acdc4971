"""`pqchain chain`: blocks measured and shown."""

from __future__ import annotations

import json

import pytest

from pqchain import results
from pqchain.commands.main import main


def test_one_block_is_text_and_many_are_a_table(blocks, capsys):
    assert main(["chain"]) == 0
    assert "Falcon-512" in capsys.readouterr().out.splitlines()[0]
    assert main(["chain", "--algorithm", "all", "--threads", "1,4", "--transactions", "7"]) == 0
    shown = capsys.readouterr().out
    assert "Hawk-512" in shown
    assert "unsupported: no Hawk-512 here" in shown
    (first, _), (second, options) = blocks
    assert (first, second) == (["Falcon-512"], None)
    assert (options["threads"], options["transactions"]) == ([1, 4], 7)


def test_chain_writes_json_and_files(blocks, tmp_path, capsys):
    output = tmp_path / "blocks.csv"
    assert main(["chain", "--algorithm", "Hawk-512", "--json", "--output", str(output)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["blocks"][0]["block_bytes"] is None
    assert found["blocks"][0]["status"] == "unsupported"
    assert len(results.load(output)) == len(found["blocks"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithm", "all,Ed25519"], "unknown algorithm 'all'"),
        (["--threads", "many"], "whole numbers or ranges, such as 1..5 or 1,2,8; got 'many'"),
        (["--threads", "0"], "threads must be a whole number from 1 to 1024; got 0"),
        (["--output", "blocks.txt"], "must end in .csv"),
        (["--algorithm", "Falcon512"], "did you mean 'Falcon-512'"),
        (["--transactions", "0"], "transactions must be a"),
        (["--data-bytes", "-1"], "data_bytes must be a whole number from 0 to 65535; got -1"),
        (["--data-bytes", "70000"], "data_bytes must be a"),
        (["--algorithm", "Falcon-512+Falcon-512"], "distinct algorithms"),
    ],
)
def test_usage_errors_of_chain_exit_2(arguments, said, refused):
    refused(["chain", *arguments], said)
