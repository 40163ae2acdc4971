"""Vector files in the formats of Project Wycheproof and of NIST's ACVP server.

ACVP cannot express the result "acceptable", so ACVP files omit such vectors; the other vectors have
the same numbers in both files. `reading` reads both formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pqchain_conform.models.ml_kem import PARAMETER_SETS
from pqchain_conform.vector import (
    ALGORITHMS,
    DecapsulationVector,
    EncapsulationVector,
    Family,
    SignatureVector,
    Vector,
    families,
    scheme,
)

VERSION = "2"
"""Version of the vectors, incremented when the bytes of a file change."""

_OBJECT_IDENTIFIERS = {
    name: f"6086480165030403{number:02x}"
    for number, name in enumerate(
        (name for name in ALGORITHMS if name.startswith(("ML-DSA", "SLH-DSA"))), 17
    )
}
"""Object identifiers 2.16.840.1.101.3.4.3.17 to 31, DER-encoded."""


def stem(algorithm: str) -> str:
    """Return the name of an algorithm's files without extension, such as ml_dsa_44_verify."""
    suffix = "encap_decap" if scheme(algorithm) == "ml-kem" else "verify"
    return f"{algorithm.lower().replace('-', '_')}_{suffix}"


def wycheproof(vectors: Sequence[Vector]) -> dict[str, Any]:
    """Return the vectors, all of one algorithm, as a document in Project Wycheproof's format."""
    algorithm = vectors[0].algorithm
    known = families(scheme(algorithm))
    if scheme(algorithm) == "ml-kem":
        groups = list(_kem_groups(vectors, known))
    else:
        groups = list(_signature_groups(_signatures(vectors), known))
    purpose = "decapsulation" if scheme(algorithm) == "ml-kem" else "verification"
    used = {vector.family for vector in vectors}
    return {
        "algorithm": algorithm,
        "schema": _SCHEMAS[scheme(algorithm)],
        "numberOfTests": len(vectors),
        "header": [
            f"Boundary vectors for {purpose} with {algorithm}, made by pqchain.",
            'A result "acceptable" is left to the verifier by the specification.',
        ],
        "notes": {row.flag: _note(row) for name, row in known.items() if name in used},
        "testGroups": groups,
    }


# Project Wycheproof has no schema for Falcon and SLH-DSA, and one for each operation of ML-KEM.
_SCHEMAS = {
    "ml-dsa": "mldsa_verify_schema.json",
    "falcon": "falcon_verify_schema.json",
    "slh-dsa": "slhdsa_verify_schema.json",
    "ml-kem": "mlkem_schema.json",
}

_TYPES = {
    "ml-dsa": "MlDsaVerify", "falcon": "FalconVerify", "slh-dsa": "SlhDsaVerify",
    "encapsulate": "MLKEMEncapsTest", "decapsulate": "MLKEMDecapsValidationTest",
}  # fmt: skip
_SOURCE = {"name": "pqchain/conform", "version": VERSION}

# Algorithm and revision in ACVP's files, which have no Falcon.
_ACVP_NAMES = {
    "ml-dsa": ("ML-DSA", "FIPS204"),
    "falcon": ("Falcon", "1.2"),
    "slh-dsa": ("SLH-DSA", "FIPS205"),
    "ml-kem": ("ML-KEM", "FIPS203"),
}


def _signatures(vectors: Iterable[Vector]) -> list[SignatureVector]:
    return [vector for vector in vectors if isinstance(vector, SignatureVector)]


def _signature_groups(
    vectors: Sequence[SignatureVector], known: Mapping[str, Family]
) -> Iterator[dict[str, Any]]:
    algorithm = vectors[0].algorithm
    # Vectors of one key follow each other: see `Collector.vectors`.
    for (public_key, key), members in groupby(
        vectors, key=lambda vector: (vector.public_key, vector.key)
    ):
        kind = _TYPES[scheme(algorithm)]
        group: dict[str, Any] = {"type": kind, "publicKey": public_key.hex()}
        if algorithm in _OBJECT_IDENTIFIERS:
            group["publicKeyDer"] = _public_key_info(algorithm, public_key).hex()
        group["source"] = _SOURCE
        group["tests"] = [_wycheproof_test(vector, known, key) for vector in members]
        yield group


def _kem_groups(vectors: Sequence[Vector], known: Mapping[str, Family]) -> Iterator[dict[str, Any]]:
    for operation, members in groupby(vectors, key=lambda vector: vector.operation):
        yield {
            "type": _TYPES[operation],
            "source": _SOURCE,
            "parameterSet": vectors[0].algorithm,
            "tests": [_kem_test(vector, known) for vector in members],
        }


def _kem_test(vector: Vector, known: Mapping[str, Family]) -> dict[str, Any]:
    test: dict[str, Any] = {"tcId": vector.number, "comment": f"{vector.probe} ({vector.key} key)"}
    if isinstance(vector, EncapsulationVector):
        test["ek"] = vector.encapsulation_key.hex()
    if isinstance(vector, DecapsulationVector):
        test |= {"dk": vector.decapsulation_key.hex(), "c": vector.ciphertext.hex()}
        if vector.shared_secret:
            test["K"] = vector.shared_secret.hex()
    return test | {"result": vector.expected, "flags": [known[vector.family].flag]}


def _note(family: Family) -> dict[str, Any]:
    return {
        "bugType": family.bug,
        "description": f"{family.probes[0].upper()}{family.probes[1:]}.",
        "links": [family.rule],
    }


def _wycheproof_test(
    vector: SignatureVector, known: Mapping[str, Family], key: str
) -> dict[str, Any]:
    flags = [known[vector.family].flag]
    test: dict[str, Any] = {
        "tcId": vector.number,
        "comment": vector.probe if key in vector.probe else f"{vector.probe} ({key})",
        "msg": vector.message.hex(),
    }
    if vector.context:
        test["ctx"] = vector.context.hex()
    return test | {"sig": vector.signature.hex(), "result": vector.expected, "flags": flags}


def _public_key_info(algorithm: str, public_key: bytes) -> bytes:
    identifier = _der(0x30, _der(0x06, bytes.fromhex(_OBJECT_IDENTIFIERS[algorithm])))
    return _der(0x30, identifier + _der(0x03, b"\0" + public_key))


def _der(tag: int, content: bytes) -> bytes:
    count = len(content)
    # DER encodes a length of up to 127 in one byte; a longer one follows the number of its bytes.
    if count < 128:
        return bytes([tag, count]) + content
    length = count.to_bytes((count.bit_length() + 7) // 8, "big")
    return bytes([tag, 128 + len(length)]) + length + content


def acvp(vectors: Sequence[Vector]) -> dict[str, Any]:
    """Return the vectors as a document in ACVP's format of their mode, with results."""
    algorithm = vectors[0].algorithm
    name, revision = _ACVP_NAMES[scheme(algorithm)]
    is_kem = name == "ML-KEM"
    return {
        "vsId": 0,
        "algorithm": name,
        "mode": "encapDecap" if is_kem else "sigVer",
        "revision": revision,
        "isSample": False,
        "testGroups": _kem_functions(vectors) if is_kem else [_acvp_signatures(name, vectors)],
    }


def _acvp_signatures(name: str, vectors: Sequence[Vector]) -> dict[str, Any]:
    algorithm = vectors[0].algorithm
    group: dict[str, Any] = {"tgId": 1, "testType": "AFT", "parameterSet": algorithm}
    # The standards have several interfaces, of which the vectors probe one.
    if name != "Falcon":
        group |= {"signatureInterface": "external", "preHash": "pure"}
    if name == "ML-DSA":
        group |= {"externalMu": False}
    tests = [test for test in _signatures(vectors) if test.expected != "acceptable"]
    return group | {"tests": list(map(_acvp_test, tests))}


def _acvp_test(vector: SignatureVector) -> dict[str, Any]:
    return {
        "tcId": vector.number,
        "testPassed": vector.expected == "valid",
        "deferred": False,
        "pk": vector.public_key.hex().upper(),
        "message": vector.message.hex().upper(),
        "context": vector.context.hex().upper(),
        "hashAlg": "none",
        "signature": vector.signature.hex().upper(),
        "reason": f"{vector.family}: {vector.probe}",
    }


def _kem_functions(vectors: Sequence[Vector]) -> list[dict[str, Any]]:
    """Return a group for decapsulation and one for the check of each key, if they have tests."""
    # ACVP cannot express a ciphertext of a wrong length.
    p = PARAMETER_SETS[vectors[0].algorithm]
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
    common = {"testType": "VAL", "parameterSet": p.name}
    return [
        {"tgId": number, **common, "function": function, "tests": members}
        for number, (function, members) in enumerate(tests.items(), 1)
        if members
    ]


def text(content: Mapping[str, Any]) -> str:
    """Return the document as JSON text; equal documents give equal text."""
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def files(vectors: Iterable[Vector]) -> Iterator[tuple[str, str]]:
    """Yield (relative path, text) of the Wycheproof and the ACVP file of every algorithm."""
    for algorithm, members in groupby(vectors, key=lambda vector: vector.algorithm):
        group = list(members)
        yield f"wycheproof/{stem(algorithm)}.json", text(wycheproof(group))
        yield f"acvp/{stem(algorithm)}.json", text(acvp(group))
