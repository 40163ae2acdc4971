"""Vector files of KEMs in the formats of Project Wycheproof and of NIST's ACVP server.

ACVP has a group for each function: decapsulation and the checks of both keys. It cannot express the
result "acceptable", nor a ciphertext of a wrong length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pqchain_conform.models import ml_kem
from pqchain_conform.vector import DecapsulationVector, EncapsulationVector, Family, Vector

_WYCHEPROOF_TYPES = {
    "encapsulate": "MLKEMEncapsTest",
    "decapsulate": "MLKEMDecapsValidationTest",
}


def wycheproof_groups(
    vectors: Sequence[Vector], known: Mapping[str, Family], version: str
) -> Iterator[dict[str, Any]]:
    """Yield the test groups of a document in Project Wycheproof's format, one per operation."""
    for operation, members in groupby(vectors, key=lambda vector: vector.operation):
        yield {
            "type": _WYCHEPROOF_TYPES[operation],
            "source": {"name": "pqchain/conform", "version": version},
            "parameterSet": vectors[0].algorithm,
            "tests": [_wycheproof_test(vector, known) for vector in members],
        }


def _wycheproof_test(vector: Vector, known: Mapping[str, Family]) -> dict[str, Any]:
    test: dict[str, Any] = {"tcId": vector.number, "comment": f"{vector.probe} ({vector.key} key)"}
    if isinstance(vector, EncapsulationVector):
        test["ek"] = vector.encapsulation_key.hex()
    if isinstance(vector, DecapsulationVector):
        test |= {"dk": vector.decapsulation_key.hex(), "c": vector.ciphertext.hex()}
        if vector.shared_secret:
            test["K"] = vector.shared_secret.hex()
    return test | {"result": vector.expected, "flags": [known[vector.family].flag]}


def acvp(vectors: Sequence[Vector]) -> dict[str, Any]:
    """Return the vectors as a document in ACVP's encapDecap format, with results."""
    p = ml_kem.PARAMETER_SETS[vectors[0].algorithm]
    tests: dict[str, list[dict[str, Any]]] = {
        "decapsulation": [], "encapsulationKeyCheck": [], "decapsulationKeyCheck": []
    }  # fmt: skip
    for vector in vectors:
        test = {"tcId": vector.number, "reason": f"{vector.family}: {vector.probe}"}
        if vector.expected == "acceptable":
            continue
        if isinstance(vector, EncapsulationVector):
            test |= {"testPassed": vector.expected == "valid"}
            test |= {"ek": vector.encapsulation_key.hex().upper()}
            tests["encapsulationKeyCheck"].append(test)
        elif isinstance(vector, DecapsulationVector) and vector.expected == "valid":
            test |= {"dk": vector.decapsulation_key.hex().upper()}
            test |= {"c": vector.ciphertext.hex().upper(), "k": vector.shared_secret.hex().upper()}
            tests["decapsulation"].append(test)
        elif (
            isinstance(vector, DecapsulationVector) and len(vector.ciphertext) == p.ciphertext_bytes
        ):
            test |= {"testPassed": False, "dk": vector.decapsulation_key.hex().upper()}
            tests["decapsulationKeyCheck"].append(test)
    groups = [
        {
            "tgId": number, "testType": "VAL", "parameterSet": p.name, "function": function,
            "tests": members,
        }
        for number, (function, members) in enumerate(tests.items(), 1)
        if members
    ]  # fmt: skip
    return {
        "vsId": 0,
        "algorithm": "ML-KEM",
        "mode": "encapDecap",
        "revision": "FIPS203",
        "isSample": False,
        "testGroups": groups,
    }
