"""Memory of the chunks of a block that is gathered."""

import numpy as np
import pytest

from pqchain.reencode.protocol.gather import Gather
from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import encode_block


@pytest.mark.parametrize("code", [(1, 1), (3, 2), (7, 3)])
def test_every_chunk_has_memory_of_its_own(code):
    members = tuple(range(sum(code)))
    manifest, chunks = encode_block(bytes(500), ReedSolomon(*code), epoch=1, members=members)
    buffer = np.zeros(code[0] * manifest.chunk_bytes, np.uint8)
    gather = Gather(manifest, Placement(2, 0, members), code[0], buffer)
    for index in (*members[::-1], *members):
        assert len(gather.row(index)) == len(chunks[index])
        gather.row(index)[:] = index + 1
    assert [set(gather.row(index)) for index in members] == [{index + 1} for index in members]
    # The data chunks are the block, in their order.
    assert buffer.tolist() == [n + 1 for n in range(code[0]) for _ in range(manifest.chunk_bytes)]
