"""The bundled data of tau_bench: made by rule, sound, fair to a competent agent and to no other."""

import json
import re

import pytest

from evalcore.benchmarks.tau_bench.environment import (
    compute_reward,
    list_splits,
    load_domain,
    load_tasks,
)
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS
from evalcore.benchmarks.tau_bench.environment.reward import (
    NOTHING_TO_DO,
    TRUTH_ERRS,
    replay_ground_truth,
)
from evalcore.benchmarks.tau_bench.user_goals import SLOTS
from evalcore.benchmarks.tau_bench.user_simulators import RuleUser, from_slots
from evalcore.settings import ROOT
from tests.support import tau_agents, tau_airline_agents
from tests.support.tau_data import list_slot_values
from tests.support.tau_episodes import play
from tools.tau_tasks.generate import SPLIT, generate_data_files, main
from tools.tau_tasks.retail_fixtures import HYGIENE

pytestmark = pytest.mark.slow

FOLDER = ROOT / "datasets" / "tau_bench"
AGENTS = {"retail": tau_agents, "airline": tau_airline_agents}
LARGEST = 3 * 2**20


@pytest.fixture(scope="module", params=sorted(DOMAINS))
def domain(request):
    return load_domain(FOLDER, request.param)


@pytest.fixture(scope="module")
def tasks(domain):
    return load_tasks(FOLDER, domain, SPLIT)


@pytest.fixture(scope="module")
def rows(domain):
    path = FOLDER / domain.name / f"tasks_{SPLIT}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def value(domain, task, make, seed):
    played = play(domain, task, make, seed)
    return compute_reward(domain, task, played.environment, played.agent_texts).value


def share(domain, tasks, make, start=0):
    values = [value(domain, task, make, start + at) for at, task in enumerate(tasks)]
    return sum(values) / len(values)


def idle(tasks):
    return sum(NOTHING_TO_DO in task.flags for task in tasks) / len(tasks)


def test_the_files_are_those_that_the_script_writes(tmp_path):
    assert main([str(tmp_path)]) == 0
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.*"))
    assert len(written) == 10
    for path in written:
        assert (tmp_path / path).read_bytes() == (FOLDER / path).read_bytes(), path


def test_no_other_file_is_shipped_and_all_are_small():
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert {str(path.relative_to(FOLDER)) for path in files} == {
        *generate_data_files(),
        "README.md",
    }
    assert sum(path.stat().st_size for path in files) < LARGEST


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_seed_gives_other_data_that_keeps_the_rules(seed):
    files = generate_data_files(seed)  # raises where a task breaks a rule
    assert files["retail/orders.json"] != (FOLDER / "retail/orders.json").read_text("utf-8")
    assert files["retail/policy.md"] == (FOLDER / "retail/policy.md").read_text("utf-8")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["out", "six"], ["out", "1", "2"], ["-x"]])
def test_help_and_wrong_arguments_of_the_script_write_nothing(
    capsys, monkeypatch, tmp_path, arguments
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == (0 if "--help" in arguments else 2)
    assert "OUT" in "".join(capsys.readouterr())
    assert list(tmp_path.iterdir()) == []


def test_there_are_many_tasks_of_all_kinds(domain, tasks, rows):
    assert list_splits(FOLDER, domain.name) == (SPLIT,)
    assert len(tasks) >= 40
    assert len({task.instruction for task in tasks}) == len(tasks)
    assert len({task.user_id for task in tasks}) == len(tasks)
    assert {row["difficulty_level"] for row in rows} == {1, 2, 3}
    goals = [goal for task in tasks for goal in from_slots(task.slots).goals]
    assert sum(goal.fallback is not None and goal.refusal for goal in goals) >= 5
    assert sum(goal.limit is not None for goal in goals) >= 4
    assert sum("order" in goal.hidden for goal in goals) >= 6
    assert sum(bool(task.outputs) for task in tasks) >= 5
    assert sum(len(from_slots(task.slots).goals) > 1 for task in tasks) >= 7


def test_the_ground_truth_does_just_what_it_says(domain, tasks):
    for task in tasks:
        assert TRUTH_ERRS not in task.flags, task.id
        environment = replay_ground_truth(domain, task)
        assert len(environment.writes) == len(task.actions), task.id
        goals = from_slots(task.slots).goals
        denied = all(goal.refusal and goal.fallback is None for goal in goals)
        assert (NOTHING_TO_DO in task.flags) == denied, task.id
        assert bool(task.actions) == bool(environment.database.list_changed_entities()), task.id


def test_the_policy_names_what_nobody_may_return():
    policy = load_domain(FOLDER, "retail").policy
    line = next(line for line in policy.splitlines() if "cannot be returned" in line)
    assert all(name in line for name in HYGIENE)


def test_few_tasks_are_passed_by_doing_nothing(tasks):
    refusals = [task for task in tasks if NOTHING_TO_DO in task.flags]
    assert 1 <= len(refusals) <= 10
    assert idle(tasks) <= 0.25


def test_the_card_states_the_counts_and_p0(domain, tasks, rows):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    levels = " / ".join(str(sum(row["difficulty_level"] == n for row in rows)) for n in (1, 2, 3))
    refusals = sum(NOTHING_TO_DO in task.flags for task in tasks)
    stated = f"| `{domain.name}` | {len(tasks)} | {levels} | {refusals} | {idle(tasks):.1%} |"
    assert stated.replace("%", " %") in card


def test_a_competent_agent_passes(domain, tasks):
    for start in (0, 1000):
        assert share(domain, tasks, AGENTS[domain.name].competent, start) >= 0.99


def test_every_message_of_the_competent_agent_is_understood(domain, tasks):
    for at, task in enumerate(tasks):
        played = play(domain, task, AGENTS[domain.name].competent, at)
        assert played.state.unrecognised == 0, task.id
        assert played.state.ending == "satisfied", task.id


@pytest.mark.parametrize("name", ["lazy", "chatty", "always_yes", "transfer", "random_calls"])
def test_a_poor_agent_does_not_pass_more_than_doing_nothing(domain, tasks, name):
    make = getattr(AGENTS[domain.name], name, None) or getattr(tau_agents, name)
    assert share(domain, tasks, make) <= idle(tasks) + 0.02


def test_an_agent_without_the_policy_fails_where_no_tool_helps(domain, tasks, monkeypatch):
    module = AGENTS[domain.name]
    right = [value(domain, task, module.competent, 0) for task in tasks]
    monkeypatch.setattr(module, "_check", lambda *_: None)
    wrong = [value(domain, task, module.competent, 0) for task in tasks]
    failed = [task for task, a, b in zip(tasks, right, wrong, strict=True) if a > b]
    assert len(failed) >= 6
    for task in failed:
        assert any(goal.refusal for goal in from_slots(task.slots).goals), task.id


def test_the_opening_tells_no_slot(tasks):
    for seed in range(4):
        for task in tasks:
            state = RuleUser().open(task, seed)
            for goal in state.scenario.goals:
                for slot in SLOTS:
                    slot_values = [
                        slot_value
                        for slot_value in list_slot_values(state.scenario, goal, slot)
                        if len(slot_value) > 3
                    ]
                    assert not any(item in state.last_message for item in slot_values), (
                        task.id,
                        slot,
                    )


def test_the_same_seed_gives_the_same_transcript(domain, tasks):
    make = AGENTS[domain.name].competent
    for task in tasks[::5]:
        assert play(domain, task, make, 3).lines == play(domain, task, make, 3).lines


def test_the_instruction_in_words_holds_the_known_details(tasks):
    for task in tasks:
        scenario = from_slots(task.slots)
        for goal in scenario.goals:
            expected = [*goal.details.values(), goal.payment, goal.reason, goal.question]
            assert all(item in task.instruction for item in expected), task.id
            shown = goal.order in task.instruction
            assert shown != ("order" in goal.hidden) or not goal.order, task.id


def test_people_and_places_are_invented(domain):
    names = re.compile(r"[A-Z][a-z]+")
    for user_id, user in domain.database.rows("users"):
        assert user["email"].endswith("@example.org"), user_id
        assert all(names.fullmatch(name) for name in user["name"].values()), user_id
        assert user_id.startswith("_".join(user["name"].values()).lower()), user_id


def test_orders_fit_their_users_and_products():
    shop = load_domain(FOLDER, "retail").database
    products, users = dict(shop.rows("products")), dict(shop.rows("users"))
    for order_id, order in shop.rows("orders"):
        user = users[order["user_id"]]
        assert order_id in user["orders"]
        paid = order["payment_history"][0]
        assert paid["payment_method_id"] in user["payment_methods"]
        assert paid["amount"] == round(sum(item["price"] for item in order["items"]), 2)
        for item in order["items"]:
            variant = products[item["product_id"]]["variants"][item["item_id"]]
            assert (item["price"], item["options"]) == (variant["price"], variant["options"])
    for user_id, user in users.items():
        items = [item for entry in user["orders"] for item in shop.get("orders", entry)["items"]]
        assert len(items) == len({item["name"] for item in items}), user_id


def test_reservations_fit_their_users_and_flights():
    airline = load_domain(FOLDER, "airline").database
    flights, users = dict(airline.rows("flights")), dict(airline.rows("users"))
    for name, booked in airline.rows("reservations"):
        assert name in users[booked["user_id"]]["reservations"]
        for leg in booked["flights"]:
            flight = flights[leg["flight_number"]]
            assert leg["date"] in flight["dates"]
            assert (leg["origin"], leg["destination"]) == (flight["origin"], flight["destination"])
    for user_id, user in users.items():
        booked = [airline.get("reservations", reservation) for reservation in user["reservations"]]
        routes = [frozenset((item["origin"], item["destination"])) for item in booked]
        assert len(routes) == len(set(routes)), user_id
