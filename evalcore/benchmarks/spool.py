"""Samples that a benchmark yields one by one, as a sequence that lies in a file without a name."""

from __future__ import annotations

import hashlib
import heapq
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, overload

import msgspec

from evalcore.records import Sample, from_json, to_json

_STEP = 256  # samples between two whose offset is remembered
_SORTED_AT_ONCE = 50_000  # texts that are sorted in memory


class SpooledSamples(Sequence[Sample]):
    """As many samples as an iterator gives, in constant memory. Raises TypeError for what is no
    sample."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the sequence
        weakref.finalize(self, self._file.close)
        self._offsets, self._count, offset = array("q"), 0, 0
        for sample in samples:
            if not isinstance(sample, Sample):
                raise TypeError("load_dataset returned something else than samples")
            if self._count % _STEP == 0:
                self._offsets.append(offset)
            offset += self._file.write(to_json(sample) + b"\n")
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Sample]:
        return self._iterate(0)

    @overload
    def __getitem__(self, number: int) -> Sample: ...

    @overload
    def __getitem__(self, number: slice) -> list[Sample]: ...

    def __getitem__(self, number: int | slice) -> Sample | list[Sample]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return next(self._iterate(number % len(self)))

    def _iterate(self, first: int) -> Iterator[Sample]:
        """The samples from one on; others may read the file meanwhile."""
        if first >= self._count:
            return
        offset, skipped = self._offsets[first // _STEP], first % _STEP
        while True:
            self._file.seek(offset)
            lines = list(islice(self._file, _STEP))
            if not lines:
                return
            offset += sum(map(len, lines))
            for line in lines[skipped:]:
                yield from_json(Sample, line)
            skipped = 0


def to_sequence(samples: Iterable[Sample]) -> Sequence[Sample]:
    """The samples themselves where they are a sequence, else `SpooledSamples`."""
    return samples if isinstance(samples, Sequence) else SpooledSamples(samples)


def hash_sorted(texts: Iterable[str], length: int = 16) -> str:
    """`content_hash(sorted(texts))`, in constant memory: parts are sorted and merged."""
    parts: list[IO[bytes]] = []
    iterator = iter(texts)
    while part := sorted(islice(iterator, _SORTED_AT_ONCE)):
        parts.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed below
        parts[-1].writelines(to_json(text) + b"\n" for text in part)
        parts[-1].seek(0)
    digest = hashlib.sha256(b"[")
    decode = msgspec.json.Decoder(str).decode
    for number, line in enumerate(heapq.merge(*parts, key=decode)):
        digest.update(b"," + line[:-1] if number else line[:-1])
    digest.update(b"]")
    for file in parts:
        file.close()
    return digest.hexdigest()[:length]
