"""Output folders: foreign files are neither replaced nor removed."""

from pathlib import Path

import pytest

from pqchain.errors import UsageError
from pqchain.results import checksum, outputs

REFUSED = "must be new, empty or written by pqchain"


def fill(folder: Path, *names: str, text: str = "ours", keep: bool = False) -> None:
    with outputs.staged(folder, keep=keep) as building:
        for name in names:
            (building / name).parent.mkdir(parents=True, exist_ok=True)
            (building / name).write_text(text)


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != outputs.MANIFEST
    }


def test_refilled_folder_has_no_stale_files(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    fill(folder, "index.html", "a/b.csv", "a/c.csv", "d/e.csv")
    assert files(folder) == dict.fromkeys(["index.html", "a/b.csv", "a/c.csv", "d/e.csv"], "ours")
    (folder / "mine.txt").write_text("mine")
    fill(folder, "a/b.csv", text="again")
    assert files(folder) == {"a/b.csv": "again", "mine.txt": "mine"}
    assert not (folder / "d").exists()
    assert outputs.manifest_files(folder) == [Path("a/b.csv")]
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_files_of_an_earlier_run_may_be_kept(tmp_path: Path) -> None:
    fill(tmp_path / "vectors", "one.json")
    fill(tmp_path / "vectors", "two.json", keep=True)
    assert set(files(tmp_path / "vectors")) == {"one.json", "two.json"}
    fill(tmp_path / "vectors", "two.json", text="again")
    assert files(tmp_path / "vectors") == {"two.json": "again"}


def test_failed_fill_changes_nothing(tmp_path: Path) -> None:
    fill(tmp_path, "a.csv")
    with pytest.raises(ZeroDivisionError), outputs.staged(tmp_path) as building:
        (building / "a.csv").write_text("half")
        1 / 0  # noqa: B018
    assert files(tmp_path) == {"a.csv": "ours"}


@pytest.mark.parametrize("name", ["index.html", ".hidden", "folder/file"])
def test_folder_with_foreign_files_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=REFUSED):
        outputs.claim(tmp_path)
    assert files(tmp_path) == {name: "mine"}


@pytest.mark.parametrize("place", ["/", "/etc", "/usr", "/proc", "/dev"])
def test_system_folders_are_rejected(place: str) -> None:
    with pytest.raises(UsageError):
        outputs.claim(Path(place))
    assert not Path(place, outputs.MANIFEST).exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [("/dev/null", "is a file"), ("file", "is a file"), ("file/below", "cannot be written"),
     ("a" * 300, "cannot be written"), ("nul\0", "cannot be written")],
)  # fmt: skip
def test_invalid_folder_is_rejected(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=message):
        outputs.claim(tmp_path / place)


def test_output_folders_may_lie_in_a_later_one(tmp_path: Path) -> None:
    fill(tmp_path / "conform" / "vectors", "one.json")
    fill(tmp_path / "conform", "index.html")
    fill(tmp_path, "index.html")
    assert set(files(tmp_path)) == {"conform/vectors/one.json", "conform/index.html", "index.html"}
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "conform").symlink_to(tmp_path / "conform")
    with pytest.raises(UsageError, match=REFUSED):
        outputs.claim(tmp_path / "link")


def test_foreign_file_in_an_output_folder_is_kept(tmp_path: Path) -> None:
    fill(tmp_path, "a.csv")
    (tmp_path / "b.csv").write_text("mine")
    with pytest.raises(UsageError, match=r"b\.csv was not written by pqchain"):
        fill(tmp_path, "a.csv", "b.csv", text="again")
    assert files(tmp_path) == {"a.csv": "ours", "b.csv": "mine"}


@pytest.mark.parametrize(
    "text", ["", "[1", "{}", '{"files": []}', checksum.dumps({"files": None}),
             checksum.dumps({"files": [7]}), checksum.dumps({"other": []})]
)  # fmt: skip
def test_manifest_of_another_program_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / outputs.MANIFEST).write_text(text)
    with pytest.raises(UsageError, match=REFUSED):
        outputs.claim(tmp_path)
    assert (tmp_path / outputs.MANIFEST).read_text() == text


def test_manifest_with_outside_paths_is_rejected(tmp_path: Path) -> None:
    folder, mine = tmp_path / "results", tmp_path / "mine.csv"
    mine.write_text("mine")
    fill(folder, "a.csv")
    names = ["a.csv", "../mine.csv", str(mine), "link/mine.csv"]
    (folder / "link").symlink_to(tmp_path)
    (folder / outputs.MANIFEST).write_text(checksum.dumps({"files": names}))
    fill(folder, "b.csv")
    assert mine.read_text() == "mine"
    assert not (folder / "a.csv").exists()
