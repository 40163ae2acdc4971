"""Plans: what they take, and what they refuse, all at once and with the line."""

import dataclasses

import pytest

from pqchain.consensus import named
from pqchain.errors import UnknownName, UsageError
from pqchain.study import Plan, load, ready
from pqchain.study.plan import described, inputs
from pqchain.study.reading import READY, parse

GOOD = """
[chain]
schemes = ["Falcon-512", "falcon-512"]
transactions_per_second = 5
block_bytes = 50_000
block_seconds = 1.5

[network]
law = "star"
nodes = 16

[costs]
costs = "paper:mini-blockchain"
"""


def refused(text):
    """Return the lines of the refusal."""
    with pytest.raises(UsageError) as caught:
        parse(text, "my.toml")
    return str(caught.value).split("\n")


@pytest.mark.parametrize("name", READY)
def test_ready_studies_say_where_every_input_comes_from(name):
    plan = load(name)
    told = {key: source for key, _, _, _, source in inputs(plan)}
    unsaid = [key for key, source in told.items() if source == "set for this study"]
    assert unsaid in ([], ["schemes"])
    unset = [key for key, source in told.items() if source == "default"]
    assert unset
    assert not [key for key in unset if f"\n{key} = " in ready(name)]
    assert ("peers" in told) == (plan.network.law == "gossip")
    assert "rate_bits_per_second" not in told  # these networks have regions, or no links


def test_what_is_changed_loses_its_source():
    plan = load("bitcoin")
    changed = plan.with_(nodes=64, peers=4)
    assert (changed.source("nodes"), changed.source("peers")) == ("set for this study",) * 2
    assert changed.network.peers == 4
    assert changed.source("block_bytes") == plan.source("block_bytes")
    assert plan.with_(nodes=plan.nodes, sources={"nodes": "me"}).source("nodes") == "me"
    assert load("ethereum").with_(law="mesh").network == named("mesh")


def test_a_list_of_schemes_is_as_good_as_a_tuple_and_no_baseline_is_none():
    plan = load("pqdpol").with_(schemes=["Falcon-512"])
    assert plan.schemes == ("Falcon-512",)
    assert {key: value for key, value, *_ in inputs(plan)}["baseline"] == "none"


def test_a_misspelt_table_is_told_once_and_its_inputs_are_read():
    text = GOOD.replace("[network]", "[netwrk]").replace("[costs]", "[weather]\nrain = 1\n[cost]")
    assert refused(text) == [
        "my.toml, line 8: unknown table [netwrk]; did you mean [network]?",
        "my.toml, line 12: unknown table [weather]; expected [chain], [chain.migration], [costs], "
        "[network], [signer], [sources], [storage]",
        "my.toml, line 14: unknown table [cost]; did you mean [costs]?",
    ]
    wrong = refused(text.replace("nodes = 16", "nodes = 0"))
    assert len(wrong) == 4
    assert wrong[-1].startswith("my.toml, line 10: nodes is 0")


def test_every_input_is_described():
    rows = {name: (table, unit, default) for table, name, unit, _, default in described()}
    assert rows["block_bytes"] == ("chain", "B", "needed")
    assert rows["peers"] == ("network", "", "the law's")
    assert {key for key, *_ in inputs(load("ethereum"))} <= {*rows, "migration"}


def test_a_plan_is_what_the_file_says():
    plan = parse(GOOD, "my.toml")
    assert plan.schemes == ("Falcon-512",)
    assert plan.network.law == "star"
    assert (plan.nodes, plan.block_seconds, plan.baseline) == (16, 1.5, "ECDSA-secp256k1")
    assert plan.names == ("ECDSA-secp256k1", "Falcon-512")
    assert dataclasses.replace(plan) == plan


def test_every_problem_is_told_with_its_line():
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
    assert "block_seconds is '1.5 s'; expected a number" in told
    assert "nodes is 0; expected 1 to" in told
    assert (
        "costs is 'guessed'; expected one of measured, paper:mini-blockchain, paper:pqdpol" in told
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nodes = 16", "nodes = 16\ndelegates = 17"), "delegates is 17, more than the 16 nodes"),
        (("nodes = 16", "nodes = 9"), "10 chunks for 9 nodes"),
        (("[costs]", "[storage]\ndata_chunks = 200\nparity_chunks = 100\n[costs]"), "255 chunks"),
        (('"star"', '"paper-serial"\nvote_phases = 1'), "which paper-serial has not"),
        (("nodes = 16", "nodes = 16\npeers = 3"), "line 11: peers is set, but star has no such"),
        (("nodes = 16", "nodes = 16\nworld = 1"), "line 11: world is 1; expected true or false"),
        (('"star"', '"stars"'), "unknown network 'stars'; did you mean 'star'"),
        (("block_bytes = 50_000\n", ""), r"\[chain\] lacks block_bytes \(largest block, in B\)"),
        (('law = "star"\n', ""), r"\[network\] lacks law"),
        (('"Falcon-512", ', '"Falcon-500", '), "unknown algorithm 'Falcon-500'"),
        (('"Falcon-512", ', '"Kyber512", '), "'Kyber512', which signs nothing"),
        (("nodes = 16", "nodes = 16.5"), "nodes is 16.5; expected a whole number"),
        (("nodes = 16", "nodes = true"), "nodes is True; expected a whole number"),
        (("[costs]", "[signer]\nsigner = \"m5\"\n[costs]"), "signer is 'm5'; expected one of"),
        (("[costs]", "[sources]\nnode = \"me\"\n[costs]"), "'node', which is no input; did you"),
        (("[costs]", "[sources]\nnodes = 3\n[costs]"), "source of nodes is 3; expected a text"),
        (("[costs]", "[chain.migration]\n\"Falcon-512\" = 0.5\n[costs]"), "add up to 0.5"),
        (("[costs]", "[costs]\nnodes = 3"), r"nodes belongs into \[network\]"),
        (("[chain]", "[chain"), "is no TOML"),
        (('schemes = ["Falcon-512", "falcon-512"]', "schemes = []"), "expected a list of names"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        parse(GOOD.replace(*change), "my.toml")


def test_a_signer_needs_its_scheme_and_no_factor_beside_it():
    plan = parse(GOOD, "my.toml")
    with pytest.raises(UsageError, match="no scheme is Falcon"):
        plan.with_(schemes=("ML-DSA-44",), signer="m4")
    with pytest.raises(UsageError, match="give one of them"):
        plan.with_(signer="m4", signing_factor=2.0)


def test_unknown_names_get_a_suggestion(tmp_path):
    with pytest.raises(UnknownName, match="'ethereum'"):
        load("etherium")
    with pytest.raises(UnknownName, match="'bitcoin'"):
        ready("bitcoins")
    with pytest.raises(UnknownName, match="'nodes'"):
        parse(GOOD, "my.toml").with_(node=3)
    with pytest.raises(UsageError, match="cannot read the study"):
        load(tmp_path / "none.toml")


def test_a_file_is_read(tmp_path):
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    assert load(tmp_path / "my.toml") == parse(GOOD, "my.toml")


def test_keyword_arguments_do_without_a_file():
    plan = Plan(
        schemes=("Falcon-512",), transactions_per_second=1.0, block_bytes=50_000,
        block_seconds=0.0, nodes=32, network=named("paper-serial"), costs="paper:pqdpol",
        baseline="",
    )  # fmt: skip
    assert plan.title == "A study"
