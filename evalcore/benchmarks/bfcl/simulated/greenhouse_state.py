"""The state of a greenhouse as JSON data: degrees Celsius, litres, percent, grams, ISO dates."""

from __future__ import annotations

from typing import TypedDict

from evalcore.benchmarks.bfcl.simulated.arguments import Count, Day, Days
from evalcore.records import Record


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
