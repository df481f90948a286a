"""Let bfcl-eval generate and evaluate answers in the current folder; see `official_log_fixtures`.

The handlers of all vendors would need all their libraries, so that the table of models holds the
one for the chat API alone.
"""

import argparse
import json
import os
import sys
import types
from pathlib import Path


def main() -> None:
    asked, here = json.loads(sys.argv[1]), Path.cwd()
    os.environ["BFCL_PROJECT_ROOT"] = str(here)
    from bfcl_eval.constants import eval_config

    eval_config.PROMPT_PATH = here / "data"
    eval_config.POSSIBLE_ANSWER_PATH = here / "data" / "possible_answer"
    table = types.ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = {}
    sys.modules[table.__name__] = table
    from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

    for name in asked["models"]:
        table.MODEL_CONFIG_MAPPING[name] = types.SimpleNamespace(
            model_name=name,
            display_name=name,
            url="",
            org="",
            license="",
            model_handler=OpenAICompletionsHandler,
            input_price=None,
            output_price=None,
            is_fc_model=True,
            underscore_to_dot=True,
        )
    from bfcl_eval import _llm_response_generation as generation
    from bfcl_eval.eval_checker import eval_runner

    generation.main(
        argparse.Namespace(
            model=asked["models"],
            test_category=asked["categories"],
            temperature=0.0,
            include_input_log=False,
            exclude_state_log=True,
            num_threads=1,
            num_gpus=1,
            result_dir=None,
            allow_overwrite=False,
            run_ids=False,
        )
    )
    # The table of all categories needs the data of all of them; no score file depends on it.
    eval_runner.generate_leaderboard_csv = lambda *_: None
    eval_runner.main(asked["models"], asked["categories"], None, None)


if __name__ == "__main__":
    main()
