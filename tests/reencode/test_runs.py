"""The limiting resource of a run, as text."""

from dataclasses import asdict

import pytest

from pqchain.errors import DataError
from pqchain.reencode import runs
from pqchain.reencode.protocol.work import Record
from pqchain.wire.drivers.job import NodeResult


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
