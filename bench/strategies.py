#!/usr/bin/env python3
"""Runs to the first violation, per strategy: the median over seeds, for the table in docs/exploration.md.

  strategies.py PROGRAM [--seeds N] [--runs N]
"""
import argparse
import json
import statistics
import subprocess
import tempfile

CASES = [
    ("redlock", "pause", "mutual_exclusion"),
    ("redlock", "ntp_step", "mutual_exclusion"),
    ("redlock", "amnesia", "mutual_exclusion"),
    ("broken/fenced_write_only", "pause", "lost_update"),
    ("broken/fischer_fast", "two", "mutual_exclusion"),
    ("broken/fischer_fast", "three", "mutual_exclusion"),
    ("broken/naked_del", "pause", "owner_release"),
    ("broken/redlock_no_validity", "late", "mutual_exclusion"),
    ("broken/zookeeper_trusting", "cut", "mutual_exclusion"),
    ("broken/semaphore_given_twice", "pause", "three inside, none of which has outlived its lease"),
    ("broken/consul_no_delay", "pause", "mutual_exclusion"),
]
STRATEGIES = ["uniform", "pct", "swarm", "boundary", "coverage", "zones", None]


def runs_until(program, case, strategy, seed, runs, folder):
    model, scenario, wanted = case
    chosen = ["--strategy", strategy] if strategy else []
    done = subprocess.run([program, "fuzz", model, scenario, "--seed", str(seed), "--runs", str(runs), "--as-found", "-q",
                           "--json", "--no-pictures", "-o", folder, *chosen], capture_output=True, text=True, check=False)
    finds = json.loads(done.stdout)["scenarios"][0]["finds"]
    return next((find["run"] for find in finds if find["property"] == wanted), float("inf"))


def main():
    parser = argparse.ArgumentParser(description="Runs to the first violation, per strategy.")
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--runs", type=int, default=6000)
    options = parser.parse_args()
    print("| | " + " | ".join(strategy or "portfolio" for strategy in STRATEGIES) + " |")
    print("|---" * (len(STRATEGIES) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            cells = []
            for strategy in STRATEGIES:
                found = [runs_until(options.program, case, strategy, seed, options.runs, folder)
                         for seed in range(1, options.seeds + 1)]
                median = statistics.median(found)
                cells.append(f"{median:,.0f}" if median != float("inf") else f"> {options.runs:,}")
            print(f"| `{case[0]} {case[1]}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
