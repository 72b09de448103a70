#!/usr/bin/env python3
"""Measures the search on shipped models: states, expansions, the median of the times, and memory.

  run.py PROGRAM [--repeat N] [NAME…]

Each benchmark is a shipped model, a scenario and parameters. The column `prototype` has the zones that the first
prototype expanded for it; docs/exploration.md has the figures of other checkers on comparable models.
Without names all are run but the long ones, which take minutes: `./dev bench --repeat 1 late2-5`.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"

# name: (arguments of `lockstep check`, expanded by the prototype or None)
BENCHMARKS = {
    "calm-3": (["redlock", "calm", "-p", "servers=3"], None),
    "calm-5": (["redlock", "calm"], 11116),
    "pause-5": (["redlock", "pause"], 50835),
    "amnesia-5": (["redlock", "amnesia"], 27948),
    "patient-5": (["redlock", "patient_restart"], 56362),
    "late-5": (["redlock", "late_answer"], 229799),
    "try2-5": (["redlock", "late_two_once"], 264825),
    "late2-5": (["redlock", "late_two"], None),
    "threshold-pause-5": (["redlock", "threshold_pause"], None),
    "threshold-step-5": (["redlock", "threshold_step"], None),
}

LONG = {"late2-5", "threshold-pause-5", "threshold-step-5"}

LATE_TWO = """
scenario {name} "two requests or replies of the Redis servers are arbitrarily late" {{
  latency 0ms..20ms
  {rounds}
  2 late to node
  expect all holds
}}
"""

# One millisecond more than is proved: the witness must meet every bound exactly.
THRESHOLD = """
scenario {name} "the shortest fault that breaks it" {{
  latency 0ms..20ms
  1 {fault}
  expect mutual_exclusion broken
}}
"""

# Scenarios that a shipped model does not have: what is added to a copy of it, and what is replaced in that.
SCENARIOS = {
    "threshold_pause": (THRESHOLD.format(name="threshold_pause", fault="pause of client for 0s..4740ms"), []),
    "threshold_step": (THRESHOLD.format(name="threshold_step", fault="step of node by 4740ms"), []),
    "late_two": (LATE_TWO.format(name="late_two", rounds="rounds 1"), []),
    "late_two_once": (LATE_TWO.format(name="late_two_once", rounds=""),
                      [("    wait 200ms..250ms\n", "    wait 200ms..250ms\n    stop\n")]),
}


def model_in(folder, arguments):
    """The arguments, with a copy of the model that has the scenario in the folder if the shipped one lacks it."""
    model, scenario, *others = arguments
    if scenario not in SCENARIOS:
        return arguments
    addition, replacements = SCENARIOS[scenario]
    text = (MODELS / f"{model}.lk").read_text(encoding="utf-8") + addition
    for old, new in replacements:
        if text.count(old) != 1:
            sys.exit(f"{model}.lk has changed: bench/run.py does not find {old.strip()!r} once")
        text = text.replace(old, new)
    copy = pathlib.Path(folder) / f"{model}.lk"
    copy.write_text(text, encoding="utf-8")
    (copy.parent / "services").symlink_to(MODELS / "services")
    return [str(copy), scenario, *others]


def measure(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        arguments = model_in(folder, arguments)
        done = subprocess.run([program, "check", *arguments, "--json", "-q", "--no-pictures", "-o", folder],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    scenario = json.loads(done.stdout)["scenarios"][0]
    if done.returncode == 1:
        sys.exit(f"{' '.join(arguments)}: a claim is not met")
    scenario["complete"] &= done.returncode != 2
    return scenario


def main():
    parser = argparse.ArgumentParser(description="Measures the search on shipped models.")
    parser.add_argument("program")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    print(f"{'benchmark':<18} {'states':>10} {'expanded':>10} {'prototype':>10} {'seconds':>8} {'MB':>7}")
    for name in options.names or [name for name in BENCHMARKS if name not in LONG]:
        arguments, prototype = BENCHMARKS[name]
        runs = [measure(options.program, arguments) for _ in range(options.repeat)]
        seconds = statistics.median(run["seconds"] for run in runs)
        states = runs[0]["states"]
        print(f"{name:<18} {states['discrete']:>10} {states['expanded']:>10} {prototype or '-':>10} {seconds:>8.2f} "
              f"{runs[0]['peak_bytes'] / 2**20:>7.0f}" + ("" if runs[0]["complete"] else "  undecided"), flush=True)


if __name__ == "__main__":
    main()
