"""What holds a process, a file or a folder, and gives it up at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A thing with an end: `close` comes with the block, whatever the block ends by."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is held; safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
