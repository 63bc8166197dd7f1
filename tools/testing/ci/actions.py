#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: actions.py [--scripts] ACTION WORKFLOW...

Finds faults that would stop a GitHub runner, in the action and in each workflow that uses it by
`./': inputs that are used but not declared, or the reverse; outputs of steps that do not exist;
scripts without a shell or not executable; steps that neither run nor use anything, or do both.
Prints a line for each fault; with --scripts, the embedded scripts, separated by NUL.
Exit status: 0 if there is no fault.
"""
import os
import re
import sys

import yaml

faults = 0
scripts = []


def fault(where, text):
    global faults
    faults += 1
    print(f"{where}: {text}")


def load(path):
    with open(path, encoding="utf-8") as f:
        loaded = yaml.safe_load(f)
    # YAML 1.1 reads the word `on' as a boolean.
    if True in loaded:
        loaded["on"] = loaded.pop(True)
    return loaded


def expressions(value):
    """Yield the texts between ${{ and }} below value, and the conditions."""
    if isinstance(value, dict):
        for key, v in value.items():
            if key == "if":
                yield str(v)
            yield from expressions(v)
    elif isinstance(value, list):
        for v in value:
            yield from expressions(v)
    elif isinstance(value, str):
        yield from re.findall(r"\$\{\{(.*?)\}\}", value, re.S)


def check_steps(where, steps, tree, needs_shell):
    ids = set()
    for n, step in enumerate(steps, 1):
        at = f"{where}, step {n}"
        known = {"name", "id", "if", "uses", "with", "run", "shell", "env",
                 "working-directory", "continue-on-error", "timeout-minutes"}
        for key in set(step) - known:
            fault(at, f"unknown key {key}")
        if ("run" in step) == ("uses" in step):
            fault(at, "it is to have either `run' or `uses'")
        if "run" in step:
            if needs_shell and "shell" not in step:
                fault(at, "no shell")
            # Text from an event, which strangers can write, would become part of the script.
            if "${{" in step["run"]:
                fault(at, "an expression in a script: hand it over in env")
            for script in re.findall(r"\$GITHUB_ACTION_PATH/([\w/.-]+)", step["run"]):
                if not os.access(os.path.join(tree, script), os.X_OK):
                    fault(at, f"{script} is no program")
            scripts.append(step["run"])
        elif not step["uses"].startswith("./") and not re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"]):
            fault(at, f"{step['uses']}: no version")
        for e in expressions(step):
            for name in re.findall(r"\bsteps\.([\w-]+)", e):
                if name not in ids:
                    fault(at, f"there is no step {name} before it")
        if "id" in step:
            ids.add(step["id"])
    return ids


def check_action(path):
    action = load(path)
    tree = os.path.dirname(os.path.abspath(path))
    for key in ("name", "description", "runs"):
        if key not in action:
            fault(path, f"no {key}")
    inputs = action.get("inputs", {})
    for name, i in inputs.items():
        if "description" not in i:
            fault(path, f"input {name} has no description")
        if not isinstance(i.get("default", ""), str):
            fault(path, f"the default of input {name} is no string")
    runs = action["runs"]
    if runs.get("using") != "composite":
        fault(path, "not composite")
    ids = check_steps(path, runs["steps"], tree, True)
    used = set()
    for e in expressions(action):
        used |= set(re.findall(r"\binputs\.([\w-]+)", e))
    for name in used - set(inputs):
        fault(path, f"input {name} is used and not declared")
    for name in set(inputs) - used:
        fault(path, f"input {name} is declared and not used")
    for name, output in action.get("outputs", {}).items():
        for step in re.findall(r"\bsteps\.([\w-]+)", output.get("value", "")):
            if step not in ids:
                fault(path, f"output {name} is of step {step}, which is not there")
    return inputs


def check_workflow(path, inputs, tree):
    workflow = load(path)
    for key in ("on", "jobs", "permissions"):
        if key not in workflow:
            fault(path, f"no {key}")
    for name, job in workflow.get("jobs", {}).items():
        where = f"{path}, job {name}"
        if "runs-on" not in job:
            fault(where, "no runs-on")
        if "timeout-minutes" not in job:
            fault(where, "no timeout-minutes")
        matrix = job.get("strategy", {}).get("matrix", {})
        for e in expressions(job):
            for key in re.findall(r"\bmatrix\.([\w-]+)", e):
                if key not in matrix:
                    fault(where, f"matrix.{key} is not there")
        check_steps(where, job["steps"], tree, True)
        checked_out = False
        for step in job["steps"]:
            uses = step.get("uses", "")
            checked_out |= uses.startswith("actions/checkout@")
            if uses == "./":
                if not checked_out:
                    fault(where, "nothing is checked out yet")
                for key in set(step.get("with", {})) - set(inputs):
                    fault(where, f"the action has no input {key}")
            for script in re.findall(r"(?:^|\s)((?:tools|scripts)/[\w/.-]+)",
                                     step.get("run", "") + "\n" + str(step.get("with", {}).get("run", ""))):
                if not os.access(os.path.join(tree, script), os.X_OK):
                    fault(where, f"{script} is no program")
            if "run" in step.get("with", {}):
                scripts.append(step["with"]["run"])


def main():
    args = sys.argv[1:]
    show = "--scripts" in args
    args = [a for a in args if a != "--scripts"]
    if not args or args[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    inputs = check_action(args[0])
    for path in args[1:]:
        check_workflow(path, inputs, os.path.dirname(os.path.abspath(args[0])))
    if show and not faults:
        sys.stdout.write("".join(s.rstrip("\n") + "\n\0" for s in scripts))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
