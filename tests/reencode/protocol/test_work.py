"""Tasks run sequentially and time is counted once; every chunk has memory of its own."""

import numpy as np
import pytest

from pqchain.errors import DataError
from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.messages import Placement
from pqchain.reencode.protocol.work import NodeContext
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import encode_block
from pqchain.wire.node import Task
from tests.reencode.mesh import small


@pytest.fixture
def own():
    return NodeContext(0, small(), store=None, transport=None)


def task(kind):
    return Task(kind, 1, lambda: None)


def tasks(*each):
    """Run tasks sequentially and record their results."""
    outcomes = []

    def follow():
        for one in each:
            outcomes.append((yield one))

    return follow(), outcomes


def test_continuations_run_in_order_with_the_result(own):
    first, between, last = task("io"), task("other"), task("decode")
    line, outcomes = tasks(first, last)
    own.add(line)
    own.add(tasks(between)[0])
    for expected in (first, between, last):
        assert own.poll() is expected and own.poll() is None
        own.began = own.now
        own.finished(expected.kind)
    assert outcomes == ["io", "decode"]
    assert own.poll() is None


def test_cancelled_tasks_end_and_report_errors(own):
    line, outcomes = tasks(task("io"), task("decode"))
    own.add(line, wanted=[True, False].pop)
    assert own.poll() is None
    for outcome in ("done", DataError("damaged")):
        line, outcomes = tasks(task("io"), task("decode"))
        own.add(line, wanted=[False, True].pop)
        own.poll()
        own.began = own.now
        if outcome == "done":
            own.finished(outcome)
        else:
            with pytest.raises(DataError, match="damaged"):
                own.finished(outcome)
        assert own.poll() is None
        assert outcomes == []


def test_time_is_charged_to_its_phase_and_work_separately(own):
    own.add(tasks(task("decode"))[0])
    own.poll()
    own.count(1.0, None)
    own.began = own.now
    own.count(3.0, "transfer")
    own.count(3.5, "decode")
    own.finished(None)
    own.count(9.0, None)
    seconds = {"transfer": 2.0, "decode": 0.5, "encode": 0, "io": 0, "other": 0}
    assert own.record.seconds == seconds
    assert own.record.work["decode"] == 2.5


@pytest.mark.parametrize("code", [(1, 1), (3, 2), (7, 3)])
def test_every_chunk_has_memory_of_its_own(code):
    members = tuple(range(sum(code)))
    manifest, chunks = encode_block(bytes(500), ReedSolomon(*code), epoch=1, members=members)
    buffer = np.zeros(code[0] * manifest.chunk_bytes, np.uint8)
    gather = Gather(manifest, Placement(2, 0, members), code[0], buffer)
    for index in (*members[::-1], *members):
        assert len(gather.row(index)) == len(chunks[index])
        gather.row(index)[:] = index + 1
    assert [set(gather.row(index)) for index in members] == [{index + 1} for index in members]
    # The data chunks are the block, in their order.
    assert buffer.tolist() == [n + 1 for n in range(code[0]) for _ in range(manifest.chunk_bytes)]
