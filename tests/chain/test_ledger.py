"""Ledger files: only valid blocks are stored, damaged or forged files are rejected, and crashes, a
full disk and concurrent processes lose nothing."""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

from pqchain.chain import Block, BlockRejected, Ledger, Reason, Rules, State
from pqchain.chain.state import LEAST_IN_BULK
from pqchain.errors import BadType, DataError, UsageError
from pqchain.results.kept import KeptValues
from tests.chain.wallets import alice, bob, hybrid, proposer

ALICE, BOB, PROPOSER = alice(), bob(), proposer()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of three blocks."""
    path = tmp_path / "chain.pqc"
    balances = {ALICE.address: 1000, BOB.address: 0}
    with Ledger.create(path, balances, Rules(limit_bytes=5000)) as ledger:
        append_blocks(ledger, 3)
    return path


def append_blocks(ledger: Ledger, count: int) -> None:
    for _ in range(count):
        ledger.append(next_block(ledger.state))


def next_block(state: State) -> Block:
    payment = ALICE.transfer(BOB.address, 1, nonce=state.account(ALICE.address).nonce)
    return state.propose([payment], proposer=PROPOSER, timestamp=state.height)


def damage(path: Path, statement: str, *values: object) -> None:
    """Change a file without the library."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def digest_after(before: bytes, data: bytes) -> bytes:
    return sha256(b"pqchain ledger 3\0" + bytes([len(before)]) + before + data).digest()


def rewrite_ledger(path: Path, blocks: list[bytes], **rules: object) -> None:
    """Change the rules in a file and store these blocks with recomputed digests."""
    with closing(sqlite3.connect(path)) as connection:
        (description,) = connection.execute("SELECT description FROM genesis").fetchone()
    genesis = json.dumps(json.loads(description) | rules).encode()
    digest = digest_after(b"", genesis)
    damage(path, "UPDATE genesis SET description = ?", genesis)
    damage(path, "DELETE FROM blocks")
    for height, data in enumerate(blocks, 1):
        digest = digest_after(digest, data)
        damage(path, "INSERT INTO blocks VALUES (?, ?, ?)", height, digest, data)
    tip = Block.decode(blocks[-1]).hash() if blocks[-1] else b""
    damage(path, "UPDATE head SET height = ?, tip = ?, digest = ?", len(blocks), tip, digest)


def test_appended_blocks_are_read_after_reopening(path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 3
        assert ledger.state.account(BOB.address).balance == 3
        assert ledger.state.rules == Rules(limit_bytes=5000)
        append_blocks(ledger, 1)
        ledger.append(bytearray(next_block(ledger.state).encode()))
        state = ledger.state
        assert [block.header.height for block in ledger.blocks()] == [1, 2, 3, 4, 5]
    with Ledger.open(path) as again:
        assert again.state == state
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_rejected_block_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with Ledger.open(path) as ledger:
        state = ledger.state
        for data, reason in (
            (b"", Reason.MALFORMED),
            (b"\xff" * 5001, Reason.OVERSIZE),
            (next_block(ledger.state).encode()[:-1], Reason.MALFORMED),
        ):
            with pytest.raises(BlockRejected) as caught:
                ledger.append(data)
            assert caught.value.reason is reason
        for wrong in (None, "block", 7):
            with pytest.raises(BadType, match="the block must be bytes"):
                ledger.append(wrong)  # type: ignore[arg-type]
        assert ledger.state is state
    assert path.read_bytes() == before


def test_foreign_files_are_rejected_unchanged(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database" * 100)
    (tmp_path / "empty").touch()
    damage(tmp_path / "other", "CREATE TABLE blocks (height, hash, data)")
    for name, message in (
        ("missing", r"does not exist; create it with Ledger\.create"),
        ("text", "not a database"),
        ("other", "is not a ledger"),
        ("empty", r"is empty; create a ledger in it with Ledger\.create"),
        ("a" * 300, "File name too long; name another file"),
    ):
        with pytest.raises(DataError, match=message):
            Ledger.open(tmp_path / name)
    assert not (tmp_path / "missing").exists()


def test_no_ledger_is_created_where_it_cannot_be(path: Path) -> None:
    before = path.read_bytes()
    none = path.parent / "none"
    for place, message in (
        (path, "exists already"),
        (none / "chain.pqc", f"the folder {none} does not exist"),
    ):
        with pytest.raises(UsageError, match=message):
            Ledger.create(place, {})
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before


def test_interrupted_creation_is_repeated(tmp_path: Path) -> None:
    """A process that ends while it creates a file leaves it empty, with or without a journal."""
    empty = tmp_path / "chain.pqc"
    empty.touch()
    Ledger.create(empty, {ALICE.address: 5}).close()
    with Ledger.open(empty) as ledger:
        assert ledger.state.account(ALICE.address).balance == 5
    assert list(tmp_path.iterdir()) == [empty]


@pytest.mark.parametrize("use", [lambda path: Ledger.create(path, {}), Ledger.open])
@pytest.mark.parametrize("name", ["a\0b", "a\0", "\0"])
def test_path_with_nul_is_refused(tmp_path: Path, name: str, use) -> None:
    """SQLite would end the path at the NUL and use the file "a"."""
    (tmp_path / "a").touch()
    for path in (f"{tmp_path}/{name}", tmp_path / name, tmp_path / name / "b"):
        with pytest.raises(UsageError, match="path must be a path without NUL"):
            use(path)
    assert (tmp_path / "a").read_bytes() == b""
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_verified_block_is_stored_without_another_verification(path: Path) -> None:
    with Ledger.open(path) as ledger:
        for encoded in (False, True):
            block = next_block(ledger.state)
            after = ledger.state.apply(bytearray(block.encode()) if encoded else block)
            assert ledger.append(block, after=after) is after
            ledger.append(next_block(ledger.state).encode())
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 7


def test_state_after_another_block_is_refused(path: Path, tmp_path: Path) -> None:
    """The stored block would be invalid: no later opening would accept the file."""
    before = path.read_bytes()
    with (
        Ledger.open(path) as ledger,
        Ledger.create(tmp_path / "other", {ALICE.address: 9}) as other,
    ):
        block, state = next_block(ledger.state), ledger.state
        payment = ALICE.transfer(BOB.address, 2, nonce=3)
        sibling = state.propose([payment], proposer=PROPOSER, timestamp=9)
        foreign = next_block(other.state)
        changed = replace(block, seal=sibling.seal)  # the same header, another seal
        after = state.apply(block)
        child = next_block(after)
        for wrong, of in (
            (block, state),
            (block, State.genesis({})),
            (block, state.apply(sibling)),
            (foreign, other.state.apply(foreign)),
            (changed, after),
            (changed.encode(), after),
            (b"", after),
            (child, after.apply(child)),
        ):
            with pytest.raises(UsageError, match="after must be the result of"):
                ledger.append(wrong, after=of)
        assert ledger.state is state
    assert path.read_bytes() == before


GENESIS = "UPDATE genesis SET description = "


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE blocks SET data = x'ffff' WHERE height = 2", "block 2 was changed"),
        ("UPDATE blocks SET data = zeroblob(100000000) WHERE height = 1", "at most 5000"),
        ("UPDATE blocks SET data = 'text' WHERE height = 1", "of type text"),
        ("UPDATE blocks SET digest = zeroblob(32) WHERE height = 3", "block 3 was changed"),
        ("UPDATE blocks SET digest = 7 WHERE height = 1", "block 1 was changed"),
        ("DELETE FROM blocks WHERE height = 3", "blocks are missing or were added"),
        ("DELETE FROM blocks WHERE height = 1", "blocks are missing or were added"),
        ("UPDATE blocks SET height = 0 WHERE height = 2", "block 2 is missing"),
        ("UPDATE blocks SET height = 9 WHERE height = 3", "blocks are missing or were added"),
        ("INSERT INTO blocks VALUES (4, x'', x'')", "blocks are missing or were added"),
        ("UPDATE head SET height = 2", "blocks are missing or were added"),
        ("UPDATE head SET height = 'x'", "blocks are missing or were added"),
        ("UPDATE head SET tip = zeroblob(32)", "last block was changed"),
        ("UPDATE head SET digest = zeroblob(32)", "last block was changed"),
        ("INSERT INTO head SELECT * FROM head", "blocks are missing or were added"),
        ("DELETE FROM genesis", "genesis is missing"),
        ("INSERT INTO genesis VALUES ('{}')", "genesis is .*damaged"),
        (f"{GENESIS}description || ' '", "genesis is .*damaged"),
        (f"{GENESIS}CAST(description || ' ' AS BLOB)", "block 1 was changed"),
        *(
            (f"{GENESIS}x'{data.hex()}'", "genesis is .*damaged")
            for data in (
                b"[" * 100_000,
                b"[]",
                b"\xff\xfe{",
                b'{"chain": "x", "limit_bytes": 1, "algorithms": null, "sealed": 1,"balances": {}}',
            )
        ),
        ("CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END", "not a ledger"),
        ("ALTER TABLE blocks RENAME COLUMN digest TO hash", "not a ledger"),
        ("PRAGMA application_id = 1", "not a ledger"),
        ("PRAGMA application_id = 0x70716332", "of format 2;.*start a new one with Ledger.create"),
    ],
    ids=range(27),
)
def test_damage_is_rejected_with_the_reason(path: Path, statement: str, message: str) -> None:
    damage(path, statement)
    before = path.read_bytes()
    with pytest.raises(DataError, match=message):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_rewritten_file_is_checked(path: Path) -> None:
    """An attacker can recompute the digests, but not valid blocks or the old head."""
    with Ledger.open(path) as ledger:
        kept = ledger.digest
        stored = [block.encode() for block in ledger.blocks()]
    for blocks, said in (
        ([stored[0], stored[1][:-1] + b"?", stored[2]], "block 2: block rejected, wrong root"),
        ([stored[0], stored[2]], "block 2: block rejected, wrong height"),
        ([stored[0], b"\xff" * 50, b""], "block 2: block rejected, malformed"),
    ):
        rewrite_ledger(path, blocks)
        with pytest.raises(DataError, match=said):
            Ledger.open(path)
    rewrite_ledger(path, stored[:2])
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 2
        assert ledger.digest != kept


FORM_BALANCES = {wallet.address: 1000 for wallet in (ALICE, BOB, hybrid())}
WEAKER_RULES = {
    "sealed": False,
    "limit_bytes": 2**40,
    "algorithms": ["Ed25519", "ECDSA-secp256k1", "Falcon-512"],
    "chain": 2,
}


@pytest.mark.parametrize("form", ["empty", "registered hybrid", "many alike"])
def test_rules_cannot_be_changed_afterwards(form: str, tmp_path: Path) -> None:
    """Every block refers to a hash of the rules, which recomputed digests do not change."""
    payer, count = {
        "empty": (ALICE, 0),
        "registered hybrid": (hybrid(key_mode="registered"), 2),
        "many alike": (ALICE, LEAST_IN_BULK),
    }[form]
    sent = [payer.transfer(BOB.address, 1, nonce=nonce) for nonce in range(count)]
    path = tmp_path / "chain.pqc"
    with Ledger.create(path, FORM_BALANCES) as ledger:
        for height in range(3):
            paid = sent if height == 1 else []
            ledger.append(ledger.state.propose(paid, proposer=PROPOSER, timestamp=height))
        blocks, tip = list(ledger.blocks()), ledger.state.tip
    stored = [block.encode() for block in blocks]
    forged = Block(replace(blocks[-1].header, height=4, previous=tip), blocks[0].transactions)
    rewrite_ledger(path, stored)  # unchanged: the rejections below are due to the rules
    Ledger.open(path).close()
    for rule, value in WEAKER_RULES.items():
        for kept in (stored, [*stored, forged.encode()]):
            rewrite_ledger(path, kept, **{rule: value})
            with pytest.raises(DataError, match="block 1: block rejected, wrong previous hash"):
                Ledger.open(path)
            rewrite_ledger(path, kept[:3], **asdict(Rules()))
    rewrite_ledger(path, [*stored, forged.encode()])
    with pytest.raises(DataError, match=r"block 4: .*the block has no seal"):
        Ledger.open(path)


def test_second_writer_is_rejected(path: Path) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as two:
        append_blocks(one, 1)
        block = next_block(two.state)
        with pytest.raises(DataError, match="another process appended to it"):
            two.append(block)
        assert two.state.height == 3
        append_blocks(one, 1)
    with Ledger.open(path) as ledger:
        assert ledger.state.height == 5


def forked(action: Callable[[], object]) -> int:
    """Start a child process that ends after the action, without cleaning up."""
    if child := os.fork():
        return child
    code = 1
    try:
        action()
        code = 0
    finally:
        os._exit(code)


def test_killed_process_loses_no_acknowledged_block(path: Path) -> None:
    acknowledged, rng = 3, random.Random(6)
    for _ in range(5):
        heights, height = os.pipe()

        def write(height: int = height) -> None:
            with Ledger.open(path) as ledger:
                while ledger.state.height < 900:
                    append_blocks(ledger, 1)
                    os.write(height, b"%d\n" % ledger.state.height)

        writer = forked(write)
        os.close(height)
        with os.fdopen(heights) as lines:
            acknowledged = max(acknowledged, int(lines.readline()))
            time.sleep(rng.random() * 0.2)
            os.kill(writer, signal.SIGKILL)
            acknowledged = max([acknowledged, *map(int, lines)])
        os.waitpid(writer, 0)
        with Ledger.open(path) as ledger:
            assert acknowledged <= ledger.state.height <= acknowledged + 1
            assert ledger.state.account(BOB.address).balance == ledger.state.height
            acknowledged = ledger.state.height
    assert acknowledged > 8


ENDED_EARLY = 9


def append_and_end(ledger: Ledger, steps: int) -> None:
    """Append one block; end the process at a given step of SQLite's virtual machine."""
    calls = iter(range(steps - 1))
    ledger._database._connection.set_progress_handler(
        lambda: 0 if next(calls, None) is not None else os._exit(ENDED_EARLY), 1
    )
    append_blocks(ledger, 1)


def limit_files(limit: int) -> None:
    """Let the system end this process when it writes a file past the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limited_append(ledger: Ledger, limit: int) -> None:
    block = next_block(ledger.state)
    limit_files(limit)
    ledger.append(block)


LIMITS = range(0, 100_000, 512)


@pytest.mark.parametrize(
    ("append", "ends"), [(append_and_end, range(1, 500)), (limited_append, LIMITS)]
)
def test_process_ending_within_an_append_loses_nothing(path, append, ends):
    """Children end at successive points until one completes."""
    stored = {3: 0, 4: 0}
    for end in ends:
        copy = path.with_name(f"copy{end}")
        shutil.copy(path, copy)
        child = forked(lambda copy=copy, end=end: append(Ledger.open(copy), end))  # type: ignore[misc]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with Ledger.open(copy) as ledger:
            height = ledger.state.height
            append_blocks(ledger, 1)  # a recovered ledger accepts the next block
        assert code in (0, ENDED_EARLY, -signal.SIGXFSZ)
        stored[height] += 1
        if code == 0:
            assert height == 4
            break
    assert stored[3] > 10 and stored[4] >= 1


def test_process_ending_within_creation_blocks_nothing(tmp_path: Path) -> None:
    for limit in LIMITS:
        copy = tmp_path / f"start{limit}"
        child = forked(lambda: (limit_files(limit), Ledger.create(copy, FORM_BALANCES)))  # noqa: B023
        _, status = os.waitpid(child, 0)
        opened = Ledger.create(copy, FORM_BALANCES) if status else Ledger.open(copy)
        with opened as ledger:
            append_blocks(ledger, 1)
        assert [file.name for file in tmp_path.glob(f"{copy.name}*")] == [copy.name]
        if not status:
            break
    assert limit > 5 * 512


def test_full_disk_keeps_the_ledger(path: Path) -> None:
    with Ledger.open(path) as ledger:
        # SQLite does not go below the pages in use.
        ledger._database._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(DataError, match="full"):
            append_blocks(ledger, 20)
        stored = ledger.state.height
    with Ledger.open(path) as ledger:
        assert ledger.state.height == stored >= 3


def test_concurrent_creation_succeeds_once(tmp_path: Path) -> None:
    for number in range(10):
        path, (barrier, opened) = tmp_path / f"{number}.pqc", os.pipe()

        def create(path: Path = path, barrier: int = barrier, opened: int = opened) -> None:
            os.close(opened)
            os.read(barrier, 1)  # ends when the parent has closed it
            try:
                Ledger.create(path, FORM_BALANCES)
            except UsageError:
                os._exit(ENDED_EARLY)

        children = [forked(create) for _ in range(4)]
        os.close(opened)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.close(barrier)
        assert sorted(codes) == [0, *[ENDED_EARLY] * 3]
        with Ledger.open(path) as ledger:
            assert ledger.state.account(ALICE.address).balance == 1000
        assert [file.name for file in tmp_path.glob(f"{number}.*")] == [path.name]


def test_verified_blocks_are_not_verified_again_unless_asked(path, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "kept"))
    heights, apply = [], State.apply

    def counted(state, block, **options):
        heights.append(state.height + 1)
        return apply(state, block, **options)

    monkeypatch.setattr(State, "apply", counted)

    def opened(**options):
        heights.clear()
        with Ledger.open(path, **options) as ledger:
            return ledger.state, list(heights)

    whole, every = opened()
    assert every == [1, 2, 3]
    assert opened() == (whole, []) and opened()[0].block == whole.block
    assert opened(whole=True) == (whole, every)
    # Only what was added is verified.
    with Ledger.open(path) as ledger:
        append_blocks(ledger, 1)
        added = ledger.state
    assert opened() == (added, [4])
    # A changed kept state is found by its digest, or by the sum of the balances.
    with closing(sqlite3.connect(tmp_path / "kept")) as connection:
        rows = connection.execute("SELECT key FROM stored").fetchall()
    [name] = [key.partition(" ")[2] for (key,) in rows if " ledger " in key]
    digest, text, check = KeptValues().get(name)
    richer = text.replace(f"[{added.account(ALICE.address).balance}, ", "[1000000, ")
    assert richer != text
    earlier = text.replace(f", {added.timestamp}, {{", ", 0, {")
    assert earlier != text
    rehashed = digest_after(bytes.fromhex(digest), richer.encode()).hex()
    for damaged in (
        [digest, richer, check], [digest, earlier, check], [digest, richer, rehashed],
        [digest[2:], text, check],
        [digest, text[:-1], check], [digest, text], None, "text", 3, [1, 2, 3],
    ):  # fmt: skip
        KeptValues().put(name, damaged)
        assert opened() == (added, [1, 2, 3, 4])
    # A changed chain has other digests, so that nothing of it counts as verified.
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT data FROM blocks ORDER BY height").fetchall()
    changed = bytearray(rows[0][0])
    changed[-1] ^= 1
    rewrite_ledger(path, [bytes(changed), *(data for (data,) in rows[1:])])
    with pytest.raises(DataError, match="block 1: block rejected"):
        Ledger.open(path)
