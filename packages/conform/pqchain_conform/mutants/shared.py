"""Overrides that mutants of several models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Overrides = dict[str, dict[str, Any]]
"""Methods that each mutant overrides, by the name of the defect; `only` lists parameter sets."""

_COMPARISONS: dict[str, Callable[[bytes, bytes], bool]] = {
    "not compared": lambda a, b: True,
    "first byte unchecked": lambda a, b: a[1:] == b[1:],
    "last byte unchecked": lambda a, b: a[:-1] == b[:-1],
    "16 bytes compared": lambda a, b: a[:16] == b[:16],
    "32 bytes compared": lambda a, b: a[:32] == b[:32],
    "compared up to a zero": lambda a, b: a.split(b"\0")[0] == b.split(b"\0")[0],
}

UNCHECKED = ("not compared", "first byte unchecked", "last byte unchecked", "compared up to a zero")
"""Comparisons that differ from the model for byte strings of any length."""


def compared(same: Callable[[bytes, bytes], bool], rule: str) -> dict[str, Any]:
    """Return a mutant whose `rule` compares two byte strings by `same`."""
    return {rule: lambda self, a, b: same(a, b)}


def comparisons(title: str, rule: str, names: tuple[str, ...] = UNCHECKED) -> Overrides:
    """Return mutants that compare two byte strings wrongly."""
    return {f"{title}: {name}": compared(_COMPARISONS[name], rule) for name in names}


def longer(rule: str, field: str) -> dict[str, Any]:
    """Return a mutant whose `rule` on lengths accepts more than the parameter `field`."""
    return {rule: lambda self, length: length >= getattr(self.parameters, field)}


def any_context(prefix: Callable[[bytes], bytes]) -> dict[str, Any]:
    """Return a mutant for contexts of any length, with these bytes after the domain."""
    return {
        "context_fits": lambda self, length: True,
        "prefix": lambda self, context: bytes([self.domain]) + prefix(context),
    }


CONTEXTS_AND_LENGTHS: Overrides = {
    "context: ignored": any_context(lambda context: b"\0"),
    "context: length modulo 256": any_context(lambda c: bytes([len(c) % 256]) + c),
    "context: cut to 255": any_context(lambda c: bytes([min(len(c), 255)]) + c[:255]),
    "context: 255 bytes refused": {"context_fits": lambda self, length: length < 255},
    "context: domain and length left out": {"prefix": lambda self, context: b""},
    "length: longer signature cut": longer("signature_fits", "signature_bytes"),
    "length: longer key cut": longer("key_fits", "public_key_bytes"),
}
"""Mutants of a SignatureModel."""
