"""Limits of the session tickets that a QUIC endpoint keeps."""

from types import SimpleNamespace

from pqchain.wire.transports.aioquic import MAX_TICKET_SECONDS, MAX_TICKETS, Ticket, Tickets


def ticket(label: bytes, peer: int = 1, issued: float = 0.0) -> Ticket:
    """Return a ticket with a label, as a library has it."""
    return Ticket(SimpleNamespace(ticket=label), peer, issued)


def test_ticket_can_be_used_once():
    tickets = Tickets()
    tickets.add(ticket(b"a"))
    assert tickets.pop(b"a", 1.0).peer == 1
    assert tickets.pop(b"a", 1.0) is None
    assert tickets.pop(b"unknown", 1.0) is None


def test_newest_ticket_of_a_peer_is_used_first():
    tickets = Tickets()
    for label, peer in ((b"a", 1), (b"b", 1), (b"c", 2)):
        tickets.add(ticket(label, peer))
    assert tickets.pop_newest(1, 0.0).ticket.ticket == b"b"
    assert tickets.pop_newest(1, 0.0).ticket.ticket == b"a"
    assert tickets.pop_newest(1, 0.0) is None
    assert tickets.pop_newest(3, 0.0) is None


def test_number_of_tickets_per_peer_is_limited():
    tickets = Tickets()
    tickets.add(ticket(b"other", peer=2))
    for number in range(MAX_TICKETS + 1):
        tickets.add(ticket(b"%d" % number))
    assert tickets.pop(b"0", 0.0) is None
    assert tickets.pop(b"1", 0.0) is not None
    assert tickets.pop(b"other", 0.0) is not None


def test_old_tickets_are_not_accepted():
    tickets = Tickets()
    tickets.add(ticket(b"a", issued=5.0))
    assert tickets.pop(b"a", 5.1 + MAX_TICKET_SECONDS) is None
    tickets.add(ticket(b"b", issued=5.0))
    assert tickets.pop_newest(1, 5.1 + MAX_TICKET_SECONDS) is None
    tickets.add(ticket(b"c", issued=5.0))
    assert tickets.pop(b"c", 5.0 + MAX_TICKET_SECONDS) is not None
