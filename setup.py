"""The list of packages; everything else is in setup.cfg."""

from setuptools import find_namespace_packages, find_packages, setup

ROOMS = ("runtime", "backends", "stubs")
packages = find_packages(include=["mindtorch_proxy", "mindtorch_proxy.*"]) + ["mindtorch_proxy._site"]
for room in ROOMS:  # folders of stubs/ may lack an __init__.py of their own: they are parts of packages in mindtorch_proxy/torch
    inside = find_namespace_packages(room, exclude=["*__pycache__*"])
    packages += [f"mindtorch_proxy.{room}", *(f"mindtorch_proxy.{room}.{name}" for name in inside)]
setup(packages=packages)
