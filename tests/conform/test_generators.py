"""Vectors: all oracles agree for the reason of the family, and bytes are reproducible."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from pqchain import installation
from pqchain.conform import formats, oracles, suite
from pqchain.conform.generators import generate
from pqchain.conform.vector import ALGORITHMS, Collector, Vector, by_ident, families, scheme
from pqchain.errors import DataError, UnknownName, UsageError

pytestmark = pytest.mark.native

QUICK = ("ML-DSA-44", "Falcon-512", "Falcon-padded-512")
"""Made in some seconds; `make conform` makes all."""

LEAST = {"ml-dsa": 500, "falcon": 265}


@pytest.fixture(scope="module", params=QUICK)
def made(request) -> tuple[Vector, ...]:
    return generate(request.param)


def test_all_oracles_decide_as_expected_for_the_reason_of_the_family(made):
    name = made[0].algorithm
    wrong = [(v.ident, v.probe, r) for v, r in oracles.judge(made, name) if not r.agree(v)]
    assert wrong == []
    assert len(made) >= LEAST[scheme(name)]


def test_every_family_has_vectors_and_every_rule_both_verdicts(made):
    found = Counter((v.family, v.expected) for v in made)
    assert {v.family for v in made} == set(families(scheme(made[0].algorithm)))
    both = {"z-bound", "rounding", "hint-order", "hint-counters", "norm", "key", "context", "salt"}
    for name in both & {v.family for v in made}:
        assert found[name, "valid"], name
        assert found[name, "invalid"], name


def test_files_have_the_committed_digests(made):
    import hashlib

    committed = suite.digests()
    for name, text in formats.files(made):
        assert hashlib.sha256(text.encode()).hexdigest() == committed[name]
    assert len(committed) == 2 * len(ALGORITHMS)


def test_files_match_their_schemas(made):
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    for content, schema in (
        (formats.wycheproof(made[::8]), "wycheproof_verify"),
        (formats.acvp(made[::8]), "acvp_sigver"),
    ):
        path = installation.data("conform") / f"{schema}.schema.json"
        problems = validator(json.loads(path.read_text())).iter_errors(content)
        assert [str(each.message)[:200] for each in problems] == []


def test_written_files_read_back(made, tmp_path):
    for kind in ("wycheproof", "acvp"):
        path = tmp_path / f"{kind}.json"
        path.write_text(formats.text(getattr(formats, kind)(made)))
        found = {v.number: v for v in formats.read(path)}
        for each in made:
            if kind == "acvp" and each.expected == "acceptable":
                assert each.number not in found
                continue
            read = found[each.number]
            assert replace(read, key=each.key, probe=each.probe) == each


def test_identifiers_are_consecutive(made):
    assert [v.number for v in made] == list(range(1, len(made) + 1))
    assert by_ident(made, f"{made[0].algorithm}:3") is made[2]
    with pytest.raises(UnknownName, match="unknown vector"):
        by_ident(made, f"{made[0].algorithm}:0")


def test_vector_with_differing_oracles_is_rejected():
    good = generate("ML-DSA-44")[0]
    wrong = replace(good, expected={"valid": "invalid", "invalid": "valid"}[good.expected])
    with pytest.raises(DataError, match="oracles disagree on 1 vectors of ML-DSA-44"):
        oracles.decided([wrong], "ML-DSA-44")


def test_vector_with_a_wrong_failure_reason_is_rejected():
    given = {each.probe: each for each in generate("ML-DSA-44")}
    two_reasons = given["honest key, signature empty"]
    strayed = replace(two_reasons, family="z-bound")
    ((_, verdicts),) = oracles.judge([strayed], "ML-DSA-44")
    assert verdicts.unexpected_failures == ("signature length",)
    assert not verdicts.agree(strayed)


def test_unknown_names_are_rejected():
    with pytest.raises(UnknownName, match="Hawk-512"):
        suite.vectors(["Hawk-512"])
    with pytest.raises(UnknownName):
        generate("Hawk-512")
    with pytest.raises(UsageError, match="expected must be one of"):
        Collector("ML-DSA-44").add(
            "key", "?", "perhaps", key="", public_key=b"", message=b"", signature=b""
        )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mode": "keyGen"}', '{"algorithm": "RSA"}'])
def test_invalid_files_are_rejected(tmp_path, text):
    path = tmp_path / "vectors.json"
    path.write_text(text)
    with pytest.raises(DataError, match="is not a file of verification vectors"):
        formats.read(path)
    with pytest.raises(DataError, match="cannot read"):
        formats.read(tmp_path / "none.json")
