"""The limiting resource of a run, as text."""

import os
from dataclasses import asdict

import pytest

from pqchain.errors import DataError
from pqchain.reencode import runs
from pqchain.reencode.protocol.work import PHASES, Record
from pqchain.reencode.runs import NodeOutcome, ReplayOutcome
from pqchain.wire.drivers.job import NodeResult, Result
from tests.reencode.mesh import small


def test_processor_shares_of_both_intervals_are_named(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    seconds = dict.fromkeys(PHASES, 0.0) | {"transfer": 1.0}
    nodes = tuple(
        NodeOutcome(
            node=node, state="done", cpu_seconds=0.97, noticed_seconds=0.0, begun_seconds=0.0,
            record=Record(seconds=dict(seconds)),
        )
        for node in range(2)
    )  # fmt: skip
    result = Result(
        nodes=nodes, connected=0.0, failure_times={}, identity="ML-DSA-44", machine_busy=0.38
    )
    run = ReplayOutcome(scenario=small(mode="loopback"), result=result, nodes=nodes, span_seconds=1)
    # 97 % is of the processors, not of the 38 %: the two are of different intervals.
    assert run.verdict == (
        "bound by the processor: these nodes take 97% of it from their first start to their last "
        "end; it is 38% busy from connecting to the end"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": {}}, {"work": {"transfer": 1.0}}, {"begun": "0"}, {"arrivals": [None]},
        {"received_bytes": 1.5}, {"more": 1},
    ],
)  # fmt: skip
def test_wrong_report_of_a_node_is_rejected(change):
    report = asdict(Record(begun=1.0))
    assert runs._synchronised(NodeResult(node=3, report=report)).begun == 1.0
    with pytest.raises(DataError, match="the report of node 3 "):
        runs._synchronised(NodeResult(node=3, report=report | change))
