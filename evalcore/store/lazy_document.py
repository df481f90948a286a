"""A stored document that is parsed only when somebody looks into it.

A change of the index touches one document of thousands. The others go from the old file to the new
one as the bytes they are, which costs a copy instead of a parse and an encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import msgspec

from evalcore.errors import IndexFileError


class LazyDocument(MutableMapping[str, Any]):
    """JSON object text, and from the first look on the dict made of it; never shared."""

    __slots__ = ("_fields", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._fields: dict[str, Any] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The parsed document; raises IndexFileError when it is not an object."""
        if self._fields is None:
            try:
                self._fields = dict(msgspec.json.decode(self.raw))
            except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
                raise IndexFileError(
                    f"a document of the index is broken ({error}); `evalcore index rebuild` "
                    "makes it anew from the run folders"
                ) from None
        return self._fields

    def to_encodable(self) -> msgspec.Raw | dict[str, Any]:
        """What msgspec writes for it: the same bytes if nobody looked, else the dict as it is."""
        return msgspec.Raw(self.raw) if self._fields is None else self._fields

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.fields[name] = value

    def __delitem__(self, name: str) -> None:
        del self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)
