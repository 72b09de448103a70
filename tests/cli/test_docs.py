#!/usr/bin/env python3
"""The manuals tell the truth: README and tutorial show what comes, the examples of the language manual compile.

  test_docs.py PROGRAM ROOT

The tutorial: an indented line `$ COMMAND` is run, and the lines below it must come in its output, in this order. Runs of blanks count
as one blank; `…` inside a line stands for anything, and a line `…` for any lines (without it lines follow each other). The other indented blocks are
parts of the models beside it, line by line.

The language manual: before each indented block stands a comment that names the frame below in which it is compiled, `<!-- model -->` for
none, `<!-- services/redis.lk -->` for a file that a model uses. A block with claims is checked as well. A row of the tables of scenarios and faults is a line of a scenario.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
ROOT = pathlib.Path(sys.argv[2]).resolve()

# Where a fragment stands. {} is the fragment.
FRAMES = {
    "model": "{}",
    "model with cell": 'model example ""\nuse cell\n{}',
    "services/redis.lk": """model example ""
use redis
param ttl = 10s
server node : redis
client[2] {{
  var key : token
  key = fresh
  if ask node.set_nx(key, ttl) == ok {{ critical {{ wait 1s }} }}
  tell node.release(key)
}}
scenario s {{ latency 0ms..20ms }}
""",
    "client of desk": """model example ""
service desk {{
  var busy : bool
  on enqueue() when not busy {{ busy = true; tell caller.granted() }}
  on done() {{ busy = false }}
}}
server desk : desk
{}
scenario s {{ latency 0ms..20ms }}
""",
    "service desk": """model example ""
{}
server desk : desk
client[2] {{
  var held : bool
  on granted() {{ held = true }}
  ask desk.enqueue()
  wait until held
  critical {{ wait 1s }}
  ask desk.done()
}}
scenario s {{ latency 0ms..20ms  1 crash of client }}
""",
    "tasks of a client": """model example ""
use redis
param ttl = 9s
server node : redis
client[2] {{
  var key  : token?
  var held : bool
  task taker {{ loop {{ wait 1s  key = fresh  if ask node.set_nx(key, ttl) == ok {{ held = true }} }} }}
  {}
}}
scenario s {{ latency 0ms..20ms  1 pause of client.renewal for 0s..15s }}
""",
    "scenario": """model example ""
param ttl = 10s
service memory {{
  var owner : token? = none lock
  timer expiry on wall
  on take(key) {{ if owner != none {{ reply nil }} owner = key; expiry in ttl }}
  on evict(n, key) {{ if n > 0 {{ owner = key }} }}
  on lost(c) {{ }}
  after expiry {{ owner = none }}
}}
service resource {{
  on read() {{ observe }}
  on write() {{ commit }}
}}
server node[5] : memory
server store   : resource
client[2] {{
  var key : token
  var s   : stamp on wall
  task worker {{
    loop {{
      key = fresh
      s = now
      for n in node {{ ask n.take(key) }}
      if age(s) < ttl {{ critical {{ ask store.read()  assert age(s) < ttl "text"  ask store.write() }} }}
      wait 1s
    }}
  }}
  task watchdog {{ loop {{ wait 3s }} }}
}}
scenario s {{
  {}
}}
""",
}
# One more kind of client, for the lines that name it.
READER = "client reader[2] { loop { critical shared { ask store.read() } wait 1s } }"


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(text):
    """The indented blocks with the comment before each, and their line; blank lines belong to a block if it goes on after them."""
    found, lines, comment, at = [], text.split("\n"), None, 0
    while at < len(lines):
        if not lines[at].startswith("    "):
            if lines[at].strip():
                match = re.fullmatch(r"<!-- (.*) -->", lines[at].strip())
                comment = match.group(1) if match else None
            at += 1
            continue
        end = at
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith("    ")):
            end += 1
        body = [line[4:] for line in lines[at:end]]
        while not body[-1].strip():
            body.pop()
        found.append((at + 1, comment, "\n".join(body)))
        comment, at = None, end
    return found


def squeezed(line):
    return re.sub(r"\s+", " ", line).strip()


def pattern(line):
    return re.compile(".*".join(re.escape(part.strip()) for part in squeezed(line).split("…")).replace(r".*", ".*"))


def shown_in(shown, output):
    """The first line of what is shown that the output does not have in its place, or None."""
    lines, at, anywhere = [squeezed(line) for line in output.split("\n") if line.strip()], 0, False
    for line in shown:
        if line.strip() == "…":
            anywhere = True
            continue
        if not line.strip():
            continue
        wanted = pattern(line)
        while anywhere and at < len(lines) and not wanted.fullmatch(lines[at]):
            at += 1
        if at >= len(lines) or not wanted.fullmatch(lines[at]):
            return line
        at, anywhere = at + 1, False
    return None if anywhere or at == len(lines) else "(the output goes on: " + lines[at] + ")"


class Docs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-docs-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, timeout=300)


class Readme(Docs):
    def test_the_answer_is_what_is_shown(self):
        shown = [body for _, _, body in blocks(read("README.md")) if "violation:" in body]
        self.assertEqual(len(shown), 1)
        done = self.run_program("check", "redlock", "pause", "--no-pictures")
        self.assertIsNone(shown_in(shown[0].split("\n"), done.stdout), done.stdout + done.stderr)


class Tutorial(Docs):
    def test_commands_give_what_is_shown(self):
        commands = 0
        for line, _, body in blocks(read("docs/tutorial/README.md")):
            if not body.startswith("$ "):
                continue
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, *shown = part.split("\n")
                words = shlex.split(command)
                if "--emit=svg" in words and not shutil.which("dot"):
                    break
                if words[0] == "lockstep":
                    done = self.run_program(*words[1:])
                else:
                    self.assertEqual(words[0], "ls", f"line {line}")
                    done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True)
                commands += 1
                if any(line.strip() for line in shown):
                    self.assertIsNone(shown_in(shown, done.stdout), f"line {line}: $ {command}\n{done.stdout}\n{done.stderr}")
                self.assertIn(done.returncode, (0, 1), f"line {line}: $ {command}\n{done.stderr}")
                if words[1] == "new":
                    for path in (ROOT / "docs/tutorial").glob("*.lk"):
                        shutil.copy(path, self.folder)
        self.assertGreaterEqual(commands, 6)

    def test_parts_of_models_are_parts_of_the_models(self):
        models = [read(f"docs/tutorial/{name}.lk") for name in ("baton_first", "baton")]
        parts = 0
        for line, _, body in blocks(read("docs/tutorial/README.md")):
            if body.startswith("$ "):
                continue
            for part in body.split("\n\n"):
                part = re.sub(r"^ *\n", "", part)
                self.assertTrue(any(part in model for model in models), f"line {line}: not in a model of the tutorial:\n{part}")
                parts += 1
        self.assertGreaterEqual(parts, 6)

    def test_the_models_hold_what_they_claim(self):
        for name in ("baton_first", "baton"):
            done = self.run_program("check", str(ROOT / f"docs/tutorial/{name}.lk"), "--quiet", "--no-pictures")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Language(Docs):
    def compiles(self, where, frame, body):
        self.assertIn(frame, FRAMES, f"{where}: a comment before the block has to name its frame: {', '.join(FRAMES)}")
        shutil.copytree(ROOT / "models/services", self.folder / "services", dirs_exist_ok=True)
        if frame.startswith("services/"):
            (self.folder / frame).write_text(body, encoding="utf-8")
        text = FRAMES[frame].format(body)
        if "reader" in body:
            text = text.replace("\nscenario", "\n" + READER + "\nscenario", 1)
        (self.folder / "example.lk").write_text(text, encoding="utf-8")
        done = self.run_program("dump", "example.lk")
        self.assertEqual(done.returncode, 0, f"{where} ({frame}):\n{body}\n{done.stderr}")
        if "expect" in body and frame.startswith("model"):
            done = self.run_program("check", "example.lk", "--quiet", "--no-pictures")
            self.assertEqual(done.returncode, 0, f"{where} ({frame}):\n{body}\n{done.stdout}{done.stderr}")

    def test_every_example_compiles(self):
        found = blocks(read("docs/language.md"))
        self.assertGreaterEqual(len(found), 6)
        for line, frame, body in found:
            if frame != "error":
                self.compiles(f"docs/language.md:{line}", frame, body)

    def test_errors_look_as_shown(self):
        found = [body for _, frame, body in blocks(read("docs/language.md")) if frame == "error"]
        self.assertEqual(len(found), 1)
        (self.folder / "models").mkdir()
        mine = "\n" * 7 + 'model mine ""\nparam ttl = 30ms\n\nclient[2] {\n  var votes : 0..5\n  loop {\n    if votes >= ttl { stop }\n    wait 1s\n  }\n}\nscenario s { }\n'
        (self.folder / "models/mine.lk").write_text(mine, encoding="utf-8")
        done = self.run_program("dump", "models/mine.lk")
        for line in found[0].split("\n"):
            self.assertRegex(squeezed(done.stderr), re.escape(squeezed(line)).replace("…", ".*"))

    def test_every_line_of_a_scenario_compiles(self):
        text = read("docs/language.md")
        section = text[text.index("## Scenarios"):text.index("## Errors")]
        count = 0
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
            codes = re.findall(r"`([^`]+)`", row)
            for code in codes:
                if code.startswith("… "):
                    count_of, rest = codes[0], code[2:]
                    code = (count_of if rest.startswith("by") and " by " not in count_of else re.sub(r" (of|from|to) .*", "", count_of)) + " " + rest
                code = code.replace("P, Q holds", "fencing, deadlock holds").replace("P broken", "fencing broken")
                if code.startswith("latency a..b"):
                    code = code.replace("a..b", "1ms..2ms")
                code = code.replace("a..b", "0ms..20ms").replace("rounds n", "rounds 2")
                self.compiles(f"docs/language.md: `{code}`", "scenario", code)
                count += 1
        self.assertGreaterEqual(count, 30)


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], "-v"], exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"[  PASSED  ] {result.testsRun - failed} test(s).")
    if failed:
        print(f"[  FAILED  ] {failed} test(s).")
    sys.exit(1 if failed else 0)
