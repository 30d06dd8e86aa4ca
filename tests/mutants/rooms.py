"""The rooms whose code keeps promises, and the tests that must notice when it changes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LOWEST_SCORE", "ROOMS", "Room"]

LOWEST_SCORE = 90.0
"""The percentage of the mutants of each room that the tests must kill."""


class Room(NamedTuple):
    """Files of cuda_wheel, and the tests that guard them: fast ones, since they run once for each mutant.

    mutmut runs for each function the tests that called it in their own process. So a file that only child processes of
    the tests import needs tests of its functions too.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    """Arguments of pytest. Left out are tests of copies of the code, which are no mutants."""
    only: str = "*"
    """A pattern of the functions to mutate."""


ROOMS = {
    "rules": Room(("runtime/rules.py",), ("tests/runtime/test_rules.py", "tests/runtime/test_rule_reasons.py")),
    "manifest": Room(
        (
            "runtime/manifest.py",
            "runtime/files.py",
            "runtime/manifest_text.py",
            "runtime/digest.py",
        ),
        (
            "tests/runtime/test_manifest.py",
            "tests/runtime/test_rules.py",
            "tests/runtime/test_versions.py",
            "tests/runtime/test_digest.py",
            "tests/runtime/formats/test_manifest_blocks.py",
            "tests/runtime/test_loading.py::test_pythons_own_sha256_equals_hashlibs",
        ),
    ),
    "arguments": Room(
        tuple(f"runtime/launching/{name}.py" for name in ("arguments", "structs", "parameters", "pointers", "buffers")),
        (
            "tests/runtime/test_launch_values.py",
            "tests/runtime/test_launching.py",
            "tests/runtime/test_values.py",
            "--deselect=tests/runtime/test_launching.py::test_a_copy_of_the_loader_launches_by_itself",
        ),
    ),
    "lowering": Room(
        tuple(f"builder/images/{name}.py" for name in ("lowering", "proof_text", "ptx_requirements", "ptx_text")),
        (
            "tests/builder/images/test_proof_text.py",
            "tests/builder/images/test_ptx_requirements.py",
            "tests/builder/images/test_ptx_rewriting.py",
            "tests/builder/images/test_ptx_text.py",
            "--deselect=tests/builder/images/test_ptx_requirements.py::test_half_a_megabyte_takes_no_quadratic_time",
        ),
    ),
    "job-keys": Room(
        tuple(
            f"builder/cache/{name}.py"
            for name in ("keys", "compile_cache", "compiled_format", "dependencies", "job_files")
        ),
        (
            *(
                f"tests/builder/cache/test_{name}.py"
                for name in ("keys", "job_files", "compile_cache", "dependencies", "header_tracking", "unkept_results")
            ),
            *(
                f"--deselect=tests/builder/cache/test_compile_cache.py::test_{name}"
                for name in ("isolated_builds_share_results", "two_builds_at_once_share_a_cache")
            ),
        ),
    ),
    "file-keys": Room(
        ("builder/cache/files.py", "builder/cache/known_toolchain.py"),
        ("tests/builder/cache/test_file_hashes.py", "tests/builder/cache/test_known_toolchain.py"),
    ),
    "load-keys": Room(
        ("builder/compile_on_load/kept_modules.py", "builder/compile_on_load/requests.py"),
        (
            "tests/builder/editable/test_on_load.py",
            "--deselect=tests/builder/editable/test_on_load.py::test_an_editable_install_follows_edits",
        ),
    ),
    "link-keys": Room(
        ("runtime/parts/linking/prepared_link.py",),
        ("tests/runtime/test_linking.py", "tests/runtime/test_link_keys.py"),
        "*[ǁ_]_key__*",
    ),
    "link-checks": Room(("builder/link.py",), ("tests/builder/link/test_link_checks.py",), "*x__[clm][hte]*"),
    "floating-point": Room(("runtime/jit.py",), ("tests/runtime/test_floating_point.py",)),
    "build-keys": Room(
        ("builder/cache/whole_builds.py",), ("tests/builder/cache/test_whole_builds.py",), "*x__facts__*"
    ),
    "struct-layouts": Room(
        ("builder/compile/struct_layouts.py",), ("tests/builder/compile/test_parameter_layouts.py",)
    ),
}
