#!/usr/bin/env bash
# Run benchmarks, check the gate, and leave its folder, JUnit XML and a summary of the job.
# Inputs come as variables (action.yml); keys of providers are read from the environment as always.
set -euo pipefail

read -ra benchmarks <<< "$BENCHMARKS"
read -ra arguments <<< "${RUN_ARGUMENTS:-}"
mkdir -p "$DATA"

status=0
evalcore run --target "$TARGET" --benchmarks "${benchmarks[@]}" "${arguments[@]}" \
  --data "$DATA" --json > "$DATA/run.json" || status=$?
if [ "$status" -ne 0 ] && [ "$status" -ne 3 ]; then exit "$status"; fi
run=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["run_id"])' "$DATA/run.json")

checks=()
if [ -n "${BASE:-}" ]; then checks+=(--against "$BASE" --max-drop "${MAX_DROP:-2}"); fi
if [ -n "${MIN_SCORE:-}" ]; then checks+=(--min-score "$MIN_SCORE"); fi

status=0
evalcore gate "$run" "${checks[@]}" --data "$DATA" \
  --junit "$DATA/gate.xml" --markdown "$DATA/gate.md" || status=$?
if [ -f "$DATA/gate.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  cat "$DATA/gate.md" >> "$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  case $status in 0) word=passed ;; 1) word=failed ;; 4) word=inconclusive ;; *) word=error ;; esac
  { echo "run-folder=$DATA/runs/$run"; echo "status=$word"; } >> "$GITHUB_OUTPUT"
fi
exit "$status"
