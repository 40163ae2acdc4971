"""The vectors: equal verdicts of all oracles, one probed rule each, and reproducible bytes."""

import hashlib
import json
from collections import Counter
from dataclasses import replace

import pytest

from pqchain.errors import DataError, UnknownName, UsageError
from pqchain_conform import formats, mutants, oracles, reading, suite
from pqchain_conform.generators import generate
from pqchain_conform.vector import ALGORITHMS, DATA, Collector, Vector, by_ident, families, scheme

pytestmark = pytest.mark.native

QUICK = (
    "ML-DSA-44", "Falcon-512", "Falcon-padded-512", "SLH-DSA-SHA2-128f", "ML-KEM-512", "ML-KEM-768"
)  # fmt: skip
"""Generated in some seconds; `make conform` generates all."""

COUNTS = {
    "ML-DSA-44": 505, "ML-DSA-65": 541, "ML-DSA-87": 595,
    "Falcon-512": 271, "Falcon-1024": 269, "Falcon-padded-512": 271, "Falcon-padded-1024": 269,
    "SLH-DSA-SHA2-128s": 101, "SLH-DSA-SHA2-128f": 114, "SLH-DSA-SHA2-192s": 104,
    "SLH-DSA-SHA2-192f": 119, "SLH-DSA-SHA2-256s": 105, "SLH-DSA-SHA2-256f": 114,
    "SLH-DSA-SHAKE-128s": 101, "SLH-DSA-SHAKE-128f": 112, "SLH-DSA-SHAKE-192s": 104,
    "SLH-DSA-SHAKE-192f": 117, "SLH-DSA-SHAKE-256s": 105, "SLH-DSA-SHAKE-256f": 114,
    "ML-KEM-512": 296, "ML-KEM-768": 318, "ML-KEM-1024": 353,
}  # fmt: skip
"""Numbers of vectors, which the documentation adds up."""


@pytest.fixture(scope="module", params=QUICK)
def vectors(request) -> tuple[Vector, ...]:
    return generate(request.param)


def test_all_oracles_decide_as_expected_for_the_reason_of_the_family(vectors):
    name = vectors[0].algorithm
    wrong = [(v.ident, v.probe, r) for v, r in oracles.judge(vectors, name) if not r.agree(v)]
    assert wrong == []
    assert len(vectors) == COUNTS[name]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in QUICK])
def test_number_of_vectors(name):
    assert len(generate(name)) == COUNTS[name]


def test_every_family_has_vectors_and_every_rule_both_verdicts(vectors):
    counts = Counter((v.family, v.expected) for v in vectors)
    assert {v.family for v in vectors} == set(families(scheme(vectors[0].algorithm)))
    both = {
        "z-bound", "rounding", "hint-order", "hint-counters", "norm", "key", "context", "salt",
        "modulus", "key-hash", "length", "root", "index", "pre-hash",
    }  # fmt: skip
    for name in both & {v.family for v in vectors}:
        assert counts[name, "valid"], name
        assert counts[name, "invalid"], name


def test_files_have_the_committed_digests(vectors):
    committed = suite.digests()
    for name, text in formats.files(vectors):
        assert hashlib.sha256(text.encode()).hexdigest() == committed[name]
    assert len(committed) == 2 * len(ALGORITHMS)


def test_files_match_their_schemas(vectors):
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    kem = vectors[0].operation != "verify"
    chosen = [*{(vector.family, vector.expected): vector for vector in vectors}.values()]
    for content, schema in (
        (formats.wycheproof(chosen), "wycheproof_kem" if kem else "wycheproof_verify"),
        (formats.acvp(chosen), "acvp_encap_decap" if kem else "acvp_sigver"),
    ):
        path = DATA / f"{schema}.schema.json"
        problems = validator(json.loads(path.read_text())).iter_errors(content)
        assert [str(problem.message)[:200] for problem in problems] == []


def test_written_files_read_back(vectors, tmp_path):
    for kind in ("wycheproof", "acvp"):
        path = tmp_path / f"{kind}.json"
        path.write_text(formats.text(getattr(formats, kind)(vectors)))
        by_number = {v.number: v for v in reading.read(path)[0].vectors}
        for vector in vectors:
            # ACVP has no open results and no refused ciphertexts.
            no_ciphertext = "ciphertext" in vector.probe and vector.expected == "invalid"
            if kind == "acvp" and (vector.expected == "acceptable" or no_ciphertext):
                assert vector.number not in by_number
                continue
            read = replace(by_number[vector.number], key=vector.key, probe=vector.probe)
            if kind == "acvp" and vector.operation == "decapsulate":
                # A check of a decapsulation key in ACVP has no ciphertext.
                read = replace(read, ciphertext=vector.ciphertext)
            assert read == vector


def test_identifiers_are_consecutive(vectors):
    assert [v.number for v in vectors] == list(range(1, len(vectors) + 1))
    assert by_ident(vectors, f"{vectors[0].algorithm}:3") is vectors[2]
    with pytest.raises(UnknownName, match="unknown vector"):
        by_ident(vectors, f"{vectors[0].algorithm}:0")


def test_vector_with_a_wrong_verdict_or_failure_reason_is_rejected():
    good = generate("ML-DSA-44")[0]
    wrong = replace(good, expected={"valid": "invalid", "invalid": "valid"}[good.expected])
    with pytest.raises(DataError, match="oracles disagree on 1 vectors of ML-DSA-44"):
        oracles.decided([wrong], "ML-DSA-44")
    empty = next(v for v in generate("ML-DSA-44") if v.probe == "honest key, signature empty")
    ((_, verdicts),) = oracles.judge([replace(empty, family="z-bound")], "ML-DSA-44")
    assert verdicts.unexpected_failures == ("signature length",)
    assert not verdicts.agree(replace(empty, family="z-bound"))


def test_unknown_names_are_rejected():
    for call in (suite.vectors, lambda names: generate(*names)):
        with pytest.raises(UnknownName, match="Hawk-512"):
            call(["Hawk-512"])
    empty = dict.fromkeys(("public_key", "message", "signature"), b"")
    with pytest.raises(UsageError, match="expected must be one of"):
        Collector("ML-DSA-44").add("key", "?", "perhaps", key="", **empty)


MUTATED = (
    "ML-DSA-44", "Falcon-512", "Falcon-padded-512", "SLH-DSA-SHA2-128f",
    "ML-KEM-512", "ML-KEM-768", "ML-KEM-1024",
)  # fmt: skip
"""`pqchain conform mutants` runs all."""

MUTATED_LONG = tuple(
    pytest.param(name, marks=[pytest.mark.long, pytest.mark.xdist_group(name)])
    for name in ALGORITHMS
    if scheme(name) == "slh-dsa" and name not in MUTATED
)

PROBED_BY = {
    "z": {"z-bound"},
    "hints": {"hint-counters", "hint-order", "hint-padding"},
    "comparison": {"rejection"},
    "secret": {"message"},
    "digest": {"message"},
    "FORS": {"message", "index"},
    "chains": {"message", "index"},
    "paths": {"message"},
    "address": {"message"},
    "key": {"key", "z-bound"},
    "s2": {"coefficient", "minus-zero", "unused-bits", "truncated"},
    "padding": {"padding", "form"},
    "hash": {"hash-to-point", "salt", "message", "key-hash"},
}
"""The word that a mutant's name begins with, and the families that probe that rule; by default the
family of that name."""


@pytest.mark.parametrize("name", MUTATED + MUTATED_LONG)
def test_every_mutant_is_caught_by_the_families_of_its_rule(name):
    survivors = []
    for defect, mutant in mutants.mutants(name).items():
        rule = defect.partition(":")[0]
        families = PROBED_BY.get(rule, {rule})
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
    assert mutants.caught({"ours": open_cases}).empty
