"""Pages and files of a report on all works."""

from functools import cache

import pytest

from pqchain import bench, plots, report, results
from pqchain.figures import Kind
from pqchain.render import html
from pqchain.report.run import Reproduction
from pqchain.works import papers
from pqchain.works.quic_reencoding import replays
from pqchain.works.verdicts import FAILS, HOLDS, HOLDS_HERE, OPEN
from pqchain.works.work import split_ours
from tests import frames
from tests.render.test_html import Reader
from tests.report.fakes import (
    fake_blocks,
    fake_measure,
    fake_replays,
    pages_of,
    same_figure,
    svg_figure,
)
from tests.works import studies


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """One reproduction of all works on synthetic measurements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "measure", fake_measure())
        patch.setattr(bench, "measure_blocks", fake_blocks)
        patch.setattr(replays, "reproduce", fake_replays)
        patch.setattr(plots, "figure_bytes", same_figure())
        studies.small(patch)
        return report.reproduce(tmp_path_factory.mktemp("report") / "results")


@pytest.fixture(scope="module")
def pages(reproduction: Reproduction) -> dict[str, str]:
    """The pages of that reproduction by file name, the first one first."""
    return pages_of(reproduction)


@pytest.fixture(scope="module")
def text(pages: dict[str, str]) -> str:
    """All pages of that reproduction."""
    return "\n".join(pages.values())


@pytest.mark.long
def test_every_figure_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(plots, "figure_bytes", svg_figure)
    output = report.reproduce(tmp_path / "results").output
    images = [path.read_bytes() for path in (output / "figures").glob("*.svg")]
    assert len(set(images)) == len(images) > 20


@cache
def read(markup: str) -> Reader:
    """Parse a page once for all tests."""
    return Reader(markup)


def test_every_work_has_both_titles(reproduction, text):
    assert set(reproduction.keys) == set(papers.keys())
    assert [papers.paper(key).place for key in reproduction.keys] == sorted(
        range(1, len(reproduction.keys) + 1)
    )
    for key in reproduction.keys:
        paper = papers.paper(key)
        assert paper.title.replace("'", "&#x27;") in text
        assert paper.title_korean in text
    korean = [each for each in read(text).all("p") if each.get("lang") == "ko"]
    titles = [each for each in korean if each["class"] == "korean"]
    assert len(titles) == sum(bool(papers.paper(key).title_korean) for key in reproduction.keys)


def test_page_begins_with_linked_findings(reproduction, text):
    section = text[text.index('<section id="findings">') : text.index('<div class="tallies">')]
    assert text.index('<section id="findings">') < text.index('id="reading"')
    findings = [
        each for work in reproduction.works for each in work.findings(reproduction.frames[work.key])
    ]
    assert len(findings) >= 8 and section.count("<li>") == len(findings) + 7
    identifiers = {each.get("id") for each in read(text).all("section")}
    assert {each.place for each in findings} <= identifiers
    for fact in ("Falcon-512", "0.7907", "AVX2"):
        assert fact in section


def test_every_statement_has_its_quote(reproduction, text):
    quotes = set(reproduction.claims["quote"]) - {""}
    assert len(quotes) > 80
    assert all(html.element("p", f"\u201c{quote}\u201d")[3:-4] in text for quote in quotes)


def test_every_published_number_is_covered(reproduction, text):
    assert len(reproduction.printed) == len(papers.published())
    for key in reproduction.keys:
        assert len(results.load(reproduction.output / key / "coverage.csv"))
        assert f'<section id="{key}-every-printed-number">' in text


def test_pages_are_well_formed_and_load_nothing_external(reproduction, pages):
    inside = {name: set(identifiers(text)) for name, text in pages.items()}
    for name, text in pages.items():
        reader = read(text)
        assert reader.all("script") == [{}]
        assert len(reader.all("h1")) == 1
        for tag in ("link", "img", "iframe", "video", "object", "embed", "source"):
            assert not reader.all(tag)
        assert not [
            value for _, given in reader.tags for key, value in given.items() if key == "src"
        ]
        for attributes in reader.all("a"):
            target = attributes["href"]
            if target.startswith("http"):
                assert target.startswith("https:")
                continue
            page, _, place = target.partition("#")
            if place:
                assert place in inside[page or name], target
            else:
                assert (reproduction.output / page).is_file(), target


def identifiers(text: str) -> list[str]:
    return [attributes["id"] for _, attributes in read(text).tags if "id" in attributes]


def test_identifiers_are_unique_per_page(pages):
    for text in pages.values():
        used = identifiers(text)
        assert len(used) == len(set(used))


def test_pages_link_to_each_other_and_work_without_script(pages):
    for name, text in pages.items():
        reader = read(text)
        linked = {tag["href"] for tag in reader.all("a")}
        assert linked >= set(pages) - {name}
        assert [tag["aria-current"] for tag in reader.all("b") if tag] == ["page"]
        assert text.rindex("</main>") < text.index("<script>")
        assert not reader.all("button") and not reader.all("input")


def test_table_cells_have_sortable_values(reproduction, text):
    cells = read(text).all("td")
    values = [float(cell["data-value"]) for cell in cells if "data-value" in cell]
    assert len(values) > 1000
    assert 0.000163 in values


def test_every_table_is_labelled_and_its_headings_have_a_scope(text):
    reader = read(text)
    assert len(reader.all("caption")) == len(reader.all("table"))
    assert text.count('<caption><span class="label ') == len(reader.all("table"))
    assert all("scope" in attributes for attributes in reader.all("th"))
    for label in Kind:
        assert f'class="label {label}"' in text


def test_every_figure_has_an_aria_label(text):
    drawings = read(text).all("svg")
    assert drawings
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in drawings)


def test_linked_files_and_written_files_are_the_same(reproduction, text):
    targets = {tag["href"].partition("#")[0] for tag in read(text).all("a")} - {""}
    listed = {name for name in targets if not name.startswith("http")}
    written = {
        path.relative_to(reproduction.output).as_posix()
        for path in reproduction.output.rglob("*")
        if path.is_file()
    }
    assert listed == written
    assert {
        "measurements.csv", "measurements.json", "pqdpol/comparison.csv", "pqdpol/sizes.csv",
        "pqdpol/claims.json", "figures/pqdpol-ratio.svg", "figures/speed-signatures.png",
        "figures/tradeoff.svg",
    } <= written  # fmt: skip


def test_saved_tables_load_with_provenance(reproduction):
    measured = results.load(reproduction.output / "measurements.csv")
    assert len(measured) == len(reproduction.measurements)
    compared = results.load(reproduction.output / "round3" / "comparison.csv")
    assert compared.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_summary_counts_match_the_frames(reproduction, text):
    claims, added = split_ours(reproduction.claims)
    printed = claims[claims["source"] == "published"]["verdict"]
    for verdict in (HOLDS, FAILS, OPEN):
        count = int((printed == verdict).sum())
        assert f"<b>{count}</b>{html.badge(verdict)}" in text
    assert set(added["paper"]) == {"mini-blockchain", "round3"}
    assert "Statements of ours, checked with any numbers" in text
    assert f"which no work makes, are not counted: {added['claim_id'].nunique()}." in text
    # Agreement in another setting is not counted as a confirmation.
    ours = claims[claims["source"] != "published"]
    confirmed = ours[ours["verdict"] == HOLDS]
    assert not set(confirmed["source"]) & {"measured", "replayed"}
    assert ours["verdict"].isin(HOLDS_HERE).sum() > 0
    for verdict in (HOLDS, *HOLDS_HERE):
        count = int((ours["verdict"] == verdict).sum())
        assert f"<b>{count}</b>{html.badge(verdict)}" in text
    equal = int((reproduction.sizes["verdict"] == "equal").sum())
    assert f"<b>{equal}</b>{html.badge('equal')}" in text


def test_published_and_measured_values_share_a_row(text):
    published, ours = "163\N{NARROW NO-BREAK SPACE}µs", "120\N{NARROW NO-BREAK SPACE}µs"
    row = text[text.index(published) :].partition("</tr>")[0]
    ratio = f'data-value="{120 / 163:.6g}">\N{MULTIPLICATION SIGN}0.74<'
    assert f'<span class="here">{ours}</span></td><td class="number" {ratio}' in row


def test_microcontroller_times_are_not_compared(reproduction):
    assert "falcon-hls" not in set(reproduction.times["paper"])


def test_table_1_of_round3_is_written_in_its_own_layout(reproduction, text):
    saved = results.load(reproduction.output / "round3" / "table1.csv")
    assert len(saved) == 84 + 42
    assert "Table 1 in its own layout, KEM half" in text
    assert "Table 1 in its own layout, signature half" in text
    for name in ("generate", "sign", "verify", "encapsulate", "decapsulate", "sizes"):
        assert f'id="figure-round3-{name}"' in text
        assert (reproduction.output / "figures" / f"round3-{name}.png").is_file()


def test_table_3_of_falcon_hls_is_saved(reproduction):
    saved = results.load(reproduction.output / "falcon-hls" / "table3.csv")
    assert set(saved["kind"]) == {"published", "cited", "estimated", "modelled"}
    assert saved.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_tables_5_and_6_are_modelled_with_their_limits(reproduction, text):
    part = text[text.index('<section id="pqdpol-modelled">') :]
    part = part[: part.index('<section id="pqdpol-sizes">')]
    for name in ("throughput", "latency", "networks", "winners"):
        assert f'id="figure-pqdpol-{name}"' in part
        assert text.count(f'id="figure-pqdpol-{name}"') == 1
        assert (reproduction.output / "figures" / f"pqdpol-{name}.png").is_file()
    saved = results.load(reproduction.output / "pqdpol" / "table5-6.csv")
    assert len(saved) == 30
    assert saved["latency_error_corrected_percent"].abs().max() < 8
    here = results.load(reproduction.output / "pqdpol" / "table5-6-here.csv")
    assert set(here["costs"]) == {"measured:test-machine-00000000"}
    for name in ("fit", "left-out", "alternatives", "forms", "delegation", "networks", "contest"):
        assert len(results.load(reproduction.output / "pqdpol" / f"{name}.csv"))


def test_statements_on_the_model_are_labelled(reproduction, text):
    ours = reproduction.claims[
        (reproduction.claims["source"] == "modelled") & (reproduction.claims["paper"] == "pqdpol")
    ]
    assert "delegation-softens-the-fall" in set(ours["claim_id"])
    part = text[text.index('<section id="pqdpol-statements-checked">') :]
    part = part[: part.index("</section>")]
    assert part.count('class="label modelled"') == len(ours) + 1
    assert set(ours["verdict"]) == {"fitted", "cannot be decided here"}
    others = text[text.index('<section id="round3-statements-checked">') :]
    assert 'class="label modelled"' not in others[: others.index("</section>")]


def test_errata_and_the_liboqs_correction_are_listed(text):
    assert "prints 0.7907, expected 0.4907" in text
    assert "bba9534" in text
    assert "liboqs-0.13-avx2: ml-dsa-avx2-verify" in text


def test_good_measurements_give_no_failures(reproduction):
    assert reproduction.failures == []
    assert (reproduction.sizes["verdict"] != "different").all()


def test_printed_block_is_compared_with_the_measured_block(reproduction, text):
    blocks = reproduction.frames["mini-blockchain"]
    rows = blocks["block-comparison"].set_index("printed_name")
    assert rows.loc["Alice PK size", "ours"] == 897
    assert rows.loc["Serialized block size", "ours"] == 1651111
    assert rows.loc["Serialized block size", "ratio"] == pytest.approx(1651111 / 2497144)
    assert rows.loc["Avg verify time per tx", "ratio"] == pytest.approx(58 / 56.2853)
    assert set(rows["table"]) == {"blockchain"}
    assert len(rows) == 13
    assert "A block, side by side" in text
    assert (reproduction.output / "mini-blockchain" / "block-comparison.csv").is_file()
    saved = results.load(reproduction.output / "mini-blockchain" / "blocks.csv")
    assert len(saved) == len(blocks["blocks"]) == 14
    for name in ("bytes", "verify", "rate"):
        assert (reproduction.output / "figures" / f"mini-blockchain-{name}.png").is_file()
