"""Libraries of compiled operators, which cannot be loaded: their Python halves are imported all the same."""

import threading
import time

import pytest
import torch


def test_what_is_said_of_operators_that_could_not_be_loaded_waits_for_their_definition(tmp_path):
    library = tmp_path / "operators.so"
    library.write_bytes(b"no library")
    with pytest.raises(OSError):
        torch.ops.load_library(library)
    torch.library.register_fake("early_library::twice", lambda x: torch.empty_like(x))
    assert not hasattr(torch.ops.early_library, "twice")
    torch.library.define("early_library::twice", "(Tensor x) -> Tensor")
    assert torch.ops.early_library.twice(torch.ones(2, device="meta")).shape == (2,)


def test_a_library_that_is_not_there_changes_nothing(tmp_path):
    with pytest.raises(OSError):
        torch.ops.load_library(tmp_path / "absent.so")
    assert not torch.ops.loaded_libraries


def test_a_kernel_that_runs_in_one_thread_stays_for_the_others():
    def subtract(a, b, *, alpha=1):
        time.sleep(0.01)
        return torch.sub(a, b) + 0 * torch.add(a, b)  # inside, the operator is the original

    library = torch.library.Library("aten", "IMPL")
    library.impl("add.Tensor", subtract, "CPU")
    try:
        x, found = torch.ones(2), []
        threads = [
            threading.Thread(target=lambda: found.extend(torch.add(x, x).tolist() for _ in range(5))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        library._destroy()
    assert found == [[0, 0]] * 15 and torch.add(x, x).tolist() == [2, 2]
