"""`evalcore seal`: sign runs and bundles, and check what was signed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.cli.exchange import print_result
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import tr, tr_count, tr_note
from evalcore.errors import UsageError
from evalcore.i18n import Note

if TYPE_CHECKING:
    from evalcore.store.seal import SealReport

KEYGEN, VERIFY = "keygen", "verify"
DONE, FAILED = 0, 1


def add_seal_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "sign a run or a bundle, or check that nothing changed since it was signed"
    sub = verbs.add_parser(
        "seal",
        help=about,
        usage="%(prog)s RUN --key-file FILE\n"
        "       %(prog)s verify RUN [--public-key FILE]\n"
        "       %(prog)s keygen --key-file FILE",
        description=f"{about.capitalize()}.\nExit status of verify: 0 valid, 1 not sealed or "
        "changed, 2 cannot be read.",
    )
    about = "what to sign: the id of a run, its folder, or a bundle; or `keygen`, or `verify RUN`"
    sub.add_argument("words", nargs="+", metavar="RUN", help=about)
    sub.add_path("--key-file", "FILE", "private key to sign with (ed25519, PEM); keygen creates it")
    about = "verify: public key that the seal must be signed with; without it any signer will do"
    sub.add_path("--public-key", "FILE", about)
    add_common(sub, _seal_or_verify)


def _seal_or_verify(args: argparse.Namespace) -> int:
    words = args.words
    if words == [KEYGEN]:
        return _generate_key(args)
    if words[0] == VERIFY and len(words) == 2:
        return _verify_seal(args, words[1])
    if len(words) != 1 or words == [VERIFY]:
        raise UsageError(Note("cli_seal_what"))
    return _sign(args, words[0])


def _generate_key(args: argparse.Namespace) -> int:
    from evalcore.access.signing import PUBLIC_SUFFIX, generate_key

    path = _require_key_file(args)
    public = generate_key(path)
    public_path = f"{path}{PUBLIC_SUFFIX}"
    result = {"key": str(path), "public_key": public_path, "fingerprint": public.fingerprint}
    text = tr("cli.seal.key", fingerprint=public.fingerprint, path=path, public=public_path)
    print_result(args, result, text)
    return DONE


def _sign(args: argparse.Namespace, subject: str) -> int:
    from evalcore.access.signing import load_signing_key
    from evalcore.exchange import sealing

    if args.public_key is not None:
        raise UsageError(Note("cli_seal_public"))
    key = load_signing_key(_require_key_file(args))
    if _is_bundle(subject):
        report, remark = sealing.seal_bundle(Path(subject), key), ""
    else:
        settings, folder = _find_folder(args, subject)
        report, why = sealing.seal_run(folder, key, settings)
        remark = f"\n{tr('cli.seal.uncovered', reason=tr_note(why))}" if why else ""
    print_result(args, report, _format_report(report) + remark)
    return DONE


def _verify_seal(args: argparse.Namespace, subject: str) -> int:
    from evalcore.access.signing import load_public_key
    from evalcore.exchange import sealing
    from evalcore.store.seal import verify_run_folder

    if args.key_file is not None:
        raise UsageError(Note("cli_seal_verify"))
    expected = load_public_key(args.public_key) if args.public_key is not None else None
    if _is_bundle(subject):
        report = sealing.verify_bundle_seal(Path(subject), expected)
    else:
        report = verify_run_folder(_find_folder(args, subject)[1], expected)
    hint = ""
    if report.state == "valid" and expected is None:
        hint = "\n" + tr("cli.seal.any_signer")
    print_result(args, report, _format_report(report) + hint)
    return DONE if report.state == "valid" else FAILED


def _format_report(report: SealReport) -> str:
    subject = tr("cli.seal.run", run=report.run_id) if report.run_id else tr("cli.seal.bundle")
    if report.state == "valid":
        counts = {
            "files": tr_count("cli.count_file", report.files),
            "lines": tr_count("cli.count_line", report.lines),
        }
        signed = {"signer": report.signer, "time": report.sealed_at}
        return tr("cli.seal.valid", subject=subject, **signed, **counts)
    state = "broken"
    if report.state == "unsealed":
        state = "unsealed_broken" if report.problems else "unsealed"
    head = tr(f"cli.seal.{state}", subject=subject)
    return "\n".join([head, *(f"  {tr_note(problem)}" for problem in report.problems)])


def _require_key_file(args: argparse.Namespace) -> Path:
    if args.key_file is None:
        raise UsageError(Note("cli_seal_key"))
    return Path(args.key_file)


def _is_bundle(subject: str) -> bool:
    return subject.endswith(".zip")


def _find_folder(args: argparse.Namespace, subject: str) -> tuple[Any, Any]:
    """The settings, and the run folder of an id or of the folder itself."""
    from evalcore import settings as configuration
    from evalcore.store.run_folder import RunFolder, find_run, is_file

    settings = configuration.load_settings(args.data)
    path = Path(subject)
    if is_file(path / "spec.json"):
        return settings, RunFolder(path.resolve())
    return settings, find_run(subject, settings.run_roots)
