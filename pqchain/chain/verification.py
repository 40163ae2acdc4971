"""Checking many signatures: grouped by algorithm, one batch for each, on several threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pqchain.chain.transaction import address_of
from pqchain.crypto import RecoverableSigner, Signer, open_signer
from pqchain.crypto.interface import in_parts
from pqchain.crypto.native import NativeSigner, Packed
from pqchain.errors import Unsupported, UsageError


@dataclass(frozen=True, slots=True)
class Check:
    """One signature to verify."""

    index: int
    """Of the transaction it belongs to."""
    algorithm: str
    message: bytes
    signature: bytes
    public_key: bytes | None
    """None: to be recovered from the signature."""
    sender: bytes = b""
    """Address that the recovered key must give, together with the other keys."""
    keys: tuple[tuple[int, bytes | None], ...] = ()
    """All keys of the sender, with None for the one to recover."""


@dataclass(slots=True, kw_only=True, eq=False)
class Verifier:
    """Opens each scheme once and verifies with it; threads may share it."""

    threads: int = 1
    implementations: Mapping[str, str | Signer] | None = None
    """Who computes, by algorithm: an implementation's name, or a scheme that is open already, such
    as one of your own; the default implementation where there is neither."""
    _signers: dict[str, Signer] = field(default_factory=dict, init=False, repr=False)

    def signer(self, algorithm: str) -> Signer:
        """Return the open scheme.

        Raises Unsupported if it cannot run here, UsageError if another scheme was given for it.
        """
        if algorithm not in self._signers:
            by = (self.implementations or {}).get(algorithm)
            opened = by if isinstance(by, Signer) else open_signer(algorithm, by)
            if opened.algorithm.name != algorithm:
                raise UsageError(f"a signer of {opened.algorithm.name} was given for {algorithm}")
            self._signers[algorithm] = opened
        return self._signers[algorithm]

    def wrong(self, checks: Sequence[Check], *, stop_at_first: bool = False) -> list[int]:
        """Return the indices of transactions with a wrong signature, in order, each once.

        With `stop_at_first` only the lowest is returned, sooner.
        """
        groups: dict[tuple[str, bool], list[Check]] = defaultdict(list)
        for check in checks:
            groups[check.algorithm, check.public_key is None].append(check)
        wrong: set[int] = set()
        for (algorithm, recover), group in groups.items():
            verify = self._recover_all if recover else self._verify_all
            bad = verify(self.signer(algorithm), group, stop_at_first)
            wrong.update(group[i].index for i in bad)
        return sorted(wrong)[:1] if stop_at_first else sorted(wrong)

    def wrong_packed(
        self, algorithm: str, packed: Packed, *, stop_at_first: bool = False
    ) -> list[int] | None:
        """Return which signatures are wrong of some that lie side by side.

        None if they are not for a native library, or none that it can take at once.
        """
        signer = self.signer(algorithm)
        if not isinstance(signer, NativeSigner):
            return None
        return signer.verify_packed(packed, threads=self.threads, stop_at_first=stop_at_first)

    def _verify_all(self, signer: Signer, group: Sequence[Check], stop_at_first: bool) -> list[int]:
        return signer.verify_batch(
            [check.message for check in group],
            [check.signature for check in group],
            [check.public_key or b"" for check in group],
            threads=self.threads,
            stop_at_first=stop_at_first,
        )

    def _recover_all(
        self, signer: Signer, group: Sequence[Check], stop_at_first: bool
    ) -> list[int]:
        if not isinstance(signer, RecoverableSigner):
            what = f"{signer.implementation} cannot recover keys of {signer.algorithm.name}"
            raise Unsupported(f"{what}; leave out the implementation")

        def wrong(check: Check) -> bool:
            recovered = signer.recover(check.message, check.signature)
            keys = [(identifier, key or recovered or b"") for identifier, key in check.keys]
            return recovered is None or address_of(keys) != check.sender

        return in_parts(group, wrong, threads=self.threads, stop_at_first=stop_at_first)
