"""Going through a folder that a hostile program has filled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalcore.sandbox.filesystem import (
    DEPTH,
    Unreadable,
    measure_usage,
    read_inside,
    remove_tree,
    walk_entries,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def deep(folder: Path, levels: int) -> None:
    """Folders inside one another, deeper than a path can name."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_read_inside(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_bytes(b"content")
    assert read_inside(folder, "sub/file", 7) == b"content"
    assert read_inside(folder, "./sub/./file", 100) == b"content"


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../outside", "sub/../../outside", "/etc/passwd", "a\0b", "x" * 5000),
        *("link", "link-to-folder/outside", "broken", "sub", "pipe", "missing", "sub/missing"),
    ],
)
def test_read_inside_refuses(folder: Path, name: str) -> None:
    (folder.parent / "outside").write_text("secret")
    (folder / "sub").mkdir()
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "link-to-folder").symlink_to(folder.parent)
    (folder / "broken").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with pytest.raises(Unreadable):
        read_inside(folder, name, 100)


def test_read_inside_refuses_more_than_the_limit(folder: Path) -> None:
    (folder / "file").write_bytes(b"x" * 101)
    with pytest.raises(Unreadable, match="longer than 100"):
        read_inside(folder, "file", 100)


def test_entries_follow_no_link(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").touch()
    (folder / "out").symlink_to(folder.parent)
    assert {entry.name for entry in walk_entries(folder)} == {"folder", "sub", "file", "out"}


def test_entries_of_a_file(folder: Path) -> None:
    (folder / "file").touch()
    assert [entry.name for entry in walk_entries(folder / "file")] == ["file"]


def test_usage_counts_what_is_on_disk(folder: Path) -> None:
    empty, count = measure_usage(folder, 100)
    assert count == 1
    (folder / "file").write_bytes(b"x" * 100_000)
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    size, count = measure_usage(folder, 100)
    assert 100_000 <= size - empty < 200_000
    assert count == 3


def test_usage_stops_counting(folder: Path) -> None:
    for number in range(50):
        (folder / str(number)).touch()
    assert measure_usage(folder, 10)[1] == 11


def test_usage_does_not_overlook_depth(folder: Path) -> None:
    deep(folder, DEPTH + 5)
    assert measure_usage(folder, 1000)[1] > 1000


def test_remove_leaves_the_ends_of_links(folder: Path) -> None:
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside" / "kept").touch()
    (folder / "out").symlink_to(folder.parent / "outside")
    (folder / "sub").mkdir()
    (folder / "sub" / "out").symlink_to(folder.parent / "outside")
    remove_tree(folder)
    assert not folder.exists()
    assert (folder.parent / "outside" / "kept").exists()


def test_remove_copes_with_permissions(folder: Path) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    for path in (inner / "file", inner, inner.parent, folder):
        path.chmod(0)
    remove_tree(folder)
    assert not folder.exists()


def test_remove_copes_with_depth(folder: Path) -> None:
    """Deeper than a recursion could go, and than open files or the length of a path allow."""
    deep(folder, 3000)
    (folder / "beside").mkdir()
    remove_tree(folder)
    assert not folder.exists()


def test_remove_a_link_a_file_and_nothing(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent)
    (folder / "file").touch()
    for name in ("link", "file", "missing"):
        remove_tree(folder / name)
    assert folder.is_dir()
    assert not list(folder.iterdir())
