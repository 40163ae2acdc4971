"""One block in memory: what is decoded while chunks come stays out of the way of what comes."""

from types import SimpleNamespace

import numpy as np
import pytest

from pqchain.reencode.protocol import gather
from pqchain.reencode.protocol.placement import Placement
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import manifest_of, sha256
from tests.reencode.mesh import small

STRIPE = 4096


@pytest.fixture
def half_decoded(monkeypatch):
    """Return a block of which a stripe can be decoded from chunks 0, 2 and 3, while 1 comes."""
    monkeypatch.setattr(gather, "STRIPE_BYTES", STRIPE)
    one = small(overlap=True, block_bytes=30_000, before=(3, 2), after=(2, 2))
    code, members = ReedSolomon(3, 2), tuple(range(5))
    content = np.frombuffer(np.random.default_rng(1).bytes(30_000), np.uint8)
    memory = np.zeros(40_000, np.uint8)
    memory[:30_000] = content
    chunks = [chunk.copy() for chunk in code.chunks_of(memory, 30_000)]
    manifest = manifest_of(sha256(content), 30_000, code, chunks, epoch=1, members=members)
    stored = SimpleNamespace(put=lambda *given: None)
    own = SimpleNamespace(
        scenario=one, tasks=[], index=0, store=stored,
        record=SimpleNamespace(verified_blocks=0),
    )  # fmt: skip
    own.add = lambda tasks, wanted: own.tasks.append(tasks)
    left = []
    recoder = gather.Recoder(own, lambda each, new: left.append((each, new)))
    state = recoder.new_gather(manifest, Placement(2, 0, members[:4]))
    for index in (0, 2, 3):
        state.row(index)[:] = chunks[index]
        state.fetches[index] = gather.Fetch(index, index, heard=0.0, received=STRIPE + 64)
    state.fetches[1] = gather.Fetch(1, 1, heard=0.0, received=10)
    state.row(1)[:10] = chunks[1][:10]
    recoder.advance(state)
    return recoder, state, chunks, own, left


def go_on(own):
    """Do the tasks of the line to their end."""
    while own.tasks:
        tasks = own.tasks.pop(0)
        outcome = None
        try:
            while True:
                outcome = tasks.send(outcome).outcome()
                assert not isinstance(outcome, Exception), outcome
        except StopIteration:
            pass


def test_what_is_decoded_from_a_damaged_chunk_does_not_damage_what_comes(half_decoded):
    _, state, chunks, own, _ = half_decoded
    state.row(3)[:100] ^= 1
    state.row(1)[:] = chunks[1]
    go_on(own)
    assert STRIPE <= state.decoded < len(state.row(1))
    np.testing.assert_array_equal(state.row(1), chunks[1])


def test_what_was_decoded_early_is_put_in_its_place_at_the_end(half_decoded):
    recoder, state, chunks, own, left = half_decoded
    go_on(own)
    assert not state.row(1)[10:].any()
    state.verified |= {0, 2, 3}
    recoder.advance(state)
    go_on(own)
    np.testing.assert_array_equal(state.row(1), chunks[1])
    assert left[0][1] is not None
    assert not state.redone
    assert not state.aside
