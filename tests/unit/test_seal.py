"""A seal proves that nothing was changed since it was signed, and names what was."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore.access.signing import generate_key, load_public_key, load_signing_key
from evalcore.cli.main import main
from evalcore.errors import RunFolderError, UsageError
from evalcore.store import seal
from evalcore.store.chain import relink_lines
from evalcore.store.journal import pack_journal
from evalcore.store.run_folder import RunFolder
from evalcore.store.seal import SEAL, SealReport, digest_bytes, seal_run_folder, verify_run_folder
from tests.support import stored_runs

GENERATIONS = "generations/w1.jsonl"
VERDICTS = f"verdicts/{stored_runs.SCORING}/w1.jsonl"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "signing.pem"
    generate_key(path)
    return path


@pytest.fixture
def run(tmp_path: Path, key_file: Path) -> RunFolder:
    """A sealed run of a few lines."""
    folder = stored_runs.finish(tmp_path / "data" / "runs", "run-1")
    seal_run_folder(folder, load_signing_key(key_file))
    return folder


def edit_lines(folder: RunFolder, name: str, edit: Callable[[list[bytes]], object]) -> None:
    path = folder.path / name
    lines = path.read_bytes().splitlines(keepends=True)
    edit(lines)
    path.write_bytes(b"".join(lines))


def edit_relinked(folder: RunFolder, name: str, edit: Callable[[list[bytes]], object]) -> None:
    """As a forger would who knows the chain: its links fit again."""
    edit_lines(folder, name, edit)
    path = folder.path / name
    path.write_bytes(b"".join(relink_lines(path.read_bytes().splitlines(keepends=True))))


def replace_text(name: str, old: str, new: str) -> Callable[[RunFolder], None]:
    def change(folder: RunFolder) -> None:
        text = (folder.path / name).read_text()
        assert old in text
        (folder.path / name).write_text(text.replace(old, new, 1))

    return change


def swap_first(lines: list[bytes]) -> None:
    lines[0], lines[1] = lines[1], lines[0]


def forge_answer(lines: list[bytes]) -> None:
    lines[1] = lines[1].replace(b"answer to", b"forged by")


TAMPERED: dict[str, tuple[Callable[[RunFolder], object], str]] = {
    "line changed": (
        lambda f: edit_relinked(f, GENERATIONS, forge_answer),
        f"{GENERATIONS}:2: changed",
    ),
    "line dropped": (
        lambda f: edit_lines(f, GENERATIONS, lambda x: x.pop(1)),
        f"{GENERATIONS}:2: dropped",
    ),
    "last line dropped": (
        lambda f: edit_lines(f, VERDICTS, lambda x: x.pop()),
        f"{VERDICTS}:3: dropped",
    ),
    "lines dropped": (
        lambda f: edit_lines(f, VERDICTS, lambda x: x.__delitem__(slice(1, 3))),
        f"{VERDICTS}:2-3: dropped",
    ),
    "line added": (
        lambda f: edit_lines(f, VERDICTS, lambda x: x.append(x[0])),
        f"{VERDICTS}:4: added",
    ),
    "line put in front": (
        lambda f: edit_lines(f, VERDICTS, lambda x: x.insert(0, b'{"benchmark":"x"}\n')),
        f"{VERDICTS}:1: added",
    ),
    "lines swapped": (
        lambda f: edit_lines(f, GENERATIONS, swap_first),
        f"{GENERATIONS}:1-2: reordered",
    ),
    "answer journaled again": (
        lambda f: stored_runs.answer(f, stored_runs.SAMPLES[0], answer="better"),
        f"{GENERATIONS}:4: added",
    ),
    "sample changed": (
        lambda f: edit_lines(
            f, "samples.jsonl", lambda x: x.__setitem__(0, x[0].replace(b"{", b'{"a":1,', 1))
        ),
        "samples.jsonl:1: changed",
    ),
    "summary edited": (replace_text("summary.json", '"run_id"', '"run_ID"'), "summary.json:1: ch"),
    "spec edited": (replace_text("spec.json", '"c1"', '"c2"'), "spec.json:1: changed"),
    "file truncated": (
        lambda f: os.truncate(f.path / GENERATIONS, 20),
        f"{GENERATIONS}:1: changed",
    ),
    "file emptied": (lambda f: os.truncate(f.path / GENERATIONS, 0), f"{GENERATIONS}:1-3: dropped"),
    "file removed": (lambda f: (f.path / VERDICTS).unlink(), f"{VERDICTS}: removed"),
    "summary removed": (lambda f: f.summary_path.unlink(), "summary.json: removed"),
    "journal added": (
        lambda f: (f.path / "generations" / "w9.jsonl").write_bytes(b"{}\n"),
        "generations/w9.jsonl: added",
    ),
    "scoring added": (
        lambda f: stored_runs.judge(f, stored_runs.SAMPLES[0], passed=True, scoring="other"),
        "verdicts/other/w1.jsonl: added",
    ),
    "packed and cut": (
        lambda f: (
            pack_journal(f.path / GENERATIONS),
            os.truncate(f.path / (GENERATIONS + ".gz"), 30),
        ),
        f"{GENERATIONS}: cannot be read",
    ),
}


def tamper_seal(folder: RunFolder, edit: Callable[[dict], object]) -> SealReport:
    path = folder.path / SEAL
    content = json.loads(path.read_bytes())
    edit(content)
    path.write_text(json.dumps(content))
    return verify_run_folder(folder)


def respell(text: str) -> str:
    """Another base64 of the same bytes: the last digit before the padding has bits to spare."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = text.rstrip("=")
    return body[:-1] + digits[digits.index(body[-1]) ^ 1] + "=" * (len(text) - len(body))


def test_an_untouched_run_verifies(run: RunFolder, key_file: Path) -> None:
    report = verify_run_folder(run, load_public_key(Path(f"{key_file}.pub")))
    assert (report.state, report.problems) == ("valid", ())
    assert report.files == 5
    assert report.lines == len(stored_runs.SAMPLES) * 3 + 2
    assert report.signer == load_signing_key(key_file).public.fingerprint


@pytest.mark.parametrize("kind", TAMPERED)
def test_every_kind_of_tampering_is_named(run: RunFolder, kind: str) -> None:
    change, expected = TAMPERED[kind]
    change(run)
    report = verify_run_folder(run)
    assert report.state == "broken"
    assert report.problems[0].startswith(expected), report.problems
    assert len(report.problems) == 1


def test_every_changed_byte_is_detected(run: RunFolder) -> None:
    for path in seal.list_sealed_files(run.path).values():
        content = path.read_bytes()
        for at in range(0, len(content), 41):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            assert verify_run_folder(run).state == "broken", (path, at)
        path.write_bytes(content)
    assert verify_run_folder(run).state == "valid"


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: s["statement"].update(run_id="run-2"),
        lambda s: s["statement"]["files"].pop("summary.json"),
        lambda s: s["statement"]["files"]["spec.json"].update(sha256="0" * 64),
        lambda s: s["statement"].update(sealed_at="2020-01-01T00:00:00Z"),
        lambda s: s.update(signature=s["signature"][::-1]),
        lambda s: s.update(signature=""),
        lambda s: s.update(signature=respell(s["signature"])),
        lambda s: s.update(public_key=respell(s["public_key"])),
        lambda s: s.update(remark="who signed this"),
        lambda s: s.update(public_key="A" * 43 + "="),
        lambda s: s.update(public_key="no key"),
        lambda s: s.pop("statement"),
        lambda s: s["statement"].update(version=2),
    ],
)
def test_a_changed_seal_is_broken(run: RunFolder, edit) -> None:
    report = tamper_seal(run, edit)
    assert report.state == "broken"
    assert report.problems[0].startswith("seal.json: ")


def test_a_run_that_somebody_else_sealed_is_not_the_signers(
    run: RunFolder, key_file: Path, tmp_path: Path
) -> None:
    """Whoever forges and signs again has another key: only the public key tells."""
    edit_relinked(run, GENERATIONS, forge_answer)
    other = tmp_path / "other.pem"
    generate_key(other)
    seal_run_folder(run, load_signing_key(other))
    assert verify_run_folder(run).state == "valid"
    report = verify_run_folder(run, load_public_key(Path(f"{key_file}.pub")))
    assert report.state == "broken"
    assert "not with" in report.problems[0]


def test_the_seal_of_another_run_is_none_of_this(run: RunFolder) -> None:
    other = stored_runs.finish(run.path.parent, "run-2")
    (other.path / SEAL).write_bytes((run.path / SEAL).read_bytes())
    problems = verify_run_folder(other).problems
    assert problems[0] == "the seal belongs to run run-1"


def test_packing_and_caches_leave_the_seal_valid(run: RunFolder) -> None:
    pack_journal(run.path / GENERATIONS)
    pack_journal(run.path / "samples.jsonl")
    (run.path / "samples.parquet").write_bytes(b"cache")
    (run.path / "progress.json").write_text("{}")
    (run.path / ".summary.json.0123").write_text("left behind by a kill")
    assert verify_run_folder(run).state == "valid"
    (run.path / GENERATIONS).write_bytes(b"")  # readers would take this in place of the packed one
    assert verify_run_folder(run).state == "broken"


def test_a_broken_chain_is_not_sealed(run: RunFolder, key_file: Path) -> None:
    (run.path / SEAL).unlink()
    edit_lines(run, GENERATIONS, forge_answer)
    with pytest.raises(RunFolderError, match=rf"{GENERATIONS}:2: does not follow"):
        seal_run_folder(run, load_signing_key(key_file))
    report = verify_run_folder(run)
    assert report.state == "unsealed"
    assert report.problems[0].startswith(f"{GENERATIONS}:2: ")


def test_links_and_what_is_no_file_are_refused(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "extra.json").symlink_to(tmp_path / "signing.pem")
    with pytest.raises(RunFolderError, match="is not a plain file"):
        verify_run_folder(run)


def test_a_hidden_journal_counts_as_added(run: RunFolder) -> None:
    """Readers take every journal of a folder, those whose name begins with a dot too."""
    forged = (run.path / VERDICTS).with_name(".w0.jsonl")
    forged.write_bytes((run.path / VERDICTS).read_bytes())
    name = forged.relative_to(run.path).as_posix()
    assert verify_run_folder(run).problems == (f"{name}: added after signing",)


def test_a_packed_summary_counts_as_removed(run: RunFolder) -> None:
    pack_journal(run.summary_path)
    assert verify_run_folder(run).problems == ("summary.json: removed after signing",)


def test_a_linked_folder_is_refused(run: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run.path / "calls").symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(RunFolderError, match="calls: is a link to a folder"):
        verify_run_folder(run)


def test_a_pipe_in_place_of_a_seal_is_refused(run: RunFolder) -> None:
    (run.path / SEAL).unlink()
    os.mkfifo(run.path / SEAL)
    with pytest.raises(RunFolderError, match="is not a plain file"):
        verify_run_folder(run)


def test_names_in_a_seal_move_no_cursor(run: RunFolder, capsys) -> None:
    (run.path / "\x1b[2J.json").write_text("{}")
    assert main(["seal", "verify", str(run.path)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_file_of_many_lines_has_few_digests_and_names_a_range(monkeypatch) -> None:
    monkeypatch.setattr(seal, "_MOST_DIGESTS", 10)
    lines = [b"%d\n" % number for number in range(95)]
    sealed = digest_bytes(b"".join(lines))
    assert (sealed.lines, sealed.every) == (95, 10)
    lines[41] = b"forged\n"
    [problem] = seal.compare_digests("a.jsonl", sealed, lambda: iter(lines))
    assert problem == "a.jsonl:41-50: changed after signing"
    assert seal.compare_digests("a", sealed, lambda: iter(b"%d\n" % n for n in range(95))) == []


# Keys.


def test_a_key_is_for_its_owner_alone_and_never_overwritten(key_file: Path) -> None:
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert load_public_key(Path(f"{key_file}.pub")) == load_signing_key(key_file).public
    with pytest.raises(UsageError, match="already exists"):
        generate_key(key_file)
    key_file.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        load_signing_key(key_file)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff", b"-----BEGIN PRIVATE KEY-----\nAA\n", b"x" * 20_000]
)
def test_what_is_no_key_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    for load in (load_signing_key, load_public_key):
        with pytest.raises(UsageError, match=r"some\.pem"):
            load(path)


def test_a_key_of_another_kind_is_named(tmp_path: Path, key_file: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    path = tmp_path / "ec.pem"
    path.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    with pytest.raises(UsageError, match="is not an unencrypted ed25519"):
        load_signing_key(path)
    with pytest.raises(UsageError, match="is not an ed25519 public key"):
        load_public_key(key_file)


# The command line.


def test_the_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = stored_runs.finish(tmp_path / "data" / "runs", "run-1")
    key, data = tmp_path / "k.pem", ["--data", str(tmp_path / "data")]
    assert main(["seal", "keygen", "--key-file", str(key)]) == 0
    assert main(["seal", "verify", "run-1", *data]) == 1
    assert "not sealed; the chains of its journals hold" in capsys.readouterr().out
    assert main(["seal", "run-1", "--key-file", str(key), *data]) == 0
    public = ["--public-key", f"{key}.pub"]
    assert main(["seal", "verify", "run-1", *public, *data]) == 0
    assert main(["seal", "verify", str(folder.path), *data]) == 0
    assert "checks whose key it is" in capsys.readouterr().out
    edit_lines(folder, GENERATIONS, forge_answer)
    assert main(["seal", "verify", "run-1", *public, *data, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["state"] == "broken"
    assert report["problems"] == [f"{GENERATIONS}:2: changed after signing"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["keygen"], "--key-file is missing"),
        (["run-1"], "--key-file is missing"),
        (["verify"], "give RUN"),
        (["a", "b"], "give RUN"),
        (["verify", "run-1", "--key-file", "k"], "--key-file is for signing"),
        (["verify", "none"], "no run 'none'"),
        (["none", "--key-file", "missing.pem"], "missing.pem"),
        (["verify", "no.zip"], "is not a file"),
    ],
)
def test_bad_arguments_say_what_to_do(tmp_path: Path, capsys, words, message) -> None:
    assert main(["seal", *words, "--data", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_is_not_over_is_not_sealed(tmp_path: Path, capsys, key_file: Path) -> None:
    stored_runs.plan(tmp_path / "data" / "runs", "run-1")
    words = ["seal", "run-1", "--key-file", str(key_file), "--data", str(tmp_path / "data")]
    assert main(words) == 2
    assert "has no result yet" in capsys.readouterr().err
