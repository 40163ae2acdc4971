"""Study files: every problem with its line and the nearest name."""

import dataclasses

import pytest

from pqchain.errors import UsageError
from pqchain.study import load
from pqchain.study.reading import parse
from tests.study.plans import GOOD


def refused(text):
    """Return the lines of the error."""
    with pytest.raises(UsageError) as caught:
        parse(text, "my.toml")
    return str(caught.value).split("\n")


def test_misspelt_table_is_reported_once():
    text = GOOD.replace("[network]", "[netwrk]").replace("[costs]", "[weather]\nrain = 1\n[cost]")
    assert refused(text) == [
        "my.toml, line 8: unknown table [netwrk]; did you mean [network]?",
        "my.toml, line 12: unknown table [weather]; expected [chain], [chain.migration], [costs], "
        "[limits], [limits.gas_prices], [network], [signer], [sources], [storage], "
        "[transaction], [votes]",
        "my.toml, line 14: unknown table [cost]; did you mean [costs]?",
    ]
    wrong = refused(text.replace("nodes = 16", "nodes = 0"))
    assert len(wrong) == 4
    assert wrong[-1].startswith("my.toml, line 10: nodes must be 1 to")


def test_plan_equals_its_file():
    plan = parse(GOOD, "my.toml")
    assert plan.algorithms == ("Falcon-512",)
    assert plan.network.law == "star"
    assert (plan.nodes, plan.block_seconds, plan.baseline) == (16, 1.5, "ECDSA-secp256k1")
    assert plan.names == ("ECDSA-secp256k1", "Falcon-512")
    assert dataclasses.replace(plan) == plan


def test_every_problem_has_its_line_number():
    text = GOOD.replace("block_seconds = 1.5", 'block_seconds = "1.5 s"\nblock_byte = 3')
    text = text.replace("nodes = 16", "nodes = 0\nrate_megabits = 5").replace(
        "paper:mini-blockchain", "guessed"
    )
    problems = refused(text)
    assert [line.partition(":")[0] for line in problems] == [
        "my.toml, line 7", "my.toml, line 12", "my.toml, line 6", "my.toml, line 11",
        "my.toml, line 15",
    ]  # fmt: skip
    told = "\n".join(problems)
    assert "unknown input 'block_byte'; did you mean block_bytes (B)" in told
    assert "rate_bits_per_second (bit/s)" in told
    assert "block_seconds must be a number" in told
    assert "nodes must be 1 to" in told
    assert (
        "costs must be one of measured, paper:mini-blockchain, paper:pqdpol, paper:round3; got"
        in told
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nodes = 16", "nodes = 16\ndelegates = 17"), "delegates must be at most nodes, 16"),
        (("nodes = 16", "nodes = 9"), "must be at most 9 together, .* got 10"),
        (("[costs]", "[storage]\ndata_chunks = 200\nparity_chunks = 100\n[costs]"), "255 together"),
        (('"star"', '"paper-serial"\nvote_phases = 1'), "vote_phases must be 0 with paper-serial"),
        (("nodes = 16", "nodes = 16\npeers = 3"), "line 11: peers is not an input of star"),
        (("nodes = 16", "nodes = 16\nworld = 1"), "line 11: world must be true or false .* got 1"),
        (('"star"', '"stars"'), "unknown network 'stars'; did you mean 'star'"),
        (("block_bytes = 50_000\n", ""), r"\[chain\] lacks block_bytes \(largest block, in B\)"),
        (('law = "star"\n', ""), r"\[network\] lacks law"),
        (('"Falcon-512", ', '"Falcon-500", '), "unknown algorithm 'Falcon-500'"),
        (('"Falcon-512", ', '"Kyber512", '), "algorithms must name signature schemes"),
        (("nodes = 16", "nodes = 16.5"), "nodes must be a whole number .* got 16.5"),
        (("nodes = 16", "nodes = true"), "nodes must be a whole number .* got True"),
        (("[costs]", "[signer]\nsigner = \"m5\"\n[costs]"), "signer must be one of .* got 'm5'"),
        (("[costs]", "[sources]\nnode = \"me\"\n[costs]"), "sources must name inputs; got 'node'"),
        (("[costs]", "[sources]\nnodes = 3\n[costs]"), "source of nodes must be a text; got 3"),
        (("[costs]", "[chain.migration]\n\"Falcon-512\" = 0.5\n[costs]"), "add up to 1; got 0.5"),
        (("[costs]", "[costs]\nnodes = 3"), r"nodes belongs in \[network\]"),
        (("[costs]", "[\"x.y\"]\na = 1\n[costs]"), r"unknown table \[x.y\]"),
        (("[chain]", "[chain"), "invalid TOML"),
        (('= ["Falcon-512", "falcon-512"]', "= []"), "must be a list of names"),
    ],
)  # fmt: skip
def test_invalid_files_are_rejected(change, message):
    with pytest.raises(UsageError, match=message):
        parse(GOOD.replace(*change), "my.toml")


def test_file_is_read(tmp_path):
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    assert load(tmp_path / "my.toml") == parse(GOOD, "my.toml")


def test_observation_may_depend_on_the_inputs():
    text = (
        GOOD
        + """
[[observed]]
quantity = "transactions_per_block"
value = 5
source = "me"
date = "2026"
dependence = "the same bytes"
"""
    )
    (seen,) = parse(text, "my.toml").observed
    assert seen.dependence == "the same bytes"
    (independent,) = parse(text.replace('dependence = "the same bytes"', ""), "my.toml").observed
    assert independent.dependence == ""
    assert "dependence of an observation must" in refused(text.replace('"the same bytes"', "1"))[0]


def test_cited_sources_need_the_date_on_which_they_were_read():
    cited = GOOD + '[sources]\nnodes = "me"\n'
    (problem,) = refused(cited)
    assert "line 2: checked must be the date on which the sources were read" in problem
    dated = cited.replace("[chain]\n", "[chain]\nchecked = 2026-11-23\nvalid_until = 2026-12-31\n")
    plan = parse(dated, "my.toml")
    assert str(plan.checked) == "2026-11-23" and str(plan.valid_until) == "2026-12-31"
    wrong = refused(dated.replace("2026-12-31", "2026-12-31T00:00:00"))
    assert "valid_until must be a date such as 2026-11-23" in wrong[0]


def test_missing_tables_have_no_line() -> None:
    with pytest.raises(UsageError) as caught:
        parse('title = "x"\n', "my.toml")
    assert str(caught.value).splitlines()[0].startswith("my.toml: [chain] lacks algorithms")
