"""Networks compared with closed forms and with ns-3."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from pqchain.consensus import model, network
from pqchain.consensus.model import single_view
from pqchain.consensus.network import NAMES, SECOND, ServiceTimes, link_times, named
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.consensus.view import BLOCK, NEVER, VOTE
from pqchain.delegates.messages import HEADER_BYTES
from pqchain.errors import UnknownName, UsageError
from tests.consensus.scenarios import scenario, table

FREE = table(sign=0.0, verify=0.0, signature=50_000 - HEADER_BYTES - 1312)
"""One transaction that fills a message of 50,000 bytes, and computing costs nothing."""

WHOLE = Layout(overhead_bytes=0, header_bytes=0)

BLOCK_BYTES = 50_000


def block(law: str, nodes: int, **changes: object) -> Scenario:
    """A scenario in which only the network takes time, for a block of exactly 50,000 bytes."""
    settings = {"exchange": None, "vote_phases": None, **changes.pop("fields", {})}  # type: ignore[dict-item]
    return scenario(
        nodes=nodes, costs=FREE, layout=WHOLE, network=named(law, **changes), **settings
    )


@pytest.mark.parametrize(
    ("law", "payload", "milliseconds"),
    [
        ("mesh", BLOCK_BYTES, 83.728),
        ("mesh", 1024, 3.69),
        ("star", BLOCK_BYTES, 88.016),
        ("csma", BLOCK_BYTES, 4.509),
    ],
)
def test_one_message_agrees_with_ns3(law: str, payload: int, milliseconds: float) -> None:
    times = link_times(named(law), (payload, 1, 1))
    arrived = int(times.send_ns[0, 0] + times.latency_ns[0, 0, 0])
    ours = (arrived + int(times.downlink_ns[0]) + times.downlink_latency_ns) / 1e6
    # The first three agree to all digits without fitting; only the gap of csma is fitted.
    assert ours == pytest.approx(milliseconds, rel=0.0011 if payload == 1024 else 2e-5)


@pytest.mark.parametrize("nodes", [2, 4, 8, 16, 32])
def test_csma_all_to_all_agrees_with_ns3(nodes: int) -> None:
    printed = {2: 0.0095, 4: 0.0550, 8: 0.2527, 16: 1.079, 32: 4.446}[nodes]
    result = model.run(block("csma", nodes))
    assert result.latency_seconds == pytest.approx(printed, rel=0.02)


@pytest.mark.parametrize("nodes", [2, 4, 8, 16, 32])
def test_mesh_agrees_with_ns3_and_is_flat(nodes: int) -> None:
    over_udp = block("mesh", nodes, fields={"exchange": "all-to-all", "vote_phases": 0})
    assert model.run(over_udp).latency_seconds == pytest.approx(0.083728, rel=1e-5)


@pytest.mark.parametrize("nodes", [1, 2, 5, 16, 32])
def test_paper_serial_equals_its_closed_form(nodes: int) -> None:
    case = scenario(nodes=nodes, network=named("paper-serial"))
    law, costs = case.network.serial, case.cost
    size = costs.public_key_bytes + costs.signature_bytes
    pair = law.pair_seconds + law.byte_seconds * size + law.verifies * costs.verify_seconds
    expected = nodes**2 * pair + nodes * law.signs * costs.sign_seconds
    assert model.run(case).latency_seconds == pytest.approx(expected, abs=2e-9 * nodes**2)


TIMES = ServiceTimes(
    message_seconds=1e-3, byte_seconds=1e-6, transaction_seconds=2e-3, height_seconds=5e-3
)


@pytest.mark.parametrize("nodes", [1, 2, 5, 16])
def test_one_processor_works_sequentially(nodes: int) -> None:
    case = scenario(
        nodes=nodes, network=named("host", service_times=TIMES), costs=table(verify=3e-3, sign=1e-3)
    )
    block = model.Load(case).take(0, now=0)
    assert block is not None and case.exchange == "all-to-all"
    message = 1e-3 + (HEADER_BYTES + block.size_bytes) * 1e-6
    messages = nodes * (nodes - 1) + nodes - 1
    assert case.messages() == messages
    expected = messages * (message + block.transactions * (3e-3 + 2e-3)) + nodes * 5e-3
    assert model.run(case).latency_seconds == pytest.approx(expected, abs=1e-7 * nodes)


def test_two_equally_loaded_processors_take_half_the_time() -> None:
    seconds = [
        model.run(scenario(nodes=16, network=named("host", processors=many))).latency_seconds
        for many in (1, 2, 4)
    ]
    assert seconds[0] / seconds[1] == pytest.approx(2, rel=0.02)
    assert seconds[0] / seconds[2] == pytest.approx(4, rel=0.05)


def test_csma_equals_its_closed_form() -> None:
    for nodes in (2, 3, 9):
        view = single_view(block("csma", nodes))
        grants = nodes * (nodes - 1) * int(view.link_times.send_ns[VOTE, 0])
        expected = grants + round(0.5e-3 * SECOND)
        assert model.run(block("csma", nodes)).heights[0].ended_ns == expected


@pytest.mark.parametrize("law", ["star", "regions"])
def test_last_receiver_waits_for_all_slots_of_the_uplink(law: str) -> None:
    case = block(law, 12, jitter_fraction=0.0, fields={"vote_phases": 0})
    view = single_view(case)
    final = model.run(case).heights[0].final_ns
    send_ns = int(view.link_times.send_ns[BLOCK, view.regions[0]])
    last = 11
    latency_ns = int(view.link_times.latency_ns[BLOCK, view.regions[0], view.regions[last]])
    below = int(view.link_times.downlink_ns[BLOCK]) + view.link_times.downlink_latency_ns
    assert final[last] == 11 * send_ns + latency_ns + below


def test_gossip_is_the_shortest_path() -> None:
    case = scenario(
        nodes=200, delegates=4, network=named("gossip", peers=3, jitter_fraction=0.3), costs=FREE,
        layout=WHOLE,
    )  # fmt: skip
    view = single_view(case)
    overlay, link_times, disturbance = view.overlay, view.link_times, view.disturbance
    assert overlay is not None
    source = int(overlay.delegates[view.proposer])
    times = dict.fromkeys(range(200))
    times[source] = 0  # type: ignore[assignment]
    # Bellman-Ford, independent of the engines.
    for _ in range(200):
        for node in range(200):
            if times[node] is None:
                continue
            for index in range(3):
                peer = overlay.peer(node, index)
                start = times[node] + (0 if node == source else overlay.relay_ns)  # type: ignore[operator]
                sent = start + (index + 1) * int(link_times.send_ns[BLOCK, 0])
                at = disturbance.arrival(
                    BLOCK, node, index, at=sent + int(link_times.latency_ns[BLOCK, 0, 0]),
                    max_jitter_ns=int(link_times.max_jitter_ns[0, 0]), partitioned=False,
                )  # fmt: skip
                if times[peer] is None or at < times[peer]:  # type: ignore[operator]
                    times[peer] = at  # type: ignore[assignment]
    reached = model.run(case).heights[0].outcomes[0].reached_ns
    assert reached.tolist() == [times[node] for node in range(200)]


@pytest.mark.parametrize(("nodes", "peers"), [(1, 3), (2, 1), (2, 8), (4, 3), (4, 1000), (9, 7)])
def test_gossip_reaches_every_other_node_once(nodes: int, peers: int) -> None:
    case = scenario(nodes=nodes, network=named("gossip", peers=peers), vote_phases=0)
    overlay = single_view(case).overlay
    assert overlay is not None
    for node in range(nodes):
        peers_drawn = [overlay.peer(node, index) for index in range(overlay.peers)]
        assert node not in peers_drawn
        if peers >= nodes - 1:
            assert peers_drawn == [(node + step) % nodes for step in range(1, nodes)]
        else:
            assert len(peers_drawn) == peers and peers_drawn[0] == (node + 1) % nodes
    assert case.messages() == nodes * min(peers, nodes - 1)
    runs = [model.run(case, engine=engine).heights[0].outcomes[0] for engine in model.ENGINES]
    assert runs[0] == runs[1]
    assert runs[0].reached_ns.tolist().count(NEVER) == 0


def test_region_delays_are_symmetric_and_complete() -> None:
    table = network.regions()
    matrix = np.array([region["latency_milliseconds"] for region in table])
    assert np.array_equal(matrix, matrix.T)
    expected = [region["share"] for region in table]
    assert sum(expected) == pytest.approx(1.0, abs=1e-3)
    regions = single_view(scenario(nodes=4096, network=named("regions"))).regions
    assert np.bincount(regions, minlength=6) / 4096 == pytest.approx(expected, abs=0.03)
    # Fractions of a millisecond count: 62.0 and 18.6 ms from North America.
    times = network.link_times(named("regions"), (1, 1, 1))
    assert (times.latency_ns[1, 0, :2] // 1000).tolist() == [18_600, 62_000]


def test_network_names_are_accepted_and_others_rejected() -> None:
    assert [named(name).law for name in NAMES] == list(NAMES)
    with pytest.raises(UnknownName, match=r"'gosip'; did you mean 'gossip'"):
        named("gosip")
    with pytest.raises(UnknownName, match="unknown field of Network 'rate'"):
        named("mesh", rate=5e6)


@pytest.mark.parametrize(
    ("law", "changes", "message"),
    [
        ("mesh", {"peers": 2}, r"of mesh must be among header_bytes, jitter.*; got peers"),
        ("paper-serial", {"latency_seconds": 1.0}, r"be among serial; got latency_.* Leave them"),
        ("star", {"world": True, "peers": 2}, r"of star .*; got peers, world"),
        ("gossip", {"world": True, "latency_seconds": 0.1}, r"with world .*; got l"),
        ("mesh", {"rate_bits_per_second": 0.5}, r"rate_bits_per_second must be a number from 1 to"),
        ("gossip", {"peers": 0}, r"peers must be a whole number from 1 to 1024; got 0"),
        ("star", {"latency_seconds": 10.0, "jitter_fraction": 1.0}, r"below 4 seconds; got 10.0"),
    ],
)
def test_wrong_parameters_are_rejected(law: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        named(law, **changes)


def test_gossip_peers_are_uniform() -> None:
    overlay = single_view(scenario(nodes=11, network=named("gossip", peers=9))).overlay
    assert overlay is not None
    keyed = [dataclasses.replace(overlay, key=key) for key in range(200)]
    peers_drawn = np.bincount(
        [case.peer(7, index) for case in keyed for index in range(1, 9)], minlength=11
    )
    assert peers_drawn[7] == 0
    # 160 of each are expected, plus or minus five times 12.
    assert (np.abs(np.delete(peers_drawn, 7) - 160) < 60).all()
