#!/usr/bin/env python3
"""Measures the search on shipped models: states, expansions, the median of the times, and memory.

  run.py PROGRAM [--repeat N] [NAME…]

Each benchmark is a model, a scenario and parameters. Figures of other checkers on comparable models, to beat:
shared/peers of the project's notes; the numbers in the last column are states of the first prototype.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

# name: (arguments of `lockstep check`, expanded by the prototype or None)
BENCHMARKS = {
    "calm-3": (["redlock", "calm", "-p", "servers=3"], None),
    "calm-5": (["redlock", "calm"], 11116),
    "pause-5": (["redlock", "pause"], 50835),
    "amnesia-5": (["redlock", "amnesia"], 27948),
    "patient-5": (["redlock", "patient_restart"], 56362),
    "late-5": (["redlock", "late_answer"], 229799),
}


def measure(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "check", *arguments, "--json", "-q", "--no-pictures", "-o", folder],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["scenarios"][0]


def main():
    parser = argparse.ArgumentParser(description="Measures the search on shipped models.")
    parser.add_argument("program")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    print(f"{'benchmark':<12} {'states':>10} {'expanded':>10} {'prototype':>10} {'seconds':>8} {'MB':>7}")
    for name in options.names or BENCHMARKS:
        arguments, prototype = BENCHMARKS[name]
        runs = [measure(options.program, arguments) for _ in range(options.repeat)]
        seconds = statistics.median(run["seconds"] for run in runs)
        states = runs[0]["states"]
        print(f"{name:<12} {states['discrete']:>10} {states['expanded']:>10} {prototype or '-':>10} {seconds:>8.2f} "
              f"{runs[0]['peak_bytes'] / 2**20:>7.0f}" + ("" if runs[0]["complete"] else "  undecided"), flush=True)


if __name__ == "__main__":
    main()
