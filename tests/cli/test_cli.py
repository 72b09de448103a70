#!/usr/bin/env python3
"""The command line as a user meets it: exit codes, help, JSON, suggestions, files, determinism, installation.

  test_cli.py PROGRAM BUILD_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
BUILD = str(pathlib.Path(sys.argv[2]).resolve())

# A lock that nothing guards: anybody may enter. Two scenarios that claim the truth, one that claims a lie.
NO_LOCK = """model no_lock "two clients that just go ahead"

client[2] {
  loop {
    critical { wait 0s..1s }
    wait 1s..2s
  }
}

scenario honest "says that it is broken" {
  rounds 1
  expect mutual_exclusion broken
}
scenario silent "claims nothing" {
  rounds 1
}
scenario liar "claims that it works" {
  rounds 1
  expect mutual_exclusion holds
}
"""

# One client alone cannot disturb itself.
ALONE = """model alone "one client, nobody else"

param work = 1s

client[1] {
  loop {
    critical { wait 0s..work }
    wait 1s..2s
  }
}

scenario calm "nothing happens to it" {
  expect mutual_exclusion holds
}
"""


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.no_lock = self.write("no_lock.lk", NO_LOCK)
        self.alone = self.write("alone.lk", ALONE)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run_program(self, *arguments, code=None, program=PROGRAM, environment=None):
        done = subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=environment, timeout=300)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}\n{done.stderr}")
        return done

    def catalogue(self, **texts):
        """An environment in which just these models are shipped; "__" in a name stands for its folder."""
        models = self.folder / "catalogue"
        for name, text in texts.items():
            path = models / (name.replace("__", "/") + ".lk")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return dict(os.environ, LOCKSTEP_MODELS=str(models))

    def check(self, *arguments, code):
        return self.run_program("check", *arguments, "--no-pictures", code=code)

    def check_json(self, *arguments, code):
        return json.loads(self.check(*arguments, "--json", code=code).stdout)


class Usage(Cli):
    def test_version_is_printed(self):
        self.assertRegex(self.run_program("--version", code=0).stdout, r"^lockstep \d+\.\d+\.\d+\n$")

    def test_help_names_every_command_and_exit_code(self):
        text = self.run_program("--help", code=0).stdout
        for word in ("check", "dump", "fuzz", "list", "new", "replay", "simulate", "65", "130"):
            self.assertIn(word, text)

    def test_every_command_has_its_help(self):
        for command in ("check", "dump", "fuzz", "list", "new", "replay", "simulate"):
            done = self.run_program(command, "--help", code=0)
            self.assertIn("--json", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_no_command_is_wrong_usage(self):
        done = self.run_program(code=64)
        self.assertEqual(done.stdout, "")
        self.assertIn("Usage", done.stderr)

    def test_a_mistyped_command_is_suggested(self):
        self.assertIn("did you mean 'check'?", self.run_program("chekc", code=64).stderr)

    def test_an_unknown_option_is_wrong_usage(self):
        self.run_program("check", "--frobnicate", self.alone, code=64)

    def test_check_without_a_model_is_wrong_usage(self):
        self.run_program("check", code=64)

    def test_limits_that_are_no_numbers_are_wrong_usage(self):
        for option in ("--memory=much", "--timeout=soon", "--max-states=-1", "--memory=0"):
            self.assertIn(option.split("=")[0], self.check(self.alone, option, code=64).stderr)

    def test_words_of_options_are_checked(self):
        for option in ("--report=some", "--trace=half", "--colour=mauve", "--emit=gif"):
            self.check(self.alone, option, code=64)

    def test_all_takes_no_model(self):
        self.check("--all", self.alone, code=64)


class Fuzz(Cli):
    def fuzz(self, *arguments, code):
        return self.run_program("fuzz", *arguments, "--no-pictures", code=code)

    def test_what_is_claimed_to_be_broken_is_found(self):
        done = self.fuzz(self.no_lock, "honest", "--seed", "7", code=0)
        self.assertRegex(done.stdout, r"mutual_exclusion +violated +0 faults.*broken: met")
        self.assertIn("seed 0x7", done.stdout)

    def test_a_broken_claim_is_not_met(self):
        self.assertIn("NOT MET", self.fuzz(self.no_lock, "liar", "--seed", "7", code=1).stdout)

    def test_without_claims_a_violation_is_1(self):
        self.fuzz(self.no_lock, "silent", "--seed", "7", code=1)

    def test_nothing_found_is_undecided_and_never_holds(self):
        done = self.fuzz(self.alone, "--seed", "7", "--runs", "300", code=2)
        self.assertRegex(done.stdout, r"mutual_exclusion +not violated +in 300 runs +holds: undecided")
        self.assertIn("Again: --seed 0x7", done.stdout)
        self.assertNotIn("proved ", done.stdout)
        self.fuzz(self.alone, "--seed", "7", "--runs", "300", "--allow-undecided", code=0)

    def test_the_trace_replays(self):
        self.fuzz(self.no_lock, "honest", "--seed", "7", code=0)
        trace = str(self.folder / "lockstep-out/no_lock/honest/mutual_exclusion.trace")
        self.assertIn("the violation is reproduced", self.run_program("replay", trace, code=0).stdout)
        record = json.loads((self.folder / "lockstep-out/no_lock/honest/run.json").read_text(encoding="utf-8"))
        self.assertEqual(record["seed"], "0x7")
        self.assertEqual(record["result"]["engine"], "random")

    def test_same_seed_same_bytes_for_any_jobs(self):
        once = self.fuzz("single_node", "pause", "--seed", "11", "--runs", "2000", "-j", "1", code=2).stdout
        for jobs in ("2", "3"):
            again = self.fuzz("single_node", "pause", "--seed", "0xb", "--runs", "2000", "-j", jobs, code=2).stdout
            self.assertEqual(once, again)
        other = self.fuzz("single_node", "pause", "--seed", "12", "--runs", "2000", code=2).stdout
        self.assertNotEqual(once, other)

    def test_a_new_seed_is_printed_and_repeats(self):
        done = self.fuzz(self.no_lock, "honest", code=0)
        seed = re.search(r"--seed (0x[0-9a-f]+)", done.stdout).group(1)
        self.assertEqual(done.stdout, self.fuzz(self.no_lock, "honest", "--seed", seed, code=0).stdout)

    def test_json(self):
        done = self.fuzz(self.no_lock, "honest", "--seed", "7", "--json", code=0)
        document = json.loads(done.stdout)
        self.assertEqual(document["format"], "lockstep-fuzz/1")
        scenario = document["scenarios"][0]
        self.assertEqual(scenario["finds"][0]["property"], "mutual_exclusion")
        self.assertEqual(scenario["result"]["properties"][0]["verdict"], "violated")

    def test_a_time_limit_is_kept_and_said(self):
        began = time.monotonic()
        done = self.fuzz(self.alone, "--timeout", "1s", code=2)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("stopped before the end", done.stdout)

    def test_wrong_words_are_wrong_usage(self):
        for option in ("--seed=x", "--strategy=guess", "--runs=0", "--timeout=soon"):
            self.assertIn(option.split("=")[0], self.fuzz(self.alone, option, code=64).stderr + "--strategy")


class Simulate(Cli):
    def simulate(self, *arguments, code=0):
        return self.run_program("simulate", *arguments, code=code)

    def figures(self, *arguments):
        return json.loads(self.simulate(*arguments, "--json", "-q").stdout)["scenarios"][0]

    def test_figures_have_intervals(self):
        done = self.simulate("single_node", "calm", "--seed", "5", "--runs", "50")
        self.assertRegex(done.stdout, r"runs that violate mutual_exclusion +0 of 50: 0 % \(95 %: 0 \.\. 7\.11 %\)")
        self.assertRegex(done.stdout, r"time to acquire +p50 \d+\.\d\d ms, p99")

    def test_same_seed_same_bytes_for_any_jobs(self):
        outputs = {self.simulate("single_node", "pause", "--seed", "5", "--runs", "200", "-j", jobs).stdout
                   for jobs in ("1", "2", "3")}
        self.assertEqual(len(outputs), 1)

    def test_distributions_are_used(self):
        figures = self.figures("single_node", "calm", "--runs", "50", "--seed", "1", "--latency", "constant(3ms)")
        self.assertAlmostEqual(figures["acquire_p50_ns"], 6e6, delta=1e5)
        figures = self.figures("single_node", "calm", "--runs", "50", "--seed", "1", "--latency", "lognormal(1ms, 0.5)",
                               "--pause", "every 10s for pareto(50ms, 1.5)")
        self.assertGreater(figures["faults"], 50)

    def test_an_empirical_distribution_comes_from_a_file(self):
        path = self.write("delays.txt", "4ms\n\n4000us\n")
        figures = self.figures("single_node", "calm", "--runs", "20", "--seed", "1", "--latency", f"empirical({path})")
        self.assertAlmostEqual(figures["acquire_p99_ns"], 8e6, delta=1e5)
        wrong = self.write("wrong.txt", "4ms\nsoon\n")
        done = self.simulate("single_node", "calm", "--latency", f"empirical({wrong})", code=64)
        self.assertIn("wrong.txt:2", done.stderr)

    def test_precision_ends_it_early(self):
        figures = self.figures("single_node", "calm", "--seed", "1", "--runs", "100k", "--precision", "0.03")
        self.assertLess(figures["runs"], 300)

    def test_wrong_words_are_wrong_usage(self):
        for option in ("--latency=normal(1ms, 2)", "--latency=uniform(5ms, 1ms)", "--pause=often", "--precision=2", "--time=0"):
            self.assertIn(option.split("=")[0], self.simulate(self.alone, option, code=64).stderr)


class Models(Cli):
    def test_a_mistyped_model_is_suggested(self):
        self.assertIn("did you mean 'redlock'?", self.check("redlok", code=64).stderr)

    def test_a_model_is_suggested_without_its_folder(self):
        self.assertIn("did you mean 'broken/naked_del'?", self.check("naked_del", code=64).stderr)

    def test_a_mistyped_scenario_is_suggested(self):
        self.assertIn("did you mean 'honest'?", self.check(self.no_lock, "honnest", code=64).stderr)

    def test_an_unknown_scenario_names_those_that_exist(self):
        self.assertIn("honest, silent, liar", self.check(self.no_lock, "zzzzzz", code=64).stderr)

    def test_a_wrong_model_is_shown_with_its_position(self):
        wrong = self.write("wrong.lk", ALONE.replace("wait 0s..work", "wait 0s..wrok"))
        done = self.check(wrong, code=65)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"wrong\.lk:7:\d+: error: .*\n.*wrok")

    def test_a_model_without_scenarios_proves_nothing(self):
        empty = self.write("empty.lk", ALONE[:ALONE.index("scenario")])
        self.check(empty, code=65)
        self.run_program("dump", empty, code=65)

    def test_a_parameter_is_set(self):
        document = self.check_json(self.alone, "-p", "work=2s", code=0)
        self.assertEqual(document["parameters"], {"work": "2s"})

    def test_an_unknown_parameter_is_wrong_usage(self):
        self.check(self.alone, "-p", "wrk=2s", code=64)

    def test_a_setting_without_a_value_is_wrong_usage(self):
        self.assertIn("NAME=VALUE", self.check(self.alone, "-p", "work", code=64).stderr)

    def test_list_names_shipped_models_by_family(self):
        text = self.run_program("list", code=0).stdout
        self.assertRegex(text, r"(?m)^Redis\n(  .*\n)*  redlock +\S.*\n(  .*\n)*  broken/naked_del +\S")
        self.assertRegex(text, r"(?m)^Shared memory\n  fischer +\S.*\n  broken/fischer_fast +\S")

    def test_list_takes_the_family_from_the_head_of_the_model(self):
        def with_line(name, line):
            head, rest = ALONE.replace("alone", name, 1).split("\n", 1)
            return f"{head}\n{line}\n{rest}"

        environment = self.catalogue(a=with_line("a", ""), b=with_line("b", "# family: Zoo"),
                                     c=ALONE.replace("alone", "c", 1) + "# family: Zoo\n",
                                     broken__a=with_line("a", "# why\n# family:  Zoo "))
        lines = self.run_program("list", code=0, environment=environment).stdout.splitlines()
        self.assertEqual([line.split("  one client")[0].rstrip() for line in lines],
                         ["Zoo", "  b", "  broken/a", "", "other", "  a", "  c"])

    def test_list_as_json(self):
        document = json.loads(self.run_program("list", "--json", code=0).stdout)
        self.assertEqual(document["format"], "lockstep-list/1")
        models = {model["name"]: model for model in document["models"]}
        redlock, naked_del = models["redlock"], models["broken/naked_del"]
        self.assertEqual((redlock["family"], redlock["broken"]), ("Redis", False))
        self.assertEqual((naked_del["family"], naked_del["broken"]), ("Redis", True))
        self.assertIn("majority", redlock["text"])
        self.assertIn("calm", [scenario["name"] for scenario in redlock["scenarios"]])

    def test_dump_prints_a_listing(self):
        self.assertIn("enter", self.run_program("dump", self.alone, code=0).stdout)
        document = json.loads(self.run_program("dump", self.alone, "calm", "--json", code=0).stdout)
        self.assertEqual(document["scenario"], "calm")


class New(Cli):
    def test_a_new_model_checks_as_it_is(self):
        done = self.run_program("new", "mine", code=0)
        self.assertIn("lockstep check mine.lk", done.stdout)
        document = self.check_json("mine.lk", code=0)
        self.assertEqual(document["model"], "mine")
        claims = [item for scenario in document["scenarios"] for item in scenario["properties"] if item["expected"]]
        self.assertGreaterEqual(len(claims), 5)
        self.assertEqual({item["met"] for item in claims}, {True})
        self.assertEqual({item["expected"] for item in claims}, {"holds", "broken"})
        self.assertEqual(document["warnings"], [])

    def test_a_copy_finds_the_services_of_its_model(self):
        self.run_program("new", "mine", "--from", "single_node", "-o", "some/folder", code=0)
        self.assertEqual(self.check_json("some/folder/mine.lk", "calm", code=0)["model"], "mine")
        self.run_program("new", "yours", "--from=broken/naked_del", code=0)
        self.assertRegex((self.folder / "yours.lk").read_text(encoding="utf-8"), r'^model yours "the lock is released by')
        self.run_program("dump", "yours.lk", code=0)

    def test_a_copy_whose_services_are_others_there_is_not_written(self):
        (self.folder / "services").mkdir()
        self.write("services/redis.lk", "service redis {\n  on ping() { reply ok }\n}\n")
        self.assertIn("set_nx", self.run_program("new", "mine", "--from", "single_node", code=65).stderr)
        self.assertFalse((self.folder / "mine.lk").exists())

    def test_a_file_that_is_there_is_not_overwritten(self):
        path = self.write("mine.lk", "precious")
        self.assertIn("mine.lk is there already", self.run_program("new", "mine", code=64).stderr)
        self.assertEqual(pathlib.Path(path).read_text(encoding="utf-8"), "precious")

    def test_bad_names_are_errors(self):
        for name in ("", "two words", "mine.lk", "sub/mine", "../mine", "1st", "größe", "mine\n"):
            self.assertIn("is no name for a model", self.run_program("new", name, code=64).stderr)
        self.assertIn("is the name of a shipped model", self.run_program("new", "redlock", code=64).stderr)
        self.assertIn("is a word of the language", self.run_program("new", "critical", code=64).stderr)
        self.assertFalse((self.folder / "critical.lk").exists())

    def test_a_mistyped_model_to_copy_is_suggested(self):
        done = self.run_program("new", "mine", "--from", "redlok", code=64)
        self.assertIn("did you mean 'redlock'?", done.stderr)

    def test_new_as_json(self):
        document = json.loads(self.run_program("new", "mine", "--json", code=0).stdout)
        self.assertEqual(document, {"format": "lockstep-new/1", "path": "mine.lk", "from": "start"})


class Verdicts(Cli):
    def test_met_claims_exit_with_0(self):
        self.assertIn("holds: met", self.check(self.alone, code=0).stdout)
        self.assertIn("broken: met", self.check(self.no_lock, "honest", code=0).stdout)

    def test_a_claim_that_is_not_met_exits_with_1(self):
        self.assertIn("holds: NOT MET", self.check(self.no_lock, "liar", code=1).stdout)

    def test_without_claims_a_violation_exits_with_1(self):
        self.assertIn("1 violation that no claim speaks of", self.check(self.no_lock, "silent", code=1).stdout)

    def test_a_limit_exits_with_2_unless_that_is_allowed(self):
        self.assertIn("--max-states", self.check(self.alone, "--max-states", "1", code=2).stdout)
        self.check(self.alone, "--max-states", "1", "--allow-undecided", code=0)

    def test_quiet_prints_no_report(self):
        loud = self.check(self.no_lock, "honest", code=0).stdout
        quiet = self.check(self.no_lock, "honest", "-q", code=0).stdout
        self.assertLess(len(quiet), len(loud))
        self.assertNotIn("lockstep replay", quiet)

    def test_json_has_the_shape_that_is_promised(self):
        document = self.check_json(self.no_lock, code=1)
        self.assertEqual(document["format"], "lockstep-check/1")
        self.assertEqual(document["model"], "no_lock")
        self.assertEqual([scenario["name"] for scenario in document["scenarios"]], ["honest", "silent", "liar"])
        honest, silent, liar = document["scenarios"]
        self.assertEqual(honest["engine"], "exhaustive")
        self.assertEqual(set(honest["states"]), {"discrete", "zones", "expanded", "transitions"})
        self.assertIs(honest["complete"], True)
        self.assertIsInstance(honest["seconds"], float)
        self.assertIsInstance(honest["peak_bytes"], int)
        self.assertIsInstance(honest["findings"], list)
        self.assertEqual(self.claim(honest), ("violated", "broken", True))
        self.assertEqual(self.claim(silent), ("violated", None, None))
        self.assertEqual(self.claim(liar), ("violated", "holds", False))

    def claim(self, scenario):
        found = next(item for item in scenario["properties"] if item["name"] == "mutual_exclusion")
        self.assertEqual(found["faults"], 0)
        self.assertGreater(found["steps"], 0)
        self.assertTrue((self.folder / found["trace"]).is_file())
        return found["verdict"], found["expected"], found["met"]

    def test_two_runs_give_the_same_bytes(self):
        def bytes_of(run):
            text = self.check(self.no_lock, "--json", "-o", "out", code=1).stdout
            files = sorted(path for path in (self.folder / "out").rglob("*") if path.name != "run.json")
            document = json.loads(text)
            for scenario in document["scenarios"]:
                del scenario["seconds"]
            return [document] + [path.read_bytes() for path in files if path.is_file()]

        self.assertEqual(bytes_of(1), bytes_of(2))

    def test_the_steps_that_are_printed_are_those_of_the_report(self):
        text = self.check("single_node", "pause", "--trace=full", "--report=all", code=0).stdout
        printed = re.findall(r"(\w+) +violated +1 fault, (\d+) steps", text)
        reports = re.split(r"(?m)^violation: ", text)[1:]
        counted = [(report.split()[0], re.findall(r"(?m)^>? +(\d+)  ", report)) for report in reports]
        self.assertEqual(len(printed), 3)
        self.assertEqual(printed, [(name, numbers[-1]) for name, numbers in counted])
        for name, numbers in counted:
            self.assertEqual([int(number) for number in numbers], list(range(1, len(numbers) + 1)), name)

    def test_json_tells_the_steps_from_the_faults_inside_them(self):
        scenario, = self.check_json("single_node", "pause", code=0)["scenarios"]
        violated = [item for item in scenario["properties"] if item["verdict"] == "violated"]
        for item in violated:
            trace = json.loads((self.folder / item["trace"]).read_text(encoding="utf-8"))
            self.assertEqual(item["steps"], len(trace["steps"]))
        self.assertEqual([item["strikes_inside"] for item in violated], [1] * len(violated))
        self.assertEqual({item["strikes_inside"] for item in scenario["properties"]} - {1}, {None})

    def test_less_is_the_threshold_to_the_millisecond(self):
        # The key of A may be gone 10,000 ms after A asked for it. A is inside until 20 (reply) + 40 (read) + 5,000 (work)
        # + 40 (write) = 5,100 ms, so a pause of 4,900 ms makes it meet B; its write arrives 20 ms before it leaves.
        arguments = ("single_node", "pause", "--less", "--report=all", "--emit=text")
        text = self.check(*arguments, code=0).stdout
        self.assertEqual(re.findall(r"(?m)^less (.*)$", text),
                         ["a pause of 4,900 ms is enough; with 4,899 ms it is proved."] +
                         ["a pause of 4,920 ms is enough; with 4,919 ms it is proved."] * 2)
        written = self.folder / "lockstep-out/single_node/pause/fencing.txt"
        self.assertIn("\nless a pause of 4,920 ms", written.read_text(encoding="utf-8"))
        scenario, = self.check_json(*arguments, code=0)["scenarios"]
        less = {item["name"]: item["less"] for item in scenario["properties"]}
        self.assertEqual((less["mutual_exclusion"]["enough_us"], less["mutual_exclusion"]["proved_us"]),
                         (4900000, 4899000))
        self.assertIsNone(less["owner_release"])

    def test_less_is_only_searched_when_asked_for(self):
        self.assertNotIn("\nless ", self.check("single_node", "pause", code=0).stdout)

    def test_colour_is_only_there_when_asked_for(self):
        self.assertNotIn("\033", self.check(self.alone, code=0).stdout)
        self.assertIn("\033[32mproved", self.check(self.alone, "--colour=always", code=0).stdout)

    def test_an_interrupt_exits_with_130_and_says_what_is_known(self):
        arguments = [PROGRAM, "check", "redlock", "-p", "servers=9", "--no-pictures", "--json"]
        running = subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 130, stderr)
        self.assertEqual(json.loads(stdout)["scenarios"][-1]["stopped_by"], "interrupt")


class All(Cli):
    def check_all(self, *arguments, code, **models):
        return self.run_program("check", "--all", "--no-pictures", *arguments, code=code,
                                environment=self.catalogue(**models))

    @staticmethod
    def untimed(text):
        return re.sub(r" +\d[\d.]* s\b", " TIME", text)

    def test_all_ends_with_a_table_and_a_total(self):
        text = self.check_all(code=1, alone=ALONE, broken__no_lock=NO_LOCK).stdout
        self.assertRegex(text, r"(?m)^alone +calm +1 of 1 +\d+ +\S+ s$")
        self.assertRegex(text, r"(?m)^broken/no_lock +liar +0 of 1 .*\n"
                               r"    mutual_exclusion: claimed that it holds, violated$")
        self.assertRegex(text, r"(?m)^model +scenarios +met +not met +undecided +states +time +memory\n"
                               r"alone +1 +1 +0 +0 +\d+ +\S+ s +\d+ MB\n"
                               r"broken/no_lock +3 +1 +1 +0 +\d+ +\S+ s +\d+ MB\n\n"
                               r"2 models, 4 scenarios: 2 of 3 claims met, 1 not met, 1 violation that no claim speaks of; "
                               r"\d+ states, \S+ s of search in \S+ s, up to \d+ MB each\n\Z")

    def test_all_gives_the_same_bytes_with_any_number_of_jobs(self):
        models = {name: text.replace("no_lock", name).replace("alone", name)
                  for name, text in (("a", NO_LOCK), ("b", ALONE), ("c", NO_LOCK), ("d", ALONE))}
        one = self.check_all("-j", "1", code=1, **models).stdout
        self.assertEqual(self.untimed(one), self.untimed(self.check_all("-j3", code=1, **models).stdout))
        self.assertEqual(re.findall(r"(?m)^(\w+) +\w+ +\d of", one), list("aabccd"))

    def test_all_as_json_is_a_document_a_line(self):
        done = self.check_all("--json", code=1, alone=ALONE, no_lock=NO_LOCK)
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([document["format"] for document in documents], ["lockstep-check/1"] * 2)
        self.assertEqual([document["model"] for document in documents], ["alone", "no_lock"])
        self.assertEqual(len(documents[1]["scenarios"]), 3)

    def test_all_hands_its_limits_on(self):
        text = self.check_all("--max-states=1", code=2, alone=ALONE).stdout
        self.assertIn("0 of 1 claim met, 1 undecided", text)
        self.check_all("--max-states=1", "--allow-undecided", code=0, alone=ALONE)

    def test_all_writes_below_the_given_folder(self):
        self.check_all("-o", "out", code=0, alone=ALONE)
        self.assertTrue((self.folder / "out/alone/calm/run.json").is_file())

    def test_a_wrong_model_does_not_keep_the_others_from_being_checked(self):
        done = self.check_all(code=65, alone=ALONE, wrong="model wrong wrong")
        self.assertRegex(done.stdout, r"(?m)^alone +calm +1 of 1")
        self.assertRegex(done.stderr, r"^wrong: .*wrong\.lk:1:")

    def test_jobs_are_a_number_and_go_with_all(self):
        self.check("--all", "-j", "0", code=64)
        self.check("--all", "-j", "many", code=64)
        self.assertIn("--all", self.check(self.alone, "-j2", code=64).stderr)

    def test_an_interrupt_of_all_ends_every_process(self):
        self.run_program("new", "crowd", code=0)
        crowd = (self.folder / "crowd.lk").read_text(encoding="utf-8").replace("client[2]", "client[9]")
        environment = self.catalogue(alone=ALONE, crowd=crowd)
        running = subprocess.Popen([PROGRAM, "check", "--all", "--no-pictures", "--json", "-j2"], cwd=self.folder,
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 130, stderr)
        documents = [json.loads(line) for line in stdout.splitlines()]
        self.assertEqual([document["scenarios"][-1]["stopped_by"] for document in documents], [None, "interrupt"])


class Files(Cli):
    def scenario_folder(self):
        return self.folder / "lockstep-out" / "no_lock" / "honest"

    def test_a_run_leaves_its_record_and_its_trace(self):
        self.check(self.no_lock, "honest", code=0)
        record = json.loads((self.scenario_folder() / "run.json").read_text(encoding="utf-8"))
        self.assertEqual(record["format"], "lockstep-run/1")
        self.assertEqual(record["command_line"][:2], ["check", self.no_lock])
        self.assertIsNone(record["seed"])
        self.assertEqual(record["result"]["name"], "honest")
        on_disk = sorted(path.name for path in self.scenario_folder().iterdir())
        self.assertEqual(sorted(record["files"] + ["run.json"]), on_disk)

    def test_pictures_are_written_when_asked_for(self):
        formats = ["scaled", "compact", "text"] + (["svg"] if shutil.which("dot") else [])
        arguments = [argument for name in formats for argument in ("--emit", name)]
        self.run_program("check", self.no_lock, "honest", *arguments, code=0)
        names = {path.name for path in self.scenario_folder().iterdir()}
        self.assertLessEqual({"mutual_exclusion.scaled.dot", "mutual_exclusion.compact.dot", "mutual_exclusion.txt"},
                             names)
        if "svg" in formats:
            svg = (self.scenario_folder() / "mutual_exclusion.scaled.svg").read_text(encoding="utf-8")
            self.assertIn("<svg", svg)

    def test_without_graphviz_a_note_says_so(self):
        environment = dict(os.environ, PATH=str(self.folder))
        done = self.run_program("check", self.no_lock, "honest", code=0, environment=environment)
        self.assertIn("Graphviz", done.stderr)
        self.assertTrue((self.scenario_folder() / "mutual_exclusion.scaled.dot").is_file())
        self.run_program("check", self.no_lock, "--emit=svg", code=64, environment=environment)

    def test_a_later_run_takes_the_files_of_an_earlier_one_away(self):
        self.run_program("check", self.no_lock, "honest", "--emit=scaled", code=0)
        keep = self.scenario_folder() / "my_notes.txt"
        keep.write_text("mine", encoding="utf-8")
        self.check(self.no_lock, "honest", code=0)
        names = {path.name for path in self.scenario_folder().iterdir()}
        self.assertNotIn("mutual_exclusion.scaled.dot", names)
        self.assertIn("my_notes.txt", names)

    def test_results_that_cannot_be_written_are_an_error(self):
        self.write("file", "")
        self.check(self.no_lock, "honest", "-o", "file", code=70)

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 70)
        self.assertIn("cannot write", done.stderr)


class Replays(Cli):
    def trace(self):
        self.check(self.no_lock, "honest", code=0)
        return "lockstep-out/no_lock/honest/mutual_exclusion.trace"

    def test_a_trace_replays(self):
        done = self.run_program("replay", self.trace(), code=0)
        self.assertIn("the violation is reproduced", done.stdout)

    def test_a_replay_as_json(self):
        document = json.loads(self.run_program("replay", self.trace(), "--json", code=0).stdout)
        self.assertEqual((document["reproduced"], document["same_model"]), (True, True))

    def test_a_repaired_model_does_not_reproduce_it(self):
        trace = self.trace()
        self.write("no_lock.lk", NO_LOCK.replace("client[2]", "client[1]"))
        done = self.run_program("replay", trace, code=1)
        self.assertIn("has changed", done.stderr)

    def test_what_is_no_trace_is_wrong_data(self):
        self.run_program("replay", self.write("empty.trace", ""), code=65)
        self.run_program("replay", self.write("other.trace", '{"format": "other"}'), code=65)
        self.run_program("replay", "nowhere.trace", code=65)


class Installation(Cli):
    def test_an_installed_program_finds_its_models(self):
        staging = self.folder / "staging"
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", str(staging)], check=True,
                       capture_output=True)
        program = next(path for path in staging.rglob("lockstep") if path.is_file() and path.parent.name == "bin")
        environment = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_MODELS"}
        text = self.run_program("list", program=str(program), environment=environment, code=0).stdout
        self.assertIn("redlock", text)
        self.run_program("dump", "redlock", program=str(program), environment=environment, code=0)


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], "-v"], exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"[  PASSED  ] {result.testsRun - failed} test(s).")
    if failed:
        print(f"[  FAILED  ] {failed} test(s).")
    sys.exit(1 if failed else 0)
