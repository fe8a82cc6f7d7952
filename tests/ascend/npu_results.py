"""What became of the operators' samples on the emulated NPU, over all parts of the sweep."""

PROPERTY = "results on npu"  # of a test's report


def share(results):
    """The share of the results that are equal, or refused by a dtype that CANN does not state."""
    return (results["equal"] + results["refused by dtype"]) / results.total()
