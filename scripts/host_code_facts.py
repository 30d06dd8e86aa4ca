"""Write what nvcc makes of the generated files that mix host and device code (tests/builder/compile/generated).

    python scripts/host_code_facts.py [--nvcc NVCC] [--only PREFIX] [--jobs N]

Needs nvcc and a host compiler. Files whose text has not changed keep their entry. Run it after a change of the
generator, and look at what changes in facts.json: each line is a statement about CUDA C++.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.builder.compile.generated import FACTS, Case, cases
from tests.builder.compile.generated.answers import answers

OPTIONS = ["--extended-lambda", "--expt-relaxed-constexpr"]


def release_of(nvcc: str) -> str:
    """Return nvcc's exact release, such as "13.0.88"; "" if its output has none."""
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", version)
    return found[1] if found else ""


def compile_with_nvcc(nvcc: str, text: str, case: Case) -> tuple[str, str]:
    """Return two strings: the PTX, and the first error. One of them is ""."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**case.headers, "k.cu": text}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        command = [nvcc, "-arch=sm_80", *OPTIONS, f"-std={case.standard}", "k.cu"]
        done = subprocess.run(
            [*command, "-ptx", "-o", "k.ptx"], cwd=folder, capture_output=True, text=True, check=False
        )
        ptx = Path(folder, "k.ptx").read_text(encoding="utf-8") if done.returncode == 0 else ""
        if ".extern" in ptx:  # whether that is defined anywhere only the assembler checks
            done = subprocess.run([*command, "-cubin"], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ptx, ""
    log = done.stderr + done.stdout
    found = re.search(r"(?:error|Error|fatal)\s*:\s*(.*)", log)
    return "", found[1] if found else log.strip().splitlines()[-1]


def facts_of(nvcc: str, case: Case) -> dict[str, Any]:
    """Return the entry of a case in the table."""
    ptx, error = compile_with_nvcc(nvcc, case.text, case)
    if not error:
        return {"text": case.digest, "kernels": answers(ptx)}
    if case.corrected is None:
        return {"text": case.digest, "error": error}
    ptx, other = compile_with_nvcc(nvcc, case.corrected, case)
    if other:
        raise SystemExit(f"{case.name}: the corrected text does not compile: {other}")
    return {"text": case.digest, "error": error, "kernels": answers(ptx)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="", help="remake the entries of cases whose names start so")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    release = release_of(options.nvcc)
    old = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else {"cases": {}}
    known = old["cases"] if release and old.get("nvcc") == release else {}
    made, stale = {}, []
    for case in cases():
        entry = known.get(case.name, {})
        if entry.get("text") == case.digest and not (options.only and case.name.startswith(options.only)):
            made[case.name] = entry
        else:
            stale.append(case)
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, (case, entry) in enumerate(
            zip(stale, pool.map(lambda each: facts_of(options.nvcc, each), stale), strict=True)
        ):
            made[case.name] = entry
            print(case.name, "refused: " + entry["error"] if "error" in entry else len(entry["kernels"]))
            if number % 50 == 0:  # an interrupted run goes on where it stopped
                write(release, made)
    write(release, made)


def write(release: str, made: dict[str, Any]) -> None:
    """Write the table, one line for each case."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(made[name])}" for name in sorted(made))
    FACTS.write_text(f'{{"nvcc": "{release}", "cases": {{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
