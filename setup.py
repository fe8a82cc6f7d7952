"""The list of packages, and the modules that are compiled where there is a C compiler; see also setup.cfg."""

import shutil
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup

FOLDERS = {
    "mindtorch_proxy": "mindtorch_proxy",
    **{f"mindtorch_proxy.{part}": part for part in ("runtime", "backends", "stubs", "examples")},
}
COMPILED = ["mindtorch_proxy.runtime.samplers"]
OPTIONS = ["-O3", "-ffp-contract=off"]  # no fused multiply-add: results are the same on every processor
LOOPS = [
    Extension(f"mindtorch_proxy.{name}", [f"{name.replace('.', '/')}.c"], extra_compile_args=OPTIONS, optional=True)
    for name in ("runtime.halves", "backends.cpu.depthwise")
]


def compiled():
    """Return the extension modules: Python files that Cython compiles with the C types of the .pxd file beside them.

    They are optional: where they cannot be built, the same files run as Python.
    """
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = []
    for name in COMPILED:  # copied, since Cython looks for a .pxd file in folders that are called like the packages
        package, module = name.rsplit(".", 1)
        folder = Path("build", "compiled", *package.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        for parent in (folder, *folder.parents[: package.count(".")]):
            (parent / "__init__.py").touch()
        for suffix in (".py", ".pxd"):
            shutil.copy2(Path(FOLDERS[package], module + suffix), folder)
        source = str(folder / f"{module}.py")
        modules.append(Extension(name, [source], extra_compile_args=OPTIONS, optional=True))
    return cythonize(modules, language_level=3, quiet=True)


packages = []
for (
    name,
    folder,
) in FOLDERS.items():  # `stubs` and `stubs/utils` have no __init__.py: they are parts of torch and torch.utils
    exclude = ["*__pycache__*", *(["segments*"] if folder == "examples" else [])]  # a project of its own
    packages += [name, *(f"{name}.{inside}" for inside in find_namespace_packages(folder, exclude=exclude))]
setup(packages=packages, ext_modules=[*LOOPS, *compiled()])
