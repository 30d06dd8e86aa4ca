"""A generator of small projects and of changes to them: what the cache returns is what a build without a cache makes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile_on_load import requests as on_load
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.soak import amount

FOLDERS = ["src", "src/deep", "include", "include/deep", "extra", ".", "../beside", "../tool", "../tool/deep"]
"""Folders of headers: the source's, the include folders, one that options name, one beside the project, a library's."""
NAMES = ["a.h", "b.h", "deep/a.h", "deep/b.h", "c.h"]
WRITTEN = [*NAMES, "../a.h", "../include/b.h", "../beside/a.h", "../../beside/b.h"]
"""Names as includes have them."""
CLOCKS = ["__TIME__", "__DATE__", "CAT(__TI, ME__)", "CAT(__, CAT(DATE, __))", "STAMP", "WRAP(TIME)"]
OPTIONS: list[tuple[str, ...]] = [
    (),
    ("-Iextra",),
    ("--include-path=extra",),
    ("-I", "../beside"),
    ("--define-macro=NAMED=<a.h>",),
    ('-DNAMED="b.h"',),
    ("--pre-include=c.h",),
    ("-include", "a.h"),
    ("-DSTAMP=__TIME__",),
    ("--no-source-include",),
]


class Generator:
    """Random texts and changes. Each text defines variables, so that what it includes shows in the image."""

    def __init__(self, seed: int, root: Path) -> None:
        self.random = random.Random(seed)
        self.root = root
        self.number = 0

    def value(self) -> str:
        """Return a definition that makes a text's image differ from that of every other one."""
        self.number += 1
        return f'extern "C" __device__ int value{self.number} = {self.number};\n'

    def name(self) -> str:
        written = self.random.choice(WRITTEN)
        return self.random.choice([f'"{written}"', f"<{written}>"])

    def existing(self) -> str | None:
        """Return a line that includes a header that one of the folders has; None if there is none yet."""
        found = [name for name in NAMES if any((self.root / folder / name).is_file() for folder in FOLDERS[:4])]
        if not found:
            return None
        name = self.random.choice(found)
        written = self.random.choice([f'"{name}"', f"<{name}>"])
        return f"#include {written}\n"

    def reference(self) -> str:
        """Return lines that include a header, or test for one, in one of the ways that C++ has."""
        name, macro = self.name(), f"M{self.random.randrange(10**6)}"
        tested = f"{self.value()}#else\n#endif\n"
        return self.random.choice(
            [
                self.existing() or "",
                f"#if __has_include({name})\n#include {name}\n#endif\n",
                f"#if __has_include({name})\n{tested}",
                f"#define {macro} {name}\n#if __has_include({macro})\n#include {macro}\n#endif\n",
                f"#define {macro}(x) __has_include(x)\n#define {macro}_N {name}\n#if {macro}({macro}_N)\n{tested}",
                f"#define {macro}(x) __has_include(x)\n#define {macro}_T {macro}({name})\n#if {macro}_T\n{tested}",
                f"#define {macro}(x) <x.h>\n#if __has_include({macro}(a))\n{tested}",
                f"#define {macro}(x) __has_include(<x.h>)\n#if {macro}(b)\n{tested}",
                f"#if defined(NAMED)\n#if __has_include(NAMED)\n{tested}#endif\n",
                "#ifdef NAMED\n#include NAMED\n#endif\n",
                f"#if 0\n#include {name}\n#endif\n",
                f"/* #include {name} */\n",
            ]
        )

    def header(self) -> str:
        references = "".join(self.reference() for _ in range(self.random.choice([0, 0, 0, 1, 2])))
        return f"#pragma once\n{references}{self.value()}"

    def source(self, clock: bool = True) -> str:
        text = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n#define WRAP(x) __##x##__\n"
        text += "".join(self.reference() for _ in range(self.random.randint(1, 4)))
        if clock and self.random.random() < 0.2:
            clock = self.random.choice(CLOCKS)
            text += f"#ifndef STAMP\n#define STAMP 0\n#endif\n__device__ const char* moment() {{ return {clock}; }}\n"
        return f"{text}{self.value()}__global__ void k(int* x) {{ *x = 1; }}\n"

    def folders(self) -> list[str]:
        """Return the folder of the source, and others of the project in any order."""
        others = ["include", "include/deep", "extra", "src/deep", "."]
        return ["src", *self.random.sample(others, self.random.randint(1, 4))]

    def change_files(self) -> None:
        """Add, edit or remove a header."""
        path = Path(os.path.normpath(self.root / self.random.choice(FOLDERS) / self.random.choice(NAMES)))
        if path.exists() and self.random.random() < 0.4:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.header())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for each in FOLDERS:  # the settings require that include folders exist: else "../a.h" in them would be another file
        (project / each).mkdir(parents=True, exist_ok=True)
    return project


def result_of(workers: Workers, job: Job) -> Compiled | None:
    """Return a result without the cache; None if the job does not compile."""
    try:
        compiled: Compiled = workers.submit(compile_job, job).result()
    except (CompileError, ConfigError):
        return None
    return compiled


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(amount(3, 60)))
def test_a_cached_result_is_what_the_compiler_makes(
    seed: int, folder: Path, toolchain: Toolchain, workers: Workers, count: Callable[[str, int], None]
) -> None:
    generator = Generator(seed, folder)
    library = str(folder.parent / "tool")
    cache = Cache(str(folder.parent / "cache"))
    reused = kept = clocks = 0
    for _ in range(amount(3, 10)):
        options, text = generator.random.choice(OPTIONS), generator.source()
        job = Job(
            toolchain.libraries[0], str(folder), "src/k.cu", text.encode(), "80", False, True,
            ("--std=c++17", *options), ("src", "include", library), (), False, "as-compiled",
        )  # fmt: skip
        for _ in range(amount(12, 40)):
            generator.change_files()
            if generator.random.random() < 0.3:  # so that results of other include folders are found too
                job = replace(job, include_dirs=(*generator.folders(), library))
            opened = CompileCache(cache, toolchain)
            cached, fresh = opened.load_job(job), result_of(workers, job)
            if cached is not None:
                assert fresh is not None, (text, job.include_dirs)
                assert cached.ptx == fresh.ptx, (text, options, job.include_dirs)
                reused += 1
            elif fresh is not None:
                kept += opened.store_job(job, fresh)
                clocks += fresh.uses_build_time
    assert reused + kept
    count("cached results compared", reused)
    count("results kept", kept)
    count("results not kept for the clock", clocks)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(amount(1, 20)))
def test_a_module_that_is_compiled_on_load_is_what_the_compiler_makes(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, count: Callable[[str, int], None]
) -> None:
    generator = Generator(1000 + seed, folder)
    (folder / "__init__.py").write_text("")
    shared, compared = str(folder.parent / "cache"), 0

    def loaded(cache: str) -> bytes | str:
        monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", cache)
        try:
            found = on_load.compile_on_load("project.src.k", [str(folder / "src")], lambda: (8, 0))
        except (CompileError, ConfigError):
            return "an error"
        assert found is not None
        return found[1]

    for step in range(amount(8, 200)):
        if step % 8 == 0:
            options = [option for option in generator.random.choice(OPTIONS) if "STAMP" not in option]
            (folder / "pyproject.toml").write_text(
                '[project]\nname = "project"\n[tool.cuda-wheel]\nsources = ["src/*.cu"]\ninclude-dirs = ["include"]\n'
                f"options = {options}\n"
            )
            (folder / "src/k.cu").write_text(generator.source(clock=False))
            (folder / "include").mkdir(exist_ok=True)
        generator.change_files()
        first = loaded(shared)
        assert loaded(shared) == first == loaded(str(folder.parent / f"fresh {step}"))
        compared += first != "an error"
    assert compared
    count("modules loaded from source", compared)
