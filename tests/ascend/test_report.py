"""`python -m mindtorch_proxy npu-report` finds what the emulated chip does differently, and what a machine lacks."""

import json
import os

import pytest

from mindtorch_proxy import npu_facts, npu_report


@pytest.fixture
def reported(launched, tmp_path):
    """reported(*probes, **variables): run the report; the rows by probe, the exit status and what was printed."""
    import sys

    def run(*probes, full=False, **variables):
        out = tmp_path / "report.json"
        command = [sys.executable, "-m", "mindtorch_proxy", "npu-report", "--out", out, *["--full"] * full]
        done = launched(*command, "--only", *probes, **variables)
        return json.loads(out.read_text()), done.returncode, done.stdout

    return run


def test_the_emulated_chip_passes_and_is_named_as_emulated(reported):
    report, status, said = reported("float32_products", "launches", "a_convolutional_network_trains")
    assert status == 0 and report["emulated"] and "nothing differs or fails" in said
    assert said.startswith("THIS IS THE EMULATED NPU: nothing below was seen on hardware")
    assert {row["result"] for row in report["probes"].values()} == {"ok", "seen"}
    assert set(report["probes"]) == {
        "float32_products",
        "launches",
        "launches that wait",
        "a_convolutional_network_trains",
    }


PRECISION = "float32_products overflow_in_float16 bfloat16 gradients_that_overflow_are_seen".split()


@pytest.mark.parametrize(
    "variables, results, says",
    [
        # a chip that is as the table says
        (dict(EMULATED_CANN_SOC="Ascend910A"), "ok ok seen seen", "computed in float16"),
        (dict(EMULATED_CANN_SOC="Ascend310B4"), "seen ok seen seen", "the cube unit has float16 and int8 only"),
        # a chip that is not: float32 products in float32, infinity for an overflow
        (dict(EMULATED_CANN_SOC="Ascend910A", EMULATED_CANN_CHIP=0), "differs differs seen seen", "in float32; the ta"),
    ],
)
def test_precision(reported, variables, results, says):
    report, status, said = reported(*PRECISION, **variables)
    assert " ".join(report["probes"][name]["result"] for name in PRECISION) == results
    assert says in said and status == int("differs" in results)


def test_hf32_layouts_and_failing_functions_are_seen(reported):
    names = "float32_convolutions", "strided_operands", "halves_round_to_even", "first_call"
    report, status, _ = reported(
        *names,
        EMULATED_CANN_HF32=1,
        EMULATED_CANN_CONTIGUOUS="Exp",
        EMULATED_CANN_FAIL="aclnnRoundDecimals:0",
        full=False,
    )
    rows = report["probes"]
    assert rows["float32_convolutions"] | {"seconds": 0} == {
        "result": "ok",
        "what": "computed in HF32; torch.npu.conv.allow_hf32 is True",
        "seconds": 0,
    }
    assert rows["strided_operands"]["result"] == "seen" and "2 layouts were refused" in rows["strided_operands"]["what"]
    assert rows["halves_round_to_even"]["result"] == "refused" and "Round" in rows["halves_round_to_even"]["what"]
    assert rows["first_call"]["result"] == "ok" and status == 1


def test_a_probe_that_crashes_or_hangs_costs_its_own_result(monkeypatch):
    monkeypatch.setattr(npu_report, "LIMIT", 1)
    monkeypatch.setattr(npu_report, "MODULE", "time")
    row = npu_report.probed("x")
    assert row["result"] == "crashed" and row["what"].startswith("status ")
    monkeypatch.setattr(npu_report, "child", lambda *_, **__: (None, "hung", "did not end within 1 s"))
    assert npu_report.probed("x")["result"] == "hung"


def test_a_machine_with_an_npu_and_mistakes(monkeypatch, tmp_path):
    node = tmp_path / "davinci0"
    node.touch()
    toolkit = tmp_path / "toolkit"
    (toolkit / "compiler").mkdir(parents=True)
    (toolkit / "compiler" / "version.info").write_text("Version=7.0.RC1\n")
    monkeypatch.setattr(npu_facts, "devices", lambda: [str(node)])
    monkeypatch.setattr(npu_facts, "fitting", lambda: ["8.5"])
    monkeypatch.setattr(npu_facts, "NODES", ())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(toolkit))
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    texts = [what for what, _ in npu_facts.problems()]
    assert npu_facts.cann() == "7.0.RC1"
    assert texts == [
        f"this user may not open {node}",
        "CANN 7.0.RC1 is not among those that MindSpore states: 8.5",
        f"LD_LIBRARY_PATH lacks {toolkit}",
        "CANN's Python packages are missing: te, hccl",
    ]
    monkeypatch.setattr(npu_facts, "devices", list)
    assert npu_facts.problems() == []


def test_mindspore_s_own_list_of_versions_is_found():
    assert npu_facts.fitting()
