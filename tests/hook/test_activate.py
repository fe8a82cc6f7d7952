"""Tests python -m mindtorch_proxy, mindtorch-activate, child processes, pytest and IPython."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_proxy
from mindtorch_proxy.activate import SITE

ROOT = str(Path(mindtorch_proxy.__file__).parents[1])
WHICH = (
    "import importlib.util as u; s = u.find_spec('torch'); print('ours' if s and 'mindtorch_proxy' in s.origin else "
    "'not ours')"
)
RUN = ("-m", "mindtorch_proxy")
ACTIVATE = ("-m", "mindtorch_proxy.commands")


def test_script_arguments_path_and_main(python, tmp_path):
    (tmp_path / "beside.py").write_text("x = 1")
    script = tmp_path / "prog.py"
    script.write_text(f"""
import pickle, sys, __main__, beside
def f(): pass
assert pickle.loads(pickle.dumps(f)) is f and __main__.f is f
assert __name__ == "__main__" and __file__ == {str(script)!r}, __file__
assert sys.argv == [__file__, "-c", "--x"], sys.argv
assert sys.path[0] == {str(tmp_path)!r}
{WHICH}
sys.exit(7)
""")
    done = python(*RUN, script, "-c", "--x", check=False)
    assert (done.stdout, done.returncode) == ("ours\n", 7), done.stderr
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__main__.py").write_text(f"import sys; assert sys.path[0].endswith('app'), sys.path\n{WHICH}")
    assert python(*RUN, tmp_path / "app") == "ours"


def test_module_source_and_standard_input(python, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").write_text("")
    (tmp_path / "pack/tool.py").write_text(f"import sys; print(__name__, __package__, sys.argv[1:]); {WHICH}")
    assert python(*RUN, "-m", "pack.tool", "a", cwd=tmp_path) == "__main__ pack ['a']\nours"
    assert python(*RUN, "-c", f"import sys; print(sys.argv, repr(sys.path[0])); {WHICH}", "a") == "['-c', 'a'] ''\nours"
    assert python(*RUN, "-", "a", stdin=f"import sys; print(sys.argv); {WHICH}") == "['-', 'a']\nours"


def test_wrong_use(python):
    assert python(*RUN, "no_such_script.py", check=False).returncode == 2
    assert python(*RUN, "-m", check=False).returncode == 2
    error = python(*RUN, "no_such_script.py", check=False).stderr
    assert "can't open file '/" in error and "no_such_script.py': [Errno 2]" in error
    assert "did you mean the command 'doctor'?" in python(*RUN, "doktor", check=False).stderr
    assert "Python's own go before -m" in python(*RUN, "-W", "error", "-c", "1", check=False).stderr
    assert python(*RUN, "--version").startswith("mindtorch_proxy ")


def test_a_script_is_run_as_python_runs_it(python, tmp_path):
    """`__file__` is absolute, OMP_NUM_THREADS counts, and nothing warns at the end, where warnings are errors."""
    (tmp_path / "prog.py").write_text(
        "import os, torch\nos.chdir('/')\nopen(__file__)\n(torch.ones(2) + 1).sum()\nprint(torch.get_num_threads())\n"
    )
    code = f"import os; os.chdir({str(tmp_path)!r}); import runpy, sys; sys.argv = ['m', 'prog.py']; "
    code += "runpy.run_module('mindtorch_proxy', run_name='__main__')"
    done = python(
        "-X", "dev", "-W", "error::DeprecationWarning:mindspore", "-c", code, check=False, OMP_NUM_THREADS="1"
    )
    assert done.stdout.startswith("1\n") and "getName" not in done.stderr, done.stdout + done.stderr


def test_warnings_that_pytorch_gives(python):
    code = """
import torch, torch.distributed as dist, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    group = dict(backend="nccl", store=dist.HashStore(), rank=0, world_size=1)
    for call in (lambda: torch.jit.load("nope"), lambda: dist.init_process_group(**group)):
        try:
            call()
        except (ValueError, RuntimeError):
            pass
print([(w.category.__name__, str(w.message)[:40]) for w in seen])
"""
    assert python(*RUN, "-c", code).strip() == str(
        [
            ("DeprecationWarning", "`torch.jit.load` is deprecated. Please s"),
            ("UserWarning", "Attempted to get default timeout for ncc"),
        ]
    )
    assert python(*ACTIVATE, "nonsense", check=False).returncode == 2
    assert python(*ACTIVATE, "run", check=False).returncode == 2
    assert python(*ACTIVATE, "run", "no-such-command", check=False).returncode == 127
    assert "python -m mindtorch_proxy" in python(*RUN, "--help")


def test_the_demo_without_its_extra(python):
    code = "import sys; sys.modules['transformers'] = None; from mindtorch_proxy.commands import demo; sys.exit(demo())"
    done = python("-c", code, check=False)
    assert done.returncode == 1 and "pip install 'mindtorch-proxy[demo]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_raises_ends_with_1(python, tmp_path):
    (tmp_path / "wrong.py").write_text("raise KeyError('missing')")
    for program in (["-c", "raise KeyError('missing')"], [tmp_path / "wrong.py"], ["-m", "wrong"]):
        done = python(*RUN, *program, check=False, cwd=tmp_path)
        assert done.returncode == 1 and "KeyError: 'missing'" in done.stderr, program
    assert python(*RUN, "-", stdin="raise SystemExit(3)", check=False).returncode == 3


CHILDREN = f"""
import multiprocessing, os, subprocess, sys
def child(queue):
    import importlib.util
    queue.put(importlib.util.find_spec("torch").origin)
if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(method, "mindtorch_proxy" in queue.get(timeout=60))
        process.join()
    subprocess.run([sys.executable, "-c", {WHICH!r}])
    program = "import subprocess, sys; subprocess.run([sys.executable, \\"-c\\", sys.argv[1]])"
    subprocess.run(f"'{{sys.executable}}' -c '{{program}}' \\"$W\\"", shell=True, env=os.environ | {{"W": {WHICH!r}}})
"""


@pytest.mark.parametrize("how", ["script", "module", "install"])
def test_children_inherit(python, tmp_path, how):
    (tmp_path / "prog.py").write_text(
        ("import mindtorch_proxy; mindtorch_proxy.install()" if how == "install" else "") + CHILDREN
    )
    command = {"script": [*RUN, tmp_path / "prog.py"], "module": [*RUN, "-m", "prog"], "install": ["-m", "prog"]}[how]
    assert python(*command, cwd=tmp_path).split("\n") == ["spawn True", "fork True", "forkserver True", "ours", "ours"]


def test_children_after_uninstall_and_of_another_environment(python, tmp_path):
    code = f"""
import subprocess, sys, mindtorch_proxy
with mindtorch_proxy.install():
    subprocess.run([sys.argv[1], "-c", {WHICH!r}])
subprocess.run([sys.executable, "-c", {WHICH!r}])
"""
    assert python("-c", code, venv(tmp_path)) == "not ours\nnot ours"


def venv(folder):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    return str(folder / "env/bin/python")


def test_a_sitecustomize_of_the_users_still_runs(python, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.mark = __file__")
    show = "import sys, sitecustomize as s; print(sys.mark == s.__file__, sys.path)"
    code = (
        f"import subprocess, sys, mindtorch_proxy as m; m.install(); subprocess.run([sys.executable, '-c', "
        f"{show + '; ' + WHICH!r}])"
    )
    result = python("-c", code, PYTHONPATH=tmp_path)
    assert result.startswith(f"True ['', '{tmp_path}'") and result.endswith("ours") and SITE not in result


def test_shell(python, tmp_path):
    (tmp_path / "a folder").mkdir()
    script = f"""
set -eu
which() {{ "$PY" -c "{WHICH}"; }}
which
eval "$("$PY" -m mindtorch_proxy.commands)"
which; "$PY" -m mindtorch_proxy.commands --status | head -1
eval "$("$PY" -m mindtorch_proxy.commands)"
eval "$("$PY" -m mindtorch_proxy.commands deactivate)"
which; echo "${{MINDTORCH_ACTIVATE-unset}} $PYTHONPATH"
"$PY" -m mindtorch_proxy.commands run "$PY" -c "{WHICH}"
"$PY" -m mindtorch_proxy.commands --status | head -1
"""
    (tmp_path / "s.sh").write_text(script)
    output = python(tmp_path / "s.sh", executable="bash", PY=sys.executable, PYTHONPATH=f"{ROOT}:{tmp_path}/a folder")
    *lines, last = output.split("\n")
    assert lines[:3] == [
        "not ours",
        "ours",
        f"new processes of {os.path.realpath(sys.prefix)}: import torch is ours, 2.13.0+mindspore",
    ]
    assert lines[3:] == ["not ours", f"unset {ROOT}:{tmp_path}/a folder", "ours"]
    assert last == f"new processes of {os.path.realpath(sys.prefix)}: import torch is not ours"
    assert python(*ACTIVATE, "--status", check=False).returncode == 1


def test_console_script():
    script = Path(sys.executable).parent / "mindtorch-activate"
    assert "export MINDTORCH_ACTIVATE=" in subprocess.check_output([script], text=True)


def test_pth_of_an_environment(python, tmp_path):
    own = venv(tmp_path)

    def ask(*arguments, **variables):
        return python(*arguments, executable=own, check=False, PYTHONPATH=ROOT, **variables).stdout.strip()

    ask(*ACTIVATE, "--install")
    ask(*ACTIVATE, "--install")
    pth = next(Path(tmp_path).rglob("mindtorch_proxy_activate.pth"))
    assert str(pth) in ask(*ACTIVATE, "--status")
    assert ask("-c", WHICH) == "not ours"
    assert (
        ask("-c", WHICH, MINDTORCH_ACTIVATE="0")
        == ask("-c", WHICH, MINDTORCH_ACTIVATE=os.path.realpath(sys.prefix))
        == "not ours"
    )
    assert (
        ask("-c", WHICH, MINDTORCH_ACTIVATE="1")
        == ask("-c", WHICH, MINDTORCH_ACTIVATE=os.path.realpath(tmp_path / "env"))
        == "ours"
    )
    ask(*ACTIVATE, "--uninstall")
    assert not pth.exists() and ask("-c", WHICH, MINDTORCH_ACTIVATE="1") == "not ours"


def test_pytest_plugin_comes_before_conftest(python, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import torch, importlib.metadata as m; assert m.version('torch') == torch.__version__"
    )
    (tmp_path / "test_x.py").write_text("import torch\ndef test_x(): assert 'mindtorch_proxy' in torch.__file__")
    assert "1 passed" in python("-m", "pytest", "-q", "-p", "mindtorch_proxy", "test_x.py", cwd=tmp_path)
    assert "2 passed" in python(
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "mindtorch_proxy",
        "test_x.py",
        "test_x.py",
        "--keep-duplicates",
        cwd=tmp_path,
    )


def test_ipython_extension(python):
    code = f"""
import mindtorch_proxy as m
m.load_ipython_extension(None); {WHICH}
m.unload_ipython_extension(None); {WHICH}
"""
    assert python("-c", code) == "ours\nnot ours"


def test_report_comes_from_the_runtime(python):
    code = "import torch, mindtorch_proxy; torch.ones(2) + 1; print(type(mindtorch_proxy.report()).__name__)"
    assert python(*RUN, "-c", code)


def test_protobuf_before_mindspore(python):
    """MindSpore needs protobuf's pure Python implementation, which must be selected before protobuf is imported."""
    name = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
    code = f"""
import os, mindtorch_proxy
before = os.environ.get({name!r})
with mindtorch_proxy.install():
    print(os.environ[{name!r}])
assert os.environ.get({name!r}) == before
"""
    with_none = {name: None}
    assert python("-c", code, **with_none) == "python"
    assert python("-c", code, **{name: "upb"}) == "upb"  # the user's value is kept
    assert python("-c", code, **{name: "python"}) == "python"
    with_onnx = "import onnx, torch; print((torch.ones(2) + 1).tolist())"
    pytest.importorskip("onnx")
    assert python(*RUN, "-c", with_onnx, **with_none) == "[2.0, 2.0]"


def test_two_copies_do_not_mix(python, tmp_path):
    """install() raises an error that names both places if it finds the runtime of another checkout."""
    shutil.copytree(
        Path(ROOT) / "mindtorch_proxy", tmp_path / "mindtorch_proxy", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = "import os, sys, mindtorch_proxy as m; before = dict(os.environ), [*sys.meta_path]"
    code += """
try:
    m.install()
except RuntimeError as error:
    assert before == (dict(os.environ), sys.meta_path)
    print(error)
"""
    message = python("-c", code, PYTHONPATH=tmp_path)
    assert f"{tmp_path}/mindtorch_proxy" in message and f"{ROOT}/runtime" in message, message
