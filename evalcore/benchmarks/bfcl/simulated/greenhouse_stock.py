"""The rest of a big greenhouse: rows that a long-context scenario adds around its own.

Everything follows from the row's number, so that the stock is the same every time.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from evalcore.benchmarks.bfcl.simulated.greenhouse_state import Batch, Crop, Reading, Zone

BATCHES = 400
READINGS = 672  # a week, every quarter of an hour


def add_batches(
    zones: dict[str, Zone], crops: dict[str, Crop], batches: dict[str, Batch], today: str
) -> None:
    """Add BATCHES batches of one tray, spread over every crop and zone that suits it.

    The zones grow by as many trays, so that the free room stays what it was. All were sown in the
    last days and none is ready.
    """
    pairs = [
        (crop, zone_id)
        for crop, sheet in sorted(crops.items())
        for zone_id, zone in sorted(zones.items())
        if sheet["min_celsius"] <= zone["target_celsius"] <= sheet["max_celsius"]
    ]
    for row in range(BATCHES if pairs else 0):
        crop, zone_id = pairs[row % len(pairs)]
        days = crops[crop]["days_to_harvest"]
        sown = date.fromisoformat(today) - timedelta(days=row * 11 % max(1, min(days, 40)))
        batches[f"{crop}-{zone_id}-x{row:03}"] = {
            "crop": crop,
            "zone_id": zone_id,
            "trays": 1,
            "sown": sown.isoformat(),
            "ready": (sown + timedelta(days=days)).isoformat(),
        }
        zones[zone_id]["capacity_trays"] += 1


def add_readings(zones: dict[str, Zone], logs: dict[str, list[Reading]], today: str) -> None:
    """Put the READINGS of the week before `today` around those that a log has already.

    A reading of the scenario replaces the one of the same time (`YYYY-MM-DD HH:MM`). The others
    stay within 3 degrees and 4 percent of what the zone shows.
    """
    start = datetime.fromisoformat(f"{today}T00:00") - timedelta(minutes=15 * READINGS)
    for zone_index, (zone_id, zone) in enumerate(sorted(zones.items())):
        rows = {}
        for row in range(READINGS):
            at = (start + timedelta(minutes=15 * row)).isoformat(" ", "minutes")
            wave = (row * 7 + zone_index * 3) % 61 - 30
            rows[at] = _build_reading(at, zone, wave)
        rows |= {reading["at"]: reading for reading in logs.get(zone_id, [])}
        logs[zone_id] = [rows[at] for at in sorted(rows)]


def _build_reading(at: str, zone: Zone, wave: int) -> Reading:
    return {
        "at": at,
        "celsius": round(zone["measured_celsius"] + wave / 10, 1),
        "moisture_percent": round(
            min(100.0, max(0.0, zone["moisture_percent"] + wave * 2 / 15)), 1
        ),
    }
