"""Numbers in the prose of pages and notebooks are computed, or stated with a reason."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pqchain import algorithms, study
from pqchain.study import sampling, validation
from tests.docs.values import VALUES, Values, gas_rows, kept_microseconds
from tests.study.plans import ALL_COSTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]

SENTENCES: dict[str, Any] = tomllib.loads((Path(__file__).with_name("numbers.toml")).read_text())

# Pages whose numbers with a unit need an entry; of other files only the sentences are compared. Not
# among them: results that another test compares (papers), tables that `make attack` writes
# (robustness), bounds (design), dated comparisons with chains, and pages made of other files.
OTHERS = {"papers", "design", "api", "templates", "_build", "notebooks", "gallery"}
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (
        ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb"),
        *(ROOT / "hls_kernels").rglob("README.md"),
    )
    if not OTHERS & set(path.relative_to(ROOT).parts[1:])
    and path.stem not in ("robustness", "chains", "CHANGELOG")
)  # fmt: skip

UNITS = (
    "%|percent|ms|µs|ns|s|minutes|seconds|hours?|tx/s|[MG]Hz|[kMG]?B|bytes|times|vectors|cycles|"
    "G?gas|lookup tables|transactions|signatures|nodes|delegates|networks|seeds|keys|runs"
)
NUMBER = re.compile(rf"(?<![\w.^-])(?:\d[\d,.]*\d|\d)[\s\u202f]?(?:{UNITS})(?![\w/])")
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)

COMPARISON = re.compile(
    r"\b(?:fast|slow|long|short|large|small|high|low|cheap|few)e?(?:r|st)\b"
    r"|\b(?:most|least|dominat\w+|wins?|gains?|twice|half|double)\b"
)
"""Words by which text states a result."""

SCHEMES = re.compile(
    r"\b(?:" + "|".join(sorted(map(re.escape, algorithms.FAMILIES), key=len, reverse=True)) + ")"
)

VALUES_OF_RUN = Values()


def text_of(page: str) -> str:
    """Return the prose of a page, or of the Markdown cells of a notebook."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return text


def problems(
    text: str, computed: list[str], stated: dict[str, str], *, is_complete: bool = True
) -> list[str]:
    """Return the sentences that a text lacks, and its numbers that no sentence contains.

    Unless `is_complete`, numbers without an entry are allowed.
    """
    text = " ".join(CODE.sub("", text).split())
    sentences = [CODE.sub("", sentence).format_map(VALUES_OF_RUN) for sentence in computed]
    lacking = [sentence for sentence in (*sentences, *stated) if sentence not in text]
    for sentence in (*sentences, *stated):
        text = text.replace(sentence, " ")
    return lacking + [match.group() for match in NUMBER.finditer(text) if is_complete]


def comparisons(text: str, listed: list[str]) -> list[str]:
    """Return the sentences outside tables that compare schemes, and are not listed."""
    text = re.sub(r"^[|#].*$", "", CODE.sub("", text), flags=re.MULTILINE)
    text = " ".join(text.split())
    for sentence in listed:
        text = text.replace(CODE.sub("", sentence), " ")
    sentences = re.split(r"(?<=[.;:]) ", text)
    return [part for part in sentences if SCHEMES.search(part) and COMPARISON.search(part)]


def test_list_names_existing_pages_and_uses_every_value() -> None:
    assert [page for page in SENTENCES if not (ROOT / page).is_file()] == []
    sentences = [text for page in SENTENCES.values() for text in page.get("computed", [])]
    fields = set(re.findall(r"{(\w+)", " ".join(sentences)))
    assert fields == set(VALUES)
    reasons = [why for page in SENTENCES.values() for why in page.get("stated", {}).values()]
    assert all(reasons)


@pytest.mark.native
@pytest.mark.parametrize("page", sorted({*PAGES, *SENTENCES}))
def test_numbers_of_a_page_are_computed_or_have_a_reason(page: str) -> None:
    sentences = SENTENCES.get(page, {})
    computed, stated = sentences.get("computed", []), sentences.get("stated", {})
    is_complete = page in PAGES
    text = text_of(page)
    listed = [sentence.format_map(VALUES_OF_RUN) for sentence in computed]
    if page.endswith(".md"):
        assert comparisons(text, [*listed, *stated]) == []
    for heading, command in sentences.get("dated", {}).items():
        section = re.search(rf"^## {heading}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert section is not None, heading
        assert command in section.group() and re.search(r"20\d\d-\d\d-\d\d", section.group())
        # Its sentences are compared with its table; the other numbers are of the dated run.
        found = [sentence for sentence in listed if sentence in section.group()]
        text = text.replace(section.group(), " ".join(found))
    assert problems(text, computed, stated, is_complete=is_complete) == []


def test_wrong_and_unlisted_numbers_are_detected() -> None:
    sentence = ["the {saving:g} % saving"]
    assert problems("the 3.7 % saving of 64 MB", sentence, {"64 MB": "a setting"}) == []
    assert problems("the 3.8 % saving", sentence, {}) == ["the 3.7 % saving", "3.8 %"]
    assert problems("it takes 12 ms and `13 ms`", [], {}) == ["12 ms"]


def test_planted_comparison_of_a_page_is_detected() -> None:
    planted = "Keys differ. Falcon-512 verifies slower than ML-DSA-44."
    assert comparisons(planted, []) == ["Falcon-512 verifies slower than ML-DSA-44."]
    assert comparisons(planted, ["Falcon-512 verifies slower"]) == []
    assert comparisons("| Falcon-512 | fastest |\n\nOther runs are slower.", []) == []


def test_planted_sentence_that_contradicts_the_table_of_its_page_is_detected() -> None:
    page = "docs/tasks/gas.md"
    sentences = SENTENCES[page]["computed"]
    text = text_of(page)
    assert problems(text, sentences, {}, is_complete=False) == []
    for planted in ("13 µs with circl", "changes the price more than"):
        assert text.count(planted) == 1
        wrong = text.replace(planted, planted.replace("13", "31").replace("more", "less"))
        assert len(problems(wrong, sentences, {}, is_complete=False)) == 1
    # The table changes, the sentence does not.
    rows = gas_rows(text.replace("| 32 µs |", "| 64 µs |"))
    assert round(kept_microseconds(rows, "circl")) == 26


@pytest.mark.native
def test_calibration_table_has_the_errors_of_the_model() -> None:
    """Each row of docs/chains.md ends in the error of one observation of the plan it names."""
    text = (ROOT / "docs" / "chains.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \|.*\| \**([+-]?[\d.]+) %\**[^|]*\|$", text, re.MULTILINE)
    shown: dict[str, list[str]] = {name: [] for name in study.READY}
    for name, error in rows:
        shown.get(name, []).append(error)
    for name, errors in shown.items():
        plan = study.load(name)
        frame = validation.calibrate(
            plan, (sampling.known(plan) or sampling.CostSamples((ALL_COSTS,))).middle
        )
        found = 100 * frame.loc[frame["observed"].notna(), "error"]
        # The model of pqdpol is fitted, so its observations are no calibration.
        if name != "pqdpol":
            digits = [len(error.partition(".")[2]) for error in errors]
            pairs = zip(found, digits, strict=True)
            assert errors == [f"{value:+.{count}f}" for value, count in pairs], name
