"""The registry: every algorithm and implementation that pqchain names, as data.

Sizes are those of the implementations, checked against the built libraries by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pqchain.errors import UnknownAlgorithm, UnknownImplementation

Kind = Literal["signature", "kem"]

SIGNATURE_OPERATIONS = ("generate_keypair", "sign", "verify")
"""What a signature scheme does, in the order tables print it."""

KEM_OPERATIONS = ("generate_keypair", "encapsulate", "decapsulate")
"""What a key-encapsulation mechanism does, in the order tables print it."""

OPERATIONS = ("generate_keypair", "sign", "verify", "encapsulate", "decapsulate")
"""Every operation that a benchmark can time."""


@dataclass(frozen=True, slots=True)
class Family:
    """What is true of all parameter sets of one scheme."""

    name: str
    problem: str
    """What an attacker would have to solve."""
    security_status: str
    """standardised, draft, candidate, superseded, not selected, withdrawn or broken."""
    security_note: str
    security_source: str
    post_quantum: bool = True
    context_bytes: int = 0
    """The longest context string that signing takes; 0 where the scheme has none."""
    restarts: tuple[str, ...] = ()
    """Operations that repeat at random until they succeed: their median lies below their mean."""
    avx2_corrected: str = ""
    """What pqchain corrects in the fetched AVX2 source, if anything."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """Who computes: `library/variant`, and what it needs of the processor."""

    name: str
    description: str
    library: str = ""
    """Stem of the native library of ours that holds it; empty if it is a Python package."""
    cpu_flags: tuple[str, ...] = ()
    setting: str = ""
    """What an install must be given to build it; empty if every install does."""
    fallback_library: str = ""
    """Stem of the library that serves where `library` was not built."""
    package: str = ""
    """The Python package that it is called through, by the name it is imported with."""

    @property
    def timed_in_c(self) -> bool:
        """Whether our timed loop can call it without going through Python."""
        return bool(self.library) and not self.package


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A named parameter set. Sizes in bytes."""

    name: str
    kind: Kind
    family: str
    nist_level: int
    """NIST security category 1 to 5; 0 for classical schemes."""
    public_key_bytes: int
    secret_key_bytes: int
    signature_bytes: int
    """Nominal: the fixed length, or the mean length where it varies; 0 for a KEM."""
    signature_max_bytes: int
    ciphertext_bytes: int
    shared_secret_bytes: int
    implementations: tuple[str, ...]
    """Names of the implementations, preferred first; empty if this version has none."""
    default_build: bool
    """False if it is built only with PQCHAIN_ALGORITHMS=all."""
    aliases: tuple[str, ...] = ()

    @property
    def signature_varies(self) -> bool:
        """Whether two signatures can differ in length."""
        return self.signature_bytes != self.signature_max_bytes

    @property
    def operations(self) -> tuple[str, ...]:
        """The three operations of its kind."""
        return SIGNATURE_OPERATIONS if self.kind == "signature" else KEM_OPERATIONS

    @property
    def family_facts(self) -> Family:
        """The row of its family."""
        return FAMILIES[self.family]

    def sized_for(self, implementation: str) -> Algorithm:
        """Return the same algorithm with the sizes that this implementation gives it."""
        sizes = _OTHER_SIZES.get((self.name, implementation.partition("/")[0]))
        return replace(self, **sizes) if sizes else self

    def note(self, implementation: str) -> str:
        """Return what to know before reading times of that implementation; "" for nothing."""
        return _NOTES.get((self.name, implementation), "")


_DILITHIUM_CORRECTION = (
    "The AVX2 verifiers of liboqs 0.13.0 and 0.7.1 do not check the bound on z and misread a hint "
    "where the low part is 0: they accept invalid signatures and reject a valid one. pqchain "
    "corrects both in its build (pq-crystals/dilithium issue 113, commit bba9534)."
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "Dilithium", "module LWE and SIS", "superseded",
            "CRYSTALS-Dilithium 3.1, a third-round finalist. Standardised as ML-DSA, which binds "
            "keys to their parameter set, takes a context, keeps 64 instead of 32 bytes of the "
            "public key's hash in the secret key, and has a longer challenge in levels 3 and 5.",
            "NIST FIPS 204 (2024-08-13), appendix D",
            restarts=("sign",), avx2_corrected=_DILITHIUM_CORRECTION,
        ),
        Family(
            "ML-DSA", "module LWE and SIS", "standardised",
            "NIST's lattice signature standard.", "NIST FIPS 204 (2024-08-13)",
            context_bytes=255, restarts=("sign",), avx2_corrected=_DILITHIUM_CORRECTION,
        ),
        Family(
            "Falcon", "SIS over NTRU lattices", "draft",
            "A third-round finalist, selected in 2022; FN-DSA (FIPS 206) is being written. The "
            "unpadded form is malleable in liboqs 0.13, which also takes its own signature padded "
            "with zeros to the padded length.",
            "NIST IR 8413 (2022-07); falcon-sign.info specification 1.2",
        ),
        Family(
            "SPHINCS+", "preimages of a hash function", "superseded",
            "SPHINCS+ 3.1; standardised in changed form as SLH-DSA.",
            "NIST FIPS 205 (2024-08-13), section 1.3",
        ),
        Family(
            "MAYO", "multivariate quadratic equations (whipped oil and vinegar)", "candidate",
            "Second round of NIST's additional signatures.", "NIST IR 8528 (2024-10)",
        ),
        Family(
            "CROSS", "restricted syndrome decoding", "candidate",
            "Second round of NIST's additional signatures.", "NIST IR 8528 (2024-10)",
        ),
        Family(
            "UOV", "multivariate quadratic equations (oil and vinegar)", "candidate",
            "Second round of NIST's additional signatures.", "NIST IR 8528 (2024-10)",
        ),
        Family(
            "Hawk", "lattice isomorphism", "withdrawn",
            "Withdrawn on 2026-07-29 after a key-recovery attack; kept because a reproduced work "
            "compares it.",
            "ePrint 2026/1593, as cited by third parties; primary source not checked",
            restarts=("generate_keypair",),
        ),
        Family(
            "Rainbow", "multivariate quadratic equations (layered oil and vinegar)", "broken",
            "A third-round finalist, broken in 2022: keys of the category 1 set fall in a weekend "
            "on a laptop.",
            "Beullens, Breaking Rainbow Takes a Weekend on a Laptop, ePrint 2022/214",
        ),
        Family(
            "secp256k1", "discrete logarithm on an elliptic curve", "standardised",
            "What Bitcoin and Ethereum sign with; falls to Shor's algorithm.",
            "SEC 2 version 2 (2010); BIP 340 for Schnorr", post_quantum=False,
        ),
        Family(
            "P-256", "discrete logarithm on an elliptic curve", "standardised",
            "ECDSA on NIST's curve; falls to Shor's algorithm.",
            "NIST FIPS 186-5 (2023)", post_quantum=False,
        ),
        Family(
            "Ed25519", "discrete logarithm on an elliptic curve", "standardised",
            "EdDSA on Curve25519; falls to Shor's algorithm.",
            "RFC 8032; NIST FIPS 186-5 (2023)", post_quantum=False,
        ),
        Family(
            "Kyber", "module LWE", "superseded",
            "CRYSTALS-Kyber 3.02, a third-round finalist. Standardised as ML-KEM, which hashes "
            "neither the ciphertext into the shared secret nor the drawn message before use, binds "
            "keys to their parameter set and checks its inputs: the same sizes, other secrets.",
            "NIST FIPS 203 (2024-08-13), appendix C",
        ),
        Family(
            "ML-KEM", "module LWE", "standardised",
            "NIST's lattice KEM standard.", "NIST FIPS 203 (2024-08-13)",
        ),
        Family(
            "Classic-McEliece", "decoding of binary Goppa codes", "not selected",
            "A third-round finalist, carried on to the fourth round; NIST selected HQC in 2025.",
            "NIST IR 8545 (2025-03)",
            restarts=("generate_keypair",),
        ),
        Family(
            "BIKE", "decoding of quasi-cyclic codes", "not selected",
            "Fourth-round candidate; NIST selected HQC in 2025.", "NIST IR 8545 (2025-03)",
        ),
        Family(
            "FrodoKEM", "plain LWE", "not selected",
            "Third-round alternate of NIST's process.", "NIST IR 8413 (2022-07)",
        ),
        Family(
            "NTRU-Prime", "NTRU over a field without subrings", "not selected",
            "Third-round alternate of NIST's process.", "NIST IR 8413 (2022-07)",
        ),
        Family(
            "NTRU", "NTRU lattices", "not selected",
            "A third-round finalist; NIST chose Kyber.", "NIST IR 8413 (2022-07)",
        ),
        Family(
            "Saber", "module LWR", "not selected",
            "A third-round finalist; NIST chose Kyber.", "NIST IR 8413 (2022-07)",
        ),
    )
}  # fmt: skip
"""Status and source of every family, by name."""

_AVX2_FLAGS = ("avx2", "bmi2", "popcnt")

IMPLEMENTATIONS: dict[str, Implementation] = {
    implementation.name: implementation
    for implementation in (
        Implementation(
            "liboqs-0.13/avx2", "liboqs 0.13.0 with AVX2 code, verifier of ML-DSA corrected",
            library="liboqs-0.13-avx2", cpu_flags=_AVX2_FLAGS,
        ),
        Implementation(
            "liboqs-0.13/ref", "liboqs 0.13.0, portable C only", library="liboqs-0.13-ref",
        ),
        Implementation(
            "liboqs-0.13/dispatch",
            "the AVX2 library through liboqs-python: AVX2 where the processor has it, else C",
            library="liboqs-0.13-avx2", fallback_library="liboqs-0.13-ref", package="oqs",
        ),
        Implementation(
            "liboqs-0.7.1/avx2",
            "liboqs 0.7.1 (third round) with AVX2 code, verifiers of two schemes corrected",
            library="liboqs-0.7.1-avx2", cpu_flags=_AVX2_FLAGS,
        ),
        Implementation(
            "liboqs-0.7.1/ref",
            "liboqs 0.7.1 (third round), portable C only, verifier of Falcon corrected",
            library="liboqs-0.7.1-ref",
        ),
        Implementation(
            "falcon/kernel",
            "our Falcon signer in parts, the heavy step in the C++ of the hardware kernels",
            library="falcon-kernel",
        ),
        Implementation(
            "hawk/avx2", "our Hawk from its specification, with AVX2 code", library="hawk-avx2",
            cpu_flags=("avx2", "bmi2", "pclmulqdq"),
        ),
        Implementation("hawk/ref", "our Hawk, portable C only", library="hawk-ref"),
        Implementation(
            "hawk-authors/avx2", "the code of Hawk's authors, from a folder of yours",
            library="hawk-authors-avx2", cpu_flags=("avx2", "bmi2", "pclmulqdq"),
            setting="PQCHAIN_HAWK_SOURCE=<folder>",
        ),
        Implementation(
            "rainbow/avx2", "our Rainbow-I with AVX2 code; key generation by liboqs 0.7.1",
            library="rainbow-avx2", cpu_flags=("avx2", "aes"),
        ),
        Implementation(
            "coincurve/libsecp256k1", "Bitcoin's own library through coincurve",
            package="coincurve",
        ),
        Implementation(
            "cryptography/openssl", "OpenSSL through cryptography", package="cryptography",
        ),
        Implementation(
            "pycryptodome/python", "Python with C for the field; a slow baseline, shown as such",
            package="Crypto",
        ),
    )
}  # fmt: skip
"""Every implementation, by name."""

_MAIN = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
_ROUND3 = ("liboqs-0.7.1/avx2", "liboqs-0.7.1/ref")

_OFFERED_BY = {
    "liboqs": (*_MAIN, "liboqs-0.13/dispatch"),
    "liboqs-all": (*_MAIN, "liboqs-0.13/dispatch"),
    "liboqs+r3": (*_MAIN, *_ROUND3, "liboqs-0.13/dispatch"),
    "round3": _ROUND3,
    "rainbow": ("rainbow/avx2", *reversed(_ROUND3)),
    "falcon": (*_MAIN, "falcon/kernel", "liboqs-0.13/dispatch"),
    "hawk": ("hawk/avx2", "hawk/ref", "hawk-authors/avx2"),
    "falcon+r3": (*_MAIN, "falcon/kernel", *_ROUND3, "liboqs-0.13/dispatch"),
    "coincurve": ("coincurve/libsecp256k1",),
    "openssl+": ("cryptography/openssl", "pycryptodome/python"),
    "-": (),
}

_SIGNATURES = """
name                        family     level   public   secret  signature  maximum  from
Dilithium2                  Dilithium      2     1312     2528       2420     2420  liboqs+r3
Dilithium3                  Dilithium      3     1952     4000       3293     3293  liboqs
Dilithium5                  Dilithium      5     2592     4864       4595     4595  liboqs
ML-DSA-44                   ML-DSA         2     1312     2560       2420     2420  liboqs
ML-DSA-65                   ML-DSA         3     1952     4032       3309     3309  liboqs
ML-DSA-87                   ML-DSA         5     2592     4896       4627     4627  liboqs
Falcon-512                  Falcon         1      897     1281        655      752  falcon+r3
Falcon-1024                 Falcon         5     1793     2305       1271     1462  falcon
Falcon-padded-512           Falcon         1      897     1281        666      666  falcon
Falcon-padded-1024          Falcon         5     1793     2305       1280     1280  falcon
SPHINCS+-SHA2-128f-simple   SPHINCS+       1       32       64      17088    17088  liboqs
SPHINCS+-SHA2-128s-simple   SPHINCS+       1       32       64       7856     7856  liboqs
SPHINCS+-SHA2-192f-simple   SPHINCS+       3       48       96      35664    35664  liboqs
SPHINCS+-SHA2-192s-simple   SPHINCS+       3       48       96      16224    16224  liboqs
SPHINCS+-SHA2-256f-simple   SPHINCS+       5       64      128      49856    49856  liboqs
SPHINCS+-SHA2-256s-simple   SPHINCS+       5       64      128      29792    29792  liboqs
SPHINCS+-SHAKE-128f-simple  SPHINCS+       1       32       64      17088    17088  liboqs-all
SPHINCS+-SHAKE-128s-simple  SPHINCS+       1       32       64       7856     7856  liboqs-all
SPHINCS+-SHAKE-192f-simple  SPHINCS+       3       48       96      35664    35664  liboqs-all
SPHINCS+-SHAKE-192s-simple  SPHINCS+       3       48       96      16224    16224  liboqs-all
SPHINCS+-SHAKE-256f-simple  SPHINCS+       5       64      128      49856    49856  liboqs-all
SPHINCS+-SHAKE-256s-simple  SPHINCS+       5       64      128      29792    29792  liboqs-all
MAYO-1                      MAYO           1     1420       24        454      454  liboqs
MAYO-2                      MAYO           1     4912       24        186      186  liboqs
MAYO-3                      MAYO           3     2986       32        681      681  liboqs
MAYO-5                      MAYO           5     5554       40        964      964  liboqs
cross-rsdp-128-balanced     CROSS          1       77       32      13152    13152  liboqs
cross-rsdp-128-fast         CROSS          1       77       32      18432    18432  liboqs-all
cross-rsdp-128-small        CROSS          1       77       32      12432    12432  liboqs-all
cross-rsdp-192-balanced     CROSS          3      115       48      29853    29853  liboqs
cross-rsdp-192-fast         CROSS          3      115       48      41406    41406  liboqs-all
cross-rsdp-192-small        CROSS          3      115       48      28391    28391  liboqs-all
cross-rsdp-256-balanced     CROSS          5      153       64      53527    53527  liboqs
cross-rsdp-256-fast         CROSS          5      153       64      74590    74590  liboqs-all
cross-rsdp-256-small        CROSS          5      153       64      50818    50818  liboqs-all
cross-rsdpg-128-balanced    CROSS          1       54       32       9120     9120  liboqs-all
cross-rsdpg-128-fast        CROSS          1       54       32      11980    11980  liboqs-all
cross-rsdpg-128-small       CROSS          1       54       32       8960     8960  liboqs-all
cross-rsdpg-192-balanced    CROSS          3       83       48      22464    22464  liboqs-all
cross-rsdpg-192-fast        CROSS          3       83       48      26772    26772  liboqs-all
cross-rsdpg-192-small       CROSS          3       83       48      20452    20452  liboqs-all
cross-rsdpg-256-balanced    CROSS          5      106       64      40100    40100  liboqs-all
cross-rsdpg-256-fast        CROSS          5      106       64      48102    48102  liboqs-all
cross-rsdpg-256-small       CROSS          5      106       64      36454    36454  liboqs-all
OV-Is                       UOV            1   412160   348704         96       96  liboqs-all
OV-Ip                       UOV            1   278432   237896        128      128  liboqs-all
OV-III                      UOV            3  1225440  1044320        200      200  liboqs-all
OV-V                        UOV            5  2869440  2436704        260      260  liboqs-all
OV-Is-pkc                   UOV            1    66576   348704         96       96  liboqs-all
OV-Ip-pkc                   UOV            1    43576   237896        128      128  liboqs-all
OV-III-pkc                  UOV            3   189232  1044320        200      200  liboqs-all
OV-V-pkc                    UOV            5   446992  2436704        260      260  liboqs-all
OV-Is-pkc-skc               UOV            1    66576       32         96       96  liboqs-all
OV-Ip-pkc-skc               UOV            1    43576       32        128      128  liboqs-all
OV-III-pkc-skc              UOV            3   189232       32        200      200  liboqs-all
OV-V-pkc-skc                UOV            5   446992       32        260      260  liboqs-all
Hawk-512                    Hawk           1     1024      184        555      555  hawk
Hawk-1024                   Hawk           5     2440      360       1221     1221  hawk
Rainbow-I-Classic           Rainbow        1   161600   103648         66       66  rainbow
ECDSA-secp256k1             secp256k1      0       33       32         64       64  coincurve
Schnorr-secp256k1           secp256k1      0       33       32         64       64  coincurve
ECDSA-P256                  P-256          0       33       32         64       64  openssl+
Ed25519                     Ed25519        0       32       32         64       64  openssl+
"""

_KEMS = """
name                       family            level   public  secret  ciphertext  shared  from
BIKE-L1                    BIKE                  1     1541    5223        1573      32  liboqs-all
BIKE-L3                    BIKE                  3     3083   10105        3115      32  liboqs-all
BIKE-L5                    BIKE                  5     5122   16494        5154      32  liboqs-all
Classic-McEliece-348864    Classic-McEliece      1   261120    6492          96      32  liboqs+r3
Classic-McEliece-348864f   Classic-McEliece      1   261120    6492          96      32  liboqs-all
Classic-McEliece-460896    Classic-McEliece      3   524160   13608         156      32  liboqs-all
Classic-McEliece-460896f   Classic-McEliece      3   524160   13608         156      32  liboqs-all
Classic-McEliece-6688128   Classic-McEliece      5  1044992   13932         208      32  liboqs-all
Classic-McEliece-6688128f  Classic-McEliece      5  1044992   13932         208      32  liboqs-all
Classic-McEliece-6960119   Classic-McEliece      5  1047319   13948         194      32  liboqs-all
Classic-McEliece-6960119f  Classic-McEliece      5  1047319   13948         194      32  liboqs-all
Classic-McEliece-8192128   Classic-McEliece      5  1357824   14120         208      32  liboqs-all
Classic-McEliece-8192128f  Classic-McEliece      5  1357824   14120         208      32  liboqs-all
Kyber512                   Kyber                 1      800    1632         768      32  liboqs+r3
Kyber768                   Kyber                 3     1184    2400        1088      32  liboqs
Kyber1024                  Kyber                 5     1568    3168        1568      32  liboqs
ML-KEM-512                 ML-KEM                1      800    1632         768      32  liboqs
ML-KEM-768                 ML-KEM                3     1184    2400        1088      32  liboqs
ML-KEM-1024                ML-KEM                5     1568    3168        1568      32  liboqs
sntrup761                  NTRU-Prime            2     1158    1763        1039      32  liboqs-all
FrodoKEM-640-AES           FrodoKEM              1     9616   19888        9720      16  liboqs-all
FrodoKEM-640-SHAKE         FrodoKEM              1     9616   19888        9720      16  liboqs-all
FrodoKEM-976-AES           FrodoKEM              3    15632   31296       15744      24  liboqs-all
FrodoKEM-976-SHAKE         FrodoKEM              3    15632   31296       15744      24  liboqs-all
FrodoKEM-1344-AES          FrodoKEM              5    21520   43088       21632      32  liboqs-all
FrodoKEM-1344-SHAKE        FrodoKEM              5    21520   43088       21632      32  liboqs-all
NTRU-HPS-2048-509          NTRU                  1      699     935         699      32  round3
LightSaber-KEM             Saber                 1      672    1568         736      32  round3
"""

_ALIASES: dict[str, tuple[str, ...]] = {
    "Dilithium2": ("Dilithium 2", "Dilithium-2", "CRYSTALS-Dilithium2"),
    "Dilithium3": ("Dilithium 3", "Dilithium-3", "CRYSTALS-Dilithium3"),
    "Dilithium5": ("Dilithium 5", "Dilithium-5", "CRYSTALS-Dilithium5"),
    "Falcon-512": ("Falcon 512",),
    "Falcon-1024": ("Falcon 1024",),
    "SPHINCS+-SHA2-128f-simple": ("SPHINCS+-SHA256-128f-simple", "Sphincs SHA256-128f simple"),
    "SPHINCS+-SHA2-192f-simple": ("SPHINCS+-SHA256-192f-simple", "Sphincs SHA256-192f simple"),
    "SPHINCS+-SHA2-256f-simple": ("SPHINCS+-SHA256-256f-simple", "Sphincs SHA256-256f simple"),
    "Kyber512": ("Kyber-512", "Kyber 512"),
    "Kyber768": ("Kyber-768", "Kyber 768"),
    "Kyber1024": ("Kyber-1024", "Kyber 1024"),
    "Classic-McEliece-348864": ("McEliece348864", "mceliece348864"),
    "ECDSA-P256": ("ECDSA-secp256r1",),
    "LightSaber-KEM": ("LightSaber",),
    "Rainbow-I-Classic": ("Rainbow-I",),
}

_OTHER_SIZES: dict[tuple[str, str], dict[str, Any]] = {
    # The third-round version: a hash of the error beside the syndrome, keys without a seed.
    ("Classic-McEliece-348864", "liboqs-0.7.1"): {
        "secret_key_bytes": 6452,
        "ciphertext_bytes": 128,
    },
    ("Falcon-512", "liboqs-0.7.1"): {"signature_bytes": 657, "signature_max_bytes": 690},
}
"""Where a library's sizes differ from the table's, by algorithm and library."""

_NOTES: dict[tuple[str, str], str] = {
    ("Rainbow-I-Classic", "rainbow/avx2"): (
        "AVX2 code of pqchain for signing and verification; key generation is portable code"
    ),
    ("Rainbow-I-Classic", "liboqs-0.7.1/avx2"): "portable code: liboqs has no AVX2 code of Rainbow",
    ("Classic-McEliece-348864", "liboqs-0.7.1/ref"): (
        "portable code that works on 64 bits at once, not the submission's reference code"
    ),
    **{
        ("Falcon-512", f"liboqs-0.7.1/{variant}"): (
            "second-round parameters: wider signatures and a wider bound, so that later versions "
            "refuse 3 of 1000 signatures"
        )
        for variant in ("avx2", "ref")
    },
    ("NTRU-HPS-2048-509", "liboqs-0.7.1/ref"): (
        "PQClean's portable code, not the submission's reference code"
    ),
}
"""What to know about single implementations of an algorithm."""


def _row(kind: Kind, line: str) -> Algorithm:
    """Parse a line of one of the two tables above."""
    name, family, level, public, secret, fifth, sixth, offered = line.split()
    output, none = (int(fifth), int(sixth)), (0, 0)
    signature, maximum = output if kind == "signature" else none
    ciphertext, shared = output if kind == "kem" else none
    return Algorithm(
        name=name,
        kind=kind,
        family=family,
        nist_level=int(level),
        public_key_bytes=int(public),
        secret_key_bytes=int(secret),
        signature_bytes=signature,
        signature_max_bytes=maximum,
        ciphertext_bytes=ciphertext,
        shared_secret_bytes=shared,
        implementations=_OFFERED_BY[offered],
        default_build=offered != "liboqs-all",
        aliases=_ALIASES.get(name, ()),
    )


_ROWS = (
    *(_row("signature", line) for line in _SIGNATURES.strip().splitlines()[1:]),
    *(_row("kem", line) for line in _KEMS.strip().splitlines()[1:]),
)

ALGORITHMS: dict[str, Algorithm] = {row.name: row for row in _ROWS}
"""Every algorithm, by its canonical name, in the order tables print it."""

_BY_ANY_NAME = {
    spelling.casefold(): algorithm.name
    for algorithm in ALGORITHMS.values()
    for spelling in (algorithm.name, *algorithm.aliases)
}


def get(name: str) -> Algorithm:
    """Return the algorithm of that name or alias, in any case of letters.

    Raises UnknownAlgorithm, which suggests the nearest name.

    >>> get("falcon-512").public_key_bytes
    897
    """
    canonical = _BY_ANY_NAME.get(name.casefold()) if isinstance(name, str) else None
    if canonical is None:
        raise UnknownAlgorithm("algorithm", name, ALGORITHMS, "`pqchain algorithms`.")
    return ALGORITHMS[canonical]


def names(
    kind: Kind | None = None, *, family: str | None = None, everything: bool = False
) -> list[str]:
    """Return canonical names: those of the default build, or all of them if `everything`."""
    return [
        algorithm.name
        for algorithm in ALGORITHMS.values()
        if (kind is None or algorithm.kind == kind)
        and (family is None or algorithm.family == family)
        and (everything or algorithm.default_build)
    ]


def implementation(name: str) -> Implementation:
    """Return the implementation of that name.

    Raises UnknownImplementation, which suggests the nearest name.
    """
    if name not in IMPLEMENTATIONS:
        raise UnknownImplementation(
            "implementation", name, IMPLEMENTATIONS, "`pqchain algorithms --implementations`."
        )
    return IMPLEMENTATIONS[name]
