"""Results of rules of a specification, and the base class of its models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """The result of one rule for one case."""

    name: str
    """A short name of the rule, such as "bound on z"."""
    rule: str
    """Source of the rule, such as "FIPS 204, algorithm 8, line 13"."""
    holds: bool
    detail: str
    open: bool = False
    """Whether the specification leaves the rule to the verifier."""


class ReferenceModel(ABC):
    """Model of a verifier, or of the receiver of a KEM, for one parameter set."""

    @abstractmethod
    def __init__(self, name: str) -> None: ...

    @abstractmethod
    def checks(self, *case: Any) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a failure that makes the others inapplicable.

        The arguments are `Vector.case`: of a verifier message, signature, public key and context.
        """

    def verify(self, *case: Any) -> bool:
        """Return whether every rule holds, including those left to the verifier."""
        return all(check.holds for check in self.checks(*case))


class SignatureModel(ReferenceModel):
    """Model of a verifier with keys and signatures of one length each, and with contexts."""

    parameters: Any
    """Parameter set with `name`, `public_key_bytes` and `signature_bytes`."""
    max_context_bytes = 255
    length_rules: tuple[str, str, str]
    """Sources of the rules on the lengths of key, signature and context."""

    def lengths(self, signature: bytes, public_key: bytes, context: bytes) -> list[RuleCheck]:
        """Return the results of the length rules."""
        p, (of_key, of_signature, of_context) = self.parameters, self.length_rules
        key, signed, length = len(public_key), len(signature), len(context)
        detail = f"{key} bytes; {p.name} has {p.public_key_bytes}"
        checks = [RuleCheck("public key length", of_key, self.key_fits(key), detail)]
        fits = self.signature_fits(signed)
        detail = f"{signed} bytes; {p.name} has {p.signature_bytes}"
        checks.append(RuleCheck("signature length", of_signature, fits, detail))
        detail = f"{length} bytes; at most {self.max_context_bytes}"
        return [*checks, RuleCheck("context length", of_context, self.context_fits(length), detail)]

    def key_fits(self, length: int) -> bool:
        """Return whether a public key may have this length in bytes."""
        return bool(length == self.parameters.public_key_bytes)

    def signature_fits(self, length: int) -> bool:
        """Return whether a signature may have this length in bytes."""
        return bool(length == self.parameters.signature_bytes)

    def context_fits(self, length: int) -> bool:
        """Return whether a context may have this length in bytes."""
        return length <= self.max_context_bytes


def expected(checks: Iterable[RuleCheck]) -> str:
    """Return "valid", "invalid", or "acceptable" if only rules left to the verifier fail."""
    failed = [check for check in checks if not check.holds]
    if not failed:
        return "valid"
    return "acceptable" if all(check.open for check in failed) else "invalid"
