"""The simulated API `Greenhouse`: its scenario, its stock, and its tools."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TypedDict

from evalcore.benchmarks.bfcl.simulated import (
    Answer,
    Count,
    Day,
    Days,
    ToolRefusal,
    answer_refusals,
    check_folded_text,
    check_integer,
    check_number,
    check_text,
    find_row,
    parse_scenario,
)
from evalcore.records import Record

# The state of a greenhouse as JSON data: degrees Celsius, litres, percent, grams, ISO dates.


class Zone(TypedDict):
    name: str
    target_celsius: float
    measured_celsius: float
    vents_percent: int
    moisture_percent: float
    capacity_trays: Count


class Crop(TypedDict):
    days_to_harvest: Days
    min_celsius: float
    max_celsius: float
    grams_per_tray: int


class Batch(TypedDict):
    crop: str
    zone_id: str
    trays: int
    sown: Day
    ready: Day


class Plan(TypedDict):
    litres: float
    every_days: int


class Alarm(TypedDict):
    low: float
    high: float


class Reading(TypedDict):
    at: str
    celsius: float
    moisture_percent: float


class GreenhouseScenario(Record, frozen=True):
    """What a greenhouse starts from; `plans`, `alarms` and `logs` are by zone."""

    today: Day = "2031-03-03"
    tank_litres: float = 0.0
    tank_capacity: float = 500.0
    zones: dict[str, Zone] = {}
    crops: dict[str, Crop] = {}
    batches: dict[str, Batch] = {}
    plans: dict[str, Plan] = {}
    alarms: dict[str, Alarm] = {}
    stock_grams: dict[str, int] = {}
    logs: dict[str, list[Reading]] = {}


# The rest of a big greenhouse: rows that a long-context scenario adds around its own.
# Everything follows from the row's number, so that the stock is the same every time.

BATCHES = 400
READINGS = 672  # a week, every quarter of an hour


def add_batches(
    zones: dict[str, Zone], crops: dict[str, Crop], batches: dict[str, Batch], today: str
) -> None:
    """Add BATCHES batches of one tray, spread over every crop and zone that suits it. The zones
    grow by as many trays, so that the free room stays what it was. All were sown in the last days
    and none is ready."""
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
    """Add the READINGS of the week before `today` to a log. A reading of the scenario replaces the
    generated one of the same time (`YYYY-MM-DD HH:MM`). The others stay within 3 degrees and 4
    percent of what the zone shows."""
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


# Temperatures are in degrees Celsius, water in litres, moisture in percent, weights in grams; days
# are ISO dates counted from the scenario's `today`, which never changes.

#: While the heating runs, the vents may be open this far at most.
VENTS_WHILE_HEATING = 30


@answer_refusals
class Greenhouse:
    """Tools for a gardener. A tool that cannot do its work answers {"error": why}."""

    def __init__(self) -> None:
        self._load_scenario({})

    def _load_scenario(self, scenario: dict[str, object], long_context: bool = False) -> None:
        """Set the whole state; `long_context` adds many batches and a week of readings per zone.
        Raises ValueError for what is no scenario."""
        state = parse_scenario(scenario, GreenhouseScenario)
        self.today = state.today
        self.tank_litres = state.tank_litres
        self.tank_capacity = state.tank_capacity
        self.zones = state.zones
        self.crops = state.crops
        self.batches = state.batches
        self.plans = state.plans
        self.alarms = state.alarms
        self.stock_grams = state.stock_grams
        self.logs = state.logs
        if long_context:
            add_batches(self.zones, self.crops, self.batches, self.today)
            add_readings(self.zones, self.logs, self.today)

    def list_zones(self) -> Answer:
        rows = [{"zone_id": key, "name": zone["name"]} for key, zone in sorted(self.zones.items())]
        return {"zones": rows}

    def read_zone(self, zone_id: str) -> Answer:
        zone_id = check_text("zone_id", zone_id)
        zone = find_row(self.zones, "zone", zone_id)
        return {
            **zone,
            "free_trays": self._count_free_trays(zone_id),
            "watering_plan": self.plans.get(zone_id),
            "alarm": self.alarms.get(zone_id),
        }

    def sensor_log(self, zone_id: str) -> Answer:
        zone_id = check_text("zone_id", zone_id)
        find_row(self.zones, "zone", zone_id)
        return {"readings": [dict(reading) for reading in self.logs.get(zone_id, [])]}

    def crop_sheet(self, crop: str) -> Answer:
        name = check_folded_text("crop", crop)
        if name not in self.crops:
            raise ToolRefusal(f"no crop '{name}'; known: {', '.join(sorted(self.crops))}")
        return {"crop": name, **self.crops[name]}

    def find_batches(self, crop: str) -> Answer:
        name = check_folded_text("crop", crop)
        rows = [
            {"batch_id": key, **batch}
            for key, batch in sorted(self.batches.items())
            if batch["crop"] == name
        ]
        if not rows:
            raise ToolRefusal(f"no batch of '{name}'")
        return {"batches": rows}

    def set_climate(self, zone_id: str, celsius: float) -> Answer:
        zone_id, celsius = check_text("zone_id", zone_id), check_number("celsius", celsius, 2, 40)
        zone = find_row(self.zones, "zone", zone_id)
        for key, batch in sorted(self.batches.items()):
            if batch["zone_id"] == zone_id:
                self._check_climate(batch["crop"], celsius, f"batch {key}: ")
        if celsius > zone["measured_celsius"] and zone["vents_percent"] > VENTS_WHILE_HEATING:
            raise ToolRefusal(
                f"{celsius} needs heating: close the vents of zone {zone_id} "
                f"to {VENTS_WHILE_HEATING} percent or less first"
            )
        zone["target_celsius"] = celsius
        return {"zone_id": zone_id, "target_celsius": celsius}

    def set_vents(self, zone_id: str, percent: int) -> Answer:
        zone_id, percent = check_text("zone_id", zone_id), check_integer("percent", percent, 0, 100)
        zone = find_row(self.zones, "zone", zone_id)
        heating = zone["target_celsius"] > zone["measured_celsius"]
        if heating and percent > VENTS_WHILE_HEATING:
            raise ToolRefusal(
                f"zone {zone_id} is heating: its vents open {VENTS_WHILE_HEATING} percent at most"
            )
        zone["vents_percent"] = percent
        return {"zone_id": zone_id, "vents_percent": percent}

    def water(self, zone_id: str, litres: float) -> Answer:
        zone_id = check_text("zone_id", zone_id)
        litres = check_number("litres", litres, 0.1, 10_000)
        zone = find_row(self.zones, "zone", zone_id)
        if litres > self.tank_litres:
            raise ToolRefusal(f"the tank holds only {self.tank_litres} litres")
        moisture = round(zone["moisture_percent"] + litres * 10 / zone["capacity_trays"], 1)
        if moisture > 100:
            raise ToolRefusal(f"{litres} litres would flood zone {zone_id}")
        self.tank_litres = round(self.tank_litres - litres, 1)
        zone["moisture_percent"] = moisture
        return {"zone_id": zone_id, "moisture_percent": moisture}

    def fill_tank(self, litres: float | None = None) -> Answer:
        room = round(self.tank_capacity - self.tank_litres, 1)
        added = room if litres is None else check_number("litres", litres, 0.1, 10_000)
        if added > room:
            raise ToolRefusal(f"the tank has room for only {room} litres")
        self.tank_litres = round(self.tank_litres + added, 1)
        return {"added_litres": added, "tank_litres": self.tank_litres}

    def plan_watering(self, zone_id: str, litres: float, every_days: int = 1) -> Answer:
        zone_id = check_text("zone_id", zone_id)
        litres = check_number("litres", litres, 0.1, 10_000)
        every_days = check_integer("every_days", every_days, 1, 30)
        find_row(self.zones, "zone", zone_id)
        if litres > self.tank_capacity:
            raise ToolRefusal(f"{litres} litres are more than the tank can hold")
        self.plans[zone_id] = {"litres": litres, "every_days": every_days}
        next_day = (date.fromisoformat(self.today) + timedelta(days=every_days)).isoformat()
        return {"zone_id": zone_id, "next_watering": next_day}

    def set_alarm(self, zone_id: str, low: float, high: float) -> Answer:
        zone_id = check_text("zone_id", zone_id)
        low, high = check_number("low", low, -20, 60), check_number("high", high, -20, 60)
        find_row(self.zones, "zone", zone_id)
        if low >= high:
            raise ToolRefusal("low has to be below high")
        self.alarms[zone_id] = {"low": low, "high": high}
        return {"zone_id": zone_id, "low": low, "high": high}

    def move_batch(self, batch_id: str, zone_id: str) -> Answer:
        batch_id, zone_id = check_text("batch_id", batch_id), check_text("zone_id", zone_id)
        batch = find_row(self.batches, "batch", batch_id)
        if batch["zone_id"] == zone_id:
            raise ToolRefusal(f"batch {batch_id} is in zone {zone_id} already")
        self._check_space(batch["crop"], batch["trays"], zone_id)
        batch["zone_id"] = zone_id
        return {"batch_id": batch_id, "zone_id": zone_id}

    def sow(self, crop: str, trays: int, zone_id: str) -> Answer:
        name, zone_id = check_folded_text("crop", crop), check_text("zone_id", zone_id)
        trays = check_integer("trays", trays, 1, 1000)
        if name not in self.crops:
            raise ToolRefusal(f"no crop '{name}'; known: {', '.join(sorted(self.crops))}")
        self._check_space(name, trays, zone_id)
        batch_id = f"{name}-{zone_id}-{self.today[5:].replace('-', '')}"
        if batch_id in self.batches:
            raise ToolRefusal(f"{name} was sown in zone {zone_id} today already")
        days = timedelta(days=self.crops[name]["days_to_harvest"])
        ready = (date.fromisoformat(self.today) + days).isoformat()
        self.batches[batch_id] = {
            "crop": name,
            "zone_id": zone_id,
            "trays": trays,
            "sown": self.today,
            "ready": ready,
        }
        return {"batch_id": batch_id, "ready": ready}

    def harvest(self, batch_id: str) -> Answer:
        batch_id = check_text("batch_id", batch_id)
        batch = find_row(self.batches, "batch", batch_id)
        if batch["ready"] > self.today:
            raise ToolRefusal(f"batch {batch_id} is ready on {batch['ready']}")
        crop = batch["crop"]
        grams = batch["trays"] * self.crops[crop]["grams_per_tray"]
        self.stock_grams[crop] = self.stock_grams.get(crop, 0) + grams
        del self.batches[batch_id]
        return {"batch_id": batch_id, "crop": crop, "grams": grams}

    def _count_free_trays(self, zone_id: str) -> int:
        used = sum(batch["trays"] for batch in self.batches.values() if batch["zone_id"] == zone_id)
        return self.zones[zone_id]["capacity_trays"] - used

    def _check_climate(self, crop: str, celsius: float, whose: str = "") -> None:
        low, high = self.crops[crop]["min_celsius"], self.crops[crop]["max_celsius"]
        if not low <= celsius <= high:
            raise ToolRefusal(f"{whose}{crop} needs {low} to {high} degrees")

    def _check_space(self, crop: str, trays: int, zone_id: str) -> None:
        zone = find_row(self.zones, "zone", zone_id)
        free = self._count_free_trays(zone_id)
        if trays > free:
            raise ToolRefusal(f"zone {zone_id} has room for only {free} trays")
        self._check_climate(crop, zone["target_celsius"])
