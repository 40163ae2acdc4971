"""Lines between a driver and its nodes are data, except for the setup of a local process."""

from __future__ import annotations

import base64
import pickle

import pytest

from pqchain.errors import DataError
from pqchain.wire.drivers.job import NodeResult, decode, encode


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("start", {0: ("127.0.0.1", 4433), 1: ("::1", 1)}),
        ("begin", None),
        ("listening", ("127.0.0.1", 4433)),
        ("progress", 5),
        ("error", "line\nbreak"),
        ("done", NodeResult(node=1, state="done", report={"a": [1]}, cpu_seconds=0.1)),
    ],
)
def test_lines_are_read_as_written(kind, value):
    line = encode(kind, value)
    assert line.count(b"\n") == 1
    assert decode(line) == (kind, value)


class Hostile:
    def __reduce__(self):
        return (pytest.fail, ("code of the sender was run",))


@pytest.mark.parametrize(
    "line",
    [
        base64.b64encode(pickle.dumps(("done", Hostile()))),
        b"done " + pickle.dumps(Hostile()),
        b"setup {}",
        b"",
        b"\xff\xfe",
        b"done",
        b"done {}",
        b'done {"node":0,"state":"away"}',
        b'listening ["host","1"]',
        b"progress 1.5",
        b"connected 1",
    ],
)
def test_other_lines_are_rejected(line):
    with pytest.raises(DataError):
        decode(line + b"\n")
