"""Files of settings: what would take seconds, a recursion or a number without end is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evalcore import settings as configuration
from evalcore.errors import UsageError
from evalcore.intake.files import read_document

REFUSED = {
    "flow lists.yaml": ("a: " + "[" * 50_000, "nested more than 50 levels"),
    "closed flow lists.yaml": ("a: " + "[" * 50_000 + "]" * 50_000, "nested more than 50 levels"),
    "block lists.yaml": ("- " * 50_000, "nested more than 50 levels"),
    "complex names.yaml": ("? " * 50_000, "nested more than 50 levels"),
    "mappings.yaml": ("{a: " * 50_000, "nested more than 50 levels"),
    "lines.yaml": (
        "\n".join(" " * depth + "a:" for depth in range(1000)),
        "nested more than 50 levels",
    ),
    "one too deep.yaml": ("a: " + "[" * 50 + "]" * 50, "nested more than 50 levels"),
    "a number by the clock.yaml": ("a: 1" + ":5" * 300_000, "64 bits"),
    "a quoted number.yaml": ('a: !!int "1' + ":5" * 300_000 + '"', "64 bits"),
    "hexadecimal.yaml": ("a: 0x" + "f" * 800_000, "64 bits"),
    "not finite.yaml": ("a: .inf", "inf"),
    "not a number.yaml": ("a: [.nan]", "nan"),
    "a bracket.yaml": ("a: [b\nc: d: e", "is not valid YAML: at line 2, column 2: "),
    "twice.yaml": ("a: 1\nb: 2\na: 3", "'a' occurs twice"),
    "aliases.yaml": ("a: &a [x]\nb: *a", "aliases"),
    "names that are numbers.yaml": ("1: a", "the name 1 must be in quotes"),
    "names that are lists.yaml": ("[]: 1\n{}: 2", "is not valid YAML"),
    "a set.yaml": ("a: !!set {b}", "quotes"),
    "a program.yaml": ("a: !!python/object/apply:os.system [id]", "is not valid YAML"),
    "a date.yaml": ("a: 2026-01-01", "2026-01-01 must be in quotes"),
    "half a pair.yaml": ('a: "\\ud800"', "is not valid YAML"),
    "a dotted name.toml": (".".join("a" * 300_000) + " = 1", "nested more than 50 levels"),
    "a dotted table.toml": (f"[{'.'.join('a' * 300_000)}]", "nested more than 50 levels"),
    "quoted parts.toml": ('."a"' * 60 + " = 1", "nested more than 50 levels"),
    "lists.toml": ("a = " + "[" * 300_000, "is not valid TOML"),
    "not finite.toml": ("a = nan", "nan"),
    "a long number.toml": ("a = " + "9" * 5000, "is not valid TOML"),
    "more than 64 bits.toml": ("a = " + "9" * 20, "64 bits"),
    "deep.json": ("[" * 500_000, "nested too deep"),
    "twice.json": ('{"a": 1, "a": 2}', "'a' twice"),
    "not finite.json": ('{"a": NaN}', "NaN"),
    "no fields.json": ("[1]", "must contain fields"),
    "large.yaml": ("a: " + "x" * 1_000_000, "is larger than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_is_refused_with_its_name(tmp_path: Path, name: str) -> None:
    text, problem = REFUSED[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem) as caught:
        read_document(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_deep_document_is_read_no_further_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    scan = yaml.scan
    monkeypatch.setattr(
        yaml, "scan", lambda text, Loader: (seen.append(t) or t for t in scan(text, Loader))
    )
    (tmp_path / "a.yaml").write_text("a: " + "[" * 50_000, encoding="utf-8")
    with pytest.raises(UsageError):
        read_document(tmp_path / "a.yaml")
    assert len(seen) < 100


def test_what_is_as_deep_as_allowed_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: " + "[" * 49 + "]" * 49, encoding="utf-8")
    (tmp_path / "a.toml").write_text(
        'a = [1.5, 2.5]\n"b.c.d" = """' + "a." * 100 + '"""', encoding="utf-8"
    )
    assert set(read_document(tmp_path / "a.yaml")) == {"a"}
    assert read_document(tmp_path / "a.toml")["b.c.d"] == "a." * 100


def test_broken_settings_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were read without a limit, and text that is no UTF-8 ended in a traceback."""
    for number, content in enumerate((b"\xff", b"run_budget = nan", b"a = " + b"[" * 5000)):
        path = tmp_path / f"board-{number}.conf"
        path.write_bytes(content)
        monkeypatch.setenv("EVALBOARD_CONFIG", str(path))
        with pytest.raises(UsageError, match=path.name):
            configuration.load_settings(tmp_path)
