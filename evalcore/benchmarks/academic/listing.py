"""`evalcore academic list`: the profiles, the tasks of one, or a search among lm-eval's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from evalcore import catalog
from evalcore.benchmarks.academic.card import CARD
from evalcore.benchmarks.academic.harness import HarnessProcess
from evalcore.benchmarks.academic.profiles import find_profile, load_profiles
from evalcore.cards import CommandResult
from evalcore.i18n import DEFAULT, Note
from evalcore.settings import Settings

_MISSING = Note("academic_missing")


def list_tasks(
    settings: Settings, profile: str, flags: Mapping[str, str], progress: Callable[[str], None]
) -> CommandResult:
    """The profiles; with a name the tasks of one, with words the tasks that hold them."""
    remarks = (_MISSING,) if catalog.find_missing_extra(CARD) else ()
    if flags.get("search"):
        progress(Note("academic_reading"))
        harness = HarnessProcess([Path(settings.datasets) / "academic"], defaults=True)
        try:
            names = harness.list_tasks(flags["search"].split())
        finally:
            harness.close()
        return CommandResult(list(names), list(names) or Note("academic_no_name"))
    language = flags.get("language", DEFAULT)
    if profile:
        chosen = find_profile(profile)
        limit = str(chosen.limit) if chosen.limit else Note("academic_all")
        fewshot = Note("academic_own_shots") if chosen.fewshot < 0 else str(chosen.fewshot)
        about = chosen.describe(language)
        lines = [about, Note("academic_asks", fewshot=fewshot, limit=limit), *chosen.tasks]
        data = {"tasks": list(chosen.tasks), "fewshot": chosen.fewshot, "limit": chosen.limit}
        return CommandResult({"profile": profile, **data}, lines, remarks)
    profiles = load_profiles().profiles
    width = max(map(len, profiles))
    texts = {name: entry.describe(language) for name, entry in profiles.items()}
    text = "\n".join(f"{name:<{width}}  {words}" for name, words in texts.items())
    rows = [
        {"profile": name, "about": texts[name], "tasks": list(entry.tasks)}
        for name, entry in profiles.items()
    ]
    return CommandResult(rows, text, remarks)
