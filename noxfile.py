"""Sessions: `demo` (the main job), `tests`, `pythons`, `lowest`, `soak`, `lint`, `gpu`, `bench`. Each installs what it
needs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
TOOLCHAINS = ["cu12", "cu13"]
ONCE = """
    test_attach test_benchmarks test_cache test_cli test_cmake test_compile_cache test_config test_confinement
    test_cores test_damaged_code test_dask test_disks test_dry_run test_front_ends test_launching test_neighbours
    test_on_load test_places test_platforms test_releases test_rules test_scale test_schedule test_sdist
    test_setuptools test_size test_trace test_verify test_workers soak/test_concurrent_builds soak/test_fuzz
    soak/test_kills soak/test_mutations soak/test_odd_projects soak/test_rebuild soak/test_strange_entries
    soak/test_toolchain_layouts
""".split()  # noqa: SIM905 - a line for each would be forty
"""Tests of what no compiler has a part in: with the first toolchain alone."""
AGAIN = "not (uv-isolated or build-isolated or setuptools-pip-isolated or scikit-build-core-pip-isolated)"
"""Of the isolated builds, which install all that is required each time, with the others one alone."""
LOWEST = ["tests/test_sbom.py", "tests/soak/test_rebuild.py"]
"""A few tests that go through every back end, and with every part of the toolchain."""
AT_ONCE = ["-n", str(min((os.cpu_count() or 1) + 1, 4)), "--dist=loadfile"]
"""For pytest: more processes than processors, since tests wait for what they start; a file's tests in one, since they
share what they build."""
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
PTXAS = ["12.0", "12.2", "12.4", "12.8"]


def own_wheel(session: nox.Session) -> Path:
    """Build cuda-wheel's own wheel and return its path."""
    session.install("build")
    dist = Path(session.create_tmp()) / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(dist), silent=True)
    return next(dist.glob("cuda_wheel-*.whl"))


def install(session: nox.Session, toolchain: str, *groups: str) -> None:
    """Install cuda-wheel's own wheel with a toolchain, and dependency groups."""
    wheel = own_wheel(session)
    session.install(f"{wheel}[{toolchain}]", *nox.project.dependency_groups(PYPROJECT, *groups))
    # The same version may be there from an earlier run, with other content.
    session.install("--force-reinstall", "--no-deps", str(wheel))


@nox.session
def demo(session: nox.Session) -> None:
    """Build the saxpy fixture's wheel with pip, show what is in it and, on a GPU, install it elsewhere and run it."""
    wheel = own_wheel(session)
    session.install(str(wheel))
    output = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(output, ignore_errors=True)
    links = {"PIP_FIND_LINKS": f"{wheel.parent} {os.environ.get('PIP_FIND_LINKS', '')}".strip()}
    session.run("python", "-m", "pip", "wheel", "--no-deps", "-w", str(output), "fixtures/saxpy", env=links)
    made = next(output.glob("*.whl"))
    session.run("cuda-wheel", "inspect", str(made))
    session.run("cuda-wheel", "verify", str(made))
    session.run("cuda-wheel", "explain", str(made), "--device", "sm_86", "--driver", "12.2")
    if session.run("cuda-wheel", "explain", str(made), success_codes=[0, 1], silent=True, log=False).startswith(
        "GPU of"
    ):
        session.install(str(made), env=links)
        session.run("python", "-m", "saxpy_demo")
    else:
        session.log("no NVIDIA GPU here: the wheel is built and checked, but its kernels cannot run")


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def tests(session: nox.Session, toolchain: str) -> None:
    """Run the tests with one toolchain, against cuda-wheel as it is installed from its wheel."""
    again = toolchain != TOOLCHAINS[0] and not session.posargs
    options = [f"--ignore=tests/{name}.py" for name in ONCE] + ["-k", AGAIN]
    run_tests(session, toolchain, *(options if again else ()))


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Run the tests with each Python that is installed here."""
    run_tests(session, TOOLCHAINS[0])


def run_tests(session: nox.Session, toolchain: str, *options: str) -> None:
    """Install a toolchain, and what the tests need, and run them."""
    install(session, toolchain, f"test-{toolchain}")
    environ = {"CUDA_WHEEL_TEST_TOOLS": str(tools(session))}
    session.run("pytest", *AT_ONCE, *options, *session.posargs, env=environ)


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def lowest(session: nox.Session, toolchain: str) -> None:
    """Run tests with the lowest version of everything that is declared: by default some, with every back end.

    `tests` runs all with the newest.
    """
    wheel = own_wheel(session)
    session.install("uv")
    project = PYPROJECT["project"]
    back_ends = nox.project.dependency_groups(PYPROJECT, "back-ends")
    declared = [*project["dependencies"], *project["optional-dependencies"][toolchain], *back_ends]
    install = ["uv", "pip", "install", "--quiet"]
    session.run(*install, "--upgrade", "--resolution", "lowest-direct", *declared)
    session.run(*install, *nox.project.dependency_groups(PYPROJECT, f"test-{toolchain}"))
    session.run(*install, "--no-deps", "--reinstall", str(wheel))
    session.run("pytest", *AT_ONCE, *(session.posargs or LOWEST))


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def soak(session: nox.Session, toolchain: str) -> None:
    """Run in full what `tests` runs bounded of tests/soak: for hours."""
    install(session, toolchain, f"test-{toolchain}", "soak")
    session.run("pytest", "-rA", "tests/soak", *session.posargs, env={"CUDA_WHEEL_SOAK": "1"})
    session.run("python", "tests/soak/fuzz.py", success_codes=[0, 2])  # 2: there is no atheris for this Python


def tools(session: nox.Session) -> Path:
    """Fetch NVIDIA's cuobjdump, nvdisasm and the ptxas of older releases, and return the folder that holds them."""
    folder = Path(session.virtualenv.location).parent / "tools"
    wanted = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"} | {
        f"ptxas-{release}": f"nvidia-cuda-nvcc-cu12=={release}.*" for release in PTXAS
    }
    for name, requirement in wanted.items():
        if not (folder / name).is_dir():
            scratch = folder / f"{name}.part"
            shutil.rmtree(scratch, ignore_errors=True)
            session.run("python", "-m", "pip", "install", "-q", "--no-deps", "--target", str(scratch), requirement)
            scratch.rename(folder / name)
    return folder.resolve()


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, style and types."""
    session.install("-e", ".", *nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    # What follows a check for Windows is not reached there.
    session.run("mypy", "--platform", "win32", "--no-warn-unreachable")


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def gpu(session: nox.Session, toolchain: str) -> None:
    """Run the tests that need a GPU."""
    install(session, toolchain, f"test-{toolchain}", "gpu")
    session.run("python", "-m", "pytest", "-rA", "tests/gpu", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark that needs no GPU, and write docs/benchmarks.md: on a machine that does nothing else."""
    wheel = own_wheel(session)
    session.install("hatchling>=1.27", *nox.project.dependency_groups(PYPROJECT, "bench"))
    # An environment of its own for what is measured: hatchling imports every hook that is installed beside it.
    own = Path(session.create_tmp()).resolve() / "own"
    session.run("python", "-m", "venv", "--clear", str(own))
    python = str(own / "bin" / "python")
    toolchain = nox.project.dependency_groups(PYPROJECT, "bench-toolchain")
    session.run(
        python,
        "-m",
        "pip",
        "install",
        "-q",
        f"{wheel}[cu13]",
        "hatchling>=1.27",
        *toolchain,
        external=True,
        silent=True,
    )
    result = "docs/benchmarks.json"
    command = [python, "benchmarks/cpu.py", "--peers", str(Path(session.bin) / "python"), "--output", result]
    # As after an installation, and not as in a clone: cuda-wheel comes from its wheel, and bytecode is kept.
    environ = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": ""}
    session.run(*command, *session.posargs, env=environ, external=True)
    session.run("python", "benchmarks/report.py", result)
