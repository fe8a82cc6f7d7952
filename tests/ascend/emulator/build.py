"""Build the emulated CANN for a MindSpore wheel: python build.py [MINDSPORE_FOLDER]; prints the folder that
LD_LIBRARY_PATH takes.

Built once for each wheel and state of these sources, under ~/.cache/mindtorch_proxy (XDG_CACHE_HOME). Needs gcc, g++
and binutils.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("gcc", "g++", "nm", "strings", "objdump", "readelf", "c++filt")
# what the plugin's libraries look up by name while they run
FAMILIES = re.compile(
    r"(aclnn|aclrt|aclprof|aclmdl|aclop|acltdt|acldvpp|aclsys|acl|Hccl|Hcom|hal|rt|shmem|mstx|Mstx|InitHugeMem|UnInitHugeMem|ReleaseHugeMem|"
    r"InitPTACache|SetPTAHash|AddTensorAddr)[A-Za-z0-9_]*"
)
PLUGIN = """libmindspore_ascend.so.2 libmindspore_ops_ascend.so ascend/libmindspore_ascend_res_manager.so
    ascend/libd_collective.so ascend/libhccl_plugin.so""".split()
SONAMES = """libge_runner libgraph liberror_manager libplatform libascendcl libmsprofiler libcann_kb libcompress
    libopskernel libhost_cpu_engine libslice libaoe_executor libacl_dvpp_op libacl_dvpp_mpi libhccl libopapi
    libnnopbase libacl_op_compiler libacl_tdt_channel libacl_tdt_queue libascend_hal libruntime libge_executor libc_sec
    libregister libprofapi libexe_graph libmmpa libacl_dvpp libhcom_graph_adaptor libhcom_opskernel_builder libra
    """.split()
SYSTEM = (
    "libstdc++.so.6 libm.so.6 libgomp.so.1 libgcc_s.so.1 libpthread.so.0 libc.so.6 ld-linux-x86-64.so.2 libdl.so.2 "
    "librt.so.1"
).split()
REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def symbols(library, which):
    return {line.split()[-1].split("@")[0] for line in output("nm", "-D", which, library).splitlines() if line.strip()}


def asked_for(mindspore):
    """The names that the wheel's Ascend libraries want and that neither the wheel nor the system defines."""
    lib = mindspore / "lib"
    plugin = [p for p in (lib / "plugin" / name for name in PLUGIN) if p.exists()]
    inside = list(
        lib.glob("plugin/ascend/ms_kernels_symmetric_memory/**/*.so")
    )  # from 2.10 on these are loaded with the plugin
    wanted = {s for p in plugin + inside for s in symbols(p, "--undefined-only")}
    ours = [
        p for folder in (lib, lib / "plugin", lib / "plugin" / "ascend", mindspore) for p in folder.glob("*.so*")
    ] + inside
    system = [
        p for name in SYSTEM for folder in ("/lib/x86_64-linux-gnu", "/lib64") if (p := Path(folder, name)).exists()
    ]
    wanted -= {s for p in ours + system for s in symbols(p, "--defined-only")}
    wanted = {s for s in wanted if not re.match(r"_?Py|_ITM|__gmon|_ZTH", s)}
    return wanted | {s for p in plugin for s in output("strings", "-n", "5", p).split("\n") if FAMILIES.fullmatch(s)}


def signatures(mindspore):
    """{aclnn function: codes of its arguments, or "?"}: those read from the wheel, then those settled by hand."""
    rows = output(sys.executable, HERE / "signatures.py", mindspore) + (HERE / "signatures.tsv").read_text()
    return dict(line.split("\t") for line in rows.splitlines())


def assembly(functions, plain, data):
    """A jump for each name, with the name, to the code that keeps the argument registers and calls C."""
    lines = []

    def jump(name, label, *texts):
        strings = "\n".join(f' .string "{t}"' for t in texts)
        lines.append(
            f".text\n.globl {name}\n.type {name},@function\n{name}:\n lea .L_{name}(%rip),%rax\n jmp {label}\n.section "
            f".rodata\n.L_{name}:\n{strings}"
        )

    for name in plain:
        jump(name, "refused" if re.match("Hccl|Hcom", name) else "plain", name)
    for name, codes in functions:
        jump(name + "GetWorkspaceSize", "first", name, codes)
        jump(name, "second", name)
    whole = "".join(f" mov %{r},{8 * i - 0x30}(%rbp)\n" for i, r in enumerate(REGISTERS))
    floats = "".join(f" movsd %xmm{i},{8 * i - 0x70}(%rbp)\n" for i in range(8))
    for label in ("plain", "refused", "first", "second"):
        lines.append(
            f".text\n{label}:\n push %rbp\n mov %rsp,%rbp\n sub $0x80,%rsp\n{whole}{floats} mov %rax,%rdi\n lea "
            f"-0x30(%rbp),%rsi\n lea 0x10(%rbp),%rdx\n"
            f" lea -0x70(%rbp),%rcx\n call {label}_call@PLT\n leave\n ret"
        )
    lines += [".section .data.rel.ro", *(f".globl {s}\n.type {s},@object\n{s}: .zero 64\n.size {s},64" for s in data)]
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n'


def compile_all(mindspore, folder):
    sources = sorted((HERE / "stub").glob("*.c"))
    written = {
        name for p in [*sources, HERE / "stub" / "status.cc"] for name in re.findall(r"CANN\((\w+)", p.read_text())
    }
    wanted, known = asked_for(mindspore) - written, signatures(mindspore)
    functions = {s.removesuffix("GetWorkspaceSize") for s in wanted if re.match("aclnn[A-Z]", s)} | set(known)
    plain = {s for s in wanted if not s.startswith("aclnn")}
    data = {s for s in plain if s.startswith(("_ZTV", "_ZTI", "_ZTS"))}
    libraries = folder / "cann" / "lib64"  # MindSpore takes the path for CANN's where it contains "cann" and ends so
    libraries.mkdir(parents=True)
    (folder / "names.s").write_text(
        assembly([(s, known.get(s, "?")) for s in sorted(functions)], sorted(plain - data), sorted(data))
    )
    output("g++", "-c", "-fPIC", "-O1", "-w", "-o", folder / "status.o", HERE / "stub" / "status.cc")
    shared = ("gcc", "-shared", "-fPIC", "-O1", "-w")
    output(
        *shared,
        "-o",
        libraries / "libemulated.so",
        *sources,
        folder / "names.s",
        folder / "status.o",
        "-lpthread",
        "-lstdc++",
        "-Wl,-soname,libemulated.so",
    )
    for name in SONAMES:
        needs = ("-Wl,--no-as-needed", "-lemulated", f"-Wl,-soname,{name}.so", "-Wl,-rpath,$ORIGIN")
        output(*shared, "-o", libraries / f"{name}.so", "-x", "c", "/dev/null", f"-L{libraries}", *needs)
    hccl = folder / "python" / "hccl"  # MindSpore asks a Python package of this name for its version
    hccl.mkdir(parents=True)
    (hccl / "__init__.py").touch()
    (hccl / "sys_version.py").write_text("__sys_version__ = '0'\n")
    (folder / "unknown.txt").write_text("".join(f"{s}\n" for s in sorted(functions) if known.get(s, "?") == "?"))


def build(mindspore):
    """The folder of the emulated CANN for the wheel in the folder `mindspore`; RuntimeError where a tool is missing."""
    lacking = [t for t in TOOLS if shutil.which(t) is None]
    if lacking:
        raise RuntimeError(f"the emulated CANN is built with gcc and binutils; missing: {', '.join(lacking)}")
    version = re.search(r"version\D+([\d.]+)", (mindspore / "version.py").read_text())[1]
    state = hashlib.sha256(
        b"".join(
            p.read_bytes() for p in [Path(__file__), *sorted(HERE.glob("sig*")), *sorted((HERE / "stub").iterdir())]
        )
    ).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mindtorch_proxy" / "emulator"
    folder = cache / f"mindspore-{version}-{state[:16]}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            compile_all(mindspore, Path(made))
            try:
                shutil.copytree(made, cache / f"{folder.name}.{os.getpid()}")
                (cache / f"{folder.name}.{os.getpid()}").rename(folder)
            except OSError:  # another process was first
                shutil.rmtree(cache / f"{folder.name}.{os.getpid()}", ignore_errors=True)
    return folder


def main(argv):
    given = Path(argv[0]) if argv else Path(importlib.util.find_spec("mindspore").origin).parent
    print(build(given) / "cann" / "lib64")


if __name__ == "__main__":
    main(sys.argv[1:])
