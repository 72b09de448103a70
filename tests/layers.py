#!/usr/bin/env python3
"""Keeps the order of the rooms: a file includes only what stands above its room, and every file is in its room's list.

  layers.py ROOT             checks the source tree
  layers.py ROOT --self-test checks that a bad include, and a file that no list names, are caught
"""
import pathlib
import re
import shutil
import sys
import tempfile

# From the ground up: the folder of each room, and how its headers are included.
ROOMS = [
    ("sim/base", "base"),
    ("sim/zone", "zone"),
    ("sim/lang", "lang"),
    ("sim/world", "world"),
    ("properties", "properties"),
    ("sim/explore", "explore"),
    ("traces", "traces"),
    ("sim/cli", "cli"),
]
LEVEL = {prefix: level for level, (_, prefix) in enumerate(ROOMS)}
# Inside the search, the VM and the zones nothing of GLib; GLib begins at these edges.
NO_GLIB = {"base", "zone"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
GENERATED = {"cli/config.h"}


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".def"))


def check_include(root, path, room, quote, name):
    if quote == "<":
        if room in NO_GLIB and re.match(r"(glib|gio|json-glib)", name):
            yield f"{path}: <{name}> does not belong into {room}"
        return
    prefix = name.split("/")[0]
    if prefix not in LEVEL:
        yield f'{path}: "{name}" does not begin with a room ({", ".join(LEVEL)})'
    elif LEVEL[prefix] > LEVEL[room]:
        yield f'{path}: "{name}" stands below {room} in the order of rooms'
    elif name not in GENERATED and not any((root / base / name).is_file() for base in ("sim", ".")):
        yield f'{path}: there is no "{name}"'


def check_room(root, folder, room):
    build_file = root / folder / "meson.build"
    if not build_file.is_file():
        yield f"{folder}: has no meson.build"
        return
    listed = set(re.findall(r"'([^']+\.c)'", build_file.read_text(encoding="utf-8")))
    for path in sources(root / folder):
        shown = path.relative_to(root)
        name = str(path.relative_to(root / folder))
        if path.suffix == ".c" and name not in listed:
            yield f"{shown}: is not in {folder}/meson.build"
        for quote, included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            yield from check_include(root, shown, room, quote, included)


def check_tests(root):
    """Every test program and every shipped model has its test."""
    build_text = (root / "tests/meson.build").read_text(encoding="utf-8")
    named = set(re.findall(r"'([^']+)'", build_text))
    for folder in ("unit", "twin", "golden", "fuzz", "cli"):
        for path in sorted((root / "tests" / folder).glob("*.c")):
            if path.stem not in named:
                yield f"tests/{folder}/{path.name}: is not in tests/meson.build"
    for path in sorted((root / "models").rglob("*.lk")):
        name = str(path.relative_to(root / "models").with_suffix(""))
        if not name.startswith("services/") and name not in named:
            yield f"models/{name}.lk: is not in tests/meson.build"


def check_folders(root):
    """A source file outside every room has no order."""
    known = [folder for folder, _ in ROOMS]
    for top in ("sim", "properties", "traces"):
        for path in sources(root / top):
            shown = str(path.relative_to(root))
            if not any(shown.startswith(folder + "/") for folder in known):
                yield f"{shown}: is in no room"


def check(root):
    faults = list(check_folders(root))
    for folder, room in ROOMS:
        faults += check_room(root, folder, room)
    return faults + list(check_tests(root))


def plant(root, scratch, folder, name, text):
    """The faults of a copy of the tree with one more file."""
    copy = pathlib.Path(scratch) / name.replace("/", "_")
    for part in ("sim", "properties", "traces", "tests", "models"):
        shutil.copytree(root / part, copy / part)
    (copy / folder / name).write_text(text, encoding="utf-8")
    return "\n".join(check(copy))


def self_test(root):
    with tempfile.TemporaryDirectory() as scratch:
        upward = plant(root, scratch, "sim/zone", "planted.h", '#include "world/state.h"\n')
        assert 'sim/zone/planted.h: "world/state.h" stands below zone' in upward, upward
        foreign = plant(root, scratch, "sim/zone", "planted_glib.h", "#include <glib.h>\n")
        assert "sim/zone/planted_glib.h: <glib.h> does not belong" in foreign, foreign
        roomless = plant(root, scratch, "sim", "planted_roomless.c", "")
        assert "sim/planted_roomless.c: is in no room" in roomless, roomless
        unlisted = plant(root, scratch, "traces", "planted_unlisted.c", "")
        assert "traces/planted_unlisted.c: is not in traces/meson.build" in unlisted, unlisted
        untested = plant(root, scratch, "models/broken", "planted.lk", "")
        assert "models/broken/planted.lk: is not in tests/meson.build" in untested, untested


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if "--self-test" in sys.argv:
        self_test(root)
        return 0
    faults = check(root)
    print("\n".join(faults) if faults else "the order of rooms is kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
