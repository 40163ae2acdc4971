"""Nodes that say small things to each other, as those that agree on something do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.session import Event, Opened, Received, Transport

MESSAGE_BYTES = 128


class Voter:
    """Sends `each` messages to every other node in a round; the next begins when as many came."""

    def __init__(self, transport: Transport, others: list[int], rounds: int, each: int) -> None:
        self.error: PqchainError | None = None
        self.progress, self.begun, self.done = 0, False, False
        self._transport, self._others, self._rounds = transport, others, rounds
        self._each = each
        self._sessions: dict[int, int] = {}
        self._channels: list[tuple[int, int]] = []
        self._round, self._came = 0, 0
        self._spent = [0.0, 0.0]

    @property
    def connected(self) -> bool:
        """Whether all sessions are open."""
        return len(self._sessions) == len(self._others)

    def start(self, now: float) -> None:
        """Dial everyone."""
        for peer in self._others:
            self._transport.dial(peer, early=False, now=now)

    def begin(self, now: float) -> None:
        """Say the first."""
        self._spent[0] = time.process_time()
        self.begun = True
        sessions = self._sessions.values()
        self._channels = [(session, self._transport.open(session)) for session in sessions]
        self._say()

    def _say(self) -> None:
        send, message = self._transport.send, b"%0*d" % (MESSAGE_BYTES, self._round)
        for session, channel in self._channels:
            for _ in range(self._each):
                send(session, channel, message)

    def handle(self, event: Event, now: float) -> None:
        """Count what comes."""
        if isinstance(event, Received):
            self._came += len(event.data)
            whole = MESSAGE_BYTES * self._each * len(self._others)
            while self.begun and not self.done and self._came >= whole * (self._round + 1):
                self._round += 1
                self.done = self._round == self._rounds
                if not self.done:
                    self._say()
            self._spent[1] = time.process_time()
        elif isinstance(event, Opened) and event.dialled:
            self._sessions[event.peer] = event.session

    def timer(self) -> None:
        """Return nothing: nothing is due."""

    def handle_timer(self, now: float) -> None:
        """Do nothing."""

    def poll(self) -> None:
        """Return no task."""

    def report(self) -> dict[str, Any]:
        """Return the processor seconds at its beginning and at what it last heard."""
        return {"spent": self._spent}


def build(
    index: int, transport: Transport, folder: Path, *, nodes: int, rounds: int, each: int
) -> Voter:
    """Make a node of a job."""
    return Voter(transport, [peer for peer in range(nodes) if peer != index], rounds, each)
