"""Let the harness of SWE-bench grade test outputs and report; see `official_log_fixtures`."""

import json
import os
import sys
from pathlib import Path

RUN = "counting"
INSTANCES = [f"lab__tools-{number}" for number in range(1, 7)]
PATCH = "diff --git a/count.py b/count.py\n--- a/count.py\n+++ b/count.py\n@@ -1 +1 @@\n-1\n+{}\n"


def main() -> None:
    Path("out").mkdir()
    os.chdir("out")
    from swebench.harness.constants import (
        APPLY_PATCH_FAIL,
        END_TEST_OUTPUT,
        LOG_INSTANCE,
        LOG_REPORT,
        LOG_TEST_OUTPUT,
        RUN_EVALUATION_LOG_DIR,
        START_TEST_OUTPUT,
    )
    from swebench.harness.grading import get_eval_report
    from swebench.harness.reporting import make_run_report
    from swebench.types import TestSpec

    expected = {}
    for model in json.loads(sys.argv[1])["models"]:
        predictions = {
            name: {
                "instance_id": name,
                "model_name_or_path": model,
                "model_patch": PATCH.format(number) if number < 5 else "",
            }
            for number, name in enumerate(INSTANCES[:6], 1)
        }
        lines = "".join(json.dumps(each) + "\n" for each in predictions.values())
        Path(f"predictions_{model}.jsonl").write_text(lines, encoding="utf-8")
        for number, name in enumerate(INSTANCES[:4], 1):
            folder = RUN_EVALUATION_LOG_DIR / RUN / model / name
            folder.mkdir(parents=True)
            (folder / "patch.diff").write_text(predictions[name]["model_patch"], encoding="utf-8")
            if number == 4:
                words = f"{name}: {APPLY_PATCH_FAIL}:\nerror: patch failed\n"
                (folder / LOG_INSTANCE).write_text(words, encoding="utf-8")
                continue
            passes = model == "large" or number % 2 == 1
            status = "PASSED" if passes else "FAILED"
            text = f"{START_TEST_OUTPUT}\n{status} test_count.py::test_sum\n"
            text += f"PASSED test_count.py::test_zero\n{END_TEST_OUTPUT}\n"
            (folder / LOG_TEST_OUTPUT).write_text(text, encoding="utf-8")
            spec = TestSpec(
                instance_id=name,
                image="",
                eval_script_list=[],
                repo="lab/tools",
                version="1",
                FAIL_TO_PASS=["test_count.py::test_sum"],
                PASS_TO_PASS=["test_count.py::test_zero"],
                log_parser="parse_log_pytest",
                eval_type="pass_and_fail",
            )
            report = get_eval_report(spec, predictions[name], folder / LOG_TEST_OUTPUT, True)
            (folder / LOG_REPORT).write_text(json.dumps(report, indent=4), encoding="utf-8")
        report = make_run_report(predictions, [{"instance_id": n} for n in INSTANCES], RUN)
        expected[model] = json.loads(report.read_text())["resolved_ids"]
    Path("expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
