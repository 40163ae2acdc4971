"""Simulated network of the law "uplink": messages share the links of their nodes.

The links are those of the model's reference engine (`consensus.sharing`); the messages are the
bytes that delegates send. Heights may overlap, so the draws of a message are those of its height.
"""

from __future__ import annotations

from collections.abc import Callable

from pqchain.consensus.builder import ViewBuilder
from pqchain.consensus.network import link_times
from pqchain.consensus.sharing import SharedLinks
from pqchain.consensus.view import NEVER, Disturbance, Overlay
from pqchain.delegates.actions import Sending
from pqchain.delegates.core import CLASSES
from pqchain.delegates.messages import MessageKind, height_of
from pqchain.delegates.plain_network import AFTER_REQUESTS, EventQueue, PlainNetwork, Transit

_ORDER = (
    MessageKind.PROPOSAL, MessageKind.VOTE, MessageKind.VOTE_QUORUM,
    MessageKind.COMMIT, MessageKind.COMMIT_QUORUM,
)  # fmt: skip
"""Order of messages of one height that a delegate sends at once."""


def network_of(
    builder: ViewBuilder, clock: EventQueue, deliver: Callable[[int, int, bytes], None]
) -> PlainNetwork:
    """Return the simulated network of a scenario."""
    is_shared = builder.scenario.network.law == "uplink"
    return (SharedNetwork if is_shared else PlainNetwork)(builder, clock, deliver)


class SharedNetwork(PlainNetwork):
    """Simulated network whose messages share uplinks and downlinks fairly."""

    def begin(self, disturbance: Disturbance, overlay: Overlay | None) -> None:
        """Begin a view on idle links, with its disturbance."""
        super().begin(disturbance, overlay)
        times = link_times(self._network, (1, 1, 1))
        uploads, downloads = (
            [rates[region] for region in self._regions]
            for rates in (times.uploads, times.downloads)
        )
        self._links = SharedLinks(uploads, downloads)
        self._settles_ns = self._finishes_ns = NEVER

    def send(self, sender: int, sending: Sending) -> None:
        """Send a message to all other delegates."""
        for receiver in self._others(sender):
            data = sending.for_(receiver)
            order = height_of(data), _ORDER.index(sending.kind)
            bits = self._network.bits(len(data))
            message = sending.kind, data
            self._links.put(self._clock.now, order, (sender, receiver), bits, message)
        self._settle_later()

    def _settle_later(self) -> None:
        if self._settles_ns != self._clock.now:
            self._settles_ns = self._clock.now
            self._clock.at(self._clock.now, self._settle, priority=AFTER_REQUESTS)

    def _settle(self) -> None:
        self._settles_ns = NEVER
        self._finishes_ns = self._links.settle(self._clock.now)
        if self._finishes_ns < NEVER:
            self._clock.at(self._finishes_ns, self._finish, self._finishes_ns)

    def _finish(self, time: int) -> None:
        # Rates may have changed since this event was scheduled, which makes it stale.
        if time != self._finishes_ns:
            return
        self._finishes_ns = NEVER
        for (sender, receiver), (kind, data) in self._links.finish(time):
            # A certificate only occupies the links; its receiver counts the votes themselves.
            if kind in CLASSES:
                self._disturbance = self._disturbances.get(height_of(data), self._disturbance)
                self._travel(Transit(CLASSES[kind], sender, receiver, data), time)
        self._settle_later()
