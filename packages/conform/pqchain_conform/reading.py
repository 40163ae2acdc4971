"""Vector files of other projects: Project Wycheproof, NIST's ACVP server, NIST's response files.

The reader of each format yields vectors, and the reason for each test that no verifier is asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pqchain import algorithms as registry
from pqchain.errors import DataError, UnknownName, UsageError
from pqchain.installation import MAX_JSON_BYTES, read_bytes
from pqchain_conform.models import ml_dsa_signer, ml_kem
from pqchain_conform.vector import (
    ALGORITHMS,
    DecapsulationVector,
    EncapsulationVector,
    SignatureVector,
    Vector,
    families,
    scheme,
)

_Tests = Iterator[Vector | str]
"""Vectors, and the reasons of tests that are skipped."""

READABLE = (*ALGORITHMS, "Dilithium2", "Dilithium3", "Dilithium5")
"""Algorithms whose vectors can be read; Dilithium has no boundary vectors."""

# Fields of a vector of ACVP's files, and the one with the result, by mode or function. A generated
# key or an encapsulation becomes a check of the key, because adapters cannot choose the randomness,
# and a generated signature its verification.
_SIGNED = ("pk", "message", "context", "signature")
_OPERATIONS = {
    "sigVer": (_SIGNED, "testPassed"),
    "sigGen": (_SIGNED, "signature"),
    "keyGen": (("ek",), "ek"),
    "encapsulation": (("ek",), "ek"),
    "decapsulation": (("dk", "c", "k"), "k"),
    "encapsulationKeyCheck": (("ek",), "testPassed"),
    "decapsulationKeyCheck": (("dk", "c", "k"), "testPassed"),
}

# Errors from a file of another structure, in which any field may be missing or of another type.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, UsageError)


class VectorFile(NamedTuple):
    """A file with its vectors, and the numbers of its skipped tests by reason."""

    path: str
    format: str
    vectors: tuple[Vector, ...]
    skipped: Counter[str]

    def __str__(self) -> str:
        """Return what the file is, and how many of its tests were skipped for which reasons."""
        counts = Counter(vector.algorithm for vector in self.vectors), self.skipped
        read, skipped = (", ".join(f"{n} {name}" for name, n in each.items()) for each in counts)
        return f"{self.path}: {self.format}; vectors: {read or 0}; skipped: {skipped or 0}"


def alternatives(algorithm: str) -> list[str]:
    """Return the other algorithms with keys and signatures of the same lengths."""
    row = registry.get(algorithm)
    names = _fitting(row.public_key_bytes, row.signature_bytes or row.ciphertext_bytes)
    return [name for name in names if name != row.name]


def _fitting(public_key_bytes: int, result_bytes: int) -> list[str]:
    """Return the algorithms with these lengths of a public key and a signature or ciphertext."""
    return [
        row.name for row in map(registry.get, registry.ALGORITHMS)
        if row.name in READABLE and row.public_key_bytes == public_key_bytes
        and (row.signature_varies or result_bytes in (row.signature_bytes, row.ciphertext_bytes))
    ]  # fmt: skip


def read(*paths: Path, algorithms: Sequence[str] = ()) -> list[VectorFile]:
    """Return the vectors of files in any of the formats, only of `algorithms` if these are given.

    A response file is of the one of `algorithms` that has its lengths, whatever its header says.
    ACVP's expectedResults.json belongs to the prompt.json of its folder. Raises DataError for a
    file that cannot be read or parsed, and if all tests are skipped.
    """
    documents: dict[Path, Any] = {}
    results: dict[object, Any] = {}
    for path in paths:
        with _parsing(path):
            document = documents[path] = _document(path)
            for group in document["testGroups"] if "mode" in document else ():
                if "parameterSet" not in group:
                    tests = {test["tcId"]: test for test in group["tests"]}
                    results.setdefault(_vector_set(path, document), {}).update(tests)
    files = []
    for path, document in documents.items():
        with _parsing(path):
            if isinstance(document, list):
                form, items = "response file of NIST", _from_response(document, algorithms)
            elif "mode" in document:
                form = f"ACVP {document['mode']}"
                if document["algorithm"] != "ML-KEM":
                    form += ", external interface"
                items = _from_acvp(document, results.get(_vector_set(path, document), {}))
            else:
                form, items = "Project Wycheproof", _from_wycheproof(document)
            vectors, skipped = [], Counter[str]()
            for item in items:
                if isinstance(item, str):
                    skipped[f"({item})"] += 1
                elif algorithms and item.algorithm not in algorithms:
                    skipped["(other algorithms)"] += 1
                else:
                    vectors.append(item)
            if vectors or skipped:
                files.append(VectorFile(str(path), form, tuple(vectors), skipped))
    if not any(file.vectors for file in files):
        reasons = "; ".join(map(str, files)) or "results without prompts"
        raise DataError(f"no vector can be used of {reasons}. Give other files or --algorithm.")
    return files


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    """Raise DataError with words of the format for a file that cannot be read or used."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}. Give a vector file.") from error
    except _UNREADABLE as error:
        reason = (
            str(error) if isinstance(error, UsageError) else "a field has another type or value"
        )
        if isinstance(error, json.JSONDecodeError):
            reason = f"line {error.lineno} is not JSON"
        elif isinstance(error, KeyError):
            reason = f"{error.args[0]!s:.80} is missing or unknown"
        raise DataError(
            f"{path} is not a file of vectors that can be used: {reason}. Give JSON of Project "
            "Wycheproof or of ACVP (prompt.json with expectedResults.json), or a response file "
            "(.rsp) of NIST."
        ) from error


def _document(path: Path) -> Any:
    """Return JSON of ACVP or Project Wycheproof as a mapping, a response file as a list of rows."""
    text = read_bytes(path, MAX_JSON_BYTES).decode("utf-8-sig", errors="replace")
    rows: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        key, equals, value = (part.strip() for part in line.partition("="))
        if key == "count":
            rows.append({})
        if equals:
            rows[-1][key] = value
        elif key.startswith("#"):
            rows[0].setdefault("header", key.strip("# "))
    if len(rows) > 1:
        return rows
    document = json.loads(text)
    # Files of ACVP's protocol are a pair of its version and the document.
    document = document[-1] if isinstance(document, list) else document
    return {"testGroups": document["testGroups"], **document}


def _vector_set(path: Path, document: Mapping[str, Any]) -> object:
    return path.parent, document.get("vsId"), document["algorithm"], document["mode"]


def _vector(*digits: str, **common: Any) -> Vector:
    """Return a signature, an encapsulation or a decapsulation of hexadecimal digits."""
    kinds = {4: SignatureVector, 1: EncapsulationVector, 3: DecapsulationVector}
    kind: Any = kinds[len(digits)]
    fields = zip((*kind.byte_fields, "shared_secret"), map(bytes.fromhex, digits), strict=False)
    made: Vector = kind(key="", **common, **dict(fields))
    return made


def _from_wycheproof(document: Mapping[str, Any]) -> _Tests:
    for group in document["testGroups"]:
        algorithm = group.get("parameterSet", document["algorithm"])
        names = {family.flag: name for name, family in families(scheme(algorithm)).items()}
        for test in group["tests"]:
            # A flag that pqchain does not define becomes the name of the family.
            flag = test["flags"][0] if test["flags"] else ""
            if "Sign" in group.get("type", ""):
                yield "signing"
                continue
            if scheme(algorithm) != "ml-kem":
                digits = [group["publicKey"], test["msg"], test.get("ctx", ""), test["sig"]]
            elif "c" in test:
                seed = bytes.fromhex(test.get("seed", "00" * 64))
                if len(seed) != 64:
                    yield "a seed of another length has no key"
                    continue
                p = ml_kem.PARAMETER_SETS[algorithm]
                if (key := test.get("dk")) is None:
                    key = ml_kem.generate(p, seed[:32], seed[32:])[1].hex()
                secret = test.get("K", "") if test["result"] != "invalid" else ""
                digits = [key, test["c"], secret]
            else:
                digits = [test["ek"]]
            yield _vector(
                *digits, algorithm=algorithm, family=names.get(flag, flag), probe=test["comment"],
                expected=test["result"], number=test["tcId"],
            )  # fmt: skip


def _from_acvp(document: Mapping[str, Any], results: Mapping[int, Mapping[str, Any]]) -> _Tests:
    for group in document["testGroups"]:
        for test in group["tests"] if "parameterSet" in group else ():
            # The first files have the keys in the group.
            row = {"context": "", **group, **test, **results.get(test["tcId"], {})}
            yield _acvp_test(row.get("function", document["mode"]), row)


def _acvp_test(operation: str, row: dict[str, Any]) -> Vector | str:
    """Return the vector of a test, or why there is none."""
    algorithm, (names, result) = row["parameterSet"], _OPERATIONS[operation]
    if operation == "decapsulationKeyCheck":
        # A decapsulation of zeros, with any secret.
        row["c"], row["k"] = "00" * ml_kem.PARAMETER_SETS[algorithm].ciphertext_bytes, ""
    elif scheme(algorithm) == "ml-kem":
        pass
    elif operation == "keyGen":
        return "key generation"
    elif row.get("externalMu"):
        return "external mu"
    # The first files, of August 2024, name no interface; their signatures are of the internal one.
    elif scheme(algorithm) != "falcon" and row.get("signatureInterface") != "external":
        return "internal interface"
    elif row.get("preHash", "pure") != "pure":
        return "pre-hash"
    if result not in row:
        return "no expected result; give expectedResults.json, too"
    if operation == "sigGen" and "pk" not in row:
        row["pk"] = row["sk"][len(row["sk"]) // 2 :]  # FIPS 205, section 9.1
        if scheme(algorithm) == "ml-dsa":
            row["pk"] = ml_dsa_signer.public_key(algorithm, bytes.fromhex(row["sk"])).hex()
    # pqchain writes "family: probe"; the reasons of other sources become the family.
    family, _, probe = row.get("reason", operation).partition(": ")
    return _vector(
        *(row[name] for name in names), algorithm=algorithm, family=family,
        probe=probe or family, number=row["tcId"],
        expected="valid" if row.get("testPassed", True) else "invalid",
    )  # fmt: skip


def _from_response(rows: list[dict[str, str]], algorithms: Sequence[str]) -> _Tests:
    algorithm = ""
    for row in rows[1:]:
        if not (result := row.get("sm") or row.get("ct")):
            yield "no result"
            continue
        if "sm" in row:
            result = _signature(bytes.fromhex(result), bytes.fromhex(row["msg"])).hex()
            digits = [row["pk"], row["msg"], row.get("ctx", ""), result]
        else:
            digits = [row["sk"], result, row["ss"]]
        algorithm = algorithm or _named(rows[0].get("header", ""), algorithms, row["pk"], result)
        yield _vector(
            *digits, algorithm=algorithm, family="known answer", probe=f"count = {row['count']}",
            expected="valid", number=int(row["count"]),
        )  # fmt: skip


def _signature(signed: bytes, message: bytes) -> bytes:
    """Return the signature of a signed message: before it, or of Falcon around it.

    Falcon's is its length (2 bytes), the nonce, the message, and the rest, whose header is 0x20
    plus log2(n) instead of 0x30. Raises UsageError if the signed message is neither.
    """
    end = 42 + len(message)
    rest = signed[end:]
    if rest and signed[42:end] == message and int.from_bytes(signed[:2], "big") == len(rest):
        return bytes([rest[0] | 0x10]) + signed[2:42] + rest[1:]
    if not signed.endswith(message):
        raise UsageError("sm must be a signature and msg")
    return signed[: len(signed) - len(message)]


def _named(header: str, algorithms: Sequence[str], public_key: str, result: str) -> str:
    """Return the one of `algorithms`, or of the header, that has these lengths."""
    fitting = _fitting(len(public_key) // 2, len(result) // 2)
    with suppress(UnknownName):
        algorithms = algorithms or [registry.get(header).name]
    chosen = [name for name in algorithms if name in fitting]
    if len(chosen) != 1:
        raise UsageError(
            f"its header is {header!r:.80}, and its lengths are those of "
            f"{', '.join(fitting) or 'no algorithm with vectors'}; give one by --algorithm"
        )
    return chosen[0]
