"""TLS over TCP: who is not in the directory gets nothing; channels take turns."""

import asyncio

import pytest

from pqchain.wire.identity import generate
from pqchain.wire.session import Closed, Opened, Received
from pqchain.wire.transports.registry import Place
from pqchain.wire.transports.tcp import TcpTls


async def wait_for(events, kind, count=1):
    for _ in range(500):
        found = [event for event in events if isinstance(event, kind)]
        if len(found) >= count:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"no {kind.__name__} in {events}")


def opened(identity, directory, addresses, folder):
    """Return the transport of a node."""
    return TcpTls(Place(identity=identity, directory=directory, addresses=addresses, folder=folder))


async def connected(folder, known, callers):
    """Let node 1 of `known` listen and each of `callers` dial it; return transports and events."""
    directory = [identity.public for identity in known]
    addresses = {}
    server_events = []
    server = opened(known[1], directory, addresses, folder)
    addresses[1] = await server.listen("127.0.0.1", 0, server_events.append)
    clients = []
    for caller in callers:
        events = []
        client = opened(caller, directory, addresses, folder)
        await client.listen("127.0.0.1", 0, events.append)
        clients.append((client, client.dial(1, early=False, now=0.0), events))
    return server, server_events, clients


@pytest.fixture
def identities():
    return generate(2, algorithm="Ed25519", certificate_key="p256")


def test_both_sides_know_each_other_and_channels_take_turns(tmp_path, identities):
    async def main():
        server, told, [(client, session, events)] = await connected(
            tmp_path, identities, identities[:1]
        )
        assert (await wait_for(events, Opened))[0] == Opened(session, 1, True)
        assert (await wait_for(told, Opened))[0].peer == 0
        first, second = client.open(session), client.open(session)
        # More than the buffers of the system hold, so that something waits.
        client.send(session, first, bytes(32_000_000), end=True)
        client.send(session, second, b"short", end=True)
        for _ in range(500):
            ends = [event.channel for event in told if isinstance(event, Received) and event.end]
            if len(ends) == 2:
                break
            await asyncio.sleep(0.01)
        # The short one does not wait for the long one.
        assert ends == [second, first]
        size = sum(len(e.data) for e in told if isinstance(e, Received) and e.channel == first)
        assert size == 32_000_000
        await client.shut()
        assert (await wait_for(told, Closed))[0].peer == 0
        await server.shut()

    asyncio.run(main())


def test_a_stranger_gets_nothing(tmp_path, identities):
    stranger = generate(1, algorithm="Ed25519", certificate_key="p256")[0]

    async def main():
        server, told, [(client, _, events)] = await connected(tmp_path, identities, [stranger])
        await wait_for(events, Closed)
        assert told == []
        await client.shut()
        await server.shut()

    asyncio.run(main())


def test_no_key_stays_on_the_disk(tmp_path, identities):
    async def main():
        opened(identities[0], [each.public for each in identities], {}, tmp_path)

    asyncio.run(main())
    assert list(tmp_path.iterdir()) == []
