"""User-defined schemes: by numbers, as a C library, as a Python class."""

import dataclasses
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import pqchain as pq
from pqchain import algorithms, costs, delegates, results, schemes
from pqchain.bench import gas, tables
from pqchain.consensus import Scenario, named, run
from pqchain.costs import MissingCosts
from pqchain.crypto import library_check
from pqchain.errors import NativeLibraryBroken, UnknownAlgorithm, UsageError
from pqchain.plots import plot_sizes, plot_speed, plot_tradeoff
from pqchain.results.measurements import algorithms_of
from tests import frames
from tests.crypto.builds import example_library

NUMBERS = {"public_key_bytes": 1000, "signature_bytes": 300}
NUMBERS |= {"sign_seconds": 1e-3, "verify_seconds": 1e-4}
MINE = pq.Costs.given("Mine", **NUMBERS, source="my thesis, table 2")


class Hashed:
    """Keyed hashes as in the C example; not a signature scheme."""

    name = "Hashed"
    public_key_bytes = secret_key_bytes = 32
    signature_bytes = 64

    def generate_keypair(self) -> tuple[bytes, bytes]:
        key = os.urandom(32)
        return key, key

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        return hashlib.sha512(secret_key + message).digest()

    def verify(self, message: bytes, signature: bytes, public_key: bytes) -> bool:
        return signature == self.sign(message, public_key)


@pytest.fixture(autouse=True)
def temporary_registrations() -> Iterator[None]:
    with algorithms.temporary_registrations():
        yield


@pytest.fixture
def mine() -> str:
    [name] = pq.register(MINE)
    return name


def test_user_scheme_is_labelled_in_every_frame(mine: str, tmp_path: Path) -> None:
    frame = pq.measure([mine, "Ed25519"], ["generate_keypair", "verify"], preset="quick", rounds=1)
    rows = frame[frame["algorithm"] == "Mine"].set_index("operation")
    assert (rows["implementation"] == "given").all()
    assert rows.loc["verify", ["median_seconds", "reason"]].tolist() == [1e-4, MINE.source]
    assert rows.loc["generate_keypair", "status"] == "unsupported"
    assert "given: my thesis, table 2" in tables.operation_table(frame).text()
    path = results.save(frame, tmp_path / "both.csv")
    table = costs.from_frame(results.load(path))
    assert table["mine"].source == MINE.source
    assert table.origin("mine") == MINE.source


def test_scheme_file_is_read_for_an_unknown_name(tmp_path: Path) -> None:
    with algorithms.temporary_registrations():
        pq.register(Hashed)
        results.save(pq.measure("Hashed", rounds=1), tmp_path / "mine.csv")
    with pytest.raises(UnknownAlgorithm):
        algorithms.get("Hashed")
    frame = results.load(tmp_path / "mine.csv")
    row = costs.from_frame(frame)["Hashed"]
    assert (row.public_key_bytes, row.signature_bytes) == (32, 64)
    assert row.source.startswith("given: user/Hashed on ")
    assert [each.name for each in algorithms_of(frame)] == ["Hashed"]
    assert plot_tradeoff(frame).get_xlabel()


def test_user_scheme_can_be_replaced_by_the_same_kind_only(mine: str) -> None:
    """In a notebook a cell is run again, with other numbers."""
    pq.register("Mine,public_key=999,signature=200,sign=2ms,verify=0.1ms")
    assert pq.chain.encoding.encoded_size("Mine") == 1399 - 101
    frame = pq.measure_blocks("Mine", transactions=2, threads=1)
    assert frame.loc[0, "signature_bytes"] == 200
    with pytest.raises(UsageError, match=r"Mine exists already, and yours has public_key_bytes 32"):
        pq.register(type("Other", (Hashed,), {"name": "Mine"}))


def test_names_ignore_case_and_readding_is_allowed(mine: str) -> None:
    assert pq.register(MINE) == ["Mine"]
    assert algorithms.get("MINE").public_key_bytes == 1000
    assert algorithms.names("signature")[-1] == "Mine"
    pq.register("Loud,Public_Key=9,SIGNATURE=8,Sign=2MS,verify=3\N{MICRO SIGN}s")
    assert dict(algorithms.get("loud").given_seconds)["verify"] == pytest.approx(3e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Falcon 512,public_key=1,signature=3,sign=2ms,verify=1ms", "Falcon-512 in the registry"),
        ("Yours,public_key=1", "lacks signature, sign, verify; give all of them, as in Mine,"),
        (",public_key=1,signature=3,sign=2ms,verify=1ms", "a name before the first comma"),
        ("Yours,sign=1ms,sign=2ms", "has sign twice"),
        ("\udcff,public_key=1,signature=3,sign=2ms,verify=1ms", "must be a text of 1 to 100"),
        ("nowhere.so", "nowhere.so does not exist"),
        ("nowhere.py:Class", "nowhere.py does not exist"),
        ("pqchain.nowhere:Class", "cannot be imported"),
        ("pqchain.schemes:Class", "has no 'Class'"),
        ("pqchain.schemes:register", "is not a signature scheme: it lacks generate_keypair"),
    ],
)
def test_invalid_schemes_are_rejected(mine: str, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pq.register(text)


def test_registry_schemes_have_no_given_costs() -> None:
    with pytest.raises(UsageError, match=r"must be made by Costs\.given"):
        pq.register(pq.papers.costs("pqdpol")["Falcon-512"])


@pytest.mark.native
def test_hashes_replace_signatures_where_only_bytes_matter() -> None:
    """In virtual time the delegates take the modelled times and send the modelled bytes."""
    table = pq.papers.costs("pqdpol").plus(MINE)
    scenario = Scenario(algorithm="Mine", costs=table, nodes=4, network=named("star"))
    ran, modelled = delegates.run(scenario, mode="virtual"), run(scenario)
    assert modelled.record()["costs"] == MINE.source
    assert ran.latency_seconds == modelled.latency_seconds
    assert ran.transactions == modelled.transactions == 35
    pq.register(Hashed)
    table = costs.from_frame(pq.measure("Hashed", rounds=1))
    signed = dataclasses.replace(scenario, algorithm="Hashed", costs=table)
    assert delegates.run(signed, mode="virtual").is_safe
    for refused in (scenario, signed):
        with pytest.raises(UsageError, match=r"user-defined schemes.*mode='virtual'"):
            delegates.run(refused, mode="loopback")


def test_missing_signing_time_is_accepted_where_unused() -> None:
    frame = frames.measurements(["Falcon-512"]).query("operation == 'verify'")
    table = costs.from_frame(frame)
    shared = {"algorithm": "Falcon-512", "costs": table, "nodes": 8}
    quiet = Scenario(network=named("csma"), **shared)
    assert not quiet.signs
    assert run(quiet).latency_seconds > 0
    with pytest.raises(MissingCosts, match=r"no time of sign .*bench --algorithm Falcon-512"):
        Scenario(network=named("star"), **shared)


def test_given_scheme_has_block_sizes_but_no_times(mine: str) -> None:
    frame = pq.measure_blocks([mine, f"{mine}+Ed25519"], transactions=3, threads=1)
    size = pq.chain.encoding.encoded_size("Mine")
    assert frame.loc[0, "block_bytes"] == pq.chain.encoding.header_bytes() + 3 * size
    assert frame["tampered"].tolist() == ["bad signature"] * 2
    assert frame["verify_median_seconds"].isna().all()
    assert frame["reason"].str.startswith(MINE.source).all()
    assert "sizes only" in tables.block_table(frame).text()


def test_gas_is_the_given_time_over_the_given_anchor(mine: str) -> None:
    numbers = "public_key=1000,signature=300,sign=1ms,verify=0.1ms"
    names = [mine, *pq.register(f"Priced,{numbers},anchor=0.2ms")]
    names += pq.register(dataclasses.replace(MINE, algorithm="Costs", anchor_seconds=2e-4))
    frame = gas.measure_gas(names, rounds=2)
    rows = frame[frame["unit"] == "evm"].set_index("algorithm")
    assert rows.loc[["Priced", "Costs"], "gas"].tolist() == pytest.approx([1500, 1500])
    assert rows.loc["Mine", "verify_seconds"] == 1e-4
    assert rows.loc[["Mine"], "gas"].isna().all()
    assert rows.loc["Mine", "reason"].startswith(f"{MINE.source}; time of another machine")


def test_plots_label_a_user_scheme(mine: str) -> None:
    given = pq.measure(mine)
    for axes in (plot_speed(given), plot_sizes(["Falcon-512", mine])):
        assert "Mine (as entered)" in [label.get_text() for label in axes.get_yticklabels()]
    assert "Mine (as entered)" in [text.get_text() for text in plot_tradeoff(given).texts]


@pytest.mark.parametrize(
    ("scheme", "name", "implementation"),
    [(Hashed, "Hashed", "user/Hashed"), ("example", "Example-300", "user/example")],
)
def test_user_code_signs_blocks_and_is_measured(scheme, name, implementation, tmp_path) -> None:
    is_library = scheme == "example"
    assert pq.register(example_library(tmp_path, name=scheme) if is_library else scheme) == [name]
    signer = pq.open_signer(name.lower())
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"pay 5", secret_key)
    assert signer.verify(b"pay 5", signature, public_key)
    assert not signer.verify(b"pay 6", signature, public_key)
    frame = pq.measure(name, rounds=1)
    assert frame["status"].tolist() == ["ok"] * 3
    assert (frame["implementation"] == implementation).all()
    blocks = pq.measure_blocks(name, transactions=3, threads=2)
    assert blocks.loc[0, ["valid", "tampered"]].tolist() == ["yes", "bad signature"]
    if is_library:
        [kept] = frame.attrs["provenance"]["schemes"]
        assert kept["source"].startswith("an example, libexample.so of SHA-256 ")
        assert str(tmp_path) not in str(frame.attrs["provenance"])
        assert blocks["loop_median_seconds"].notna().all()


@pytest.mark.long
def test_library_may_be_another_implementation_of_a_known_scheme(tmp_path: Path) -> None:
    name = ('"Example-300" : NULL', '"Ed25519" : NULL')
    for folder in ("64", "65"):
        (tmp_path / folder).mkdir()
    same, longer = (
        example_library(tmp_path / size, name, ("SIGNATURE = 300", f"SIGNATURE = {size}"))
        for size in ("64", "65")
    )
    assert pq.register(same) == ["Ed25519"]
    assert algorithms.get("Ed25519").implementations[-1] == "user/changed"
    with pytest.raises(UsageError, match="signature_max_bytes 65 instead of 64"):
        pq.register(longer)


def test_example_library_passes_every_check(tmp_path: Path) -> None:
    library = example_library(tmp_path)
    findings = list(library_check.check_library(library))
    assert [finding.check for finding in findings] == list(library_check.CHECKS)
    assert all(finding.passed for finding in findings), findings


@pytest.mark.parametrize(
    ("change", "check", "message"),
    [
        (("pq_randombytes(secret_key, KEY)", "memset(secret_key, 1, KEY)"),
         "round trips", "two key pairs are equal"),
        ((".signature_max_bytes = SIGNATURE", ".signature_max_bytes = 0"),
         "first use", "signature_max_bytes must be from 1"),
        (("*signature_bytes = SIGNATURE", "*signature_bytes = SIGNATURE + 1"),
         "first use", "pq_sign must write 1 to 300 bytes; got 301"),
    ],
)  # fmt: skip
def test_library_mistake_is_found(change, check: str, message: str, tmp_path: Path) -> None:
    library = example_library(tmp_path, change)
    findings = library_check.check_library(library)
    failed = next(finding for finding in findings if not finding.passed)
    assert failed.check == check
    assert message in failed.detail


def test_library_that_accepts_everything_is_found(tmp_path: Path) -> None:
    change = ("memcmp(signature, expected, SIGNATURE) == 0", "signature != NULL")
    library = str(example_library(tmp_path, change))
    with pytest.raises(
        library_check.CheckFailed, match="must return False for a signature with one bit flipped"
    ):
        library_check.run_check(library, "Example-300", "flipped bits")


def test_invalid_library_is_rejected(tmp_path: Path) -> None:
    none, text = tmp_path / "none.so", tmp_path / "text.so"
    (tmp_path / "none.c").write_text("int nothing;")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "none.c", "-o", none], check=True)
    text.write_text("text")
    for path, reason in ((none, "lacks the interface of pqchain"), (text, "cannot be loaded")):
        with pytest.raises(NativeLibraryBroken, match=rf"{path.stem}\.so {reason}"):
            schemes.register(path)
