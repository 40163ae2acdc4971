"""The report: what is written where, and what counts as a failure."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pqchain import bench, machine, plots, report, results
from pqchain.errors import UnknownPaper, UsageError
from pqchain.figures import Kind
from pqchain.render import html
from pqchain.report import figures, folder
from pqchain.report import summary as overview
from pqchain.report.run import Reproduction
from pqchain.results import outputs
from pqchain.works import papers
from pqchain.works.pqdpol.work import PqDpol
from pqchain.works.quic_reencoding import replays
from pqchain.works.verdicts import FAILS, HOLDS, OPEN
from pqchain.works.work import Work
from tests import frames
from tests.render.test_html import Reader
from tests.works import studies

DRAW = plots.figure_bytes


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """One reproduction of all works on synthetic measurements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "measure", fake_measure())
        patch.setattr(bench, "measure_blocks", fake_blocks)
        patch.setattr(replays, "reproduce", fake_replays)
        patch.setattr(plots, "figure_bytes", drawn_once)
        studies.small(patch)
        return report.reproduce(tmp_path_factory.mktemp("report") / "results")


@pytest.fixture(scope="module")
def pages(done: Reproduction) -> dict[str, str]:
    """The pages of that reproduction by file name, the first one first."""
    return pages_of(done)


@pytest.fixture(scope="module")
def text(pages: dict[str, str]) -> str:
    """All pages of that reproduction."""
    return "\n".join(pages.values())


def pages_of(done: Reproduction) -> dict[str, str]:
    """Return the pages of a report by file name, the first one first."""
    names = ["index.html", *(f"{key}.html" for key in done.keys), "machine.html"]
    assert sorted(names) == sorted(path.name for path in done.output.glob("*.html"))
    return {name: (done.output / name).read_text(encoding="utf-8") for name in names}


def fake_measure(
    change: Callable[[pd.DataFrame], None] | None = None,
) -> Callable[..., pd.DataFrame]:
    """Return what stands in for `bench.measure`."""

    def measure(names: list[str], *, preset: str, progress: bool) -> pd.DataFrame:
        measured = frames.measurements(names)
        measured.attrs["provenance"] = {**frames.PROVENANCE, "preset": preset}
        if change is not None:
            change(measured)
        return measured

    return measure


def blank(drawn: Any, file_format: str) -> bytes:
    """Stand in for `plots.figure_bytes`, where it is not the pictures that matter."""
    return b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'


def drawn_once(drawn: Any, file_format: str) -> bytes:
    """Draw what stands in the pages; the same as PNG is for the tests of plots."""
    return DRAW(drawn, file_format) if file_format == "svg" else b"\x89PNG"


def fake_blocks(names: list[str], *, preset: str, progress: bool) -> pd.DataFrame:
    """Stand in for `bench.measure_blocks`."""
    return frames.blocks(names)


def fake_replays(preset: str, *, progress: bool) -> dict[str, pd.DataFrame]:
    """Stand in for `replays.reproduce`."""
    return frames.replays()


@pytest.fixture(autouse=True)
def no_real_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test of the report measure blocks, replay a network or model a million nodes."""
    monkeypatch.setattr(bench, "measure_blocks", fake_blocks)
    monkeypatch.setattr(replays, "reproduce", fake_replays)
    studies.small(monkeypatch)


def test_every_work_is_there_with_both_titles(done, text):
    assert set(done.keys) == set(papers.keys())
    assert [papers.paper(key).place for key in done.keys] == sorted(range(1, len(done.keys) + 1))
    for key in done.keys:
        paper = papers.paper(key)
        assert paper.title.replace("'", "&#x27;") in text
        assert paper.title_korean in text
    korean = [each for each in Reader(text).all("p") if each.get("lang") == "ko"]
    titles = [each for each in korean if each["class"] == "korean"]
    assert len(titles) == sum(bool(papers.paper(key).title_korean) for key in done.keys)


def test_the_page_begins_with_what_came_out_and_leads_to_it(done, text):
    found = text[text.index('<section id="findings">') : text.index('<div class="tallies">')]
    assert text.index('<section id="findings">') < text.index('id="reading"')
    findings = [each for work in done.works for each in work.findings(done.frames[work.key])]
    assert len(findings) >= 8 and found.count("<li>") == len(findings) + 8
    identifiers = {each.get("id") for each in Reader(text).all("section")}
    assert {each.place for each in findings} <= identifiers
    for expected in ("Falcon-512 suits PQ-DPoL best", "prints 0.7907 for Falcon 1024",
                     "AVX2 makes Kyber", "have no counterpart here"):  # fmt: skip
        assert expected in found


def test_every_statement_stands_with_its_sentence(done, text):
    quotes = set(done.claims["quote"]) - {""}
    assert len(quotes) > 80
    assert all(html.element("p", f"\u201c{quote}\u201d")[3:-4] in text for quote in quotes)


def test_every_printed_number_is_covered(done, text):
    assert len(done.printed) == len(papers.published())
    for key in done.keys:
        assert len(results.load(done.output / key / "coverage.csv"))
        assert f'<section id="{key}-every-printed-number">' in text


def test_pages_are_well_formed_and_ask_nobody(done, pages):
    inside = {name: set(identifiers(text)) for name, text in pages.items()}
    for name, text in pages.items():
        reader = Reader(text)
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
                assert (done.output / page).is_file(), target


def identifiers(text: str) -> list[str]:
    return [attributes["id"] for _, attributes in Reader(text).tags if "id" in attributes]


def test_no_identifier_is_used_twice_in_a_page(pages):
    for text in pages.values():
        used = identifiers(text)
        assert len(used) == len(set(used))


def test_each_page_leads_to_all_others_and_is_whole_without_the_script(pages):
    for name, text in pages.items():
        reader = Reader(text)
        linked = {each["href"] for each in reader.all("a")}
        assert linked >= set(pages) - {name}
        assert [each["aria-current"] for each in reader.all("b") if each] == ["page"]
        assert text.rindex("</main>") < text.index("<script>")
        assert not reader.all("button") and not reader.all("input")


def test_numbers_of_a_table_can_be_sorted_by_value(done, text):
    cells = Reader(text).all("td")
    values = [float(each["data-value"]) for each in cells if "data-value" in each]
    assert len(values) > 1000
    assert 0.000163 in values


def test_a_busy_machine_is_told_before_any_number(tmp_path, monkeypatch):
    def busy(measured: pd.DataFrame) -> None:
        measured.attrs["provenance"] |= {"load_average": 7.5, "cpu_count": 2}

    monkeypatch.setattr(bench, "measure", fake_measure(busy))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    for text in pages_of(report.reproduce(tmp_path / "results", only="falcon-hls")).values():
        main = text[text.index("<main>") :]
        before = main[: main.index("The machine was busy: a load of 7.5 on 2 processors")]
        assert not re.search(r"\d", re.sub(r"<[^>]*>", "", before))


def test_every_table_is_labelled_and_its_headings_have_a_scope(text):
    reader = Reader(text)
    assert len(reader.all("caption")) == len(reader.all("table"))
    assert text.count('<caption><span class="label ') == len(reader.all("table"))
    assert all("scope" in attributes for attributes in reader.all("th"))
    for label in Kind:
        assert f'class="label {label}"' in text


def test_every_figure_is_described(text):
    drawings = Reader(text).all("svg")
    assert drawings
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in drawings)


def test_files_listed_are_there_and_the_other_way_round(done, text):
    targets = {each["href"].partition("#")[0] for each in Reader(text).all("a")} - {""}
    listed = {name for name in targets if not name.startswith("http")}
    written = {
        path.relative_to(done.output).as_posix()
        for path in done.output.rglob("*")
        if path.is_file()
    }
    assert listed == written
    assert {
        "measurements.csv", "measurements.json", "pqdpol/comparison.csv", "pqdpol/sizes.csv",
        "pqdpol/claims.json", "figures/pqdpol-ratio.svg", "figures/speed-signatures.png",
        "figures/tradeoff.svg",
    } <= written  # fmt: skip


def test_saved_tables_load_with_provenance(done):
    measured = results.load(done.output / "measurements.csv")
    assert len(measured) == len(done.measurements)
    compared = results.load(done.output / "round3" / "comparison.csv")
    assert compared.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_summary_counts_what_the_frames_hold(done, text):
    printed = done.claims[done.claims["source"] == "published"]["verdict"]
    for verdict in (HOLDS, FAILS, OPEN):
        count = int((printed == verdict).sum())
        assert f"<b>{count}</b>{html.badge(verdict)}" in text
    assert f"<b>{int((done.sizes['verdict'] == 'equal').sum())}</b>{html.badge('equal')}" in text


def test_published_and_ours_stand_side_by_side(text):
    published, ours = "163\N{NARROW NO-BREAK SPACE}µs", "120\N{NARROW NO-BREAK SPACE}µs"
    row = text[text.index(published) :].partition("</tr>")[0]
    ratio = f'data-value="{120 / 163:.6g}">\N{MULTIPLICATION SIGN}0.74<'
    assert f'<span class="here">{ours}</span></td><td class="number" {ratio}' in row


def test_a_microcontroller_is_not_set_beside_this_machine(done):
    assert "falcon-hls" not in set(done.times["paper"])


def test_what_cannot_run_keeps_its_row_with_the_reason(tmp_path, monkeypatch):
    def lack(measured: pd.DataFrame) -> None:
        lacking = measured["algorithm"] == "NTRU-HPS-2048-509"
        measured.loc[lacking, "status"] = "unsupported"
        measured.loc[lacking, "reason"] = "no library holds NTRU"

    monkeypatch.setattr(bench, "measure", fake_measure(lack))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    done = report.reproduce(tmp_path / "results", only="round3")
    assert "no library holds NTRU" in pages_of(done)["round3.html"]


def test_table_1_of_round3_is_written_in_its_own_layout(done, text):
    saved = results.load(done.output / "round3" / "table1.csv")
    assert len(saved) == 84 + 42
    assert "Table 1 in its own layout, KEM half" in text
    assert "Table 1 in its own layout, signature half" in text
    for name in ("generate", "sign", "verify", "encapsulate", "decapsulate", "sizes"):
        assert f'id="figure-round3-{name}"' in text
        assert (done.output / "figures" / f"round3-{name}.png").is_file()


def test_the_rebuilt_table_3_of_the_accelerator_is_saved(done):
    saved = results.load(done.output / "falcon-hls" / "table3.csv")
    assert set(saved["kind"]) == {"published", "cited", "estimated", "modelled"}
    assert saved.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_tables_5_and_6_are_modelled_and_say_what_that_is_worth(done, text):
    part = text[text.index('<section id="pqdpol-modelled">') :]
    part = part[: part.index('<section id="pqdpol-sizes">')]
    assert "described and not confirmed" in part
    assert "Not established: the four coefficients" in part
    for name in ("throughput", "latency", "networks", "winners"):
        assert f'id="figure-pqdpol-{name}"' in part
        assert text.count(f'id="figure-pqdpol-{name}"') == 1
        assert (done.output / "figures" / f"pqdpol-{name}.png").is_file()
    saved = results.load(done.output / "pqdpol" / "table5-6.csv")
    assert len(saved) == 30
    assert saved["latency_error_corrected_percent"].abs().max() < 8
    here = results.load(done.output / "pqdpol" / "table5-6-here.csv")
    assert set(here["costs"]) == {"measured:test-machine-00000000"}
    for name in ("fit", "left-out", "alternatives", "forms", "delegation", "networks", "contest"):
        assert len(results.load(done.output / "pqdpol" / f"{name}.csv"))


def test_statements_on_the_model_are_labelled(done, text):
    ours = done.claims[(done.claims["source"] == "modelled") & (done.claims["paper"] == "pqdpol")]
    assert "delegation-softens-the-fall" in set(ours["claim_id"])
    part = text[text.index('<section id="pqdpol-statements-checked">') :]
    part = part[: part.index("</section>")]
    assert part.count('class="label modelled"') == len(ours) + 1
    assert set(ours["verdict"]) == {"fitted", "cannot be decided here"}
    others = text[text.index('<section id="round3-statements-checked">') :]
    assert 'class="label modelled"' not in others[: others.index("</section>")]


def test_without_its_work_there_is_no_study(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(PqDpol, "compute", lambda *given: pytest.fail("modelled"))
    assert set(report.reproduce(tmp_path / "results", only="round3").frames) == {"round3"}


def test_errata_and_the_correction_are_told(text):
    assert "prints 0.7907, expected 0.4907" in text
    assert "bba9534" in text
    assert "liboqs-0.13-avx2: ml-dsa-avx2-verify" in text


def test_nothing_is_broken_with_good_measurements(done):
    assert done.failures == []
    assert (done.sizes["verdict"] != "different").all()


def test_a_failed_computation_and_a_wrong_size_are_failures(tmp_path, monkeypatch):
    def fail(measured: pd.DataFrame) -> None:
        measured.loc[0, ["status", "reason"]] = "failed", "a valid signature did not verify"
        measured.loc[0, [name for name in measured if name.endswith("_seconds")]] = math.nan

    monkeypatch.setattr(bench, "measure", fake_measure(fail))
    monkeypatch.setattr(plots, "figure_bytes", blank)
    wrong = papers.published("pqdpol").replace({"value": {897.0: 898.0}})
    monkeypatch.setattr(Work, "published", wrong)
    done = report.reproduce(tmp_path / "results", only="pqdpol")
    assert done.keys == ("pqdpol",)
    assert done.failures == [
        "pqdpol, table2: public_key_bytes of Falcon-512 is printed as 898 but is 897",
        "generate_keypair of Dilithium2 in liboqs-0.13/avx2 failed: a valid signature did not "
        "verify",
    ]
    written = done.index.read_text(encoding="utf-8")
    assert "2 checks failed" in written
    assert 'class="verdict bad"' in written


def test_a_slow_machine_is_no_failure(tmp_path, monkeypatch):
    def slow(measured: pd.DataFrame) -> None:
        for name in measured.columns[measured.columns.str.endswith("_seconds")]:
            measured[name] *= 1000

    monkeypatch.setattr(bench, "measure", fake_measure(slow))
    monkeypatch.setattr(plots, "figure_bytes", blank)
    assert report.reproduce(tmp_path / "results", only="pqdpol").failures == []


def test_without_native_code_the_report_still_shows_what_is_published(tmp_path, monkeypatch):
    def nothing(measured: pd.DataFrame) -> None:
        measured["status"], measured["reason"] = "unsupported", "not installed"
        for name in measured.columns[measured.columns.str.endswith("_seconds")]:
            measured[name] = math.nan

    monkeypatch.setattr(bench, "measure", fake_measure(nothing))
    monkeypatch.setattr(plots, "figure_bytes", blank)
    done = report.reproduce(tmp_path / "results", only=["round3", "pqdpol"])
    assert done.keys == ("pqdpol", "round3")
    assert done.failures == []
    modelled = ["latency", "networks", "throughput", "winners"]
    assert sorted(path.name for path in (done.output / "figures").iterdir()) == [
        *(f"pqdpol-{name}.{kind}" for name in modelled for kind in ("png", "svg")),
        "round3-sizes.png",
        "round3-sizes.svg",
        "sizes.png",
        "sizes.svg",
    ]
    assert "11.444" in pages_of(done)["pqdpol.html"]


def test_a_failure_while_writing_leaves_what_was_there(tmp_path, monkeypatch):
    output = tmp_path / "results"
    with outputs.staged(output) as building:
        (building / "index.html").write_text("old")
    (output / "mine.txt").write_text("mine")
    manifest = (output / outputs.MANIFEST).read_text()
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(plots, "figure_bytes", blank)
    monkeypatch.setattr(html, "document", lambda *parts, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.reproduce(output, only="falcon-hls")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    assert {path.name: path.read_text() for path in output.iterdir()} == {
        "index.html": "old",
        "mine.txt": "mine",
        outputs.MANIFEST: manifest,
    }


def test_files_of_an_earlier_run_go_and_nothing_else_does(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    output = tmp_path / "results"
    report.reproduce(output, only=["round3", "falcon-hls"])
    assert (output / "round3" / "sizes.csv").is_file()
    (output / "mine.csv").write_text("mine")
    (output / "round3" / "mine.csv").write_text("mine")
    report.reproduce(output, only="falcon-hls")
    left = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    now = {file.as_posix() for file in outputs.manifest_files(output)}
    assert left == now | {outputs.MANIFEST, "mine.csv", "round3/mine.csv"}
    assert not any(name.startswith("round3") for name in now)


def test_a_folder_of_somebody_else_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    (tmp_path / "index.html").write_text("mine")
    for place in (tmp_path, "/", "/etc"):
        with pytest.raises(UsageError, match=r"must be new, empty or written by pqchain"):
            report.reproduce(place, only="falcon-hls")
    assert (tmp_path / "index.html").read_text() == "mine"


def test_wrong_use_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    with pytest.raises(UnknownPaper, match="pqdpol"):
        report.reproduce(tmp_path, only="pqdpool")
    with pytest.raises(UsageError, match="only must name some of"):
        report.reproduce(tmp_path, only=[])
    occupied = tmp_path / "file"
    occupied.touch()
    with pytest.raises(UsageError, match="is a file"):
        report.reproduce(occupied)


def test_a_busy_machine_is_told():
    assert "load of 3.5" in overview.busy({"load_average": 3.5, "cpu_count": 4})
    assert overview.busy({"load_average": 0.5, "cpu_count": 4}) == ""
    assert "load of 1.2" in overview.busy({"load_average": 1.2, "cpu_count": 2})
    assert overview.busy({"load_average": 1.0, "cpu_count": 2}) == ""  # the run itself
    assert overview.busy({}) == ""


def test_the_load_is_read_from_a_key_that_provenance_has():
    told = machine.provenance()
    assert {"cpu_count", "cpu_model", "date", "pqchain", "native"} <= set(told)
    assert "load_average" in told or "load_average" in (machine.provenance.__doc__ or "")


def test_the_style_sheet_knows_dark_narrow_and_print():
    style = (Path(html.__file__).parent / "report.css").read_text(encoding="utf-8")
    for wanted in ("prefers-color-scheme: dark", "@media print", "max-width: 600px", "sticky"):
        assert wanted in style


def test_wide_tables_scroll_in_their_box_at_every_width_but_not_on_paper():
    style = (Path(html.__file__).parent / "report.css").read_text(encoding="utf-8")
    everywhere = style[: style.index("@media (max-width: 1050px)")]
    box = everywhere.partition("\n.scroll {")[2].partition("}")[0]
    # Positioned, or else what only screen readers see makes the page itself scroll.
    for wanted in ("position: relative", "overflow: auto", "max-width: 100%"):
        assert wanted in box
    caption = everywhere.partition("\ncaption {")[2].partition("}")[0]
    assert "position: sticky" in caption
    assert "100cqw" in caption
    paper = style[style.index("@media print") :]
    assert "overflow: visible" in paper.partition("  .scroll {")[2].partition("}")[0]


def test_a_printed_block_stands_beside_ours(done, text):
    blocks = done.frames["mini-blockchain"]
    rows = blocks["block-comparison"].set_index("printed_name")
    assert rows.loc["Alice PK size", "ours"] == 897
    assert rows.loc["Serialized block size", "ours"] == 1651111
    assert rows.loc["Serialized block size", "ratio"] == pytest.approx(1651111 / 2497144)
    assert rows.loc["Avg verify time per tx", "ratio"] == pytest.approx(58 / 56.2853)
    assert set(rows["table"]) == {"blockchain"}
    assert len(rows) == 13
    assert "A block, side by side" in text
    assert (done.output / "mini-blockchain" / "block-comparison.csv").is_file()
    saved = results.load(done.output / "mini-blockchain" / "blocks.csv")
    assert len(saved) == len(blocks["blocks"]) == 14
    for name in ("bytes", "verify", "rate"):
        assert (done.output / "figures" / f"mini-blockchain-{name}.png").is_file()


def test_blocks_are_measured_only_for_works_that_have_them(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(bench, "measure_blocks", None)
    found = report.reproduce(tmp_path / "results", only="pqdpol")
    assert set(found.frames) == {"pqdpol"}


def test_a_block_that_failed_fails_the_reproduction(tmp_path, monkeypatch):
    def failing(names, *, preset, progress):
        measured = frames.blocks(names)
        measured.loc[measured["algorithm"] == "ML-DSA-65", ["status", "reason"]] = "failed", "why"
        return measured

    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(bench, "measure_blocks", failing)
    found = report.reproduce(tmp_path / "results", only="mini-blockchain")
    assert found.failures == ["mini-blockchain, blocks: ML-DSA-65 failed: why"]
