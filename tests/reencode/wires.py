"""A recording transport for one node."""

from __future__ import annotations

from pqchain.reencode.protocol.messages import MessageParser, pack


class Wire:
    """A transport that records the actions of its node."""

    def __init__(self):
        self.dialled, self.sent, self.closed, self.stopped = {}, [], [], []
        self.registered = []
        self.channels = 0

    def dial(self, peer, *, early, now):
        self.dialled[len(self.dialled) + 1] = peer
        return len(self.dialled)

    def open(self, session):
        self.channels += 1
        return self.channels

    def send(self, session, channel, data, *, end=False):
        self.sent.append((session, channel, bytes(data)))

    def place(self, session, channel, memory, count, *, offset):
        self.registered.append((session, channel, count, offset))

    def stop(self, session, channel):
        self.stopped.append((session, channel))

    def close(self, session, reason, *, now):
        self.closed.append((session, reason))

    def queued_bytes(self):
        return 0

    def said(self, kind):
        """Return session, channel and message of all messages of one kind so far."""
        found = []
        for session, channel, data in self.sent:
            if data[4:5] != b"{":
                continue
            for item in MessageParser().feed(data):
                if isinstance(item, dict) and item["type"] == kind:
                    found.append((session, channel, item))
        return found


def beat(**changes):
    return pack({"type": "beat", "number": 1, "since": 0.5, "queued": 0, "plan": None,
                 "failed": False, "stored": {}, **changes})  # fmt: skip


def works(node, now):
    """Run all tasks of a node."""
    while (task := node.poll()) is not None:
        node.started(now)
        node.finished(task.outcome(), now)
