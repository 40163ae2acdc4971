"""Frames of measurements: the rows that represent an algorithm."""

from dataclasses import replace

import pytest

from pqchain import algorithms
from pqchain.errors import DataError
from pqchain.results.measurements import algorithms_of, choose, chosen_names, user_scheme_provenance
from tests.frames import all_three, timed_operations


def test_operation_measured_twice_is_rejected():
    row = ("Falcon-512", "liboqs-0.13/ref", "sign", 0.1, "ok")
    with pytest.raises(DataError, match=r"have sign of Falcon-512 with liboqs-0\.13/ref twice"):
        choose(timed_operations(row, row), "Falcon-512")


def test_choose_accepts_variant_and_name():
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.13/ref", 0.1),
        *all_three("Falcon-512", "liboqs-0.13/avx2", 0.2),
    )

    def chosen(**how: str) -> set[str]:
        rows = choose(frame, "Falcon-512", **how)
        assert list(rows) == ["generate_keypair", "sign", "verify"]
        return {row["implementation"] for row in rows.values()}

    assert chosen() == {"liboqs-0.13/ref"}
    assert chosen(variant="") == {"liboqs-0.13/avx2"}
    assert chosen(variant="ref") == {"liboqs-0.13/ref"}
    assert chosen(variant="cortex-m4") == {"liboqs-0.13/avx2"}
    assert chosen(implementation="liboqs-0.13/ref") == {"liboqs-0.13/ref"}
    assert choose(frame, "Falcon-512", implementation="hawk/ref") == {}
    assert choose(frame, "Falcon-1024") == {}


def test_choose_takes_the_library_that_the_registry_names_first():
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.7.1/ref", 0.1),
        *all_three("Falcon-512", "liboqs-0.7.1/avx2", 0.1),
        *all_three("Falcon-512", "liboqs-0.13/ref", 0.2),
    )
    for variant, expected in (
        ("ref", "liboqs-0.13/ref"),
        ("avx2", "liboqs-0.7.1/avx2"),
        ("", "liboqs-0.13/ref"),
    ):
        rows = choose(frame, "Falcon-512", variant=variant)
        assert {row["implementation"] for row in rows.values()} == {expected}


def test_choose_takes_an_unlisted_library_last():
    frame = timed_operations(
        *all_three("Falcon-512", "hawk/ref", 0.1), *all_three("Falcon-512", "liboqs-0.13/ref", 0.2)
    )
    rows = choose(frame, "Falcon-512")
    assert {row["implementation"] for row in rows.values()} == {"liboqs-0.13/ref"}


def test_choose_takes_the_fastest_of_each_operation_without_code_for_comparisons():
    frame = timed_operations(
        *all_three("Falcon-512", "liboqs-0.7.1/avx2", 0.01),
        *all_three("Falcon-512", "liboqs-0.13/avx2", 0.2),
        ("Falcon-512", "fn-dsa/avx2", "sign", 0.3, "ok"),
        ("Falcon-512", "fn-dsa/avx2", "verify", 0.1, "ok"),
        ("Falcon-512", "fn-dsa/avx2", "decode_key", 0.05, "ok"),
        ("Falcon-512", "falcon/kernel", "decode_key", 0.01, "ok"),
    )
    rows = choose(frame, "Falcon-512")
    seconds = {name: row["median_seconds"] for name, row in rows.items()}
    assert seconds == {"generate_keypair": 0.2, "sign": 0.2, "verify": 0.1, "decode_key": 0.05}
    named = chosen_names(rows)
    assert chosen_names(choose(frame, "Falcon-512", implementation=named)) == named


@pytest.mark.parametrize(
    "changes",
    [
        {"public_key_bytes": "9"}, {"signature_bytes": None}, {"implementations": "given"},
        {"kind": 1}, {"nist_level": True}, {"source": ["mine"]},
    ],
    ids=str,
)  # fmt: skip
def test_scheme_of_provenance_has_the_types_of_a_scheme(changes):
    frame = timed_operations(*all_three("Mine", "given", 0.1))
    mine = replace(algorithms.get("Falcon-512"), name="Mine", source="given: my own")
    provenance = user_scheme_provenance([mine])
    frame.attrs["provenance"] = provenance
    assert [row.name for row in algorithms_of(frame)] == ["Mine"]
    provenance["schemes"][0] |= changes
    with pytest.raises(DataError, match="provenance must have the fields of Mine"):
        algorithms_of(frame)
    for name in changes:
        del provenance["schemes"][0][name]
    with pytest.raises(DataError, match="provenance must have the fields of Mine"):
        algorithms_of(frame)
