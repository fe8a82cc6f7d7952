"""../shared/semantics beside the real torch, judged by tests/ledger.toml: python tools/semantics.py --oracle PYTHON
[--json FILE] [FILES]

The ledger's "semantics: FILE:CASE" are the cases that are known to differ. Any other difference, and any of them that
is equal, ends with 1; words of messages do not count. Four minutes; on a busy machine cases with processes may differ
by time alone: run them again, by their file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from runner.ledger import load_ledger  # noqa: E402

HEAD = "semantics: "


def judge(record, ledger):
    """(cases that differ and are not known, cases that are known and equal)"""
    known = {k.removeprefix(HEAD) for k in ledger if k.startswith(HEAD)} & set(record)
    differ = {case for case, found in record.items() if found["verdict"] == "differs"}
    return sorted(differ - known), sorted(known - differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--oracle", required=True, help="a Python with the real torch")
    parser.add_argument("--json", help="a record of the runner's, to be judged without running")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.json
        if path is None:
            path = f"{folder}/record.json"
            runner = ROOT.parent / "shared" / "semantics" / "run.py"
            subprocess.run(
                [
                    options.oracle,
                    runner,
                    "--real",
                    options.oracle,
                    "--ours",
                    sys.executable,
                    "--json",
                    path,
                    *options.files,
                ],
                check=True,
            )
        record = json.loads(Path(path).read_text())
    unknown, struck = judge(record, load_ledger(ROOT / "tests" / "ledger.toml"))
    for case in unknown:
        print(
            f"differs: {case}\n  real {json.dumps(record[case]['real'])[:400]}\n  ours "
            f"{json.dumps(record[case]['ours'])[:400]}"
        )
    for case in struck:
        print(f"equal, but the ledger knows a difference: {case}: strike it out")
    print(
        f"{len(record)} cases, {sum(r['verdict'] == 'differs' for r in record.values())} differ, "
        f"{len(unknown)} of them unknown, {len(struck)} to be struck out"
    )
    return 1 if unknown or struck else 0


if __name__ == "__main__":
    sys.exit(main())
