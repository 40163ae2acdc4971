"""Links of many kinds: what each way comes to, and what cannot be tried says so."""

import math
from dataclasses import replace

import pytest

from pqchain import results
from pqchain.reencode import replays, sweep, sweeps
from pqchain.wire.transports import registry
from tests import frames

REASON = registry.get("native").unavailable_reason()
built = pytest.mark.skipif(bool(REASON), reason=REASON)
TINY = replace(sweeps.SMALL, block_bytes=20_000, blocks=2)


@built
def test_0_rtt_saves_a_round_trip_and_loss_costs_time():
    ways = ("quic-fresh", "quic-0-rtt")
    frame = sweep(
        TINY, bits_per_second=(1e9,), delay_seconds=(0.02,), loss=(0.0, 0.05), ways=ways, repeats=1
    )
    results.check(frame, sweeps.SWEEP)
    assert frame["way"].tolist() == [*ways] * 2
    assert set(frame["status"]) == {"ok"}
    fine, lossy = (group.set_index("way") for _, group in frame.groupby("loss"))
    fresh, early = (fine.loc[way, "first_chunk_seconds"] for way in ways)
    # Of the two ways that a full handshake takes; a node waits for what was on its way before.
    assert 0.02 < fresh - early < 0.045
    assert (lossy["transfer_seconds"] > fine["transfer_seconds"]).all()
    assert frame.groupby("loss")["over_best"].min().tolist() == [1, 1]
    again = sweep(
        TINY, bits_per_second=(1e9,), delay_seconds=(0.02,), loss=(0.05,), ways=ways[:1], repeats=1
    )
    same = ["way", "loss", "transfer_seconds", "first_chunk_seconds"]
    assert again[same].equals(frame.loc[[2], same].reset_index(drop=True))


def test_tcp_on_the_virtual_clock_is_a_row_with_the_reason(monkeypatch):
    monkeypatch.setattr(replays, "replay", lambda one, **_: frames.replay_result({}))
    monkeypatch.setattr(replays, "unavailable_reason", lambda one: "")
    frame = sweep(TINY, bits_per_second=(1e9,), delay_seconds=(0.0,), loss=(0.0,),
                        ways=("tcp", "quic"))  # fmt: skip
    tcp, quic = frame.to_dict("records")
    assert tcp["status"] == "unsupported" and "needs sockets" in tcp["note"]
    assert math.isnan(tcp["transfer_seconds"]) and tcp["repeats"] == 0
    assert (quic["status"], quic["over_best"]) == ("ok", 1)
