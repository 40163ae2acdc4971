"""Networks beyond the paper: growth of latency, and winning schemes."""

import math

import pandas as pd
import pytest

from pqchain.consensus import landscape
from pqchain.works import papers

PAPER = papers.costs("pqdpol")


@pytest.fixture(scope="module")
def laws() -> pd.DataFrame:
    """Return every kind of network up to 256 nodes."""
    return landscape.laws(PAPER, exponents=range(1, 9), all_vote_exponent=6, seeds=(0, 1))


def growth(frame: pd.DataFrame, setting: str) -> float:
    """Return the exponent of N between 16 and 64 nodes."""
    latency = frame[frame["setting"] == setting].groupby("nodes")["latency_seconds"].median()
    return math.log(latency[64] / latency[16], 4)


def test_networks_have_the_law_of_their_name(laws):
    assert growth(laws, "paper-serial") == pytest.approx(2, abs=0.01)
    assert growth(laws, "csma") == pytest.approx(2, abs=0.1)
    assert growth(laws, "star") == pytest.approx(1, abs=0.1)
    assert growth(laws, "mesh") == pytest.approx(0, abs=0.05)
    assert growth(laws, "gossip") < 0.3


def test_all_nodes_vote_up_to_a_bound_and_delegates_beyond(laws):
    voting = laws["setting"].isin(landscape.ALL_VOTE_LAWS)
    assert (laws["delegates"] == laws["nodes"])[voting].all()
    assert laws.loc[voting, "nodes"].max() == 64
    gossip = laws[~voting]
    assert gossip["nodes"].max() == 256
    assert (gossip["delegates"] == gossip["nodes"].clip(upper=landscape.DELEGATES)).all()
    assert gossip["spread_seconds"].notna().all()


def test_contest_ranks_full_blocks_by_throughput_and_equal_loads_by_latency():
    frame = landscape.contest(
        PAPER, algorithms=["Falcon-512", "Dilithium2", "Dilithium5"], exponents=(4,),
        rates=(1e6, 1e10), capacities=(50_000,), loads=(300,),
    )  # fmt: skip
    winners = landscape.winners(frame).set_index(["question", "rate_bits_per_second"])
    assert len(winners) == 4
    # On a slow network bytes decide; on a fast one verification does, where Dilithium2 is better.
    assert winners.loc[("50000 B", 1e6), "winner"] == "Falcon-512"
    assert winners.loc[("300 transactions", 1e6), "winner"] == "Falcon-512"
    assert winners.loc[("300 transactions", 1e10), "winner"] == "Dilithium2"
    assert (winners["lead"] >= 1).all()
    full, load = winners.loc[("50000 B", 1e6)], winners.loc[("300 transactions", 1e6)]
    assert (full["ranked_by"], full["amount"]) == ("throughput_per_second", 50_000)
    assert (load["ranked_by"], load["amount"]) == ("latency_seconds", 300)
    full = frame[frame["question"] == "50000 B"]
    best = full[full["rate_bits_per_second"] == 1e6]["throughput_per_second"].nlargest(2)
    assert winners.loc[("50000 B", 1e6), "lead"] == pytest.approx(best.iloc[0] / best.iloc[1])
    loads = frame[frame["question"] == "300 transactions"]["transactions_per_block"]
    assert loads.between(298, 301).all()


def test_small_blocks_use_mean_lengths_and_large_ones_drawn_lengths():
    frame = landscape.contest(
        PAPER, algorithms=["Falcon-512"], exponents=(2,), rates=(1e9,),
        capacities=(50_000, 1_000_000), loads=(),
    )  # fmt: skip
    small, large = frame["transactions_per_block"]
    assert small == pytest.approx(29.43, abs=0.01)
    assert large == int(large) > landscape.MAX_EXACT_TRANSACTIONS
