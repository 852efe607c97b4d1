# SPDX-License-Identifier: Apache-2.0
"""Tools that make machine code while a program runs, where they can be told to make PTX, or to show it."""

import functools
import glob
import os
import re
import tempfile

from . import card


def install_warp(config):
    """NVIDIA Warp (the module warp.config): PTX in place of machine code."""
    config.cuda_output = "ptx"


def install_tilelang(nvcc):
    """TileLang (the module tilelang.contrib.nvcc): its compiler is asked for PTX in place of machine code, and it keeps
    neither between runs."""
    os.environ["TILELANG_DISABLE_CACHE"] = "1"
    compile = nvcc.compile_cuda

    @functools.wraps(compile)
    def compile_to_ptx(code, target_format="ptx", arch=None, *arguments, **options):
        named = re.search(r"(?:arch=compute|arch[= ]sm)_(\w+)", " ".join(arch) if isinstance(arch, list) else arch or "")
        if named and target_format != "ptx":
            arch = [f"-arch=compute_{named[1]}"]
        return compile(code, "ptx", arch, *arguments, **options)

    nvcc.compile_cuda = compile_to_ptx


_SHOW = "dump-ptx-path="


def _with_path(pipeline, path):
    """A pipeline of CuTe DSL's passes that writes its PTX to files which begin with `path`."""
    begin = pipeline.find("cute-to-nvvm{")
    if begin < 0:
        return pipeline
    begin += len("cute-to-nvvm{")
    return f"{pipeline[:begin]}{_SHOW}'{path}' {pipeline[begin:]}"


def install_cute(compiler):
    """CuTe DSL (the module cutlass.base_dsl.compiler): its compiler always makes machine code, but can write the PTX
    to a file as well; that stands for the machine code on the simulated card."""
    compile = compiler.Compiler.compile

    @functools.wraps(compile)
    def compile_and_keep(self, module, pipeline, *arguments, **options):
        with tempfile.TemporaryDirectory(prefix="heddle-ptx-") as folder:
            path = os.path.join(folder, "kernels")
            if _SHOW in pipeline:  # the user's own wish
                path = pipeline.split(_SHOW, 1)[1].split("'")[1]
            else:
                pipeline = _with_path(pipeline, path)
            result = compile(self, module, pipeline, *arguments, **options)
            for file in glob.glob(glob.escape(path) + "*.ptx"):
                with open(file, encoding="utf-8") as text:
                    card.keep_ptx(text.read())
        return result

    compiler.Compiler.compile = compile_and_keep
