"""Display words of figures: columns, clocks, transports, implementations, networks and provers."""

from __future__ import annotations

import re

from pqchain import figures

_WORDS = {
    # Columns and operations.
    "verify_seconds": "time to verify", "sign_seconds": "time to sign",
    "public_key_bytes": "size of the public key", "signature_bytes": "size of the signature",
    "block_bytes": "size of a block", "data_bytes": "data of a transaction",
    "nodes": "number of nodes", "capacity_per_second": "capacity",
    # Clocks and kinds of evidence.
    "virtual": "in simulated time", "netns": "between network namespaces",
    "replayed": "simulated", "printed": "in the paper",
    # Transports.
    "tcp": "TCP", "tcp-tls": "TCP with TLS", "aioquic": "QUIC (aioquic)", "native": "QUIC",
    "grpc": "gRPC", "io": "reading and writing",
    # Implementations.
    "ref": "portable C", "avx2": "AVX2", "falcon/kernel": "pqchain's kernel",
    "coincurve/libsecp256k1": "libsecp256k1", "cryptography/openssl": "OpenSSL",
    "pycryptodome/python": "PyCryptodome",
    # Networks and computers.
    "paper-serial": "one link for all", "csma": "shared channel",
    "star": "star around a hub", "regions": "regions of the world",
    "mesh": "a link for each pair", "gossip": "gossip to some peers",
    "gossip in regions": "gossip across regions",
    "one each": "a computer each", "all processors": "all processors of this machine",
    # Phases of a signing attempt of Falcon.
    "LDL and splits": "LDL decomposition, splitting", "merges and corrections": "merging",
    "leaves": "deviations of the leaves", "transforms": "FFT and inverse FFT",
    "sampler": "Gaussian sampler", "polynomials": "products of polynomials",
    "transfers": "transfers to and from the host",
    # Provers of data/provers, of which some have several settings.
    "labrador": "LaBRADOR", "risc-zero-slh-dsa": "RISC Zero", "leanvm-b": "leanVM-b",
    "leanvm-desktop": "leanVM", "leanvm-eip8292": "leanVM",
    "leanmultisig": "leanMultisig", "leanmultisig-small": "leanMultisig",
    # Rows of the accelerator's Table 3; marks tell published from modelled ones.
    "printed: M4 SW": "software alone",
    "printed: SW+HW": "with engine",
    "M4 software, pqm4's cycles": "software alone, cycles of pqm4",
    "M4 software, one cycle per instruction": "software alone, 1 cycle per instruction",
    "M4 + engine, pipelined": "with pipelined engine: add 6, multiply 6 cycles",
    "M4 + engine, pipelined, whole attempt": "whole attempt, pipelined: add 6, multiply 6 cycles",
}  # fmt: skip

_LATENCIES = re.compile(r"M4 \+ engine, (no overlap|overlapped), latencies (\d+) and (\d+)")

_EXPLANATIONS = {
    "all-to-all": "all-to-all: each delegate sends the block to each other",
    "broadcast": "broadcast: only the proposer sends it",
}
"""Explanations of terms that stay in figures, for their notes."""


def words(name: str) -> str:
    """Return the words for a name of columns, settings or implementations.

    >>> words("verify_seconds"), words("liboqs-0.13/ref"), words("generate_keypair")
    ('time to verify', 'liboqs 0.13, portable C', 'generate key pair')
    """
    if name in _WORDS:
        return _WORDS[name]
    if match := _LATENCIES.fullmatch(name):
        how = "" if match[1] == "no overlap" else "pipelined "
        return f"with {how}engine: add {match[2]}, multiply {match[3]} cycles"
    library, slash, variant = name.partition("/")
    if slash and variant in _WORDS:
        return f"{re.sub(r'-(?=[0-9])', ' ', library)}, {_WORDS[variant]}"
    return figures.humanize(name)


def without_library(implementations: list[str]) -> tuple[str, list[str]]:
    """Return the library that all implementations share and the words for their variants.

    The library is "" and the words are those of the implementations if they share none.

    >>> without_library(["liboqs-0.13/ref", "liboqs-0.13/avx2"])
    ('liboqs 0.13', ['portable C', 'AVX2'])
    """
    names = list(map(words, implementations))
    libraries = {name.rpartition(", ")[0] for name in names}
    library = libraries.pop()
    if libraries or not library:
        return "", implementations
    return library, [name.removeprefix(f"{library}, ") for name in names]


def explained(*texts: str) -> list[str]:
    """Return the explanations of the terms that occur in texts."""
    return [note for term, note in _EXPLANATIONS.items() if any(term in text for text in texts)]
