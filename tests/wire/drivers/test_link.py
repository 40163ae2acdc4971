"""The modelled link compared with closed forms."""

import math

import pytest

from pqchain.errors import UsageError
from pqchain.wire.drivers.link import OVERHEAD_BYTES, Clock, Link, LinkNetwork


def run(link, sends, seed=0):
    """Return (time, receiver, sender, size) of every arrival."""
    clock, came = Clock(), []
    conditions = link.conditions(seed=seed)
    network = LinkNetwork(
        conditions, 4, clock, lambda to, by, data: came.append((clock.now, to, by, len(data)))
    )
    for time, sender, receiver, size in sends:
        clock.at(time, lambda s=sender, r=receiver, n=size: network.send(s, r, bytes(n)))
    while clock.step():
        pass
    return came, network


def test_port_sends_sequentially_and_the_link_delays():
    link = Link(bits_per_second=1e6, delay_seconds=0.01)
    came, _ = run(link, [(1.0, 0, 1, 1000)] * 10)
    wire = (1000 + OVERHEAD_BYTES) * 8 / 1e6
    expected = [1.0 + n * wire + 0.01 for n in range(1, 11)]
    assert [time for time, *_ in came] == pytest.approx(expected)
    assert [row[1:] for row in came] == [(1, 0, 1000)] * 10


def test_two_senders_share_the_receivers_port():
    link = Link(bits_per_second=1e6, delay_seconds=0.0)
    came, _ = run(link, [(0.0, sender, 2, 1000) for sender in (0, 1) for _ in range(5)])
    wire = (1000 + OVERHEAD_BYTES) * 8 / 1e6
    assert came[-1][0] == pytest.approx(10 * wire)


def test_full_queue_drops():
    link = Link(bits_per_second=1e6, queue_bytes=20_000)
    came, network = run(link, [(0.0, 0, 1, 1000)] * 100)
    assert network.dropped == 100 - len(came) > 70


def test_losses_follow_the_seed_and_the_rate():
    link = Link(loss=0.2, queue_bytes=10**9)
    sends = [(n * 1e-3, 0, 1, 100) for n in range(2000)]
    came, network = run(link, sends)
    assert network.lost == 2000 - len(came)
    assert 330 < network.lost < 470  # five standard deviations around 400
    assert run(link, sends)[0] == came
    assert run(link, sends, seed=1)[0] != came


def test_window_is_twice_the_bandwidth_delay_product():
    assert Link().window_bytes == 4 << 20
    long = Link(bits_per_second=1e9, delay_seconds=0.1)
    assert long.window_bytes == 2 * 2 * 0.1 * 1e9 / 8
    assert Link(bits_per_second=1e12, delay_seconds=1.0).window_bytes == 1 << 29


@pytest.mark.parametrize(
    "values",
    [{"bits_per_second": 0.0}, {"delay_seconds": -1.0}, {"loss": 1.0}, {"queue_bytes": 10},
     *({name: value} for name in ("bits_per_second", "delay_seconds", "coalescing_seconds", "loss")
       for value in (1e300, 10**4000, math.nan, math.inf, "1", None)),
     {"bits_per_second": 1e-300}, {"queue_bytes": 1e300}, {"queue_bytes": 10**4000}],
)  # fmt: skip
def test_invalid_links_are_rejected(values):
    with pytest.raises(UsageError):
        Link(**values)
