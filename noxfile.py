"""Define the sessions `demo` (the main use of this project), `tests`, `slow`, `thorough`, `pythons`, `free_threaded`,
`lowest`, `soak`, `mutants`, `ptx`, `jax`, `pytorch`, `beside_torch`, `lint`, `docs`, `gpu`, `bench` and `release`. Each
installs what it needs."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint"]
nox.options.reuse_existing_virtualenvs = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
TOOLCHAINS = ["cu12", "cu13"]
INSTALLER = "uv|virtualenv"
"""What makes the environments of tests: uv takes seconds where pip takes a minute, if it is installed beside nox."""
PARALLEL = ["-n", str(min((os.cpu_count() or 1) + 1, 4)), "--dist=loadfile", "--no-loadscope-reorder"]
"""pytest's options for parallel runs: one more process than processors, because tests wait for what they start;
all tests of a file in one process, because they share what they build; files in the order of tests/conftest.py."""
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
FREE_THREADED = ["3.13t", "3.14t"]
FROM_SOURCE = ["msgpack", "pyyaml", "tornado"]
"""What Python 3.13t must compile. For other distributions, it takes the newest release that has a wheel."""
DISTRIBUTIONS = {"cuda_wheel": ".", "cuda_wheel_builder": "distributions/builder"}
"""The distributions of this repository, as wheels name them, and their folders."""
_WHEELS: list[Path] = []
"""The wheels of DISTRIBUTIONS, if this run of nox has built them."""
NUMBA_TESTS = ["-m", "slow", "-k", "numba", "tests/numba", "tests/project/test_documented_examples.py"]
PTXAS = ["12.0", "12.2", "12.4", "12.6", "12.8", "13.1"]


def own_wheels(session: nox.Session) -> tuple[Path, Path]:
    """Return the paths of the wheels of cuda-wheel and cuda-wheel-builder, in one folder. The first session that needs
    them builds them."""
    dist = Path(session.create_tmp()).resolve() / "dist"  # in every session, for this also sets TMPDIR
    if not _WHEELS:
        session.install("build")
        shutil.rmtree(dist, ignore_errors=True)
        for name, folder in DISTRIBUTIONS.items():
            session.run("python", "-m", "build", "--wheel", "--outdir", str(dist), folder, silent=True)
            _WHEELS.extend(dist.glob(f"{name}-*.whl"))
    loader, builder = _WHEELS
    return loader, builder


def keep_bytecode(session: nox.Session) -> None:
    """Let the thousands of Python processes that tests start compile each module once, in a folder that sessions share.

    This also holds where the environment forbids Python to write bytecode, and keeps the checkout free of it.
    """
    folder = (Path(session.cache_dir) / "bytecode").resolve()
    temporary = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder.joinpath(*temporary.parts[1:]), ignore_errors=True)  # of what earlier tests installed
    session.env.update({"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)})


def install(session: nox.Session, toolchain: str, *groups: str) -> None:
    """Install cuda-wheel's own wheels with a toolchain and with these dependency groups."""
    loader, builder = own_wheels(session)
    required, options = nox.project.dependency_groups(PYPROJECT, *groups), []
    if session.python == "3.13t":
        # It needs cryptography, which 3.13t cannot have; its tests are skipped.
        required = [each for each in required if not each.startswith("pypi-attestations")]
        options = ["--only-binary=:all:", *(f"--no-binary={each}" for each in FROM_SOURCE)]
    session.install(f"{loader}[{toolchain}]", str(builder), *required, *options)
    # An earlier run may have installed the same version with different content.
    session.install("--force-reinstall", "--no-deps", str(loader), str(builder))


@nox.session
def demo(session: nox.Session) -> None:
    """Build the saxpy fixture's wheel with pip and inspect it; if a GPU is present, install the wheel and run it."""
    loader, builder = own_wheels(session)
    session.install("--force-reinstall", str(loader), str(builder))  # wheels of the same version may be there
    output = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(output, ignore_errors=True)
    links = {"PIP_FIND_LINKS": f"{loader.parent} {os.environ.get('PIP_FIND_LINKS', '')}".strip()}
    session.run("python", "-m", "pip", "wheel", "--no-deps", "-w", str(output), "fixtures/saxpy", env=links)
    saxpy = next(output.glob("*.whl"))
    session.run("cuda-wheel", "inspect", str(saxpy))
    session.run("cuda-wheel", "verify", str(saxpy))
    session.run("cuda-wheel", "explain", str(saxpy), "--device", "sm_86", "--driver", "12.2")
    if session.run("cuda-wheel", "explain", str(saxpy), success_codes=[0, 1], silent=True, log=False).startswith(
        "GPU of"
    ):
        session.install(str(saxpy), env=links)
        session.run("python", "-m", "saxpy_demo")
    else:
        session.log("no NVIDIA GPU found: the wheel is built and checked, but its kernels cannot run")


@nox.session(venv_backend=INSTALLER)
def tests(session: nox.Session) -> None:
    """Run the quick tests with the first toolchain: most tests of every room, and one path of each kind through all."""
    keep_bytecode(session)
    install(session, TOOLCHAINS[0], f"test-{TOOLCHAINS[0]}")
    session.run("pytest", *PARALLEL, *(session.posargs or ["-m", "not slow"]))
    session.log(f"`nox -s slow` runs the tests marked slow, and with {TOOLCHAINS[1]} all that depend on the compiler")


@nox.session(venv_backend=INSTALLER)
@nox.parametrize("toolchain", TOOLCHAINS)
def slow(session: nox.Session, toolchain: str) -> None:
    """Run the tests that `tests` leaves out, but the thorough ones; with the second toolchain, all whose result depends
    on it.

    Of a test with many cases, each toolchain runs one half, unless the cases test what a compiler itself says or needs.
    `-- -m "not one_toolchain"` runs all with a toolchain.
    """
    if toolchain != TOOLCHAINS[0]:
        run_tests(session, toolchain, "-m", "not one_toolchain and not thorough", "--cases=second")
        return
    if session.posargs:
        run_tests(session, toolchain, groups=["numba"])
        return
    run_tests(session, toolchain, "-m", "slow and not thorough", "--cases=first", "--ignore=tests/numba")
    # After the other tests: every start of Python runs numba-cuda's start-up file, which triples its time.
    session.install(*nox.project.dependency_groups(PYPROJECT, "numba"))
    session.run("pytest", *PARALLEL, *NUMBA_TESTS)
    session.run("uv", "pip", "uninstall", "-q", "numba-cuda")


@nox.session(venv_backend=INSTALLER)
@nox.parametrize("toolchain", TOOLCHAINS)
def thorough(session: nox.Session, toolchain: str) -> None:
    """Run the tests that repeat widely what others test: with files that a program writes, with PyTorch's own headers,
    and with processes that are killed. .ci/run leaves them out; .github/workflows/ci.yml runs them."""
    run_tests(session, toolchain, "-m", "thorough" + " and not one_toolchain" * (toolchain != TOOLCHAINS[0]))


@nox.session(python=PYTHONS, venv_backend=INSTALLER)
def pythons(session: nox.Session) -> None:
    """Run all tests with each Python version that is installed."""
    run_tests(session, TOOLCHAINS[0])


@nox.session(python=FREE_THREADED, venv_backend=INSTALLER)
def free_threaded(session: nox.Session) -> None:
    """Run the quick tests with each free-threaded build of Python that is installed, without the GIL.

    Without PYTHON_GIL=0, an extension module that does not declare to need no GIL would switch it on for all.
    """
    keep_bytecode(session)
    install(session, TOOLCHAINS[0], f"test-{TOOLCHAINS[0]}")
    session.run("python", "-c", "import sys, cuda.bindings.driver; assert not sys._is_gil_enabled()")
    session.run("pytest", *PARALLEL, *(session.posargs or ["-m", "not slow"]), env={"PYTHON_GIL": "0"})


def run_tests(session: nox.Session, toolchain: str, *options: str, groups: Sequence[str] = ()) -> None:
    """Install a toolchain, the tests' requirements and further groups of them, and run the tests."""
    keep_bytecode(session)
    install(session, toolchain, f"test-{toolchain}", *groups)
    session.env["CUDA_WHEEL_TEST_TOOLS"] = str(nvidia_tools(session))
    session.env["CUDA_WHEEL_TEST_TORCH_HEADERS"] = str(torch_headers(session))
    session.run("pytest", *PARALLEL, *(session.posargs or options))


@nox.session(venv_backend=INSTALLER)
@nox.parametrize("toolchain", TOOLCHAINS)
def lowest(session: nox.Session, toolchain: str) -> None:
    """Run tests with the lowest declared version of every requirement.

    By default these are the tests marked `lowest`, which cover every back end and every library of the toolchain. The
    session `tests` runs all tests with the newest versions.
    """
    keep_bytecode(session)
    wheels = own_wheels(session)
    session.install("uv")
    projects = [nox.project.load_toml(f"{folder}/pyproject.toml")["project"] for folder in DISTRIBUTIONS.values()]
    required = [
        *projects[0]["optional-dependencies"][toolchain],
        *(each for p in projects for each in p["dependencies"]),
    ]
    back_ends = nox.project.dependency_groups(PYPROJECT, "back-ends")
    declared = [*(each for each in required if not each.startswith("cuda-wheel")), *back_ends]
    install = ["uv", "pip", "install", "--quiet"]
    session.run(*install, "--upgrade", "--resolution", "lowest-direct", *declared)
    session.run(*install, *nox.project.dependency_groups(PYPROJECT, f"test-{toolchain}"))
    session.run(*install, "--no-deps", "--reinstall", *map(str, wheels))
    session.run("pytest", *PARALLEL, *(session.posargs or ["-m", "lowest"]))


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def soak(session: nox.Session, toolchain: str) -> None:
    """Run tests/soak in full, which takes hours; the session `tests` runs them with bounded repetition."""
    install(session, toolchain, f"test-{toolchain}", "soak")
    no_limits = ["--timeout=0", "-o", "faulthandler_timeout=0"]
    session.run("pytest", "-rA", *no_limits, "tests/soak", *session.posargs, env={"CUDA_WHEEL_SOAK": "1"})
    session.run("python", "tests/soak/fuzz.py", success_codes=[0, 2])  # 2: atheris has no wheel for this Python


@nox.session
def mutants(session: nox.Session) -> None:
    """Change code that keeps promises in thousands of small ways, and measure how many changes its tests notice.

    Arguments are rooms of tests/mutants/rooms.py, such as `nox -s mutants -- rules manifest`; by default all, in hours.
    """
    install(session, TOOLCHAINS[0], f"test-{TOOLCHAINS[0]}", "mutants")
    output = Path(session.create_tmp()).resolve()
    environ = {"CUDA_WHEEL_TEST_TOOLS": str(nvidia_tools(session))}
    session.run("python", "-m", "tests.mutants.session", "--output", str(output), *session.posargs, env=environ)


def nvidia_tools(session: nox.Session) -> Path:
    """Download NVIDIA's cuobjdump, nvdisasm, CUTLASS, the ptxas of older releases and CuPy; return their folder."""
    folder = Path(session.virtualenv.location).parent / "tools"
    requirements = {
        "cuobjdump": "nvidia-cuda-cuobjdump",
        "nvdisasm": "nvidia-cuda-nvdisasm",
        "cutlass": "nvidia-cutlass",  # here, because no test needs the packages that it requires
        "cupy": "cupy-cuda12x",  # its headers alone, for the same reason
    } | {f"ptxas-{release}": f"nvidia-cuda-nvcc{'-cu12' * release.startswith('12.')}=={release}.*" for release in PTXAS}
    for name, requirement in requirements.items():
        if not (folder / name).is_dir():
            scratch = folder / f"{name}.part"
            shutil.rmtree(scratch, ignore_errors=True)
            session.install("-q", "--no-deps", "--target", str(scratch), requirement)
            scratch.rename(folder / name)
    return folder.resolve()


def torch_headers(session: nox.Session) -> Path:
    """Download the headers of the newest PyTorch, and the schemas of its operators. Return the folder of the headers.

    They are the same in all its wheels; the one for macOS has 130 MB, that for Linux with CUDA four times as many.
    """
    folder = Path(session.virtualenv.location).parent / "torch"
    operators = "torchgen/packaged/ATen/native/native_functions.yaml"
    if not (folder / operators).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        scratch = folder.with_suffix(".part")
        shutil.rmtree(scratch, ignore_errors=True)
        options = ["--platform", "macosx_14_0_arm64", "--python-version", "3.13", "--only-binary=:all:"]
        session.run("python", "-m", "pip", "download", "-q", "--no-deps", *options, "-d", str(scratch), "torch")
        wheel = next(scratch.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            headers = (name for name in archive.namelist() if name.startswith("torch/include/"))
            archive.extractall(scratch, [*headers, operators])
        wheel.unlink()
        scratch.rename(folder)
    return (folder / "torch" / "include").resolve()


@nox.session
def ptx(session: nox.Session) -> None:
    """Check the table of PTX ISA versions with the ptxas of every CUDA release, in about an hour; see docs/ptx.md."""
    folder = Path(session.create_tmp()).resolve()
    for toolchain in TOOLCHAINS:
        python = folder / toolchain
        session.run("python", "-m", "venv", "--clear", str(python))
        group = nox.project.dependency_groups(PYPROJECT, f"test-{toolchain}")
        session.run(
            str(python / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "-q",
            f".[{toolchain}]",
            "./distributions/builder",
            *group,
            external=True,
        )
        corpus = ["scripts/ptx_corpus.py", str(folder / "texts" / toolchain)]
        session.run(str(python / "bin" / "python"), *corpus, external=True)
    session.install("-e", ".", "-e", "distributions/builder")
    assemblers = folder / "assemblers"
    assemblers.mkdir(exist_ok=True)
    session.run(
        "python", "scripts/ptx_requirements.py", str(assemblers), "--texts", str(folder / "texts"), *session.posargs
    )


@nox.session(venv_backend=INSTALLER)
@nox.parametrize("release", ["==0.5.0", ""])
def jax(session: nox.Session, release: str) -> None:
    """Run the tests of JAX operators with the oldest release that they support, or the newest, on the CPU."""
    install(session, TOOLCHAINS[0], f"test-{TOOLCHAINS[0]}")
    session.install(f"jax{release}", f"jaxlib{release}", "flatbuffers")
    tested = ["tests/jax", "tests/triton/test_operators.py", "tests/project/test_example_projects.py"]
    session.run("pytest", *tested, *session.posargs, env={"JAX_PLATFORMS": "cpu"})


@nox.session(venv_backend=INSTALLER)
def pytorch(session: nox.Session) -> None:
    """Run the tests of PyTorch operators with the newest release, on the CPU. On Linux this downloads some 3 GB."""
    install(session, TOOLCHAINS[0], f"test-{TOOLCHAINS[0]}")
    session.install("torch")
    tested = ["tests/torch", "tests/operators", "tests/triton/test_operators.py"]
    session.run("pytest", *PARALLEL, *tested, *session.posargs)


@nox.session(venv_backend=INSTALLER)
@nox.parametrize("minor", [0, 1, 2])
@nox.parametrize("installer", ["pip", "uv"])
def beside_torch(session: nox.Session, installer: str, minor: int) -> None:
    """Build a wheel beside PyTorch with each extra, in one environment and isolated; `minor` counts PyTorch's minor
    releases back from the newest. Downloads some 6 GB."""
    loader, _ = own_wheels(session)
    session.install("uv", "pip")
    names = {"PIP_FIND_LINKS": " ", "UV_FIND_LINKS": ","}
    environ = {
        name: between.join(filter(None, (str(loader.parent), os.environ.get(name)))) for name, between in names.items()
    }
    folder = Path(session.create_tmp()).resolve() / "torch"
    session.run("python", "scripts/beside_torch.py", installer, str(minor), str(folder), env=environ)


@nox.session(venv_backend=INSTALLER)
def lint(session: nox.Session) -> None:
    """Check formatting, style, types and the directions of imports."""
    session.install("-e", ".", "-e", "distributions/builder", *nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("lint-imports")
    session.run("mypy")
    # On the platform win32, mypy takes code after a check for Windows to be unreachable.
    session.run("mypy", "--platform", "win32", "--no-warn-unreachable")
    session.run("zizmor", "--offline", "--no-progress", "--min-severity", "medium", ".github/workflows")


@nox.session(venv_backend=INSTALLER)
def docs(session: nox.Session) -> None:
    """Build the documentation site into `site`; warnings, broken links and missing anchors are errors."""
    session.install("-e", ".", "-e", "distributions/builder", *nox.project.dependency_groups(PYPROJECT, "docs"))
    session.run("sphinx-build", "--fail-on-warning", "--keep-going", "-q", "docs", "site", *session.posargs)


@nox.session
@nox.parametrize("toolchain", TOOLCHAINS)
def gpu(session: nox.Session, toolchain: str) -> None:
    """Run the tests that need a GPU."""
    install(session, toolchain, f"test-{toolchain}", "gpu")
    session.run("python", "-m", "pytest", "-rA", "tests/gpu", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark that needs no GPU, and write docs/benchmarks.md. The machine must be otherwise idle."""
    loader, builder = own_wheels(session)
    session.install("hatchling>=1.27", *nox.project.dependency_groups(PYPROJECT, "bench"))
    # The measured packages get a separate environment, because hatchling imports every hook installed beside it.
    measured = Path(session.create_tmp()).resolve() / "measured"
    session.run("python", "-m", "venv", "--clear", str(measured))
    python = str(measured / "bin" / "python")
    toolchain = nox.project.dependency_groups(PYPROJECT, "bench-toolchain")
    session.run(
        python,
        "-m",
        "pip",
        "install",
        "-q",
        f"{loader}[cu13]",
        str(builder),
        "hatchling>=1.27",
        *toolchain,
        external=True,
        silent=True,
    )
    result = "docs/benchmarks.json"
    command = [python, "benchmarks/cpu.py", "--peers", str(Path(session.bin) / "python"), "--output", result]
    # Measure an installation, not a clone: import cuda-wheel from its wheel, and let Python cache bytecode.
    environ = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": ""}
    session.run(*command, *session.posargs, env=environ, external=True)
    session.run("python", "benchmarks/report.py", result)


@nox.session
def release(session: nox.Session) -> None:
    """Build the sdists, and wheels from them, into `dist`, and check them: `nox -s release -- v1.2.3` for that tag."""
    loader, _ = own_wheels(session)
    session.install("build", "twine>=6.1")
    dist = Path("dist")
    shutil.rmtree(dist, ignore_errors=True)
    for folder in DISTRIBUTIONS.values():
        session.run("python", "-m", "build", "--outdir", str(dist), folder, silent=True)
    session.run("twine", "check", "--strict", *map(str, dist.iterdir()))
    session.run("python", "scripts/release.py", str(dist), str(loader.parent), *session.posargs)
