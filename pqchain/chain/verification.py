"""Verification of many signatures: one batch per algorithm, on several threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pqchain.chain.transaction import address_of
from pqchain.crypto import RecoverableSigner, Signer, open_signer
from pqchain.crypto.abi import Packed
from pqchain.crypto.interface import in_parts
from pqchain.crypto.native import NativeSigner
from pqchain.errors import Unsupported, UsageError


@dataclass(frozen=True, slots=True)
class Check:
    """One signature to verify."""

    index: int
    """Index of its transaction in the block."""
    algorithm: str
    message: bytes
    signature: bytes
    public_key: bytes | None
    """None if the key is to be recovered from the signature."""
    sender: bytes = b""
    """Expected address of the recovered key together with the other keys."""
    keys: tuple[tuple[int, bytes | None], ...] = ()
    """(algorithm identifier, public key) of the sender's keys; None for the key to recover."""


@dataclass(slots=True, kw_only=True, eq=False)
class Verifier:
    """Signature verifier that opens each scheme once."""

    threads: int = 1
    implementations: Mapping[str, str | Signer] | None = None
    """Implementation of each algorithm: its name, or an open scheme. Algorithms that are not listed
    use the default implementation."""
    _signers: dict[str, Signer] = field(default_factory=dict, init=False, repr=False)

    def signer(self, algorithm: str) -> Signer:
        """Return the open scheme. Raises Unsupported, and UsageError for another algorithm."""
        if algorithm not in self._signers:
            signer = (self.implementations or {}).get(algorithm)
            if not isinstance(signer, Signer):
                signer = open_signer(algorithm, signer)
            if signer.algorithm.name != algorithm:
                raise UsageError(
                    f"the signer of {algorithm} must implement it; got {signer.algorithm.name}"
                )
            self._signers[algorithm] = signer
        return self._signers[algorithm]

    def wrong(self, checks: Sequence[Check]) -> int | None:
        """Return the lowest index of the transactions with a wrong signature, or None.

        Verification ends at the first wrong signature of each scheme.
        """
        # One batch per algorithm: a native library verifies a batch in a single call.
        groups: dict[tuple[str, bool], list[Check]] = defaultdict(list)
        for check in checks:
            groups[check.algorithm, check.public_key is None].append(check)
        wrong = []
        for (algorithm, recover), group in groups.items():
            verify = self._recover_all if recover else self._verify_all
            wrong += [group[index].index for index in verify(self.signer(algorithm), group)]
        return min(wrong, default=None)

    def wrong_packed(self, algorithm: str, packed: Packed) -> list[int] | None:
        """Return the lowest index of the wrong signatures in a packed batch, or [] for none.

        Returns None if the scheme is not in a native library, or if the length of a key or
        signature in the batch is invalid for the scheme.
        """
        signer = self.signer(algorithm)
        if not isinstance(signer, NativeSigner):
            return None
        return signer.verify_packed(packed, threads=self.threads, stop_at_first=True)

    def _verify_all(self, signer: Signer, group: Sequence[Check]) -> list[int]:
        return signer.verify_batch(
            [check.message for check in group],
            [check.signature for check in group],
            [check.public_key or b"" for check in group],
            threads=self.threads,
            stop_at_first=True,
        )

    def _recover_all(self, signer: Signer, group: Sequence[Check]) -> list[int]:
        if not isinstance(signer, RecoverableSigner):
            raise Unsupported(
                f"{signer.implementation} cannot recover keys of {signer.algorithm.name}; use the "
                "default implementation"
            )

        def wrong(check: Check) -> bool:
            # Almost every signature recovers some key; only the address shows whether it is the
            # sender's.
            recovered = signer.recover(check.message, check.signature)
            keys = [(identifier, key or recovered or b"") for identifier, key in check.keys]
            return recovered is None or address_of(keys) != check.sender

        return in_parts(group, wrong, threads=self.threads, stop_at_first=True)
