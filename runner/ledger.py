"""The ledger of known failures, a TOML file of entries ["test id"] category = ..., reason = ..."""

from __future__ import annotations

from pathlib import Path

from .causes import CATEGORIES


def load_ledger(path):
    """Read the ledger: {test id: {category, reason}}. Raise SystemExit for an invalid entry."""
    try:
        import tomllib
    except ModuleNotFoundError:  # on Python 3.10 pytest installs tomli
        import tomli as tomllib  # type: ignore[no-redef]
    ledger = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    for test, entry in ledger.items():
        if entry.get("category") not in (*CATEGORIES, "upstream") or not entry.get("reason"):
            raise SystemExit(
                f"run_test_v2: {path}: {test}: needs a reason, and a category out of {', '.join(CATEGORIES)}, upstream"
            )
    return ledger


def apply_ledger(results, ledger):
    """Mark known failures as `xfailed`. A known failure that passes, or fails in another category, counts as failed."""
    for result in results:
        if entry := ledger.get(result["id"]):
            if result["outcome"] == "failed" and entry["category"] in (result["category"], "upstream"):
                result.update(outcome="xfailed", reason=entry["reason"])
            elif result["outcome"] == "failed":
                result["message"] = f"[the ledger expects: {entry['category']}] {result['message']}"
            elif result["outcome"] == "passed":
                result.update(
                    outcome="failed",
                    category="other",
                    when="call",
                    text="",
                    message=f"passed, but the ledger expects a failure ({entry['category']}: {entry['reason']}): "
                    f"strike it out",
                )
