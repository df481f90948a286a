"""What kinds of databases are made: small, with many NULLs, with ties, around a limit, ..."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import msgspec

from evalcore.records import Record


class Profile(Record, frozen=True):
    """One kind of database.

    `rows` is the size of a table that others do not refer to. Shares are probabilities: `good` of a
    row whose every column satisfies some condition, `near` of a cell that just misses one, `null`
    of a NULL where one is allowed, `duplicate` of a row that repeats an earlier one but for its
    key, `altered` of a repeated row that differs in one place, `dangling` of a reference that finds
    nothing. `domain` is the number of values that joined columns share, per row. `distinct` gives
    columns that something orders pairwise distinct values. `empty` empties every so-manieth table.
    `parents` is the size of the tables whose key others hold, else a share of `rows`. `wide` draws
    from many values, for plans. With `strict` a good cell satisfies as many conditions as one can.
    """

    name: str
    rows: int
    good: float = 0.6
    near: float = 0.2
    null: float = 0.1
    duplicate: float = 0.1
    dangling: float = 0.15
    domain: float = 0.8
    distinct: bool = False
    empty: int | None = None
    parents: int | None = None
    wide: bool = False
    strict: bool = False
    altered: float = 0.4


_USUAL = (
    Profile("common", rows=14),
    Profile("dense joins", rows=24, good=0.8, null=0.0, domain=0.3, dangling=0.0),
    Profile("many nulls", rows=16, null=0.4, good=0.45),
    Profile("distinct keys", rows=18, distinct=True, duplicate=0.0, good=0.7, null=0.05),
    Profile("near misses", rows=20, good=0.4, near=0.6, null=0.05),
    Profile("ties", rows=18, duplicate=0.5, near=0.35, domain=0.4),
    Profile("tiny", rows=3, good=0.7, null=0.2),
    Profile("few parents", rows=24, good=0.8, duplicate=0.25, dangling=0.0, domain=0.1, parents=3),
    Profile("one empty", rows=14, empty=2),
    Profile("distinct without nulls", rows=30, distinct=True, null=0.0, good=0.9, near=0.1),
    Profile("larger", rows=48, good=0.4, near=0.25),
    Profile("dangling", rows=16, dangling=0.5, null=0.2),
    Profile("few groups", rows=26, domain=0.12, good=0.7, duplicate=0.2),
    Profile("nulls and ties", rows=7, null=0.3, duplicate=0.5, near=0.4, domain=0.5),
    Profile("one parent", rows=8, good=0.8, duplicate=0.25, domain=0.3, parents=1),
    Profile("good rows", rows=20, good=1.0, near=0.0, null=0.0, domain=0.4, dangling=0.0),
)
_MAX_PROFILE_ROWS = 64
SCALED = Profile(
    "scaled", rows=4000, good=0.04, near=0.01, null=0.03, duplicate=0.0, dangling=0.02, wide=True
)
CROWDED = Profile("crowded", rows=0, good=1.0, near=0.0, null=0.02, dangling=0.0, domain=0.9)


def choose_profiles(
    counts: Sequence[int], count: int, *, ranked: bool = False
) -> tuple[Profile, ...]:
    """So many profiles; where statements count or limit rows, some have about that many.

    `ranked` makes half of them distinct in what orders rows: on the others ties may leave open what
    the reference gives, but where they do not, NULLs and ties tell most.
    """
    small = [limit for limit in counts if 0 < limit <= _MAX_PROFILE_ROWS // 2]
    around = [p for kind in zip(*map(_build_profiles_around, small), strict=True) for p in kind][
        : count // 3
    ]
    usual = islice(cycle(_USUAL), count - len(around))
    chosen = (
        *(
            msgspec.structs.replace(p, rows=p.rows + 5 * (n // len(_USUAL)))
            for n, p in enumerate(usual)
        ),
        *around,
    )
    if not ranked:
        return chosen
    return tuple(
        msgspec.structs.replace(p, distinct=True, duplicate=0.0) if n % 2 else p
        for n, p in enumerate(chosen)
    )


def make_eager(profile: Profile) -> Profile:
    """The same kind of database, but with rows that nearly all satisfy something."""
    return msgspec.structs.replace(
        profile,
        name=f"{profile.name}, eager",
        rows=profile.rows + 10,
        good=0.97,
        near=0.1,
        null=profile.null / 6,
        dangling=0.03,
        domain=min(profile.domain, 0.3),
        empty=None,
    )


def _build_profiles_around(limit: int) -> tuple[Profile, ...]:
    """Groups of such a size, so many parents, tables of just so many rows and a few more."""
    full = Profile("", rows=limit, distinct=True, good=0.95, near=0.0, null=0.0, domain=0.9)
    named = msgspec.structs.replace
    return (
        named(
            full, name=f"groups of {limit}", rows=min(90, 7 * (limit + 2)), domain=1 / (limit + 2)
        ),
        named(
            full,
            name=f"{limit + 2} parents",
            rows=min(90, 4 * (limit + 2)),
            parents=limit + 2,
            dangling=0.0,
            domain=0.25,
        ),
        named(
            full, name=f"{limit + 1} rows alone", rows=limit + 1, good=1.0, distinct=False, empty=2
        ),
        named(full, name=f"{2 * limit + 3} rows", rows=2 * limit + 3),
        named(full, name=f"{limit} rows"),
    )
