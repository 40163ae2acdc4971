"""A minimal node: it dials every other node, sends numbers and expects them back."""

from pqchain.errors import DataError, PqchainError
from pqchain.reencode.protocol.messages import MessageParser, pack
from pqchain.wire.node import Task
from pqchain.wire.session import Closed, Opened, Received

BEAT_SECONDS = 0.05


class EchoNode:
    """Node that sends `count` messages to every other one and ends when all are echoed."""

    def __init__(self, index, transport, *, nodes, count, waits, refuses):
        self.index = index
        self.error: PqchainError | None = None
        self.progress = 0
        self.begun = False
        self.ended: float | None = None
        self._transport = transport
        self._others = [peer for peer in range(nodes) if peer != index]
        self._count = count
        self._waits = waits
        self._refuses = refuses == index
        self._sessions: dict[int, int] = {}
        """The one that we dialled, by peer."""
        self._sent: set[int] = set()
        self._readers = {}
        self._back: set[tuple[int, int]] = set()
        self._tasks: list[tuple[Task, int]] = []
        self._running: int | None = None
        self._timer: float | None = None
        self._last = 0.0

    @property
    def connected(self):
        return len(self._sessions) == len(self._others)

    @property
    def done(self):
        return self.error is not None or self.ended is not None

    def start(self, now):
        self._dial(now)

    def _dial(self, now):
        for peer in self._others:
            if peer not in self._sessions:
                self._transport.dial(peer, early=False, now=now)
        self._timer = None

    def begin(self, now):
        self.begun = True
        for peer, session in self._sessions.items():
            self._greet(peer, session)

    def _greet(self, peer, session):
        self._sent.add(peer)
        channel = self._transport.open(session)
        for number in range(self._count):
            self._transport.send(session, channel, pack({"number": number, "to": peer}))

    def handle(self, event, now):
        self._last = now
        if isinstance(event, Opened) and event.dialled:
            self._sessions[event.peer] = event.session
            if self.begun or (not self._waits and self.connected):
                self.begin(now)
        elif isinstance(event, Closed):
            if self._sessions.get(event.peer) in (event.session, None):
                # Redial a little later: the node may be starting or restarting.
                self._sessions.pop(event.peer, None)
                self._back = {each for each in self._back if each[0] != event.peer}
                self._timer = now + BEAT_SECONDS
        elif isinstance(event, Received):
            reader = self._readers.setdefault((event.session, event.channel), MessageParser())
            for message in reader.feed(event.data):
                self._message(event, message)

    def _message(self, event, message):
        if "back" not in message:
            if self._refuses:
                self.error = DataError(f"node {self.index} does not like to answer")
            self._transport.send(event.session, event.channel, pack({**message, "back": True}))
            return
        peer = message["to"]

        def check():
            if not 0 <= message["number"] < self._count:
                raise DataError(f"{message} was never sent")
            return message["number"]

        self._tasks.append((Task("check", len(str(message)), check), peer))

    def timer(self):
        return self._timer

    def handle_timer(self, now):
        if self._timer is not None and now >= self._timer:
            self._dial(now)

    def poll(self, now):
        if self._running is not None or not self._tasks:
            return None
        task, self._running = self._tasks.pop(0)
        return task

    def finished(self, outcome, now):
        peer, self._running = self._running, None
        if isinstance(outcome, PqchainError):
            self.error = outcome
            return
        self._back.add((peer, outcome))
        self.progress += 1
        if len(self._back) == self._count * len(self._others) and self.ended is None:
            self.ended = now

    def report(self):
        return {"back": sorted(self._back), "ended": self.ended}


def build(index, transport, folder, *, nodes, count=5, waits=False, refuses=-1):
    """Make a node; with `waits` it starts when the driver tells it to."""
    return EchoNode(index, transport, nodes=nodes, count=count, waits=waits, refuses=refuses)
