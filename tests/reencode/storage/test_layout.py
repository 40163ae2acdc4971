"""Chunk lengths and valid codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.errors import UsageError
from pqchain.reencode.storage.layout import ALIGNMENT_BYTES, check_code, chunk_bytes


@given(block=st.integers(1, 10**9), data_chunks=st.integers(1, 200))
def test_chunks_cover_the_block_with_little_padding(block, data_chunks):
    size = chunk_bytes(block, data_chunks)
    assert size % ALIGNMENT_BYTES == 0
    assert block <= size * data_chunks < block + data_chunks * ALIGNMENT_BYTES


def test_empty_blocks_are_rejected():
    with pytest.raises(UsageError, match="block_bytes must be at least 1; got 0"):
        chunk_bytes(0, 7)


@pytest.mark.parametrize("code", [(0, 3), (7, 0), (200, 56)])
def test_invalid_codes_are_rejected(code):
    with pytest.raises(UsageError, match="a code over GF"):
        check_code(*code)
