"""Let τ²-bench run its domain `mock`; see `official_log_fixtures`."""

import json
import sys
from pathlib import Path


def main() -> None:
    asked = json.loads(sys.argv[1])
    from tau2 import TextRunConfig
    from tau2.data_model.simulation import Results
    from tau2.metrics.agent_metrics import compute_metrics
    from tau2.runner import run_domain
    from tau2.utils.utils import DATA_DIR

    arguments = {"api_base": asked["url"], "temperature": 0.0}
    expected = {}
    for model in asked["models"]:
        config = TextRunConfig(
            domain="mock",
            agent="llm_agent",
            llm_agent=f"openai/{model}",
            llm_args_agent=arguments,
            user="user_simulator",
            llm_user="openai/user",
            llm_args_user=arguments,
            num_trials=asked["trials"],
            max_steps=20,
            save_to=model,
            max_concurrency=1,
            log_level="ERROR",
        )
        run_domain(config)
        path = DATA_DIR / "simulations" / model / "results.json"
        results = Results.load(path)
        metrics = compute_metrics(results)
        expected[model] = {
            "avg_reward": metrics.avg_reward,
            "pass_hat_ks": metrics.pass_hat_ks,
            "rewards": {
                f"{each.task_id} {each.trial}": each.reward_info.reward
                for each in results.simulations
            },
        }
        if model == asked["models"][-1]:
            (DATA_DIR / "simulations" / "folder").mkdir()
            results.save(DATA_DIR / "simulations" / "folder", format="dir")
    Path("expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
