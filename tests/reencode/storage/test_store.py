"""Chunks as files: complete or absent, and checked on every read."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pqchain.errors import BadLength, DataError
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore, encode_block
from pqchain.results import checksum

MEMBERS = tuple(range(5))
CODE = ReedSolomon(3, 2)


@pytest.fixture
def block():
    return np.random.default_rng(1).bytes(1000)


@pytest.fixture
def stored(tmp_path, block):
    manifest, chunks = encode_block(block, CODE, epoch=1, members=MEMBERS)
    chunk_store = ChunkStore(tmp_path / "node")
    chunk_store.put(manifest, 2, chunks[2])
    return chunk_store, manifest, chunks


def place(chunk_store, manifest, name):
    return chunk_store.folder / manifest.block_hash / str(manifest.epoch) / name


def files(chunk_store):
    return sorted(path.name for path in chunk_store.folder.rglob("*") if path.is_file())


def test_stored_blocks_load_unchanged(stored):
    chunk_store, manifest, chunks = stored
    assert chunk_store.manifests() == [manifest]
    assert chunk_store.indices(manifest) == [2]
    assert np.array_equal(chunk_store.get(manifest, 2), chunks[2])
    assert files(chunk_store) == ["chunk-2", "manifest.json"]


@pytest.mark.parametrize("at", [0, 100, 383])
def test_flipped_byte_is_detected_on_read(stored, at):
    chunk_store, manifest, _ = stored
    path = place(chunk_store, manifest, "chunk-2")
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"chunk 2 .* is damaged"):
        chunk_store.get(manifest, 2)


def test_invalid_chunk_is_not_stored(stored):
    chunk_store, manifest, chunks = stored
    before = files(chunk_store)
    with pytest.raises(BadLength, match="as in its manifest"):
        chunk_store.put(replace(manifest, epoch=2), 2, chunks[2][:-1])
    with pytest.raises(DataError, match="damaged"):
        chunk_store.put(replace(manifest, epoch=2), 2, chunks[3])
    with pytest.raises(DataError, match="no chunk 5"):
        chunk_store.put(replace(manifest, epoch=2), 5, chunks[3])
    assert files(chunk_store) == before


def test_failed_write_leaves_no_file(stored, monkeypatch):
    chunk_store, manifest, chunks = stored
    before = files(chunk_store)

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(DataError, match=r"cannot store chunk 2 .* No space left on device\. Free"):
        chunk_store.put(replace(manifest, epoch=2), 2, chunks[2])
    assert files(chunk_store) == before
    assert not list(chunk_store.folder.rglob("*.tmp"))
    assert chunk_store.manifests() == [manifest]


def test_newest_epoch_is_read_and_old_ones_are_kept(stored):
    chunk_store, manifest, chunks = stored
    newer = replace(manifest, epoch=2)
    chunk_store.put(newer, 2, chunks[2])
    assert chunk_store.manifests() == [newer]
    assert chunk_store.indices(manifest) == [2]
    chunk_store.remove(manifest.block_hash, 1)
    assert chunk_store.indices(manifest) == []
    assert chunk_store.manifests() == [newer]
    chunk_store.remove(manifest.block_hash, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version 1, but this pqchain reads 3"),
        ({"version": None}, "version None"),
        ({"block_bytes": 999}, "is inconsistent"),
        ({"block_bytes": "x"}, "wrong part: block_bytes"),
        ({"block_hash": "../../etc"}, "is inconsistent"),
        ({"chunk_hashes": ["00"] * 5}, "is inconsistent"),
        ({"members": [0, 0]}, "is inconsistent"),
        ({"colour": "red"}, "has a wrong part: colour"),
    ],
)
def test_broken_manifest_is_rejected(stored, change, message):
    chunk_store, manifest, _ = stored
    path = place(chunk_store, manifest, "manifest.json")
    content = {**json.loads(path.read_text()), **change}
    del content[checksum.FIELD]
    path.write_text(checksum.dumps(content))
    with pytest.raises(DataError, match=message):
        chunk_store.manifests()


def test_padding_is_recorded_and_removed(stored, block):
    _, manifest, chunks = stored
    assert manifest.padding_bytes == 3 * manifest.chunk_bytes - 1000 > 0
    data = b"".join(chunk.tobytes() for chunk in chunks[:3])
    assert data[: manifest.block_bytes] == block
    assert data[manifest.block_bytes :] == bytes(manifest.padding_bytes)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_invalid_json_is_rejected(stored, content):
    chunk_store, manifest, _ = stored
    place(chunk_store, manifest, "manifest.json").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        chunk_store.manifest(manifest.block_hash, 1)
    with pytest.raises(DataError, match="cannot read"):
        chunk_store.manifest(manifest.block_hash, 7)
