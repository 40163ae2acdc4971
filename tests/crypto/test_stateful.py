"""XMSS and LMS: known answers, rejected keys and signatures, and no leaf used twice."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pqchain import algorithms, open_signer
from pqchain.crypto import stateful
from pqchain.crypto.key_files import KeyFile
from pqchain.crypto.native import NativeSigner
from pqchain.crypto.stateful import StatefulSigner, verifier
from pqchain.errors import BadLength, CryptoFailure, DataError, Unsupported, UsageError

pytestmark = pytest.mark.native

ANSWERS = json.loads(
    (Path(__file__).parent.parent / "vectors" / "stateful.json").read_text(encoding="utf-8")
)
"""Vectors of liboqs 0.13.0, tests/KATs/sig_stfl."""

XMSS, LMS = "XMSS-SHA2_10_256", "LMS_SHA256_H5_W8"


def fields(name: str) -> tuple[bytes, bytes, bytes]:
    """Return message, signature and public key of a vector."""
    row = ANSWERS[name]
    return tuple(bytes.fromhex(row[field]) for field in ("message", "signature", "public_key"))


@pytest.fixture
def key(tmp_path: Path) -> Iterator[StatefulSigner]:
    with StatefulSigner.create(LMS, tmp_path / "lms.key") as signer:
        yield signer


def new_key(name: str, path: Path, first_leaf: int = 0) -> None:
    """Store a key at a leaf; of XMSS that of the known answer, whose generation takes seconds."""
    scheme, row = verifier(name), ANSWERS[name]
    if name == LMS:
        public_key, secret_key = scheme.generate_keypair()
    else:
        public_key, secret_key = (bytes.fromhex(row[key]) for key in ("public_key", "secret_key"))
    key = bytearray(secret_key)
    scheme.call("skip", key, first_leaf)
    KeyFile.create(path, *stateful._content(scheme, public_key, key))


@pytest.fixture
def new(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], StatefulSigner]:
    """Return a function that creates an LMS key, always the same one, whose generation is slow."""
    pair = verifier(LMS).generate_keypair()
    monkeypatch.setattr(verifier(LMS), "generate_keypair", lambda: pair)
    return lambda path: StatefulSigner.create(LMS, path)


def leaf(signature: bytes, name: str = XMSS) -> int:
    """Return the leaf that a signature used."""
    return int.from_bytes(signature[0:4] if name == XMSS else signature[4:8], "big")


@pytest.mark.parametrize("name", ANSWERS)
def test_known_signatures_verify(name: str) -> None:
    message, signature, public_key = fields(name)
    assert verifier(name).verify(message, signature, public_key)
    assert not verifier(name).verify(message + b"x", signature, public_key)
    for place in (0, 4, 40, len(signature) // 2, len(signature) - 1):
        damaged = bytearray(signature)
        damaged[place] ^= 1
        assert not verifier(name).verify(message, damaged, public_key)


def test_xmss_signs_as_the_known_answer() -> None:
    message, signature, _ = fields(XMSS)
    key, ours = bytearray.fromhex(ANSWERS[XMSS]["secret_key"]), bytearray(2500)
    verifier(XMSS).call("sign", key, ours, message, len(message))
    assert ours == signature


@pytest.mark.parametrize("name", ANSWERS)
def test_sizes_are_those_of_the_registry(name: str) -> None:
    row, sizes = algorithms.get(name), verifier(name).library.sizes(name)
    assert sizes["public_key_bytes"] == row.public_key_bytes == len(fields(name)[2])
    assert sizes["secret_key_bytes"] == row.secret_key_bytes
    assert sizes["signature_max_bytes"] == row.signature_bytes == len(fields(name)[1])


@pytest.mark.parametrize("name", ANSWERS)
def test_other_lengths_and_parameter_sets_do_not_reach_liboqs(name: str) -> None:
    # liboqs 0.13.0 reads past such a signature, and takes the parameter set from the key.
    message, signature, public_key = fields(name)
    scheme = verifier(name)
    for count in (0, 4, 12, 44, len(signature) - 1):
        assert not scheme.verify(message, signature[:count], public_key)
        assert not NativeSigner._verify(scheme, message, signature[:count], public_key, b"")
    assert not scheme.verify(message, signature + b"\0", public_key)
    same_length = [other for other in ANSWERS if len(fields(other)[2]) == len(public_key)]
    for other in set(same_length) - {name}:
        assert not scheme.verify(message, signature, fields(other)[2])
    with pytest.raises(BadLength):
        scheme.verify(message, signature, public_key[:-1])


def test_a_key_of_another_parameter_set_does_not_sign() -> None:
    key = bytearray.fromhex(ANSWERS[XMSS]["secret_key"])
    key[3] = 2  # XMSS-SHA2_16_256, whose state is longer
    with pytest.raises(CryptoFailure, match="key generation cannot produce"):
        verifier(XMSS).call("sign", key, bytearray(2500), b"", 0)


@pytest.mark.parametrize("name", [LMS, pytest.param(XMSS, marks=pytest.mark.long)])
def test_each_signature_uses_the_next_leaf_and_the_last_one_is_the_last(name, tmp_path):
    path, leaves = tmp_path / "a.key", verifier(name).leaves
    new_key(name, path, leaves - 3)
    with StatefulSigner(path) as signer:
        for i in range(leaves - 3, leaves):
            signature = signer.sign(b"%d" % i)
            assert leaf(signature, name) == i
            assert verifier(name).verify(b"%d" % i, signature, signer.public_key)
        assert signer.remaining == 0
        with pytest.raises(UsageError, match="no leaves left"):
            signer.sign(b"")


def test_an_opened_key_continues(key: StatefulSigner) -> None:
    key.sign(b"a")
    key.close()
    with pytest.raises(UsageError, match="must be open"):
        key.sign(b"")
    with StatefulSigner(key.path) as again:
        assert (again.next_leaf, again.remaining, again.algorithm) == (1, 30, LMS)
        assert leaf(again.sign(b"b"), LMS) == 1
    assert key.path.stat().st_mode & 0o777 == 0o600


def test_a_second_process_is_refused(key: StatefulSigner) -> None:
    code = "import sys; from pqchain.crypto.stateful import *; StatefulSigner(sys.argv[1])"
    child = subprocess.run(
        [sys.executable, "-c", code, str(key.path)], capture_output=True, text=True, timeout=60
    )
    assert child.returncode == 1
    assert "is open in another signer" in child.stderr
    with pytest.raises(UsageError, match="open in another signer"):
        StatefulSigner(key.path)


def test_a_fork_does_not_sign_with_the_same_leaf(key: StatefulSigner) -> None:
    child = os.fork()
    if child == 0:
        try:
            key.sign(b"")
        except UsageError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_restored_key_is_refused(key: StatefulSigner) -> None:
    backup = key.path.read_bytes()
    key.sign(b"a")
    key.close()
    key.path.write_bytes(backup)
    with pytest.raises(DataError, match="next leaf is 0, but 1 were used"):
        StatefulSigner(key.path)


def test_a_copied_key_is_refused_and_a_moved_one_signs(key, tmp_path):
    copy, moved = tmp_path / "copy.key", tmp_path / "moved.key"
    key.close()
    shutil.copy(key.path, copy)
    with pytest.raises(DataError, match=r"must have a file copy\.key\.state"):
        StatefulSigner(copy)
    shutil.copy(f"{key.path}.state", f"{copy}.state")
    with pytest.raises(DataError, match="must not be a copy"):
        StatefulSigner(copy)
    for suffix in ("", ".state"):
        Path(f"{key.path}{suffix}").rename(f"{moved}{suffix}")
    with StatefulSigner(moved) as signer:
        assert leaf(signer.sign(b""), LMS) == 0


def test_a_damaged_key_is_refused(key: StatefulSigner) -> None:
    key.close()
    text = key.path.read_text()
    for changed in (text.replace("LMS", "XMSS"), text[:-20], "{}", ""):
        key.path.write_text(changed)
        with pytest.raises(DataError, match=r"lms\.key"):
            StatefulSigner(key.path)


def test_an_existing_file_is_not_replaced(key: StatefulSigner) -> None:
    with pytest.raises(UsageError, match="must not exist"):
        StatefulSigner.create(LMS, key.path)


def test_no_other_file_is_changed(tmp_path, monkeypatch, new):
    for name in ("a.new", "a.lock", "a.key.lock", "victim"):
        (tmp_path / name).write_text(name)
    (tmp_path / "b.state").symlink_to("victim")
    (tmp_path / "c.state").symlink_to("missing")
    for name in ("b", "c"):
        with pytest.raises(UsageError, match="must not exist"):
            new(tmp_path / name)
    here, there = (tmp_path / name for name in ("here", "there"))
    for folder in (here, there):
        folder.mkdir()
        new(folder / "a").close()
    before = {path: path.read_bytes() for path in there.iterdir()}
    monkeypatch.chdir(here)
    with StatefulSigner("a") as signer:
        monkeypatch.chdir(there)
        signer.sign(b"")
        here.rename(tmp_path / "moved")  # the folder, too, is that of the time of opening
        signer.sign(b"")
    assert {path: path.read_bytes() for path in there.iterdir()} == before
    with StatefulSigner(tmp_path / "moved" / "a") as signer:
        assert signer.next_leaf == 2
    for name in ("a.new", "a.lock", "a.key.lock", "victim"):
        assert (tmp_path / name).read_text() == name


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_close_waits_for_a_signature_of_another_thread(key, monkeypatch):
    begun, rename, signatures = threading.Event(), os.rename, list[bytes]()

    def slow(*arguments: Any, **folders: Any) -> None:
        begun.set()
        time.sleep(0.05)
        rename(*arguments, **folders)

    monkeypatch.setattr(os, "rename", slow)
    thread = threading.Thread(target=lambda: signatures.append(key.sign(b"")))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:  # removes no file of its parent, and waits for no thread of it
        key.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    key.close()
    with StatefulSigner(key.path) as again:
        assert again.next_leaf == 1
    thread.join()
    assert len(signatures) == 1


def signatures_before_kill(path: Path, message: bytes, draw: random.Random) -> list[bytes]:
    """Return the signatures that left a child until it was killed.

    That is up to 8 ms after a random number of signatures.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signer = StatefulSigner(path)
            os.write(writing, b"\x01")  # the key is open
            for number in range(3):
                os.write(writing, signer.sign(message + bytes([number])))
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read(1) == b"\x01", "the child could not open the key"
            data = pipe.read(len(fields(XMSS)[1]) * draw.randrange(4))
            time.sleep(draw.random() * 0.008)
            os.kill(child, signal.SIGKILL)
            data += pipe.read()
    finally:
        os.waitpid(child, 0)
    # The last one may be a part, which uses its leaf as well.
    count = len(fields(XMSS)[1])
    return [data[i : i + count] for i in range(0, len(data), count)]


@pytest.mark.parametrize("kills", [20, pytest.param(400, marks=pytest.mark.long)])
def test_kills_at_random_moments_reuse_no_leaf(kills: int, tmp_path: Path) -> None:
    draw = random.Random(kills)
    path, leaves, released = tmp_path / "0.key", set[int](), 0
    new_key(XMSS, path)
    for number in range(kills):
        if number and number % 300 == 0:
            # Three leaves a process: a tree of 1,023 would end.
            leaves.clear()
            path = tmp_path / f"{number}.key"
            new_key(XMSS, path)
        left = signatures_before_kill(path, b"%d" % number, draw)
        used = [leaf(signature) for signature in left]
        assert not leaves.intersection(used)
        assert len(set(used)) == len(used)
        leaves.update(used)
        released += len(left)
    assert released > kills  # 1.5 a process, and those of the last milliseconds


def test_other_schemes_and_open_signer_say_what_to_use() -> None:
    with pytest.raises(UsageError, match=r"is not stateful; use pqchain\.open_signer"):
        verifier("Falcon-512")
    with pytest.raises(Unsupported, match="StatefulSigner"):
        open_signer(XMSS)
    with pytest.raises(CryptoFailure, match="no such operation"):
        verifier(XMSS).sign(b"", bytes(1377))
