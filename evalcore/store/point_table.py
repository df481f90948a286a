"""What every case added to the score of every run of a column, in one file: a cache of run folders.

A board of a thousand targets rests on as many run folders. Read once, they are kept as a matrix of
runs and cases beside the signatures of the folders, so that a restart or a new run costs no more
than the folders that changed. The file can be deleted at any time. pyarrow and numpy are imported
only by what needs them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from evalcore.store.run_folder import write_atomic

if TYPE_CHECKING:
    import numpy as np

_POINTS_VERSION = b"2"
_POINTS_CASES, _POINTS_MAXIMA = b"evalboard.cases", b"evalboard.maxima"
_POINTS_VERSION_FIELD = b"evalboard.version"


class PointTable(NamedTuple):
    """`cases`: (metric, id) per column of `points`; `runs`: run -> row; `signatures` of the folders
    the rows were read from. A point is 100 x weight x score / sum of weights, NaN where a run lacks
    the case. `maxima` is what a score of 1 would add, the most of all runs, one number per case."""

    cases: list[tuple[str, str]]
    runs: dict[str, int]
    signatures: dict[str, str]
    points: np.ndarray
    maxima: np.ndarray


def load_point_table(path: Path) -> PointTable | None:
    """The table of a file; None where there is none, or one that other code or a fault made."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path, use_threads=False)
        metadata = table.schema.metadata or {}
        if metadata.get(_POINTS_VERSION_FIELD) != _POINTS_VERSION:
            return None
        cases = msgspec.json.decode(metadata[_POINTS_CASES], type=list[tuple[str, str]])
        maxima = np.array(msgspec.json.decode(metadata[_POINTS_MAXIMA], type=list[float]))
        names, signatures = (table[name].to_pylist() for name in ("run", "signature"))
        flat = table["points"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        points = flat.reshape(len(names), len(cases))
    except (OSError, KeyError, ValueError, pa.ArrowException, msgspec.MsgspecError):
        return None
    rows = {name: number for number, name in enumerate(names)}
    if len(maxima) != len(cases):
        return None
    return PointTable(cases, rows, dict(zip(names, signatures, strict=True)), points, maxima)


def save_point_table(path: Path, table: PointTable) -> None:
    """Replace the file; one without a case is not worth any. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if not table.cases:
        return
    metadata = {
        _POINTS_CASES: msgspec.json.encode(table.cases),
        _POINTS_MAXIMA: msgspec.json.encode(table.maxima.tolist()),
        _POINTS_VERSION_FIELD: _POINTS_VERSION,
    }
    kinds = [("run", pa.string()), ("signature", pa.string())]
    schema = pa.schema(
        [*kinds, ("points", pa.list_(pa.float64(), len(table.cases)))], metadata=metadata
    )
    names = sorted(table.runs, key=lambda name: table.runs[name])
    points = pa.FixedSizeListArray.from_arrays(pa.array(table.points.ravel()), len(table.cases))
    signatures = [table.signatures[name] for name in names]
    columns = [pa.array(names, pa.string()), pa.array(signatures, pa.string()), points]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    write_atomic(path, sink.getvalue().to_pybytes())
