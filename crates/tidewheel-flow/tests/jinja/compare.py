#!/usr/bin/env python3
"""Compares the table of templates beside this file with what Jinja2 itself gives.

    compare.py --venv FOLDER

Jinja2 is installed with pip into FOLDER, which is kept for the next time. Where it cannot be installed, this says
"skipped: ..." and exits with 0. A line that differs is shown, and the exit code is 1.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import venv

VERSION = "3.1.6"


def installed(folder):
    """The interpreter of a folder that has Jinja2, or None."""
    python = os.path.join(folder, "bin", "python")
    check = [python, "-c", f"import jinja2; assert jinja2.__version__ == '{VERSION}'"]
    if os.path.exists(python) and subprocess.run(check, capture_output=True).returncode == 0:
        return python
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    install = [python, "-m", "pip", "install", "--quiet", f"jinja2=={VERSION}"]
    if subprocess.run(install, capture_output=True).returncode != 0:
        return None
    return python


def plain(value):
    """How we write values in texts: nothing, true and false, JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple, range, type({}.keys()), type({}.values()), type({}.items()))):
        return json.dumps(list(value), ensure_ascii=False)
    return value


def compare():
    import jinja2

    table = json.loads(pathlib.Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=plain,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    count = different = 0
    for cases in table["groups"].values():
        for template, *results in cases:
            count += 1
            try:
                given = environment.from_string(template).render(table["context"])
            except (jinja2.TemplateError, TypeError, ValueError):
                given = None
            if given != results[-1]:
                different += 1
                print(f"{template}\n  the table says {results[-1]!r}\n  Jinja2 gives   {given!r}")
    print(f"{count} templates compared with Jinja2 {VERSION}, {different} differ")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", help="the folder to install Jinja2 into")
    folder = parser.parse_args().venv
    if folder is None:
        return compare()
    python = installed(folder)
    if python is None:
        print("skipped: Jinja2 cannot be installed")
        return 0
    return subprocess.run([python, __file__]).returncode


if __name__ == "__main__":
    sys.exit(main())
