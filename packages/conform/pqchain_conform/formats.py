"""Vector files in the formats of Project Wycheproof and of NIST's ACVP server.

ACVP cannot express the result "acceptable", so ACVP files omit such vectors; the other vectors have
the same numbers in both files. `reading` reads both formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pqchain_conform import kem_formats
from pqchain_conform.models.slh_dsa import pre_hash_name
from pqchain_conform.vector import ALGORITHMS, Family, SignatureVector, Vector, families, scheme

VERSION = "1"
"""Version of the vectors, incremented when the bytes of a file change."""

# Object identifiers 2.16.840.1.101.3.4.3.17 to 31, and those of HashSLH-DSA, DER-encoded.
_PURE = [name for name in ALGORITHMS if name.startswith(("ML-DSA", "SLH-DSA"))]
_PRE_HASHED = [f"Hash{name}" for name in _PURE if name.startswith("SLH-DSA")]
_OBJECT_IDENTIFIERS = {
    name: f"6086480165030403{number:02x}"
    for names, first in ((_PURE, 17), (_PRE_HASHED, 35))
    for number, name in enumerate(names, first)
}


def stem(algorithm: str) -> str:
    """Return the name of an algorithm's files without extension, such as ml_dsa_44_verify."""
    suffix = "encap_decap" if scheme(algorithm) == "ml-kem" else "verify"
    return f"{algorithm.lower().replace('-', '_')}_{suffix}"


def wycheproof(vectors: Sequence[Vector]) -> dict[str, Any]:
    """Return the vectors, all of one algorithm, as a document in Project Wycheproof's format."""
    algorithm = vectors[0].algorithm
    known = families(scheme(algorithm))
    if scheme(algorithm) == "ml-kem":
        groups = list(kem_formats.wycheproof_groups(vectors, known, VERSION))
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

_SIGNATURE_TYPES = {"ml-dsa": "MlDsaVerify", "falcon": "FalconVerify", "slh-dsa": "SlhDsaVerify"}

# Algorithm and revision in ACVP's files, which have no Falcon.
_ACVP_NAMES = {
    "ml-dsa": ("ML-DSA", "FIPS204"),
    "falcon": ("Falcon", "1.2"),
    "slh-dsa": ("SLH-DSA", "FIPS205"),
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
        kind = _SIGNATURE_TYPES[scheme(algorithm)]
        group: dict[str, Any] = {"type": kind, "publicKey": public_key.hex()}
        if algorithm in _OBJECT_IDENTIFIERS:
            group["publicKeyDer"] = _public_key_info(algorithm, public_key).hex()
        group["source"] = {"name": "pqchain/conform", "version": VERSION}
        group["tests"] = [_wycheproof_test(vector, known, key) for vector in members]
        yield group


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
    if scheme(algorithm) == "ml-kem":
        return kem_formats.acvp(vectors)
    name, revision = _ACVP_NAMES[scheme(algorithm)]
    hashed = pre_hash_name(algorithm)
    parameter_set = algorithm.removeprefix("Hash")
    group: dict[str, Any] = {"tgId": 1, "testType": "AFT", "parameterSet": parameter_set}
    # The standards have several interfaces, of which the vectors probe one.
    if name != "Falcon":
        interface = "preHash" if hashed else "pure"
        group |= {"signatureInterface": "external", "preHash": interface}
    if name == "ML-DSA":
        group |= {"externalMu": False}
    group["tests"] = [
        _acvp_test(test) for test in _signatures(vectors) if test.expected != "acceptable"
    ]
    return {
        "vsId": 0,
        "algorithm": name,
        "mode": "sigVer",
        "revision": revision,
        "isSample": False,
        "testGroups": [group],
    }


def _acvp_test(vector: SignatureVector) -> dict[str, Any]:
    return {
        "tcId": vector.number,
        "testPassed": vector.expected == "valid",
        "deferred": False,
        "pk": vector.public_key.hex().upper(),
        "message": vector.message.hex().upper(),
        "context": vector.context.hex().upper(),
        "hashAlg": pre_hash_name(vector.algorithm) or "none",
        "signature": vector.signature.hex().upper(),
        "reason": f"{vector.family}: {vector.probe}",
    }


def text(content: Mapping[str, Any]) -> str:
    """Return the document as JSON text; equal documents give equal text."""
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def files(vectors: Iterable[Vector]) -> Iterator[tuple[str, str]]:
    """Yield (relative path, text) of the Wycheproof and the ACVP file of every algorithm."""
    for algorithm, members in groupby(vectors, key=lambda vector: vector.algorithm):
        group = list(members)
        yield f"wycheproof/{stem(algorithm)}.json", text(wycheproof(group))
        yield f"acvp/{stem(algorithm)}.json", text(acvp(group))
