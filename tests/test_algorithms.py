"""The registry is consistent: names, sizes, families, implementations and status."""

import dataclasses
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain import algorithms, installation
from pqchain.algorithms import ALGORITHMS, FAMILIES, IMPLEMENTATIONS, Algorithm
from pqchain.crypto import unavailable_reason
from pqchain.errors import UnknownAlgorithm, UnknownImplementation

STATUSES = {
    "standardised", "draft", "selected", "candidate", "superseded", "not selected", "withdrawn",
    "broken",
}  # fmt: skip


SOURCES = Path(algorithms.__file__).parent / "native" / "sources"
DATA = installation.data("algorithms")
"""Where the same lists stand in the names that liboqs's build uses."""


def letters(name: str) -> str:
    """Normalise a name."""
    return "".join(character for character in name.casefold() if character.isalnum())


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_facts_of_an_algorithm_are_consistent(algorithm: Algorithm) -> None:
    assert min(algorithm.public_key_bytes, algorithm.secret_key_bytes) > 0
    signature = (algorithm.signature_bytes, algorithm.signature_max_bytes)
    kem = (algorithm.ciphertext_bytes, algorithm.shared_secret_bytes)
    if algorithm.kind == "signature":
        assert 0 < signature[0] <= signature[1]
        assert kem == (0, 0)
        assert algorithm.operations == algorithms.SIGNATURE_OPERATIONS
    else:
        assert algorithm.kind == "kem"
        assert signature == (0, 0)
        assert kem[0] > 0 and kem[1] in (16, 24, 32)
        assert algorithm.operations == algorithms.KEM_OPERATIONS
    assert algorithm.family_facts.name == algorithm.family
    assert set(algorithm.implementations) <= set(IMPLEMENTATIONS)
    assert len(set(algorithm.implementations)) == len(algorithm.implementations)
    levels = {1, 2, 3, 4, 5} if algorithm.family_facts.post_quantum else {0}
    assert algorithm.nist_level in levels
    for spelling in (algorithm.name, *algorithm.aliases):
        for name in (spelling, spelling.upper(), spelling.lower()):
            assert algorithms.get(name) is algorithm


def test_aliases_are_unique() -> None:
    spellings = [
        spelling
        for algorithm in ALGORITHMS.values()
        for spelling in {each.casefold() for each in (algorithm.name, *algorithm.aliases)}
    ]
    assert sorted(spellings) == sorted(set(spellings))


def test_registry_names_are_unique() -> None:
    rows = [
        line.partition(",")[0]
        for file in ("signatures.csv", "kems.csv")
        for line in (DATA / file).read_text(encoding="utf-8").splitlines()[1:]
    ]
    assert rows == list(ALGORITHMS)


def test_every_family_is_used_and_cites_its_status() -> None:
    assert {algorithm.family for algorithm in ALGORITHMS.values()} == set(FAMILIES)
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family.security_status in STATUSES
        assert family.problem
        assert family.security_note.endswith(".")
        assert family.security_source


def test_every_attack_names_sets_of_its_family_and_its_source() -> None:
    for name, family in FAMILIES.items():
        attacked = [member for attack in family.attacks for member in attack.algorithms]
        assert len(set(attacked)) == len(attacked)
        assert {ALGORITHMS[member].family for member in attacked} <= {name}
        for attack in family.attacks:
            assert attack.effect in ("broken", "warning")
            assert re.search(r"20\d\d", attack.source)
            assert not attack.note.endswith(".")


def sets_with(effect: str) -> set[str]:
    return {name for name, row in ALGORITHMS.items() if row.attacked(effect)}


def test_broken_and_weakened_sets() -> None:
    """As of November 2026; a set that is missing here is offered without its warning."""
    assert sets_with("broken") == {
        "MAYO-2", "Hawk-512", "Hawk-1024", "Rainbow-I-Classic",
        *(f"OV-{name}{form}" for name in ("Ip", "III", "V") for form in ("", "-pkc", "-pkc-skc")),
        *algorithms.names(family="Classic-McEliece", everything=True),
    }  # fmt: skip
    assert sets_with("warning") == {"MAYO-1", "OV-Is", "OV-Is-pkc", "OV-Is-pkc-skc"}
    assert "2^113" in algorithms.get("MAYO-2").attacked("broken")
    statuses = {"MAYO-2": "candidate, broken", "Hawk-512": "withdrawn, broken"}
    statuses |= {"Rainbow-I": "broken", "cross-rsdp-128-fast": "not selected"}
    assert {name: algorithms.get(name).status for name in statuses} == statuses


def test_sets_of_an_earlier_round_and_drafts_are_named_so() -> None:
    assert {name: family.version for name, family in FAMILIES.items() if family.version} == {
        "MAYO": "round 2", "CROSS": "round 2", "UOV": "round 2",
        "SLH-DSA-2^24": "draft of 2026-04-13", "SHRINCS": "draft 18044f4",
    }  # fmt: skip
    assert algorithms.get("MAYO-2").title == "MAYO-2 (round 2)"
    assert algorithms.get("mayo-2 (round 2)").name == "MAYO-2"
    assert algorithms.get("ML-DSA-44").title == "ML-DSA-44"


def test_cautions_are_given_once_for_each_attack() -> None:
    names = ["OV-Ip", "Falcon-512", "ECDSA-secp256k1+MAYO-2", "OV-Ip-pkc", 3.0, "", "SPHINCS+"]
    ov, mayo = algorithms.cautions(names)
    assert ov.startswith("OV-Ip (round 2), OV-Ip-pkc (round 2): broken. ")
    assert mayo.startswith("MAYO-2 (round 2): broken. ")
    assert mayo.endswith("checked on 2026-11-23).")
    assert algorithms.cautions(["MAYO-3", "ML-DSA-44", "Rainbow"]) == []


def test_every_status_was_checked_in_the_year_before_the_data() -> None:
    """Whoever dates the data anew for a release has to check every old status first."""
    dated = date.fromisoformat(installation.read_toml(DATA / "families.toml")["date"])
    for name, family in FAMILIES.items():
        age = dated - date.fromisoformat(family.checked)
        assert timedelta() <= age <= timedelta(days=365), name


def test_page_of_implementations_lists_every_known_attack() -> None:
    page = (Path(__file__).parents[1] / "docs/implementations.md").read_text(encoding="utf-8")
    listed = [line.removeprefix("- ") for line in page.splitlines() if "; checked on " in line]
    assert listed == algorithms.cautions(ALGORITHMS)


def test_every_implementation_is_used_and_described() -> None:
    offered = {name for row in ALGORITHMS.values() for name in row.implementations}
    assert offered == set(IMPLEMENTATIONS)
    for name, implementation in IMPLEMENTATIONS.items():
        assert implementation.name == name
        assert len(name.split("/")) == 2
        assert implementation.description
        assert not implementation.cpu_flags or implementation.library


@pytest.mark.parametrize(
    ("release", "build"),
    [("liboqs-0.13.0", "liboqs-0.13/ref"), ("liboqs-0.7.1", "liboqs-0.7.1/ref")],
)
def test_default_build_is_what_the_native_build_compiles(release, build) -> None:
    """Every line of the build's list, which begins with the family of the scheme."""
    lines = (SOURCES / release / "algorithms.txt").read_text(encoding="utf-8").splitlines()
    built = [line.partition("_") for line in lines if not line.startswith("#")]
    ours = [name for name in algorithms.names() if build in ALGORITHMS[name].implementations]
    # The build of liboqs names LightSaber-KEM saber_lightsaber.
    spelled = [letters(name).replace("lightsaberkem", "saberlightsaber") for name in ours]
    assert sorted(letters(name) for _, _, name in built) == sorted(spelled)
    recipe = (SOURCES / release / "release.cmake").read_text(encoding="utf-8")
    licensed = re.search(r'set\(licences "(.+)"\)', recipe)
    assert licensed is not None
    for kind, _, name in built:
        assert re.match(licensed[1], f"{kind.lower()}/{name}"), name


def test_sizes_differ_between_library_versions() -> None:
    mceliece = algorithms.get("Classic-McEliece-348864")
    assert (mceliece.secret_key_bytes, mceliece.ciphertext_bytes) == (6492, 96)
    for variant in ("avx2", "ref"):
        older = mceliece.sized_for(f"liboqs-0.7.1/{variant}")
        assert (older.secret_key_bytes, older.ciphertext_bytes) == (6452, 128)
        assert older == dataclasses.replace(mceliece, secret_key_bytes=6452, ciphertext_bytes=128)
        assert mceliece.sized_for(f"liboqs-0.13/{variant}") is mceliece
        falcon = algorithms.get("Falcon-512").sized_for(f"liboqs-0.7.1/{variant}")
        assert (falcon.signature_bytes, falcon.signature_max_bytes) == (657, 690)


def test_size_overrides_and_notes_name_registry_entries() -> None:
    offers = installation.read_toml(DATA / "offers.toml")
    for name, libraries in offers["sizes"].items():
        offered = ALGORITHMS[name].implementations
        for library in libraries:
            assert any(each.startswith(f"{library}/") for each in offered)
    for name, notes in offers["notes"].items():
        assert set(notes) <= set(ALGORITHMS[name].implementations)


def test_names_filters_by_kind_family_and_build() -> None:
    assert algorithms.names("kem", family="ML-KEM") == ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"]
    assert algorithms.names("signature", family="ML-KEM") == []
    assert algorithms.names(everything=True) == list(ALGORITHMS)
    assert "BIKE-L1" in {*algorithms.names("kem", everything=True)} - {*algorithms.names()}


@given(st.text())
def test_any_text_is_an_algorithm_or_a_pqchain_error(name: str) -> None:
    try:
        assert isinstance(algorithms.get(name), Algorithm)
    except UnknownAlgorithm as error:
        assert error.name == name


def test_unknown_implementation_suggests_the_nearest() -> None:
    assert algorithms.implementation("liboqs-0.13/ref") is IMPLEMENTATIONS["liboqs-0.13/ref"]
    for ask in (algorithms.implementation, unavailable_reason):
        with pytest.raises(UnknownImplementation, match=r"did you mean .*'liboqs-0\.13/avx2'"):
            ask("liboqs/avx2")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("falcon_1024", "'falcon_1024'; did you mean 'Falcon-1024'.*pqchain algorithms"),
        ("MLDSA44", "'ML-DSA-44'"),
        ("Kyber 513", "'Kyber512'"),
        ("SPHINCS+-SHA2-128f", "'SPHINCS\\+-SHA2-128f-simple'"),
        ("mceliece", "'Classic-McEliece-348864'"),
        ("Falcon-511", "(?!.*FIPS 206)"),
        ("FN-DSA-512", "is not published; its submission is Falcon"),
        *((name, re.escape(repr(name))) for name in (None, 512, b"Falcon-512", ["Falcon"], "")),
        ("avx2", "such as .*avx2, is selected by --implementat"),
        ("hawk/avx2", "such as .*hawk/avx2, is selected by --implementat"),
    ],
)
def test_unknown_algorithm_states_the_remedy(name: object, message: str) -> None:
    with pytest.raises(UnknownAlgorithm, match=f"^.*{message}"):
        algorithms.get(name)  # type: ignore[arg-type]
