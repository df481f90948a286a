"""Unpacking zip archives, hostile ones above all."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from evalcore.errors import UsageError
from evalcore.intake.files import ArchiveLimits, unpack_zip


def archive_of(tmp_path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return path


def kind(name: str, mode: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    return member


def test_unpack(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ("a.csv", b"1,2"), ("empty/", b""), ("sub/deep/b.txt", b"text"))
    result = unpack_zip(path, tmp_path / "out")
    assert result == (PurePosixPath("a.csv"), PurePosixPath("sub/deep/b.txt"))
    assert (tmp_path / "out" / "sub" / "deep" / "b.txt").read_bytes() == b"text"
    assert (tmp_path / "out" / "empty").is_dir()


@pytest.mark.parametrize(
    "name",
    [
        *("../out", "a/../../out", "/etc/x", "..", ".", "a\\..\\b", "C:/x", "new\nline"),
        *("x" * 300, "/".join(["long"] * 300), "right\u202eleft"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    path = archive_of(tmp_path, ("fine", b""), (name, b"content"))
    with pytest.raises(UsageError, match="member"):
        unpack_zip(path, tmp_path / "target" / "out")
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_are_refused(tmp_path: Path, mode: int) -> None:
    path = archive_of(tmp_path, (kind("link", mode | 0o777), b"/etc/passwd"), ("link/x", b""))
    with pytest.raises(UsageError, match="link or a device"):
        unpack_zip(path, tmp_path / "out")


def test_a_link_that_was_there_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match="by a link"):
        unpack_zip(archive_of(tmp_path, ("sub/x", b"")), tmp_path / "out")


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ("zeros", bytes(20 << 20)))
    with pytest.raises(UsageError, match="more than"):
        unpack_zip(path, tmp_path / "out", ArchiveLimits(ratio=50))
    assert (tmp_path / "out" / "zeros").stat().st_size < 3 << 20


def test_a_bomb_that_lies_about_its_size(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ("zeros", bytes(8 << 20)))
    content = path.read_bytes().replace(struct.pack("<I", 8 << 20), struct.pack("<I", 10))
    path.write_bytes(content)
    with pytest.raises(UsageError):
        unpack_zip(path, tmp_path / "out", ArchiveLimits(total_bytes=1 << 20))
    assert (tmp_path / "out" / "zeros").stat().st_size <= 2 << 20


def test_totals_are_limited(tmp_path: Path) -> None:
    members = [(str(number), bytes(1000)) for number in range(10)]
    path = archive_of(tmp_path, *members)
    with pytest.raises(UsageError, match="10 members"):
        unpack_zip(path, tmp_path / "a", ArchiveLimits(members=9))
    with pytest.raises(UsageError, match="more than"):
        unpack_zip(path, tmp_path / "b", ArchiveLimits(total_bytes=9999))
    assert len(unpack_zip(path, tmp_path / "c", ArchiveLimits(total_bytes=10_000))) == 10


def test_the_same_name_twice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        path = archive_of(tmp_path, ("x", b"1"), ("x", b"2"))
    with pytest.raises(UsageError, match="cannot be unpacked"):
        unpack_zip(path, tmp_path / "out")


def test_encrypted_and_unknown_compression(tmp_path: Path) -> None:
    path = archive_of(tmp_path, ("x", b"content"))
    plain = path.read_bytes()
    directory = plain.index(b"PK\x01\x02")
    for folder, value, text in ((8, 1, "encrypted"), (10, 14, "not supported")):
        changed = bytearray(plain)
        struct.pack_into("<H", changed, directory + folder, value)
        path.write_bytes(bytes(changed))
        with pytest.raises(UsageError, match=text):
            unpack_zip(path, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18) + b"x"])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "archive.zip"
    path.write_bytes(content)
    if zipfile.is_zipfile(io.BytesIO(content)):
        return
    with pytest.raises(UsageError, match=r"archive\.zip"):
        unpack_zip(path, tmp_path / "out")


def test_a_member_whose_packed_bytes_are_damaged_is_refused(tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("a", b"text " * 100)
    content = bytearray(archive.read_bytes())
    content[31:40] = bytes(9)
    archive.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be unpacked"):
        unpack_zip(archive, tmp_path / "out")
