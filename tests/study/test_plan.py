"""Plans: what they take, and what they refuse, all at once and with the line."""

import pytest

from pqchain.consensus import named
from pqchain.errors import UnknownName, UsageError
from pqchain.study import Plan, load, ready
from pqchain.study.plan import ImpossiblePlan, described, inputs
from pqchain.study.reading import parse
from pqchain.study.ready import READY
from tests.study.plans import GOOD


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
    has_links = name in ("solana", "algorand")  # the others have regions, or no links
    assert ("rate_bits_per_second" in told) == has_links


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


def test_every_input_is_described():
    rows = {name: (table, unit, default) for table, name, unit, _, default in described()}
    assert rows["block_bytes"] == ("chain", "B", "needed")
    assert rows["peers"] == ("network", "", "the law's")
    assert {key for key, *_ in inputs(load("ethereum"))} <= {*rows, "migration"}


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


def test_each_problem_names_its_input():
    with pytest.raises(ImpossiblePlan) as caught:
        load("bitcoin").with_(nodes=0, peers=0, block_bytes=-1)
    assert [problem.input for problem in caught.value.problems] == ["peers", "block_bytes", "nodes"]
    assert str(caught.value).count("\n") == 2


def test_keyword_arguments_do_without_a_file():
    plan = Plan(
        schemes=("Falcon-512",), transactions_per_second=1.0, block_bytes=50_000,
        block_seconds=0.0, nodes=32, network=named("paper-serial"), costs="paper:pqdpol",
        baseline="",
    )  # fmt: skip
    assert plan.title == "A study"
