"""Erasure codes: every loss recovers; engines and libraries give equal bytes."""

import subprocess
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain.errors import BadLength, DataError, Unsupported, UsageError
from pqchain.reencode.storage import erasure
from pqchain.reencode.storage.erasure import ENGINES, ReedSolomon

CODES = [(7, 3), (6, 3)]


def rows(count, length, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.integers(0, 256, length, np.uint8) for _ in range(count)]


def encoded(code, data):
    parity = [np.zeros_like(data[0]) for _ in range(code.parity_chunks)]
    code.encode(data, parity)
    return [*data, *parity]


def test_engine_detection_starts_no_program(monkeypatch):
    """A killed compiler that searches a library would leave files."""
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: pytest.fail("started"))
    erasure._isal.cache_clear()
    assert erasure.unavailable_reason("numpy") == ""


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("length", [1, 8, 63, 200])
def test_engines_agree_byte_for_byte(code, length):
    data = rows(code[0], length)
    found = [np.array(encoded(ReedSolomon(*code, engine=name), data)) for name in ENGINES]
    assert all(np.array_equal(chunks, found[0]) for chunks in found)


@pytest.mark.long
def test_galois_agrees_byte_for_byte():
    galois = pytest.importorskip("galois", reason="galois is not installed: the dev extra has it")
    # Interpreted: compiling takes longer than all other tests of the code.
    gf = galois.GF(2**8, irreducible_poly=0x11D, compile="python-calculate")
    for code in CODES:
        data = rows(code[0], 64)
        product = gf(erasure.parity_matrix(*code)) @ gf(np.array(data))
        ours = encoded(ReedSolomon(*code, engine="numpy"), data)[code[0] :]
        assert np.array_equal(np.asarray(product), np.array(ours))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("code", CODES)
def test_every_loss_of_three_chunks_recovers(engine, code):
    codec = ReedSolomon(*code, engine=engine)
    chunks = encoded(codec, rows(code[0], 1 if engine == "reedsolo" else 72))
    ways = list(combinations(range(codec.chunks), 3))
    assert len(ways) == {(7, 3): 120, (6, 3): 84}[code]
    for lost in ways:
        present = {at: row for at, row in enumerate(chunks) if at not in lost}
        missing = {at: np.zeros_like(chunks[0]) for at in lost}
        codec.recover(present, missing)
        assert all(np.array_equal(missing[at], chunks[at]) for at in lost), lost


@settings(max_examples=50)
@given(
    data_chunks=st.integers(1, 20), parity_chunks=st.integers(1, 8), length=st.integers(1, 70),
    seed=st.integers(0, 99), choose=st.randoms(use_true_random=False),
)  # fmt: skip
def test_any_k_chunks_of_any_code_recover(data_chunks, parity_chunks, length, seed, choose):
    codec = ReedSolomon(data_chunks, parity_chunks, engine="numpy")
    chunks = encoded(codec, rows(data_chunks, length, seed))
    kept = choose.sample(range(codec.chunks), data_chunks)
    missing = {at: np.zeros(length, np.uint8) for at in range(codec.chunks) if at not in kept}
    codec.recover({at: chunks[at] for at in kept}, missing)
    assert all(np.array_equal(row, chunks[at]) for at, row in missing.items())


def test_auto_selects_numpy_without_isal(monkeypatch):
    monkeypatch.setattr(erasure, "_isal", lambda: None)
    assert ReedSolomon(7, 3).engine == "numpy"
    with pytest.raises(Unsupported, match="pip install pyeclib"):
        ReedSolomon(7, 3, engine="isal")


def test_too_few_chunks_are_named():
    codec = ReedSolomon(7, 3)
    chunks = encoded(codec, rows(7, 64))
    present = {at: chunks[at] for at in (0, 1, 2, 4, 6, 9)}
    with pytest.raises(DataError, match=r"Missing: \[3, 5, 7, 8\]"):
        codec.recover(present, {3: np.zeros(64, np.uint8)})


def test_chunks_of_wrong_length_are_rejected():
    codec = ReedSolomon(7, 3)
    data = rows(7, 64)
    with pytest.raises(BadLength, match="data chunks must be 7; got 6"):
        codec.encode(data[:6], rows(3, 64))
    with pytest.raises(BadLength, match=r"parity chunk 1 must have 64 bytes.*got 63"):
        codec.encode(data, [*rows(1, 64), *rows(1, 63), *rows(1, 64)])
    with pytest.raises(UsageError, match="must be a contiguous"):
        codec.encode(data, [np.zeros(128, np.uint8)[::2] for _ in range(3)])
    with pytest.raises(UsageError, match="index must be from 0 to 9; got 10"):
        codec.recover({10: data[0]}, {})
