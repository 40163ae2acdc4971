"""Verifiers of other projects as clients of `pqchain.bench.gas`, which times and prices them."""

from __future__ import annotations

from collections.abc import Iterable

from pqchain.bench import gas_units
from pqchain.bench.verification import Case
from pqchain.errors import CryptoFailure, Unsupported
from pqchain_conform import registry
from pqchain_conform.protocol import Adapter
from pqchain_conform.registry import VerifierSpec
from pqchain_conform.vector import ALGORITHMS


class TimedClient:
    """A verifier that `pqchain.bench.gas` times, an implementation of its protocol Client.

    With `only_anchors` it is asked only for verifications that chains price today.
    """

    def __init__(self, verifier: VerifierSpec, *, only_anchors: bool = False) -> None:
        self.name, self.version, self.jit = verifier.name, verifier.version, verifier.jit
        self._verifier = verifier
        self._algorithms = set(verifier.anchors)
        if not only_anchors:
            self._algorithms |= {name for name in ALGORITHMS if verifier.offers(name)}
        self._adapter: Adapter | None = None

    def supports(self, algorithm: str) -> bool:
        """Return whether to ask for an algorithm. Raises Unsupported if the client cannot run."""
        if reason := self._verifier.unavailable_reason():
            raise Unsupported(reason)
        return algorithm in self._algorithms

    def times(self, algorithm: str, case: Case, repeat: int) -> dict[str, list[float]] | None:
        """Return durations in seconds by part; None if the answer is "unsupported".

        Raises CryptoFailure if the client does not accept the signature.
        """
        self._adapter = self._adapter or self._verifier.adapter()
        data = case.public_key, case.message, b"", case.signature
        answer = self._adapter.request("verify", algorithm, *data, repeat=repeat)
        if answer.verdict == "unsupported":
            return None
        if answer.verdict != "accept" or len(answer.nanoseconds) != repeat:
            raise CryptoFailure(
                f"{self.name} must accept a valid signature of {algorithm} {repeat} times; got "
                f"{answer.verdict!r} and {len(answer.nanoseconds)} times. {answer.reason} Run "
                "`pqchain conform run`."
            )
        durations = {"verify": answer.nanoseconds, **answer.parts}
        return {part: [value * 1e-9 for value in values] for part, values in durations.items()}

    def close(self) -> None:
        """End the process."""
        if self._adapter:
            self._adapter.close(grace_seconds=0.0)
            self._adapter = None


def clients(names: Iterable[str] | None = None) -> list[TimedClient]:
    """Return the named verifiers for `bench.gas`, and those that time the anchors of its units.

    None stands for those of data/gas/clients.toml. Raises UnknownName.
    """
    chosen = registry.select(gas_units.clients() if names is None else names)
    anchors = [name for unit in gas_units.units().values() for name in unit.anchor_verifiers]
    known = registry.verifiers()
    extra = [known[name] for name in dict.fromkeys(anchors) if name in known]
    return [
        *map(TimedClient, chosen),
        *(TimedClient(row, only_anchors=True) for row in extra if row not in chosen),
    ]
