"""Transports on their own sockets: known nodes communicate, unknown ones get nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from pqchain.wire.transports import registry

NAMES = ("tcp-tls", "grpc")
CHECKS = ("known_nodes_only", "session_ended_by_peer", "node_ended")


@pytest.mark.parametrize(
    ("name", "check"),
    [*((name, check) for name in NAMES for check in CHECKS), ("grpc", "grpc_is_bounded")],
)
def test_transport_on_sockets(name, check):
    if reason := registry.get(name).unavailable_reason():
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-m", "tests.wire.transports.streams", name, check],
        capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
