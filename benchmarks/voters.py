"""Nodes that exchange small messages in rounds, like votes of a consensus protocol."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.session import Event, Opened, Received, Transport

MESSAGE_BYTES = 128


class Voter:
    """Node that sends `batch` messages to every other node per round.

    The next round begins when as many messages have arrived.
    """

    def __init__(self, transport: Transport, others: list[int], rounds: int, batch: int) -> None:
        self.error: PqchainError | None = None
        self.progress, self.begun, self.done = 0, False, False
        self._transport, self._others, self._rounds = transport, others, rounds
        self._batch = batch
        self._sessions: dict[int, int] = {}
        self._channels: list[tuple[int, int]] = []
        self._round, self._received_bytes = 0, 0
        self._spent = [0.0, 0.0]

    @property
    def connected(self) -> bool:
        """Whether all sessions are open."""
        return len(self._sessions) == len(self._others)

    def start(self, now: float) -> None:
        """Dial all other nodes."""
        for peer in self._others:
            self._transport.dial(peer, early=False, now=now)

    def begin(self, now: float) -> None:
        """Send the first round."""
        self._spent[0] = time.process_time()
        self.begun = True
        sessions = self._sessions.values()
        self._channels = [(session, self._transport.open(session)) for session in sessions]
        self._send_round()

    def _send_round(self) -> None:
        send, message = self._transport.send, b"%0*d" % (MESSAGE_BYTES, self._round)
        for session, channel in self._channels:
            for _ in range(self._batch):
                send(session, channel, message)

    def handle(self, event: Event, now: float) -> None:
        """Count received bytes; begin the next round when this one is complete."""
        if isinstance(event, Received):
            self._received_bytes += len(event.data)
            round_bytes = MESSAGE_BYTES * self._batch * len(self._others)
            while (
                self.begun
                and not self.done
                and self._received_bytes >= round_bytes * (self._round + 1)
            ):
                self._round += 1
                self.done = self._round == self._rounds
                if not self.done:
                    self._send_round()
            self._spent[1] = time.process_time()
        elif isinstance(event, Opened) and event.dialled:
            self._sessions[event.peer] = event.session

    def timer(self) -> None:
        """Return None: no timer is due."""

    def handle_timer(self, now: float) -> None:
        """Do nothing."""

    def poll(self) -> None:
        """Return None: there is no task."""

    def report(self) -> dict[str, Any]:
        """Return the processor seconds at the start and at the last received message."""
        return {"spent": self._spent}


def build(
    index: int, transport: Transport, folder: Path, *, nodes: int, rounds: int, batch: int
) -> Voter:
    """Return a node of a job."""
    return Voter(transport, [peer for peer in range(nodes) if peer != index], rounds, batch)
