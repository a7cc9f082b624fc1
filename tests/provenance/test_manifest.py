from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.base.errors import ConfigError
from analysis.provenance import manifest

LABEL = "data/raw/x"
# The generated campaigns, which are not in the repository, have none.
SHIPPED = sorted((Path(__file__).parents[2] / "data/raw").glob("*/MANIFEST.sha256"))
# printf 'abc' | sha256sum
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Return a campaign of four files with its manifest."""
    folder = tmp_path / "x"
    for name, text in {
        "README.md": "abc",
        "runs/001/run.json": "{}",
        "runs/001/out put.txt": "one\n",
        "runs/001-b/empty": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert manifest.write(folder, LABEL) == 4
    return folder


def faults(folder: Path) -> list[str]:
    return [str(fault) for fault in manifest.check(folder, LABEL)[1]]


def test_manifest__there_are_shipped_campaigns() -> None:
    assert len(SHIPPED) >= 25


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_manifest__of_a_shipped_campaign_has_its_files_as_they_are(path: Path) -> None:
    listed, found = manifest.check(path.parent, path.parent.name)
    assert listed >= 1
    assert found == []


def test_manifest__is_sorted_as_bytes_and_leaves_itself_out(campaign: Path) -> None:
    lines = (campaign / manifest.NAME).read_text().splitlines()
    # "-" sorts before "/": what LC_ALL=C sort does with the paths.
    paths = ["README.md", "runs/001-b/empty", "runs/001/out put.txt", "runs/001/run.json"]
    assert [line[66:] for line in lines] == paths
    assert lines[0] == f"{ABC}  README.md"
    assert lines[1].startswith(hashlib.sha256(b"").hexdigest())


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_manifest__sha256sum_agrees(campaign: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "--quiet", manifest.NAME]
    assert subprocess.run(command, cwd=campaign, check=False).returncode == 0
    (campaign / "README.md").write_text("abd")
    assert subprocess.run(command, cwd=campaign, check=False, capture_output=True).returncode == 1


def test_manifest__an_unchanged_campaign_has_no_fault(campaign: Path) -> None:
    assert manifest.check(campaign, LABEL) == (4, [])


def test_manifest__one_changed_byte_is_named(campaign: Path) -> None:
    (campaign / "runs/001/out put.txt").write_text("onf\n")
    assert faults(campaign) == [
        f"{LABEL}/runs/001/out put.txt: has changed since line 3 of MANIFEST.sha256; "
        "restore it: raw files are never edited"
    ]


def test_manifest__a_missing_file_is_named(campaign: Path) -> None:
    (campaign / "README.md").unlink()
    assert faults(campaign) == [f"{LABEL}/README.md: is missing (line 1 of MANIFEST.sha256); restore it"]


def test_manifest__a_file_more_is_named(campaign: Path) -> None:
    (campaign / "runs/001/.hidden").write_text("new")
    assert [line.split(";")[0] for line in faults(campaign)] == [
        f"{LABEL}/runs/001/.hidden: is not in MANIFEST.sha256"
    ]


def test_manifest__a_renamed_file_is_one_fault(campaign: Path) -> None:
    (campaign / "README.md").rename(campaign / "README")
    assert faults(campaign) == [f"{LABEL}/README.md: is now called README; rename it back"]


def test_manifest__two_files_swapped_are_two_changes(campaign: Path) -> None:
    a, b = campaign / "README.md", campaign / "runs/001/run.json"
    one, other = a.read_text(), b.read_text()
    a.write_text(other)
    b.write_text(one)
    assert [line.split(" since")[0] for line in faults(campaign)] == [
        f"{LABEL}/README.md: has changed",
        f"{LABEL}/runs/001/run.json: has changed",
    ]


def test_manifest__a_link_out_of_the_campaign_is_refused_and_not_read(campaign: Path) -> None:
    outside = campaign.parent / "secret"
    outside.write_text("abc")  # even with the right content
    (campaign / "README.md").unlink()
    (campaign / "README.md").symlink_to(outside)
    assert faults(campaign) == [
        f"{LABEL}/README.md: is a link out of the campaign; copy the file it points to"
    ]
    with pytest.raises(ConfigError, match="is a link out of the campaign"):
        manifest.write(campaign, LABEL, force=True)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere", "is a link that leads nowhere"),
        ("loop", "is a link that leads nowhere"),
        ("runs", "is a link to a folder"),
        ("..", "is a link out of the campaign"),
        ("/etc/hostname", "is a link out of the campaign"),
    ],
)
def test_manifest__links_that_a_copy_would_lose_are_refused(campaign: Path, target: str, said: str) -> None:
    (campaign / "loop").symlink_to(target)
    (line,) = faults(campaign)
    assert line.startswith(f"{LABEL}/loop: {said}; ")


def test_manifest__a_link_within_the_campaign_counts_with_its_content(campaign: Path) -> None:
    (campaign / "again").symlink_to("README.md")
    assert manifest.write(campaign, LABEL, force=True) == 5
    assert f"{ABC}  again\n" in (campaign / manifest.NAME).read_text()
    assert manifest.check(campaign, LABEL) == (5, [])


def test_manifest__a_campaign_that_is_itself_a_link_is_followed(campaign: Path) -> None:
    link = campaign.parent / "link"
    link.symlink_to(campaign)
    assert manifest.check(link, LABEL) == (4, [])


def test_manifest__a_pipe_is_refused_and_not_opened(campaign: Path) -> None:
    os.mkfifo(campaign / "pipe")
    assert faults(campaign) == [f"{LABEL}/pipe: is no regular file; remove it"]


@pytest.mark.parametrize("name", [b"a\nb", b"a\\b", b"caf\xe9"])
def test_manifest__names_that_a_line_cannot_hold_are_refused(campaign: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(campaign) + b"/" + name)).write_text("")
    (fault,) = manifest.check(campaign, LABEL)[1]
    assert fault.found == "has a name that a manifest cannot contain"
    str(fault).encode()


def test_manifest__is_not_overwritten_without_force(campaign: Path) -> None:
    before = (campaign / manifest.NAME).read_text()
    (campaign / "README.md").write_text("changed")
    with pytest.raises(ConfigError, match=r"MANIFEST\.sha256: exists already; "):
        manifest.write(campaign, LABEL)
    assert (campaign / manifest.NAME).read_text() == before
    manifest.write(campaign, LABEL, force=True)
    assert manifest.check(campaign, LABEL) == (4, [])
    assert sorted(path.name for path in campaign.iterdir()) == ["MANIFEST.sha256", "README.md", "runs"]


def test_manifest__missing_is_a_fault_and_says_what_to_do(campaign: Path) -> None:
    (campaign / manifest.NAME).unlink()
    assert faults(campaign) == [
        f"{LABEL}/MANIFEST.sha256: is missing; make it with: benchbook verify --write x"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{ABC} README.md", "is no line of sha256sum"),
        (f"{ABC.upper()}  new", "is no line of sha256sum"),
        ("", "is no line of sha256sum"),
        (f"{ABC}  ../secret", "'../secret' is no path within the campaign"),
        (f"{ABC}  /etc/passwd", "'/etc/passwd' is no path within the campaign"),
        (f"{ABC}  MANIFEST.sha256", "'MANIFEST.sha256' is no path within the campaign"),
        (f"{ABC} *README.md", "'README.md' is in line 1 too"),
    ],
)
def test_manifest__a_line_that_cannot_be_used_is_named(campaign: Path, line: str, said: str) -> None:
    with (campaign / manifest.NAME).open("a") as stream:
        stream.write(f"{line}\n")
    assert [text.split(";")[0] for text in faults(campaign)] == [f"{LABEL}/MANIFEST.sha256:5: {said}"]


def test_manifest__cut_in_its_last_line_is_noticed(campaign: Path) -> None:
    path = campaign / manifest.NAME
    path.write_text(path.read_text()[:-5])
    assert [line.split(";")[0] for line in faults(campaign)] == [
        f"{LABEL}/runs/001/run.: is now called runs/001/run.json",
    ]


def test_manifest__binary_rubbish_is_named(campaign: Path) -> None:
    (campaign / manifest.NAME).write_bytes(b"\xff\xfe\x00")
    assert "MANIFEST.sha256: cannot be read" in faults(campaign)[0]


def test_manifest__is_extended_by_what_is_new_and_still_finds_what_changed(campaign: Path) -> None:
    (campaign / "runs/002").mkdir()
    (campaign / "runs/002/run.json").write_text("abc")
    (campaign / "runs/001/run.json").write_text("{ }")
    (campaign / "README.md").write_text("abcd")
    assert manifest.extend(campaign, LABEL, lambda named: {"README.md"} & set(named)) == []
    lines = (campaign / manifest.NAME).read_text().splitlines()
    assert f"{ABC}  runs/002/run.json" in lines
    assert [line[66:] for line in lines] == sorted((line[66:] for line in lines), key=os.fsencode)
    assert faults(campaign) == [
        f"{LABEL}/runs/001/run.json: has changed since line 4 of MANIFEST.sha256; "
        "restore it: raw files are never edited"
    ]


def test_manifest__extension_makes_it_and_leaves_a_damaged_one_alone(campaign: Path) -> None:
    path = campaign / manifest.NAME
    whole = path.read_bytes()
    path.unlink()
    assert manifest.extend(campaign, LABEL, lambda named: ()) == []
    assert path.read_bytes() == whole
    path.write_bytes(whole[:-30])
    (told,) = manifest.extend(campaign, LABEL, lambda named: ())
    assert (told.line, path.read_bytes()) == (4, whole[:-30])


def test_manifest__of_a_pipe_the_extension_says_so_and_adds_the_rest(campaign: Path) -> None:
    os.mkfifo(campaign / "runs/pipe")
    (campaign / "runs/new").write_text("")
    (told,) = manifest.extend(campaign, LABEL, lambda named: ())
    assert str(told).startswith(f"{LABEL}/runs/pipe: is no regular file")
    assert len((campaign / manifest.NAME).read_text().splitlines()) == 5
