"""Two nodes on sockets, of which one is dropped while the library still uses its memory.

    python -m tests.wire.transports.dropped lent|placed|resized raised|collected

A buffer of 200 MB is unmapped as soon as it is freed, so that a thread that still reads or writes
it ends the process.
"""

import asyncio
import gc
import sys
from pathlib import Path

from pqchain.errors import UsageError
from pqchain.wire.identity import generate
from pqchain.wire.session import Opened, Received
from pqchain.wire.transports import registry

LENGTH = 200_000_000


async def connected():
    """Return two listening nodes and the session numbers at both."""
    row, addresses, events = registry.get("native"), {}, ([], [])
    known = generate(2, algorithm="Ed25519", certificate_key=row.certificate_key)
    nodes = []
    for identity, heard in zip(known, events, strict=True):
        nodes.append(
            row.open(
                registry.TransportSettings(
                    identity=identity,
                    directory=[each.public for each in known],
                    addresses=addresses,
                    folder=Path(),
                )
            )
        )
        addresses[identity.index] = await nodes[-1].listen("127.0.0.1", 0, heard.append)
    here = nodes[0].dial(1, early=False, now=0.0)
    while not all(events):
        await asyncio.sleep(0.001)
    (opened,) = (event for event in events[1] if isinstance(event, Opened))
    return nodes, here, opened.session, events[1]


async def main(use: str, end: str) -> None:
    nodes, here, there, heard = await connected()
    sender, receiver = nodes
    channel = sender.open(here)
    if use == "placed":
        sender.send(here, channel, b"!")
        while not any(isinstance(event, Received) for event in heard):
            await asyncio.sleep(0.001)
        memory = bytearray(LENGTH)
        receiver.receive_into(there, channel, memoryview(memory), LENGTH, offset=1)
        del memory
    data = bytearray(LENGTH)
    sender.send(here, channel, data)
    if use == "resized":
        try:
            data.clear()
        except BufferError:
            sys.stdout.write("BufferError ")
    del data
    await asyncio.sleep(0.002)
    if end == "raised":
        raise RuntimeError("a mistake of the caller")
    for node in nodes:
        asyncio.get_running_loop().remove_reader(node._descriptor)
    handles = [(node.library, node.handle) for node in nodes]
    del node, sender, receiver
    nodes.clear()
    gc.collect()
    for library, handle in handles:
        # Freed with its owner: the handle is unknown.
        assert handle
        try:
            library.call("port", handle)
        except UsageError as error:
            sys.stdout.write(f"{error} ")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except RuntimeError as error:
        sys.stdout.write(f"{error} ")
    sys.stdout.write("end")
