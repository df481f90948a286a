"""The official data sets that can be fetched, known without importing a fetcher."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evalcore.records import Record

#: The environment variable with the token of the Hub.
HUB_TOKEN_VARIABLE = "HF_TOKEN"


class OfficialDataset(Record, frozen=True):
    """`part` is what the fetcher of the benchmark calls it, `folder` where it goes below
    `<data>/datasets`, `page` where its terms stand, `cases` how many it is
    published with, where that is known."""

    name: str
    benchmark: str
    part: str
    folder: str
    title: str
    page: str
    cases: int | None = None
    gated: bool = False


_SWE = "https://huggingface.co/datasets/SWE-bench/SWE-bench"
_GAIA = "https://huggingface.co/datasets/gaia-benchmark/GAIA"
_BFCL = "https://github.com/ShishirPatil/gorilla/tree/main/berkeley-function-call-leaderboard"

_OFFICIAL_SETS = (
    OfficialDataset("bfcl-v4", "bfcl", "wheel", "bfcl-v4", "BFCL v4", _BFCL),
    OfficialDataset("bfcl-v3", "bfcl", "hub", "bfcl-v3", "BFCL v3", _BFCL),
    OfficialDataset(
        "gaia-validation",
        "gaia",
        "validation",
        "gaia-validation",
        "GAIA validation",
        _GAIA,
        165,
        True,
    ),
    OfficialDataset("gaia-test", "gaia", "test", "gaia-test", "GAIA test", _GAIA, 301, True),
    OfficialDataset(
        "swe_bench-swe-bench_verified",
        "swe_bench",
        "verified",
        "swe_bench-swe-bench_verified",
        "SWE-bench Verified",
        f"{_SWE}_Verified",
        500,
    ),
    OfficialDataset(
        "swe_bench-swe-bench_lite",
        "swe_bench",
        "lite",
        "swe_bench-swe-bench_lite",
        "SWE-bench Lite",
        f"{_SWE}_Lite",
        300,
    ),
    OfficialDataset(
        "swe_bench-swe-bench",
        "swe_bench",
        "full",
        "swe_bench-swe-bench",
        "SWE-bench",
        _SWE,
        2294,
    ),
    OfficialDataset(
        "swe_bench-swe-bench_multilingual",
        "swe_bench",
        "multilingual",
        "swe_bench-swe-bench_multilingual",
        "SWE-bench Multilingual",
        f"{_SWE}_Multilingual",
        300,
    ),
)
#: By name; a test holds the folders against those of the fetchers.
OFFICIAL_DATASETS: Mapping[str, OfficialDataset] = MappingProxyType(
    {official.name: official for official in _OFFICIAL_SETS}
)
