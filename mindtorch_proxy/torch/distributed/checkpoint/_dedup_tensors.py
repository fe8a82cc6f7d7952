"""Removes duplicate items from the plans of several ranks."""

import dataclasses

__all__ = ["dedup_tensors"]


def dedup_tensors(all_plans):
    """Return the plans with each item only in the first plan that has it."""
    seen, kept = set(), []
    for plan in all_plans:
        mine = [item for item in plan.items if item.index not in seen]
        seen.update(item.index for item in mine)
        kept.append(dataclasses.replace(plan, items=mine))
    return kept
