"""torch.profiler and torch.utils.benchmark.Timer."""

import json
import re
import time

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.benchmark import Timer


def step(x):
    with record_function("mine"):
        (x @ x).relu().sum().backward()


@pytest.fixture
def x():
    return torch.rand(8, 8, requires_grad=True)


def test_operators_of_forward_and_backward_shapes_stacks_and_memory(x):
    step(x)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as p:
        step(x)
    events = {e.name: e for e in p.events()}
    assert events["mine"].cpu_parent is None and events["mine"].is_user_annotation
    products = [e for e in p.events() if e.name == "aten::mm"]
    assert len(products) == 3 and products[0].input_shapes[:2] == [[8, 8], [8, 8]]  # two of them in backward
    assert products[0].cpu_memory_usage == 8 * 8 * 4 and products[0].cpu_parent.name == "aten::matmul"
    assert products[0].cpu_parent.cpu_parent is events["mine"]
    assert re.fullmatch(r".*test_profiling\.py\(\d+\): step", products[0].stack[0])
    assert events["mine"].self_cpu_time_total < events["mine"].cpu_time_total and products[0].cpu_time_total > 0
    if views := [e for e in p.events() if e.name == "aten::transpose"]:
        assert views[0].cpu_memory_usage == 0  # their memory is the argument's


def test_nodes_of_backward_bear_the_number_of_their_operator(x):
    with torch.autograd.profiler.profile() as p:
        (x + 1).sum().backward()
    events = {e.name: e for e in p.function_events}
    for forward, node in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward0")):
        around = events["autograd::engine::evaluate_function: " + node]
        assert events[forward].sequence_nr == events[node].sequence_nr == around.sequence_nr >= 0
        assert events[node].cpu_parent is around and around.fwd_thread == events[forward].thread
    assert events["torch::autograd::AccumulateGrad"].sequence_nr == -1
    assert torch.autograd._get_sequence_nr() == (x * 2).grad_fn._sequence_nr()


def test_operators_that_others_make_up_are_events_around_them(x):
    with profile(record_shapes=True) as p:
        torch.nn.functional.linear(x, x, torch.ones(8))
        with torch.no_grad():
            x * 2
    events = {e.name: e for e in p.events()}
    assert events["aten::linear"].input_shapes == [[8, 8], [8, 8], [8]] and events["aten::linear"].cpu_parent is None
    assert (
        events["aten::addmm"].cpu_parent is events["aten::linear"]
        and [e.name for e in p.events()].count("aten::linear") == 1
    )
    assert events["aten::addmm"].sequence_nr >= 0 > events["aten::mul"].sequence_nr


def test_ranges_by_operators(x):
    with torch.autograd.profiler.profile() as p:
        handle = torch.ops.profiler._record_function_enter("bar", None)
        (x * 2).sum()
        torch.ops.profiler._record_function_exit(handle)
    events = {e.name: e for e in p.function_events}
    assert events["aten::mul"].cpu_parent is events["bar"] and events["bar"].is_user_annotation


def test_events_find_what_they_called_by_time():
    times = [(0, 1, 1), (1, 2, 1), (0, 2, 0), (1, 2, 0), (1, 3, 0)]
    events = torch.autograd.profiler.EventList(
        torch.autograd.profiler.FunctionEvent(id=i, name="", thread=thread, start_us=start, end_us=end, node_id=0)
        for i, (start, end, thread) in enumerate(times)
    )
    events._populate_cpu_children()
    assert [[c.id for c in e.cpu_children] for e in events] == [[], [], [], [], [3]]


def test_averages_and_tables(x):
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        step(x)
        torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    averages = p.key_averages()
    assert {a.key: a.count for a in averages}["aten::mm"] == 4 and averages.total_average().key == "Total"
    assert sorted(a.count for a in p.key_averages(group_by_input_shape=True) if a.key == "aten::mm") == [1, 3]
    table = averages.table(sort_by="self_cuda_time_total", row_limit=3)  # what scripts for GPUs say
    assert "Self CPU Mem" in table and "Self CPU time total" in table and len(table.splitlines()) == 3 + 3 + 2
    assert "test_profiling.py" in p.key_averages(group_by_stack_n=1).table(sort_by="cpu_time_total")
    assert "Input Shapes" in p.key_averages(group_by_input_shape=True).table()
    assert averages.table(sort_by="cpu_time_total").index("mine") < averages.table(sort_by="cpu_time_total").index(
        "aten::mm"
    )


def test_schedule_steps_and_ready_traces(x, tmp_path):
    ready = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: ready.append([e.name for e in p.events()]),
    ) as p:
        for _ in range(6):
            step(x)
            p.step()
    assert len(ready) == 1 and [name for name in ready[0] if name[:8] == "Profiler"] == [
        "ProfilerStep#2",
        "ProfilerStep#3",
    ]
    assert ready[0].count("mine") == 2
    with profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path), use_gzip=True)):
        step(x)
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 1


def test_files_for_viewers(x, tmp_path):
    with profile(record_shapes=True, with_stack=True) as p:
        step(x)
        p.add_metadata_json("run", '{"a": 1}')
    p.export_chrome_trace(tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert trace["run"] == {"a": 1} and all(
        e.keys() >= {"name", "cat", "pid", "tid", "ts", "dur", "args"} and e["dur"] >= 0 for e in complete
    )
    outer = next(e for e in complete if e["name"] == "mine")
    inner = next(e for e in complete if e["name"] == "aten::mm")
    assert (
        outer["ts"] <= inner["ts"]
        and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
        and "Input Dims" in inner["args"]
    )
    p.export_stacks(tmp_path / "stacks.txt")
    assert any(re.search(r"_step;aten::mm \d+$", line) for line in (tmp_path / "stacks.txt").read_text().splitlines())


def test_what_is_not_recorded_is_said():
    for name in ("with_flops", "with_modules"):
        with pytest.raises(NotImplementedError, match=name):
            profile(**{name: True})
    with pytest.warns(UserWarning, match="CUDA is not recorded"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.raises(NotImplementedError, match="emit_itt"):
        torch.autograd.profiler.emit_itt().__enter__()
    with pytest.raises(ValueError, match="with_stack"):
        profile().export_stacks("/dev/null")


def test_ranges_of_both_modules_and_as_decorators(x):
    assert torch.autograd.profiler.record_function is record_function

    @record_function("decorated")
    def twice(n):
        return twice(n - 1) if n else None

    with profile() as p:
        twice(1)
    assert [e.name for e in p.events()] == ["decorated", "decorated"]


def test_calibration_is_no_measurement():
    calls = []

    def first_is_slow():
        calls.append(1)
        time.sleep(0.3 if len(calls) == 1 else 0.002)

    measured = Timer("f()", globals={"f": first_is_slow}).blocked_autorange(min_run_time=0.05)
    assert max(measured.times) < 0.1 and len(measured.times) * measured.number_per_run < len(calls)
    calls.clear()
    assert (
        max(Timer("f()", globals={"f": first_is_slow}).adaptive_autorange(min_run_time=0.02, max_run_time=0.2).times)
        < 0.1
    )
