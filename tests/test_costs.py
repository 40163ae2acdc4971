"""Costs of schemes and their sources."""

import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain import costs
from pqchain.algorithms import ALGORITHMS
from pqchain.costs import Costs, CostTable, MissingCosts
from pqchain.errors import DataError, UnknownAlgorithm, UsageError
from tests.frames import all_three, timed_operations

SIZES = {"public_key_bytes": 897, "signature_bytes": 655}
TIMES = ("generate_keypair_seconds", "sign_seconds", "verify_seconds")
FALCON = Costs(algorithm="Falcon-512", **SIZES, **dict.fromkeys(TIMES, 0.0002), source="test")
DILITHIUM = dataclasses.replace(FALCON, algorithm="Dilithium2", public_key_bytes=1312)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("algorithm", "Falcon512", "did you mean 'Falcon-512'"),
        ("algorithm", "Falcon 512", "is an alias; use the canonical name 'Falcon-512'"),
        ("public_key_bytes", 0, "public_key_bytes of Falcon-512 must be a whole number .* got 0"),
        ("signature_bytes", 655.5, "signature_bytes of Falcon-512 must be .* got 655.5"),
        ("signature_bytes", True, "signature_bytes of Falcon-512 must be .* got True"),
        ("sign_seconds", -1.0, r"sign_seconds of Falcon-512 must be a number from 0.* got -1\.0"),
        ("verify_seconds", "fast", "verify_seconds of Falcon-512 must be .* got 'fast'"),
        ("verify_seconds", float("inf"), "verify_seconds of Falcon-512 must be .* got inf"),
    ],
)
def test_invalid_costs_are_rejected(field, value, message):
    with pytest.raises((UsageError, UnknownAlgorithm), match=message):
        dataclasses.replace(FALCON, **{field: value})


def test_smallest_costs_are_one_byte_and_no_time():
    least = dict.fromkeys(SIZES, 1) | dict.fromkeys(TIMES, 0.0)
    assert dataclasses.replace(FALCON, **least).signature_bytes == 1


def test_table_is_a_mapping_in_registry_order():
    table = CostTable(rows=(FALCON, DILITHIUM), source="test")
    assert list(table) == ["Dilithium2", "Falcon-512"]
    assert dict(table) == {"Dilithium2": DILITHIUM, "Falcon-512": FALCON}
    assert table["falcon 512"] is FALCON
    assert "Falcon 512" in table
    assert "Falcon-1024" not in table
    assert "no such scheme" not in table
    assert 7 not in table
    assert table.get("Falcon-1024") is None


def test_table_is_identified_by_its_content():
    one = CostTable(rows=(FALCON, DILITHIUM), source="test", gaps=(("Hawk-512", "why"),))
    other = CostTable(rows=(DILITHIUM, FALCON), source="test")
    assert one == other and hash(one) == hash(other)
    assert one != CostTable(rows=(FALCON, DILITHIUM), source="elsewhere")
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(UsageError, match="must have one row per algorithm"):
        CostTable(rows=(FALCON, FALCON), source="test")


def test_missing_algorithm_states_the_reason():
    table = CostTable(rows=(FALCON,), source="test", gaps=(("Hawk-512", "sign failed"),))
    expected = "^no costs of 'Hawk-512' in 'test': sign failed; the table has Falcon-512$"
    with pytest.raises(MissingCosts, match=expected):
        table["Hawk-512"]
    for kind in (DataError, KeyError):
        with pytest.raises(kind, match="it is not in the table"):
            table["Dilithium2"]
    with pytest.raises(UnknownAlgorithm):
        table["Falcon512"]


def test_from_frame_takes_medians_and_the_sizes_of_the_registry():
    table = costs.from_frame(timed_operations(*all_three("Falcon-512", "liboqs-0.13/avx2", 0.5)))
    assert table.source == "measured:test-machine"
    times = dict.fromkeys(TIMES, 0.5)
    row = dataclasses.replace(FALCON, **times, source="liboqs-0.13/avx2 on test-machine")
    assert dict(table) == {"Falcon-512": row}


def test_from_frame_takes_the_fastest():
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.13/ref", 0.1),
        *all_three("Falcon-512", "liboqs-0.13/avx2", 0.2),
        *all_three("ECDSA-P256", "pycryptodome/python", 0.4),
        *all_three("ECDSA-P256", "cryptography/openssl", 0.3),
    )
    table = costs.from_frame(frame)
    assert table["Falcon-512"].sign_seconds == 0.1
    assert costs.from_frame(frame, variant="")["Falcon-512"].sign_seconds == 0.2
    named = costs.from_frame(frame, {"Falcon-512": "liboqs-0.13/avx2", "ECDSA-P256": "hawk/ref"})
    assert named["Falcon-512"].verifier == "liboqs-0.13/avx2"
    assert named["ECDSA-P256"].verifier == "cryptography/openssl"
    assert table["ECDSA-P256"].sign_seconds == 0.3
    assert costs.from_frame(frame, "liboqs-0.13/ref")["Falcon-512"].sign_seconds == 0.1
    # The reference code where AVX2 cannot run.
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.13/avx2", float("nan"), "unsupported"),
        *all_three("Falcon-512", "liboqs-0.13/ref", 0.1),
    )
    assert costs.from_frame(frame)["Falcon-512"].source == "liboqs-0.13/ref on test-machine"


def test_from_frame_omits_incomplete_rows_with_the_reason():
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.13/ref", 0.1),
        *all_three("Dilithium2", "liboqs-0.13/avx2", float("nan"), "unsupported"),
        ("Dilithium3", "liboqs-0.13/ref", "sign", 0.1, "ok"),
        ("Kyber512", "liboqs-0.13/ref", "encapsulate", 0.1, "ok"),
    )
    table = costs.from_frame(frame)
    assert list(table) == ["Dilithium3", "Falcon-512"]
    assert table.gaps == (
        ("Dilithium2", "generate_keypair, sign, verify unsupported: no AVX2 here"),
        ("Dilithium3", "generate_keypair, verify not measured"),
    )
    with pytest.raises(MissingCosts, match="no AVX2 here"):
        table["Dilithium2"]


def test_from_frame_needs_operations_columns_and_no_provenance():
    frame = timed_operations(("Falcon-512", "liboqs-0.13/ref", "verify", 0.1, "ok"))
    frame.attrs = {}
    table = costs.from_frame(frame)
    assert table.source == "measured:unknown machine"
    assert table["Falcon-512"].require("verify").verify_seconds == 0.1
    with pytest.raises(MissingCosts, match=r"no time of sign .*--operation sign"):
        table["Falcon-512"].require("sign", "verify")
    keys = timed_operations(("Falcon-512", "liboqs-0.13/ref", "generate_keypair", 0.1, "ok"))
    for wrong, implementation, message in (
        (keys, None, r"no signature scheme with a time of .*not measured"),
        (keys, "hawk/ref", "nothing was measured with 'hawk/ref'"),
        (frame.drop(columns="reason"), None, r"columns .*status, reason; got .* without reason"),
    ):
        with pytest.raises(DataError, match=message):
            costs.from_frame(wrong, *filter(None, [implementation]))


SIGNATURES = [name for name, row in ALGORITHMS.items() if row.kind == "signature"]
LIBRARIES = ["liboqs-0.13/ref", "liboqs-0.13/avx2"]
NAMES = st.tuples(st.sampled_from(SIGNATURES[:4]), st.sampled_from(LIBRARIES))


@given(medians=st.dictionaries(NAMES, st.floats(1e-6, 1.0), min_size=1))
def test_from_frame_takes_the_fastest_of_each(medians):
    rows = [row for (name, how), median in medians.items() for row in all_three(name, how, median)]
    table = costs.from_frame(timed_operations(*rows))
    assert set(table) == {name for name, _ in medians}
    for name in table:
        fastest = min(median for (other, _), median in medians.items() if other == name)
        assert table[name].sign_seconds == fastest


def test_the_time_to_decode_a_key_is_used_and_decides_no_choice():
    kernel = all_three("Falcon-512", "falcon/kernel", 2e-5)
    kernel.append(("Falcon-512", "falcon/kernel", "decode_key", 5e-6, "ok"))
    alone = costs.from_frame(timed_operations(*kernel))["Falcon-512"]
    assert alone.decode_key_seconds == 5e-6
    assert alone.known_key_verify_seconds == pytest.approx(1.5e-5)
    liboqs = all_three("Falcon-512", "liboqs-0.13/avx2", 4e-5)
    liboqs.append(("Falcon-512", "liboqs-0.13/avx2", "decode_key", float("nan"), "unsupported"))
    both = costs.from_frame(timed_operations(*kernel, *liboqs))["Falcon-512"]
    assert (both.verify_seconds, both.decode_key_seconds) == (4e-5, 0.0)


def test_given_rows_are_found_by_their_name_in_any_case():
    one, two = (dataclasses.replace(FALCON, algorithm=name, source="given: test") for name in "ab")
    table = CostTable(rows=(FALCON, one, two), source="test")
    assert (table["A"], table["b"], table["Falcon-512"]) == (one, two, FALCON)
