"""`evalcore site`: a whole store as a folder of pages and data files. Equal stores give equal
bytes: nothing in a page tells when it was made."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import orjson

from evalcore.charts import plots
from evalcore.charts.pictures import build_social_card, render_card_png
from evalcore.errors import UsageError
from evalcore.exchange.board_export import LABELS, build_score_chart, name_ranking, ranking_to_csv
from evalcore.exchange.site import facts as store
from evalcore.exchange.site.board_views import (
    COST_CHART_FILE,
    build_board_view,
    build_boards_view,
    build_method_view,
    format_ranking_title,
)
from evalcore.exchange.site.case_data import SiteColumn, build_case_files, list_site_columns
from evalcore.exchange.site.facts import (
    SiteFacts,
    board_page,
    data_file,
    make_file_stem,
    make_ranking_stem,
    target_page,
)
from evalcore.exchange.site.rendering import PageLocation, Words, render_page
from evalcore.exchange.site.target_views import build_target_view
from evalcore.i18n import DEFAULT, LANGUAGES, Note, load_catalogue, lookup_text, name_term, t
from evalcore.plain_text import to_single_line
from evalcore.records import Record, to_json
from evalcore.settings import Settings
from evalcore.views.board_table import RankingView
from evalcore.views.board_titles import DIALECT_TITLES
from evalcore.views.cases import WORDED_COLUMNS

# Writing a folder of files at once, over nothing but what was written by us before.

#: Names the files of a site, so that a later one may take its place.
MARKER = "evalboard-site.json"


def write_site(out: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """The files by their paths within `out`, which is replaced as a whole; returns their number.
    Raises UsageError where `out` holds anything that is not ours. A failure leaves it as it was."""
    target = out.absolute()
    _check_site_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        names = []
        for name, content in files:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_bytes(content)
            names.append(name)
        names.sort()
        (fresh / MARKER).write_bytes(orjson.dumps({"files": names}, option=orjson.OPT_INDENT_2))
        fresh.chmod(0o755)
        _check_site_folder(target)
        _swap_folders(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return len(names)


def _swap_folders(fresh: Path, target: Path) -> None:
    """Put `fresh` in place of a folder; the old one is removed only once that has succeeded."""
    if not target.exists():
        fresh.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    target.rename(old)  # over the empty folder
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _check_site_folder(target: Path) -> None:
    """Raises UsageError unless there is nothing there, or nothing but a site of ours."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageError(Note("cli_site_no_folder", path=target))
    if not target.exists() or not any(target.iterdir()):
        return
    ours = _read_marker(target)
    foreign = sorted(
        path.relative_to(target).as_posix()
        for path in target.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
    strange = next((name for name in foreign if name not in ours), None)
    if strange is not None:
        raise UsageError(Note("cli_site_strange", path=target, name=strange))


def _read_marker(target: Path) -> set[str]:
    try:
        marker = orjson.loads((target / MARKER).read_bytes())
        names = {str(PurePosixPath(name)) for name in marker["files"]}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()
    return names | {MARKER}


_ASSETS = (
    *("site.css", "logo.svg", "site.js", "data.js"),
    *("evidence.js", "case.js", "compare.js", "resolve.js"),
)
#: Page that is drawn from data -> the scripts that draw it, and the title of the page.
_DATA_PAGES = {
    "case": (("evidence.js", "case.js"), "common.case"),
    "cases": (("evidence.js", "case.js"), "site.case_list"),
    "compare": (("compare.js",), "compare.title"),
    "target": (("resolve.js",), "common.target"),
    "open": (("resolve.js",), "site.all_boards"),
}
#: The catalogues whose texts these pages use.
_WORD_AREAS = ("case", "common", "compare", "published", "section", "site")
_COST_LABELS = {"cost": "Cost of the run in US dollars", "pareto": "No other is cheaper and better"}
SiteFile = tuple[str, bytes]


class SiteOptions(Record, frozen=True):
    """How a site is made; `base_url`, the address it will have, makes links be shown with a
    picture where they are shared, and `app_url` makes pages lead to those of the app."""

    out: Path
    title: str = "Evalboard"
    base_url: str = ""
    app_url: str = ""


def publish_site(settings: Settings, options: SiteOptions) -> int:
    """Write the site; returns the number of its files. Raises UsageError for a folder that is not
    ours or an address that is none, and EvalboardError where the store cannot be read."""
    base = _parse_address("--base-url", options.base_url)
    app = _parse_address("--app-url", options.app_url)
    title = to_single_line(options.title, 80)
    return write_site(options.out, build_site_files(settings, title, base, app))


def _parse_address(flag: str, address: str) -> str:
    parts = urlsplit(address)
    if address and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError(Note("site_scheme", flag=flag, address=address))
    if parts.query or parts.fragment:
        raise UsageError(Note("site_folder", flag=flag, address=address))
    return f"{address.rstrip('/')}/" if address else ""


def build_site_files(settings: Settings, site: str, base: str, app: str = "") -> Iterator[SiteFile]:
    """Every file of the site by its path; `base` and `app` are the addresses of the site and of the
    app, "" where they are not known."""
    facts = store.collect_site_facts(settings)
    assets = files(__package__) / "assets"
    yield from ((f"assets/{name}", (assets / name).read_bytes()) for name in _ASSETS)
    yield "robots.txt", b"User-agent: *\nAllow: /\n"
    yield ".nojekyll", b""
    for ranking in facts.rankings:
        yield from _build_data_files(facts, ranking)
    for ranking in facts.months:
        stem = make_ranking_stem(ranking)
        yield data_file(stem, "csv"), ranking_to_csv(ranking.frame).encode()
    columns = list_site_columns(facts)
    yield from build_case_files(settings, facts, columns)
    if base:
        yield from _build_preview_files(facts, site)
    for language in LANGUAGES:
        yield f"assets/{_words_file(language)}", _build_words(language, facts.names.values())
        words, frame = Words(language), {"site": site, "app": app}
        yield from _build_language_pages(facts, words, frame, base, columns)


def _words_file(language: str) -> str:
    return f"words.{language}.js"


def _build_words(language: str, names: Iterable[str]) -> bytes:
    """The texts that scripts need and the names of targets that have a translation, as a script
    that hands them over."""
    texts = {
        key: text
        for key in load_catalogue(DEFAULT)
        if key.split(".")[0] in _WORD_AREAS and (text := lookup_text(key, language)) is not None
    }
    words = {
        "texts": {**texts, "ranking.board": t("ranking.board", language)},
        "columns": {title: sorted(names) for title, names in WORDED_COLUMNS.items()},
        "dialects": dict(DIALECT_TITLES),
        "names": {name: other for name in names if (other := name_term(name, language)) != name},
    }
    return f"evalboardWords({to_json(words, ordered=False).decode()});\n".encode()


def _build_language_pages(
    facts: SiteFacts,
    w: Words,
    frame: Mapping[str, str],
    base: str,
    columns: Mapping[tuple[str, str], SiteColumn],
) -> Iterator[SiteFile]:
    bare = {"here": "", "picture": "", "live": "", "kind": "", "scripts": ["site.js"]}

    def build_page(template: str, path: str, view: object, **head_values: Any) -> SiteFile:
        head = {**bare, **frame, **head_values}
        location = PageLocation(path, w.language, base)
        return location.file_path, render_page(template, location, view, w, head)

    def build_board_page(ranking: RankingView, path: str) -> SiteFile:
        home = "../" * path.count("/")
        view = build_board_view(
            facts, ranking, w, home, home if w.language == "en" else f"../{home}"
        )
        about, picture = view["decision"] or view["columns"], make_ranking_stem(ranking)
        shown = ranking not in facts.months
        head = {"title": view["title"], "about": about, "live": view["live"]}
        head["picture"] = _picture_path(picture) if shown else ""
        return build_page("board.html", path, view, **head)

    for ranking in (*facts.rankings, *facts.months):
        yield build_board_page(ranking, board_page(make_ranking_stem(ranking)))
    head = {"title": w.t("site.all_boards"), "about": w.t("site.boards_about")}
    boards_view = build_boards_view(facts, w, "../")
    yield build_page("boards.html", "boards/index.html", boards_view, **head, here="boards")
    if facts.rankings:
        yield build_board_page(facts.rankings[0], "index.html")
    else:
        yield build_page("boards.html", "index.html", [], **head)
    own = [ranking for ranking in facts.default_rankings if ranking.board.key == "default"]
    examples = [example for ranking in own for example in store.build_worked_examples(ranking)]
    view = build_method_view(facts, examples, w)
    head = {"title": w.t("site.methodology"), "about": w.t("methodology.about")}
    head["here"] = "methodology"
    yield build_page("methodology.html", "methodology.html", view, **head)
    for name, (own_scripts, title) in _DATA_PAGES.items():
        head = {"title": w.t(title), "about": w.t("site.boards_about"), "kind": name}
        head["here"] = name if name == "compare" else ""
        look = {"scripts": ["data.js", _words_file(w.language), *own_scripts], "live": name}
        yield build_page("data.html", f"{name}.html", None, **head, **look)
    for identity in facts.runs:
        view = build_target_view(facts, identity, w, "../", columns)
        about = " · ".join(f"{item['title']}: {item['sentence']}" for item in view["standings"][:2])
        shown = view["standings"] and not store.is_published_only(facts, identity)
        picture = _picture_path(f"target-{make_file_stem(identity)}") if shown else ""
        head = {"title": view["name"], "about": about or view["name"], "picture": picture}
        head["live"] = view["live"]
        yield build_page("target.html", target_page(identity), view, **head)


def _build_data_files(facts: SiteFacts, ranking: RankingView) -> Iterator[SiteFile]:
    stem, payload = make_ranking_stem(ranking), to_json(ranking.build_payload(), ordered=False)
    yield data_file(stem, "csv"), ranking_to_csv(ranking.frame).encode()
    yield data_file(stem, "json"), payload
    names = name_ranking(ranking, facts.cards)
    chart = build_score_chart(names, ranking.floors)
    yield data_file(stem, "vl.json"), _encode_chart(chart)
    priced = names[(names["status"] == "ranked") & (names["cost"].astype(float) > 0)]
    if len(priced):
        chart = plots.build_score_cost_chart(priced, LABELS | _COST_LABELS)
        yield data_file(stem, COST_CHART_FILE), _encode_chart(chart)


def _encode_chart(chart: Any) -> bytes:
    painted: Any = plots.paint_chart(chart, "light")
    painted.width = 720
    return orjson.dumps(painted.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def _picture_path(stem: str) -> str:
    return f"previews/{stem}.png"


def _build_preview_files(facts: SiteFacts, site: str) -> Iterator[SiteFile]:
    """The previews of every ranking, and of every target that was run on the first of its
    boards: a hundred published models would take more room than all pages."""
    w = Words("en")
    cards = {}
    for ranking in facts.rankings:
        title = format_ranking_title(ranking, w)
        cards[make_ranking_stem(ranking)] = build_social_card(site, title, ranking)
    for identity in facts.runs:
        for ranking in facts.default_rankings:
            if identity in ranking.targets and not store.is_published_only(facts, identity):
                card = build_social_card(site, "", ranking, identity)
                cards[f"target-{make_file_stem(identity)}"] = card
                break
    yield from ((_picture_path(stem), render_card_png(card)) for stem, card in cards.items())
