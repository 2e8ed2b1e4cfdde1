#!/usr/bin/env python3
"""Shows a run of Tidewheel in flowtoy's own terminal UI, and checks what appears there.

    check.py http://127.0.0.1:8005 --step fetch=succeeded --step report=skipped \
        --output fetch.code=200 --output 'fetch.body="hello"'

States are those of flowtoy. Every step of the run has to be named, and every output; what does
not appear within --wait seconds (10) is an error (exit 1). flowtoy is installed with pip into a
temporary folder, or into --venv FOLDER, which is kept for the next time. Where it cannot be
installed, this says "skipped: ..." and exits with 0.
"""

import argparse
import asyncio
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import venv

VERSION = "0.4.0"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="where the run is served, without a path")
    parser.add_argument("--step", action="append", default=[], metavar="NAME=STATE")
    parser.add_argument("--output", action="append", default=[], metavar="STEP.NAME=JSON")
    parser.add_argument("--wait", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--venv", metavar="FOLDER")
    parser.add_argument("--installed", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def is_there(python):
    """Whether this interpreter has flowtoy. One that was half made is none."""
    code = f"import importlib.metadata as m; assert m.version('flowtoy') == '{VERSION}'"
    try:
        return subprocess.run([python, "-c", code], capture_output=True).returncode == 0
    except OSError:
        return False


def install(folder):
    """Makes an environment with flowtoy in it, one caller at a time. Gives its interpreter and why there is none."""
    folder = os.path.abspath(folder)
    python = os.path.join(folder, "bin", "python")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install_alone(folder, python)


def install_alone(folder, python):
    if is_there(python):
        return python, None
    try:
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--retries", "1", f"flowtoy=={VERSION}"]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if done.returncode == 0:
        return python, None
    return None, (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def run_installed(folder):
    python, why = install(folder)
    if python is None:
        print(f"skipped: flowtoy {VERSION} cannot be installed: {why}")
        return 0
    again = [python, os.path.abspath(__file__), "--installed", *sys.argv[1:]]
    return subprocess.run(again).returncode


def outputs_of(texts):
    outputs = {}
    for text in texts:
        name, value = text.split("=", 1)
        step, name = name.rsplit(".", 1)
        outputs.setdefault(step, {})[name] = json.loads(value)
    return outputs


def problems(status_panel, outputs_panel, steps, outputs):
    """What is not as expected in the text of the two panels."""
    from flowtoy.tui import STATE_ICONS

    header, *lines = status_panel.splitlines() or [""]
    rows = lines[3:]
    for name, state in steps.items():
        start = f"{name:24} {STATE_ICONS.get(state, state[:2])} "
        if not any(row.startswith(start) for row in rows):
            yield f"no row starts with {start!r}"
    if len(rows) != len(steps):
        yield f"{len(rows)} rows, not {len(steps)}"
    ended = sum(state not in ("pending", "running") for state in steps.values())
    if f"{ended}/{len(steps)} completed" not in header:
        yield f"the header is {header!r}"
    shown = {} if outputs_panel == "(no outputs)" else json.loads(outputs_panel)
    # A step without outputs may be there or not.
    shown = {step: values for step, values in shown.items() if values}
    if shown != outputs:
        yield f"the outputs are {shown}, not {outputs}"


async def watch(url, steps, outputs, wait):
    """What is still not as expected after the wait, and the text of the panels."""
    from flowtoy.tui import FlowToyTUI
    from textual.widgets import Static

    app = FlowToyTUI(status_url=url)
    async with app.run_test(size=(160, 60)) as pilot:
        deadline = time.monotonic() + wait
        while True:
            await pilot.press("r")
            await pilot.pause()
            # What was before an update is removed a little later than the new text is there.
            panels = [
                str(panel.query(Static).last().render())
                for panel in (app.status_widget, app.outputs_widget)
            ]
            found = list(problems(*panels, steps, outputs))
            if not found or time.monotonic() > deadline:
                return found, panels
            await asyncio.sleep(0.1)


def relayed(url):
    """Whether flowtoy's web server passes on what the run serves."""
    os.environ["RUNNER_STATUS_URL"] = url
    from flowtoy import webui

    for path, answer in (("/status", webui.status()), ("/outputs", webui.outputs())):
        if answer.status_code != 200 or not isinstance(json.loads(answer.body), dict):
            yield f"the web page gets {answer.status_code} for {path}: {answer.body!r}"


def check(options):
    url = options.url.rstrip("/")
    steps = dict(text.rsplit("=", 1) for text in options.step)
    found, panels = asyncio.run(watch(url, steps, outputs_of(options.output), options.wait))
    found += relayed(url)
    for problem in found:
        print(f"error: {problem}")
    if found:
        print(*panels, sep="\n\n")
        return 1
    print(f"flowtoy {VERSION} shows {len(steps)} steps and their outputs as expected")
    return 0


def main():
    options = arguments()
    if options.installed:
        return check(options)
    if options.venv:
        return run_installed(options.venv)
    with tempfile.TemporaryDirectory(prefix="flowtoy-") as folder:
        return run_installed(folder)


if __name__ == "__main__":
    sys.exit(main())
