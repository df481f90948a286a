"""The process of a model on a device with little memory: run in place of the real worker.

A batch of more places (rows times columns) than the variable EVALBOARD_TEST_PLACES runs out of it.
"""

from __future__ import annotations

import os


def main() -> None:
    import torch

    from evalcore.targets.huggingface import generate, worker

    forward, limit = (
        generate.GenerationEngine._run_forward,
        int(os.environ["EVALBOARD_TEST_PLACES"]),
    )

    def limited(self, tokens, mask, *rest):
        if mask.shape[0] * mask.shape[1] > limit:
            raise torch.OutOfMemoryError("out of memory, as the test wants it")
        return forward(self, tokens, mask, *rest)

    generate.GenerationEngine._run_forward = limited
    worker.main()


if __name__ == "__main__":
    main()
