"""The folder of a place: it is there, or comes from the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalcore.secrets import scrub_secrets
from evalcore.targets.huggingface.load_errors import LoadError
from evalcore.targets.huggingface.model_ref import ModelRef, is_hub_offline
from evalcore.targets.huggingface.options import HuggingFaceOptions

#: What loading reads; code and pickled weights only for those who asked for them.
_MODEL_FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


def fetch_model(
    model_ref: ModelRef, options: HuggingFaceOptions, progress: Callable[[str], None]
) -> Path:
    """The folder of a place, downloaded where it must be.

    Raises LoadError: offline_missing where nothing may or can be downloaded, path_missing where
    the Hub has no such model or revision, or does not show it without a key.
    """
    if model_ref.path is not None:
        return model_ref.path
    if is_hub_offline():
        raise LoadError(
            "offline_missing",
            f"{model_ref.reference} is not in the local cache and downloads are off; unset "
            "HF_HUB_OFFLINE, or give the folder of a model",
        )
    import huggingface_hub as hub

    progress(f"downloading {model_ref.reference}")
    extra = ("*.py",) * options.trust_remote_code + ("*.bin",) * options.allow_pickle
    try:
        folder = hub.snapshot_download(
            model_ref.reference,
            revision=model_ref.revision or None,
            allow_patterns=[*_MODEL_FILES, *extra],
        )
    except Exception as error:  # a client has many ways to fail; each ends in one of two
        raise _build_fetch_error(model_ref, error) from None
    return Path(folder)


def _build_fetch_error(model_ref: ModelRef, error: Exception) -> LoadError:
    names = {base.__name__ for base in type(error).__mro__}
    name = model_ref.reference
    if "RevisionNotFoundError" in names:
        return LoadError(
            "path_missing", f"{name} has no revision {model_ref.revision!r} on the Hub"
        )
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
