"""How own cases of each benchmark are handed in: which files they go to and what lies beside them.

Light on purpose: pages read it. A benchmark that is not in the table keeps one file a metric.
"""

from __future__ import annotations

from evalcore.catalog import benchmark_card
from evalcore.records import Record

#: What a person may hand in at once.
MAX_FILE_BYTES = 10 << 20
MAX_CASES = 5_000
MAX_LINE_LENGTH = 1 << 20
#: Errors that are listed before the rest is left out.
MAX_ERRORS = 200


class UploadForm(Record, frozen=True):
    """`parts` are the names that a case may belong to, by its field `metric` or by choice; `file`
    is where the cases of a part go within the folder, `companion_files` the patterns of bundled
    files that they need there, `identity` the field that names a case ("" for the order of the
    lines), and `left_out` the fields of bundled cases that point to files, which nobody can hand
    in."""

    parts: tuple[str, ...]
    file: str = "{part}.jsonl"
    companion_files: tuple[str, ...] = ()
    identity: str = "case_id"
    left_out: tuple[str, ...] = ()

    def part_of(self, row: dict[str, object], chosen: str) -> str:
        """The part of a case: its own word, else the choice of whoever handed it in."""
        if len(self.parts) == 1:
            return self.parts[0]
        return str(row.get("metric", row.get("category", chosen)))


def find_upload_form(benchmark: str) -> UploadForm:
    """The form of a benchmark; raises UsageError for one that is unknown."""
    metrics = tuple(metric.key for metric in benchmark_card(benchmark).metrics)
    forms = {
        "sql_optimization": UploadForm(parts=("rewrite", "index_advice")),
        "bfcl": UploadForm(
            parts=metrics, companion_files=("multi_turn_func_doc/*",), identity="id"
        ),
        "gaia": UploadForm(
            parts=("validation",),
            identity="task_id",
            left_out=("file_name", "file_path"),
        ),
        "swe_bench": UploadForm(
            parts=("tasks",),
            identity="instance_id",
            left_out=("bundle", "variants", "counterexamples"),
        ),
        "tau_bench": UploadForm(
            parts=metrics,
            file="{part}/tasks_own.jsonl",
            companion_files=("{part}/*.json", "{part}/policy.md"),
            identity="",
        ),
    }
    return forms.get(benchmark, UploadForm(parts=metrics))


def guess_part(benchmark: str, file_name: str) -> str:
    """The part that a file is named after, else the first."""
    parts, stem = find_upload_form(benchmark).parts, file_name.rpartition("/")[2].split(".")[0]
    return stem if stem in parts else parts[0]
