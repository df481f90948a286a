"""A loop of plain aiohttp that sends the requests of `perf.throughput` and keeps nothing.

    python perf/bare_client.py BASE_URL [--samples 2000]

The floor of every comparison: also as a whole command, with its start and its imports, as the other
commands are measured. It imports nothing of Evalboard.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

CONCURRENCY = 64


def run_loop(base_url: str, count: int) -> dict[str, float]:
    """Send `count` requests and compare the answers; seconds, and CPU milliseconds a sample,
    without what the import of aiohttp takes."""
    import aiohttp

    async def send_all() -> int:
        right = 0
        numbers = iter(range(count))
        connector = aiohttp.TCPConnector(limit=CONCURRENCY)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def worker() -> None:
                nonlocal right
                for number in numbers:
                    content = f"Compute {number} + {number * 7 % 1000}"
                    body = {"model": "test", "messages": [{"role": "user", "content": content}]}
                    async with session.post(f"{base_url}/chat/completions", json=body) as sent:
                        reply = await sent.json()
                    answer = reply["choices"][0]["message"]["content"].strip()
                    right += answer == str(number + number * 7 % 1000)

            await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
        return right

    wall, cpu = time.perf_counter(), time.process_time()
    right = asyncio.run(send_all())
    return {
        "wall": time.perf_counter() - wall,
        "cpu_ms": (time.process_time() - cpu) * 1000 / count,
        "right": right,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base_url")
    parser.add_argument("--samples", type=int, default=2000)
    args = parser.parse_args()
    print(json.dumps(run_loop(args.base_url, args.samples)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
