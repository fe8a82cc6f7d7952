"""Calls that differ from samples of PyTorch's own in one argument are refused, or not, as the real torch does.

The class of the error and the first line of its words are compared, and of results dtypes and shapes. Where both refuse
an argument as of a wrong type, the words are not: PyTorch tells them apart by its parser, and we in part by Python's.
tests/oracle/refused.tsv lists the variants that differ still: operator, how, variants. Each is a difference to be
mended, and a line that is true no longer fails.
"""

from pathlib import Path

import pytest
import refused
import torch
from names import NAMES
from recording import has_nothing

KNOWN = Path(__file__).with_name("refused.tsv")
OF_TYPES = "TypeError", "AttributeError"


def known():
    """Return {operator: {(variant, how it differs)}}."""
    found: dict = {}
    for line in KNOWN.read_text().splitlines()[1:]:
        name, how, variants = line.split("\t")
        found.setdefault(name, set()).update((variant, how) for variant in variants.split(" | "))
    return found


def raises(outcome):
    return outcome[0] == "raises"


def difference(ours, theirs):
    """How our outcome of a call differs from the real torch's, or None."""
    if list(ours) == list(theirs):
        return None
    if not (raises(ours) and raises(theirs)):
        return "refused" if raises(ours) else "accepted" if raises(theirs) else "result"
    if ours[1] in OF_TYPES and theirs[1] in OF_TYPES:
        return None
    return "words" if ours[1] == theirs[1] else "class"


DIFFERENT = known()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in has_nothing("refused")])
@pytest.mark.filterwarnings("ignore")
def test_variants_of_a_sample(name, answers):
    samples = answers("refused", name)
    if not samples:
        pytest.skip("PyTorch has no samples of it")
    found, told, listed = set(), [], DIFFERENT.get(name, set())
    for sample, theirs in samples:
        ours = refused.outcomes(torch, sample)
        assert ours.keys() == theirs.keys()
        for label, expected in theirs.items():
            if name.startswith("__") and label == "0: None":
                continue  # a method's first call without operands makes its final form
            if how := difference(ours[label], expected):
                found.add((label, how))
                if (label, how) not in listed:
                    told.append(f"{label}: {how}, {ours[label]}, expected {expected}")
    assert not told, f"{len(told)} of {len(samples)} samples\n" + "\n".join(told[:12])
    assert not listed - found, f"equal now, to be taken out of {KNOWN.name}: {listed - found}"
