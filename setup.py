"""The list of packages; everything else is in setup.cfg."""

from setuptools import find_namespace_packages, setup

FOLDERS = {
    "mindtorch_proxy": "mindtorch_proxy",
    **{f"mindtorch_proxy.{part}": part for part in ("runtime", "backends", "stubs", "examples")},
}
packages = []
for (
    name,
    folder,
) in FOLDERS.items():  # `stubs` and `stubs/utils` have no __init__.py: they are parts of torch and torch.utils
    packages += [name, *(f"{name}.{inside}" for inside in find_namespace_packages(folder, exclude=["*__pycache__*"]))]
setup(packages=packages)
