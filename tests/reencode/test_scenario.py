"""Scenarios: invalid ones are rejected, and equal ones share an id."""

from dataclasses import asdict, replace

import pytest

from pqchain import checks
from pqchain.errors import UnknownName, UsageError
from pqchain.reencode.scenario import PRESETS, Fault, Link, ReplayScenario, preset
from pqchain.wire.transports import registry


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"before": (253, 3), "nodes": 256}, "at most 255 in total"),
        ({"nodes": 9}, "nodes must be 10.* got 9"),
        ({"after": (7, 3)}, "at most 9 chunks"),
        ({"blocks": 10**8}, "from 1 to 10000"),
        ({"datagram_bytes": 1199}, "datagram_bytes must be .* from 1200 to 16000; got 1199"),
        ({"failed_node": 10}, "must be from 0 to 9"),
        ({"timeout_seconds": 0.3}, "at least 0.5, twice the heartbeat"),
        ({"limit_seconds": 0.0}, "limit_seconds must be a number from 1e-06 to 1e"),
        (
            {"transport": "aioquic", "congestion": "bbr"},
            "must be reno or cubic with aioquic; got bbr",
        ),
        ({"transport": "tcp-tls"}, "must be native or aioquic in virtual mode; got"),
        (
            {"transport": "tcp-tls", "mode": "loopback", "sessions": "0-rtt"},
            "native or aioquic for sessions='0-rtt'; got tcp-tls",
        ),
        ({"faults": (Fault(node=12, kind="die"),)}, "must be from 0 to 9"),
    ],
)
def test_invalid_scenarios_are_rejected(changes, message):
    with pytest.raises(UsageError, match=message):
        preset("quick", **changes)


def test_unknown_names_are_rejected():
    with pytest.raises(UnknownName, match="did you mean 'paper'"):
        preset("papr")
    for changes in ({"transport": "udp"}, {"congestion": "vegas"}, {"colour": 1}):
        with pytest.raises(UnknownName):
            preset("quick", **changes)


def test_scenario_resolves_its_transport(monkeypatch):
    monkeypatch.setattr(registry, "default", lambda: "aioquic")
    one = ReplayScenario()
    assert one.transport == "aioquic"
    assert one.id == ReplayScenario(transport="aioquic").id
    monkeypatch.setattr(registry, "default", lambda: "native")
    assert ReplayScenario().transport == "native"
    assert replace(one, seed=1).transport == "aioquic"


def test_ids_depend_on_scenario_fields_only():
    quick, paper = preset("quick"), preset("paper", faults=(Fault(node=3, kind="stall"),))
    assert quick.id == ReplayScenario().id == preset("quick").id
    others = [preset("quick", seed=1), preset("quick", link=Link(loss=0.01)), paper]
    assert len({quick.id, *(other.id for other in others)}) == 4
    again = checks.typed(asdict(paper), ReplayScenario, "the scenario")
    assert (again, again.id) == (paper, paper.id)


def test_paper_preset_equals_the_work():
    paper = PRESETS["paper"]
    assert (paper.nodes, paper.before, paper.after) == (10, (7, 3), (6, 3))
    assert (paper.blocks, paper.block_bytes) == (10, 64_000_000)
    assert paper.link.bits_per_second == 10e9
    # Each of 9 nodes requests a chunk per block from 8 others: 6.6 GB, 0.59 s per port.
    assert paper.transfer_bytes == 9 * 8 * 10 * paper.chunk_bytes
    seconds = paper.transfer_bytes / 9 * 8 / paper.link.bits_per_second
    assert seconds == pytest.approx(0.585, rel=0.01)
    assert replace(paper, sources="least-loaded").transfer_bytes == 9 * 6 * 10 * paper.chunk_bytes


def test_blocks_follow_from_the_seed_alone():
    one = preset("quick", block_bytes=100)
    assert one.block(3) == replace(one, streams="single").block(3)
    assert len({one.block(0), one.block(1), replace(one, seed=1).block(0)}) == 3
