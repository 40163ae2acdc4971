"""Chunk files of one node, and a manifest per block and epoch; every read is verified.

    <folder>/<block hash>/<epoch>/manifest.json, chunk-<index>

An epoch is a code and the nodes that store its chunks; a re-encoding creates a new epoch and does
not change the old one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pqchain.checks import typed
from pqchain.errors import BadLength, DataError
from pqchain.installation import MAX_JSON_BYTES, read_bytes
from pqchain.reencode.storage import check_code, chunk_bytes
from pqchain.reencode.storage.erasure import Bytes, ReedSolomon
from pqchain.results import checksum

MANIFEST_VERSION = 3
"""Version of the manifest. 3: its file contains a checksum of itself. 1: hashes are SHA3-256."""
# SHA-256 with processor instructions is three to four times as fast as SHA3-256.

DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Description of a block and its chunks in one epoch; the same on every node."""

    block_hash: str
    """SHA-256 of the block, without padding."""
    block_bytes: int
    padding_bytes: int
    """Number of zero bytes that pad the block to whole chunks."""
    data_chunks: int
    parity_chunks: int
    chunk_bytes: int
    chunk_hashes: tuple[str, ...]
    """SHA-256 of every chunk in hex, data chunks first."""
    epoch: int
    members: tuple[int, ...]
    """Node of each chunk, by chunk index."""
    version: int = MANIFEST_VERSION

    def __post_init__(self) -> None:
        check_code(self.data_chunks, self.parity_chunks)
        # Block hashes become folder names, which these digits make safe.
        digests = (self.block_hash, *self.chunk_hashes)
        is_consistent = (
            self.block_bytes > 0
            and self.padding_bytes >= 0
            and self.data_chunks * self.chunk_bytes == self.block_bytes + self.padding_bytes
            and len(self.chunk_hashes) == self.data_chunks + self.parity_chunks
            and all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
            and len(set(self.members)) == len(self.members) <= len(self.chunk_hashes)
        )
        if not is_consistent:
            raise DataError(
                f"the manifest of block {self.block_hash[:16]} is inconsistent. "
                "Restore it, or encode the block again."
            )

    @property
    def digest(self) -> str:
        """First `DIGEST_DIGITS` hex digits of the SHA-256 of the manifest, equal on every node."""
        text = json.dumps(asdict(self), sort_keys=True, indent=1)
        return sha256(text.encode())[:DIGEST_DIGITS]

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest. Raises DataError if it is missing, malformed or of another version."""
        try:
            text = read_bytes(path, MAX_JSON_BYTES)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}. Restore it.") from error
        remedy = "restore it, or encode the block again"
        values = checksum.loads(text, str(path), remedy, version=("version", MANIFEST_VERSION))
        manifest: Manifest = typed(values, cls, str(path))
        return manifest


class ChunkStore:
    """Chunk store of one node, to be used by one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, created at the first write."""
        self.folder = folder

    def manifests(self) -> list[Manifest]:
        """Return the newest manifest of every block, sorted by block hash. Raises DataError."""
        newest: dict[str, Manifest] = {}
        for path in sorted(self.folder.glob("*/*/manifest.json")):
            manifest = self._read(path)
            if newest.setdefault(manifest.block_hash, manifest).epoch < manifest.epoch:
                newest[manifest.block_hash] = manifest
        return [newest[block] for block in sorted(newest)]

    def manifest(self, block_hash: str, epoch: int) -> Manifest:
        """Return the manifest of one epoch. Raises DataError if it is missing or malformed."""
        return self._read(self._path(block_hash, epoch) / "manifest.json")

    def _read(self, path: Path) -> Manifest:
        manifest = Manifest.read(path)
        if path.parent != self._path(manifest.block_hash, manifest.epoch):
            raise DataError(
                f"{path} belongs to block {manifest.block_hash[:16]}, epoch {manifest.epoch}. Move "
                "it there, or encode the block again."
            )
        return manifest

    def put(self, manifest: Manifest, index: int, chunk: Bytes) -> None:
        """Store one chunk with its manifest, atomically.

        Raises BadLength, and DataError if the chunk is damaged or cannot be written.
        """
        view = chunk.data
        if len(view) != manifest.chunk_bytes:
            raise BadLength(
                f"chunk {index} of block {manifest.block_hash[:16]} must have "
                f"{manifest.chunk_bytes} bytes, as in its manifest; got {len(view)}."
            )
        check_digest(manifest, index, sha256(view))
        path = self._path(manifest.block_hash, manifest.epoch)
        # Remove leftovers of a killed process; only one process uses a store.
        for leftover in path.parent.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        # Built in a temporary folder and renamed, so that an interrupted write is never visible.
        building = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            building.mkdir(parents=True)
            (building / f"chunk-{index}").write_bytes(view)
            text = checksum.dumps(asdict(manifest), indent=1)
            (building / "manifest.json").write_text(text, encoding="utf-8")
            if path.exists():
                # Stored by an earlier run that was interrupted later: the same bytes.
                shutil.rmtree(path)
            os.rename(building, path)  # noqa: PTH104 - fails if the folder exists again
        except OSError as error:
            raise DataError(
                f"cannot store chunk {index} of block {manifest.block_hash[:16]} in {self.folder}: "
                f"{error.strerror}. Free disk space or grant access, and store it again."
            ) from error
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def indices(self, manifest: Manifest) -> list[int]:
        """Return the indices of the block's chunks in this store, in ascending order."""
        path = self._path(manifest.block_hash, manifest.epoch)
        numbers = (path.name.partition("-")[2] for path in path.glob("chunk-*"))
        return sorted(int(number) for number in numbers if number.isdecimal())

    def get(self, manifest: Manifest, index: int) -> Bytes:
        """Read and verify one chunk. Raises DataError if it is missing, truncated or damaged."""
        path = self._path(manifest.block_hash, manifest.epoch)
        try:
            chunk = np.fromfile(path / f"chunk-{index}", np.uint8)
        except OSError as error:
            raise DataError(
                f"chunk {index} of block {manifest.block_hash[:16]} is missing "
                f"({error.strerror}). Gather it from the other nodes."
            ) from error
        check_digest(manifest, index, sha256(chunk.data))
        return chunk

    def remove(self, block_hash: str, epoch: int) -> None:
        """Delete an epoch of a block, if it exists."""
        shutil.rmtree(self._path(block_hash, epoch), ignore_errors=True)

    def _path(self, block_hash: str, epoch: int) -> Path:
        return self.folder / block_hash / str(epoch)


def check_digest(manifest: Manifest, index: int, digest: str) -> None:
    """Raise DataError unless `digest`, in hex, is the chunk's hash in the manifest."""
    if not 0 <= index < len(manifest.chunk_hashes):
        raise DataError(f"block {manifest.block_hash[:16]} has no chunk {index}")
    if digest != manifest.chunk_hashes[index]:
        raise DataError(
            f"chunk {index} of block {manifest.block_hash[:16]} is damaged: its SHA-256 is not "
            "that of the manifest. Gather it from the other nodes."
        )


def sha256(data: bytes | memoryview) -> str:
    """Return the SHA-256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


def encode_block(
    block: bytes, code: ReedSolomon, *, epoch: int, members: tuple[int, ...]
) -> tuple[Manifest, list[Bytes]]:
    """Return the manifest and all chunks of a block. Raises UsageError if the block is empty."""
    size = chunk_bytes(len(block), code.data_chunks)
    buffer = np.zeros(code.data_chunks * size, np.uint8)
    buffer[: len(block)] = np.frombuffer(block, np.uint8)
    chunks = code.chunks_of(buffer, len(block))
    manifest = manifest_of(sha256(block), len(block), code, chunks, epoch=epoch, members=members)
    return manifest, chunks


def manifest_of(
    block_hash: str,
    block_bytes: int,
    code: ReedSolomon,
    chunks: list[Bytes],
    *,
    epoch: int,
    members: tuple[int, ...],
) -> Manifest:
    """Return the manifest of a block's chunks; every chunk is hashed."""
    size = len(chunks[0])
    return Manifest(
        block_hash=block_hash,
        block_bytes=block_bytes,
        padding_bytes=code.data_chunks * size - block_bytes,
        data_chunks=code.data_chunks,
        parity_chunks=code.parity_chunks,
        chunk_bytes=size,
        chunk_hashes=tuple(sha256(chunk.data) for chunk in chunks),
        epoch=epoch,
        members=members,
    )
