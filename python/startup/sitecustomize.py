# SPDX-License-Identifier: Apache-2.0
"""Python imports this before a program that `heddle exec` runs: what heddle adds to PyTorch, Triton and others is added
when the program imports them. A sitecustomize of the user's own is run as well."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_PACKAGE = os.environ.get("HEDDLE_EXEC_PYTHON", "")
_PLUGIN = "heddle.pytest_plugin"
_ADDED = {
    "torch": ("torch_fallback", "install"),
    "triton._C.libtriton": ("triton_cublas", "install"),
    "triton.testing": ("triton_timing", "install_testing"),
    "triton.runtime.autotuner": ("triton_timing", "install_tuning"),
    "warp.config": ("ptx_tools", "install_warp"),
    "cutlass.base_dsl.compiler": ("ptx_tools", "install_cute"),
    "tilelang.contrib.nvcc": ("ptx_tools", "install_tilelang"),
}


class _Heddle(importlib.abc.MetaPathFinder):
    """The package of the heddle that runs the program, for an environment that has none."""

    def find_spec(self, name, path=None, target=None):
        init = os.path.join(_PACKAGE, "__init__.py")
        if name != "heddle" or not os.path.isfile(init):
            return None
        return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[_PACKAGE])


class _After(importlib.abc.MetaPathFinder):
    """Calls a function of heddle's with a module when it has been imported."""

    def __init__(self):
        self.asked = set()  # of the other finders, by this one

    def find_spec(self, name, path=None, target=None):
        if name not in _ADDED or name in self.asked:
            return None
        addition, function = _ADDED[name]
        self.asked.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asked.discard(name)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            getattr(importlib.import_module(f"heddle.{addition}"), function)(module)

        spec.loader.exec_module = exec_module
        return spec


def _run_next():
    """The sitecustomize that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "HEDDLE_EXEC_ARCH" in os.environ:
    sys.meta_path.append(_Heddle())
    sys.meta_path.insert(0, _After())
    plugins = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    if _PLUGIN not in plugins:
        os.environ["PYTEST_PLUGINS"] = ",".join([*plugins, _PLUGIN])
_run_next()
