"""The two simulated APIs of our own: what they do, refuse and survive, and their documents."""

from __future__ import annotations

import copy
import inspect
import json
import random

import pytest

from evalcore.benchmarks.bfcl.categories import MULTI_TURN
from evalcore.benchmarks.bfcl.entry import load_folder
from evalcore.benchmarks.bfcl.simulated.greenhouse import BATCHES, READINGS, Greenhouse
from evalcore.benchmarks.bfcl.simulated.library_desk import ROWS, LibraryDesk
from tests.support.hangs import stop_hang
from tests.support.shared_data import ROOT

FOLDER = ROOT / "datasets" / "bfcl"
ENTRIES = load_folder(FOLDER, MULTI_TURN)
APIS = {"library_desk": LibraryDesk, "greenhouse": Greenhouse}
BOTH = pytest.mark.parametrize("stem", APIS)

#: Every bundled entry about one API starts from this state, but for the long ones' needles.
SCENARIOS = {
    stem: next(e for e in ENTRIES if e.extra["involved_classes"] == [api.__name__]).extra[
        "initial_config"
    ][api.__name__]
    for stem, api in APIS.items()
}


def fresh(stem, *, long_context=False, **changes):
    made = APIS[stem]()
    made._load_scenario(SCENARIOS[stem] | changes, long_context)
    return made


def state(api) -> str:
    return json.dumps(vars(api), sort_keys=True)


def documents(stem):
    lines = (FOLDER / "multi_turn_func_doc" / f"{stem}.json").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def tools(api):
    return {name: tool for name, tool in inspect.getmembers(api) if not name.startswith("_")}


def refused(api, name, *arguments) -> str:
    """The reason of a refusal, which must not have changed the state."""
    before = state(api)
    answer = getattr(api, name)(*arguments)
    assert state(api) == before
    assert list(answer) == ["error"], answer
    return answer["error"]


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("find_title", ("Salt",), "no title is called 'Salt'"),
        ("list_subject", ("opera",), "no subject 'opera'"),
        ("list_copies", ("T99",), "no title 'T99'"),
        ("find_member", ("Zoe",), "no member is called 'Zoe'"),
        ("member_account", ("Jonas",), "no member 'Jonas'"),
        ("lend", ("C999", "M1"), "no copy 'C999'"),
        ("lend", ("C101", "M99"), "no member 'M99'"),
        ("lend", ("C102", "M1"), "copy C102 is lent until 2031-03-10"),
        ("lend", ("C101", "M4"), "the card of member M4 expired on 2031-02-24"),
        ("lend", ("C101", "M5"), "member M5 owes 1080 cents, more than the limit of 1000"),
        ("take_back", ("C999",), "no copy 'C999'"),
        ("take_back", ("C101",), "copy C101 is not lent"),
        ("renew", ("C999",), "no copy 'C999'"),
        ("renew", ("C101",), "copy C101 is not lent"),
        ("renew", ("C103",), "copy C103 is 10 days late and has to come back"),
        ("renew", ("C105",), "copy C105 has been renewed 2 times already"),
        ("renew", ("C106",), "members wait for title T15"),
        ("place_hold", ("T99", "M1"), "no title 'T99'"),
        ("place_hold", ("T14", "M99"), "no member 'M99'"),
        ("place_hold", ("T11", "M1"), "copy C101 is on the shelf; lend it instead"),
        ("place_hold", ("T15", "M6"), "member M6 has or awaits title T15 already"),
        ("place_hold", ("T15", "M1"), "member M1 has or awaits title T15 already"),
        ("cancel_hold", ("T15", "M1"), "member M1 does not wait for title T15"),
        ("pay_fees", ("M99", 10), "no member 'M99'"),
        ("pay_fees", ("M2", 141), "member M2 owes only 140 cents"),
        ("extend_card", ("M99",), "no member 'M99'"),
        ("move_copy", ("C999", "A1"), "no copy 'C999'"),
        ("move_copy", ("C102", "A2"), "copy C102 is not on its shelf"),
    ],
)
def test_the_library_refuses(name, arguments, reason):
    assert refused(fresh("library_desk"), name, *arguments) == reason


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("read_zone", ("Fern House",), "no zone 'Fern House'"),
        ("sensor_log", ("Z9",), "no zone 'Z9'"),
        ("crop_sheet", ("rice",), "no crop 'rice'; known: basil, chili, cress, lettuce"),
        ("find_batches", ("rice",), "no batch of 'rice'"),
        ("set_climate", ("Z9", 20), "no zone 'Z9'"),
        ("set_climate", ("Z4", 23), "batch lettuce-Z4-0105: lettuce needs 5.0 to 22.0 degrees"),
        (
            "set_climate",
            ("Z3", 26),
            "26.0 needs heating: close the vents of zone Z3 to 30 percent or less first",
        ),
        ("set_vents", ("Z9", 10), "no zone 'Z9'"),
        ("set_vents", ("Z1", 31), "zone Z1 is heating: its vents open 30 percent at most"),
        ("water", ("Z9", 1), "no zone 'Z9'"),
        ("water", ("Z1", 80.1), "the tank holds only 80.0 litres"),
        ("water", ("Z4", 46), "46.0 litres would flood zone Z4"),
        ("fill_tank", (221,), "the tank has room for only 220.0 litres"),
        ("plan_watering", ("Z9", 5), "no zone 'Z9'"),
        ("plan_watering", ("Z1", 301), "301.0 litres are more than the tank can hold"),
        ("set_alarm", ("Z9", 1, 2), "no zone 'Z9'"),
        ("set_alarm", ("Z1", 20, 20), "low has to be below high"),
        ("move_batch", ("basil", "Z1"), "no batch 'basil'"),
        ("move_batch", ("basil-Z2-0120", "Z2"), "batch basil-Z2-0120 is in zone Z2 already"),
        ("move_batch", ("basil-Z2-0120", "Z9"), "no zone 'Z9'"),
        ("move_batch", ("basil-Z2-0120", "Z4"), "basil needs 14.0 to 30.0 degrees"),
        ("move_batch", ("basil-Z2-0120", "Z3"), "zone Z3 has room for only 4 trays"),
        ("sow", ("rice", 1, "Z1"), "no crop 'rice'; known: basil, chili, cress, lettuce"),
        ("sow", ("cress", 3, "Z2"), "zone Z2 has room for only 2 trays"),
        ("harvest", ("basil",), "no batch 'basil'"),
        ("harvest", ("cress-Z2-0225",), "batch cress-Z2-0225 is ready on 2031-03-09"),
    ],
)
def test_the_greenhouse_refuses(name, arguments, reason):
    assert refused(fresh("greenhouse"), name, *arguments) == reason


def test_due_days_and_fees_are_counted_from_the_given_day():
    desk = fresh("library_desk")
    assert desk.lend("C101", "M1") == {"copy_id": "C101", "due": "2031-03-24"}
    assert desk.renew("C101")["due"] == "2031-03-24"
    late = {"copy_id": "C103", "days_late": 10, "fee_cents": 200, "kept_for": ""}
    assert desk.take_back("C103") == late
    assert desk.members["M3"]["fees_cents"] == 460
    assert desk.extend_card("M4") == {"member_id": "M4", "card_expires": "2032-03-02"}
    later = fresh("library_desk", today="2031-03-05")
    assert later.lend("C101", "M1")["due"] == "2031-03-26"
    assert later.take_back("C103")["days_late"] == 12


def test_a_kept_copy_goes_to_the_member_that_waited_alone():
    desk = fresh("library_desk")
    assert desk.take_back("C108")["kept_for"] == "M6"
    assert desk.holds == {"T15": []}
    assert refused(desk, "lend", "C108", "M2") == "copy C108 is kept for member M6"
    assert refused(desk, "place_hold", "T15", "M6").endswith("has or awaits title T15 already")
    assert desk.lend("C108", "M6")["due"] == "2031-03-24"


def test_a_member_may_have_so_many_loans():
    desk = fresh("library_desk", loan_limit=2)
    desk.lend("C101", "M2")
    assert refused(desk, "lend", "C104", "M2") == "member M2 has 2 loans, the most allowed"


def test_water_raises_the_moisture_by_the_size_of_the_zone():
    house = fresh("greenhouse")
    assert house.water("Z3", 40) == {"zone_id": "Z3", "moisture_percent": 50.0}
    assert house.tank_litres == 40.0
    assert house.fill_tank() == {"added_litres": 260.0, "tank_litres": 300.0}


def test_a_crop_is_sown_once_a_day_and_harvested_when_ready():
    house = fresh("greenhouse")
    sown = {"batch_id": "cress-Z1-0303", "ready": "2031-03-15"}
    assert house.sow(" Cress ", 2.0, "Z1") == sown
    assert refused(house, "sow", "cress", 1, "Z1") == "cress was sown in zone Z1 today already"
    assert house.harvest("lettuce-Z4-0105")["grams"] == 1200
    assert house.stock_grams == {"lettuce": 1800}


def test_every_reading_tool_answers():
    desk, house = fresh("library_desk"), fresh("greenhouse")
    assert desk.find_title("salt  ROADS")["matches"][0]["title_id"] == "T11"
    assert [row["title_id"] for row in desk.list_subject("Gardening")["titles"]] == [
        "T12",
        "T13",
        "T16",
    ]
    assert [row["days_late"] for row in desk.list_overdue()["loans"]] == [10, 5]
    assert desk.member_account("M6")["holds"][0]["position"] == 1
    assert desk.list_copies("T11")["copies"][1]["due"] == "2031-03-10"
    assert house.read_zone("Z2")["free_trays"] == 2
    assert house.read_zone("Z2")["watering_plan"] == {"litres": 4.0, "every_days": 1}
    assert len(house.sensor_log("Z3")["readings"]) == 2
    assert house.crop_sheet("basil")["grams_per_tray"] == 120


HOSTILE = [
    None,
    True,
    "",
    " ",
    "x" * 10_000_000,
    "C101\0",
    "__class__",
    "{0.__init__}",
    -1,
    10**5000,
    1e308,
    float("nan"),
    float("inf"),
    2.5,
    1j,
    b"Z1",
    [],
    {"a": 1},
    [[]] * 1000,
    {1, 2},
    print,
    ValueError,
]


def outcome(tool, arguments):
    """The answer, or what was raised as a refusal; anything but Type- and ValueError goes on."""
    try:
        return tool(**arguments)
    except (TypeError, ValueError) as error:
        return {"error": str(error)}


@BOTH
def test_hostile_arguments_raise_only_type_and_value_errors(stem):
    api = fresh(stem)
    with stop_hang():
        for name, tool in tools(api).items():
            if not callable(tool):
                continue
            places = inspect.signature(tool).parameters
            for value in HOSTILE:
                for hostile in places:
                    arguments = {key: value if key == hostile else "Z1" for key in places}
                    before = state(api)
                    answer = outcome(tool, arguments)
                    assert len(json.dumps(answer)) < 20_000
                    assert "error" not in answer or state(api) == before, name


@BOTH
def test_random_calls_keep_the_state_sound(stem):
    chance = random.Random(7)
    api = fresh(stem)
    values = {
        "copy_id": [*getattr(api, "copies", ())],
        "member_id": [*getattr(api, "members", ())],
        "title_id": [*getattr(api, "titles", ())],
        "zone_id": [*getattr(api, "zones", ())],
        "crop": [*getattr(api, "crops", ())],
        "shelf": ["A1", "b2"],
    }
    done = 0
    for _ in range(1500):
        if stem == "greenhouse":
            values["batch_id"] = [*api.batches, "none"]
        name, tool = chance.choice([item for item in tools(api).items() if callable(item[1])])
        arguments = {
            key: chance.choice(values.get(key, [1, 2, 5, 15, 40, 200]))
            for key in inspect.signature(tool).parameters
        }
        before = state(api)
        if "error" in outcome(tool, arguments):
            assert state(api) == before, (name, arguments)
        done += state(api) != before
    assert done > 50
    if stem == "library_desk":
        assert all(value["fees_cents"] >= 0 for value in api.members.values())
        assert all(
            (value["status"] == "lent") == bool(value["due"]) for value in api.copies.values()
        )
        assert all(len(api._list_loans(key)) <= api.loan_limit for key in api.members)
    else:
        assert 0 <= api.tank_litres <= api.tank_capacity
        assert all(api._count_free_trays(key) >= 0 for key in api.zones)
        assert all(0 <= value["moisture_percent"] <= 100 for value in api.zones.values())


@BOTH
@pytest.mark.parametrize("long_context", [False, True])
def test_instances_are_equal_when_fresh_and_share_nothing(stem, long_context):
    untouched = copy.deepcopy(SCENARIOS[stem])
    item, other = (fresh(stem, long_context=long_context) for _ in range(2))
    before = state(other)
    assert state(item) == before
    if stem == "library_desk":
        item.take_back("C102")
        item.place_hold("T14", "M1")
    else:
        item.set_vents("Z3", 5)
        item.harvest("basil-Z2-0120")
    assert state(item) != before
    assert state(other) == before
    assert SCENARIOS[stem] == untouched
    item._load_scenario(SCENARIOS[stem], long_context)
    assert state(item) == before


@BOTH
def test_a_scenario_that_is_none_is_a_value_error(stem):
    for wrong in (None, [], {"today": "soon"}, {"today": "9999-12-31"}, {"zones": 1, "titles": 1}):
        with pytest.raises(ValueError, match="no scenario of this API"):
            APIS[stem]()._load_scenario(wrong)


def test_long_contexts_hold_hundreds_of_rows():
    desk, house = (fresh(stem, long_context=True) for stem in APIS)
    assert len(desk.titles) == ROWS + 6
    assert len(desk.list_overdue()["loans"]) == ROWS // 2 + 2
    assert len({value["title"] for value in desk.titles.values()}) == len(desk.titles)
    assert len({value["name"] for value in desk.members.values()}) == len(desk.members)
    assert len(house.batches) == BATCHES + 6
    assert len(house.sensor_log("Z1")["readings"]) == READINGS
    short = fresh("greenhouse")
    assert [house._count_free_trays(key) for key in house.zones] == [
        short._count_free_trays(key) for key in short.zones
    ]


KINDS = {"string": "str", "integer": "int", "float": "float"}


@BOTH
def test_documents_match_the_tools(stem):
    described = {document["name"]: document for document in documents(stem)}
    callables = {name: tool for name, tool in tools(APIS[stem]()).items() if callable(tool)}
    assert set(described) == set(callables)
    assert 8 <= len(described) <= 14
    for name, tool in callables.items():
        parameters = inspect.signature(tool).parameters
        schema = described[name]["parameters"]
        assert list(schema["properties"]) == list(parameters), name
        optional = [key for key, item in parameters.items() if item.default is not item.empty]
        assert schema["required"] == [key for key in parameters if key not in optional], name
        for key, parameter in parameters.items():
            shown = schema["properties"][key]
            assert str(parameter.annotation).removesuffix(" | None") == KINDS[shown["type"]], name
            assert shown["description"]
            if key in optional:
                assert shown["default"] == parameter.default, name


def test_documents_list_what_the_tools_answer():
    answers = {"library_desk": ("member_account", "M6"), "greenhouse": ("read_zone", "Z2")}
    for stem, (name, argument) in answers.items():
        described = next(document for document in documents(stem) if document["name"] == name)
        answer = getattr(fresh(stem), name)(argument)
        assert list(described["response"]["properties"]) == list(answer)
