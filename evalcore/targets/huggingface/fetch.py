"""The folder of a place: it is there, or comes from the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalcore.secrets import scrub_secrets
from evalcore.targets.huggingface.options import Options
from evalcore.targets.huggingface.place import Place, offline
from evalcore.targets.huggingface.problems import LoadError

#: What loading reads; code and pickled weights only for those who asked for them.
_WANTED = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


def fetch(place: Place, options: Options, say: Callable[[str], None]) -> Path:
    """The folder of a place, downloaded where it must be.

    Raises LoadError: offline_missing where nothing may or can be downloaded, path_missing where
    the Hub has no such model or revision, or does not show it without a key.
    """
    if place.path is not None:
        return place.path
    if offline():
        raise LoadError(
            "offline_missing",
            f"{place.reference} is not in the local cache and downloads are off; unset "
            "HF_HUB_OFFLINE, or give the folder of a model",
        )
    import huggingface_hub as hub

    say(f"downloading {place.reference}")
    extra = ("*.py",) * options.trust_remote_code + ("*.bin",) * options.allow_pickle
    try:
        folder = hub.snapshot_download(
            place.reference,
            revision=place.revision or None,
            allow_patterns=[*_WANTED, *extra],
        )
    except Exception as error:  # a client has many ways to fail; each ends in one of two
        raise _problem(place, error) from None
    return Path(folder)


def _problem(place: Place, error: Exception) -> LoadError:
    names = {base.__name__ for base in type(error).__mro__}
    name = place.reference
    if "RevisionNotFoundError" in names:
        return LoadError("path_missing", f"{name} has no revision {place.revision!r} on the Hub")
    if "GatedRepoError" in names:
        return LoadError(
            "path_missing",
            f"{name} is gated: accept its terms on its page on the Hub, and set HF_TOKEN",
        )
    if names & {"RepositoryNotFoundError", "HFValidationError"}:
        return LoadError(
            "path_missing",
            f"neither a folder nor a model on the Hub is called {name}; check the spelling, and "
            "set HF_TOKEN if it is private",
        )
    return LoadError(
        "offline_missing",
        f"{name} cannot be downloaded "
        f"({scrub_secrets(str(error))[:200] or type(error).__name__}); try "
        "again when the Hub can be reached, or give the folder of a model",
    )
