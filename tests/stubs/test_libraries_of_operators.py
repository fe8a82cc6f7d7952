"""Libraries of compiled operators, which cannot be loaded: their Python halves are imported all the same."""

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
