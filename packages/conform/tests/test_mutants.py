"""Every mutant is detected by the family of vectors that probes its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pqchain_conform import mutants
from pqchain_conform.generators import generate
from pqchain_conform.vector import ALGORITHMS, scheme

pytestmark = pytest.mark.native

QUICK = (
    "ML-DSA-44", "Falcon-512", "Falcon-padded-512", "SLH-DSA-SHA2-128f",
    "ML-KEM-512", "ML-KEM-768", "ML-KEM-1024",
)  # fmt: skip
"""`pqchain conform mutants` runs all."""

LONG = tuple(
    pytest.param(name, marks=[pytest.mark.long, pytest.mark.xdist_group(name)])
    for name in ALGORITHMS
    if scheme(name) == "slh-dsa" and name not in QUICK
)

PROBED_BY = {
    "z": {"z-bound"},
    "hints": {"hint-counters", "hint-order", "hint-padding"},
    "rounding": {"rounding"},
    "challenge": {"challenge"},
    "context": {"context"},
    "length": {"length"},
    "modulus": {"modulus"},
    "comparison": {"rejection"},
    "rejection": {"rejection"},
    "secret": {"message"},
    "bits": {"bits"},
    "compression": {"compression"},
    "sampling": {"sampling"},
    "root": {"root"},
    "digest": {"message"},
    "index": {"index"},
    "FORS": {"message", "index"},
    "chains": {"message", "index"},
    "paths": {"message"},
    "address": {"message"},
    "key": {"key", "z-bound"},
    "norm": {"norm"},
    "s2": {"coefficient", "minus-zero", "unused-bits", "truncated"},
    "padding": {"padding", "form"},
    "header": {"header"},
    "hash": {"hash-to-point", "salt", "message", "key-hash"},
}
"""The word that a mutant's name begins with, and the families that probe that rule."""


@pytest.mark.parametrize("name", QUICK + LONG)
def test_every_mutant_is_caught_by_the_families_of_its_rule(name):
    survivors = []
    for defect, mutant in mutants.mutants(name).items():
        families = PROBED_BY[defect.partition(":")[0]]
        if mutants.survives(mutant, (v for v in generate(name) if v.family in families)):
            survivors.append(defect)
    assert survivors == []


def test_counts_name_the_catching_family():
    vectors = generate("ML-DSA-44")
    bound = [v for v in vectors if v.family == "z-bound"][:40]
    rest = [replace(v, family="theirs") for v in vectors if v.family == "message"]
    frame = mutants.caught({"ours": bound, "theirs": rest})
    row = frame[(frame["mutant"] == "z: at the bound allowed") & (frame["source"] == "ours")]
    assert row["family"].tolist() == ["z-bound"]
    assert row["vectors"].tolist() == [40]
    at = sum(f"{v.probe} ".split(" = ")[1].strip(" -") == "130994" for v in bound)
    assert row["caught"].tolist() == [at]
    survivors = mutants.survivors(frame, "theirs")
    assert ("ML-DSA-44", "z: at the bound allowed") in survivors
    assert ("ML-DSA-44", "context: domain and length left out") not in survivors
    table = mutants.detection_table(frame)
    assert [column.name for column in table.columns][-1] == "theirs"


def test_undecided_vectors_catch_nothing():
    open_cases = [v for v in generate("Falcon-512") if v.expected == "acceptable"]
    frame = mutants.caught({"ours": open_cases})
    assert frame.empty
