"""The rooms whose code keeps promises, and the tests that must notice when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["LOWEST_SCORE", "ROOMS", "Room"]

LOWEST_SCORE = 90.0
"""The percentage of the mutants of each room that the tests must kill."""

ALL = ("*",)


class Room(NamedTuple):
    """Files of cuda_wheel, and the tests that guard them: fast ones, since they run once for each mutant.

    mutmut runs for each function the tests that called it in their own process. So a file that only child processes of
    the tests import needs tests of its functions too.
    """

    functions: Mapping[str, tuple[str, ...]]
    """File of cuda_wheel -> patterns of the functions to mutate, such as "check_*", "Image.*" for methods, or "*" for all."""
    tests: tuple[str, ...]
    """Arguments of pytest. Left out are tests of copies of the code, which are no mutants."""


ROOMS = {
    "rules": Room(
        {"runtime/rules.py": ALL},
        (
            "tests/runtime/test_rules.py",
            "tests/runtime/test_rule_reasons.py",
            "tests/runtime/test_explanations.py::test_the_message_lists_every_image_with_its_reason_and_what_would_help",
            "tests/runtime/test_explanations.py::test_the_message_distinguishes_an_old_driver_from_a_missing_target",
        ),
    ),
    "manifest": Room(
        {
            "runtime/manifest.py": ALL,
            "builder/manifest_writer/text.py": ALL,
            "builder/manifest_reader.py": ALL,
        },
        (
            "tests/runtime/test_manifest.py",
            "tests/builder/test_manifest_reader.py",
            "tests/runtime/test_rules.py",
            "tests/runtime/test_versions.py",
            "tests/runtime/test_manifest_sha256.py",
            "tests/builder/manifest_writer/test_text.py",
            "tests/runtime/parts/test_many_kernels.py",
        ),
    ),
    "arguments": Room(
        {
            "runtime/arguments.py": ALL,
            "runtime/arrays.py": ALL,
            "runtime/parts/array_protocols.py": ALL,
            "runtime/parts/by_value.py": ALL,
            "runtime/parts/structs.py": ALL,
            "runtime/parts/untyped_parameters.py": ALL,
            "runtime/parts/vector_pointers.py": ALL,
        },
        (
            "tests/runtime/test_arguments.py",
            "tests/runtime/test_argument_values.py",
            "tests/runtime/test_arrays.py",
            "tests/runtime/parts/test_array_protocols.py",
            "tests/runtime/parts/test_arrays_in_use.py",
            "tests/runtime/parts/test_by_value.py",
            "tests/runtime/parts/test_structs.py",
            "tests/runtime/parts/test_untyped_parameters.py",
            "tests/runtime/test_launching.py",
            "tests/runtime/test_values.py",
            "--deselect=tests/runtime/test_launching.py::test_a_copy_of_the_loader_launches_by_itself",
        ),
    ),
    "lowering": Room(
        {f"builder/images/{name}.py": ALL for name in ("lowering", "ptx_requirements", "ptx_text")},
        (
            "tests/builder/images/test_lowering.py",
            "tests/builder/images/test_ptx_requirements.py",
            "tests/builder/images/test_ptx_rewriting.py",
            "tests/builder/images/test_ptx_text.py",
            "--deselect=tests/builder/images/test_ptx_requirements.py::test_half_a_megabyte_takes_no_quadratic_time",
        ),
    ),
    "job-keys": Room(
        {"builder/cache/compile_cache.py": ALL},
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
        {"builder/cache/files.py": ALL, "builder/cache/known_toolchain.py": ALL},
        tuple(f"tests/builder/cache/test_{name}.py" for name in ("files", "job_files", "known_toolchain")),
    ),
    "load-keys": Room(
        {"builder/compile_on_load/kept_modules.py": ALL, "builder/compile_on_load/requests.py": ALL},
        (
            "tests/builder/compile_on_load/test_kept_modules.py",
            "tests/builder/compile_on_load/test_requests.py",
            "--deselect=tests/builder/compile_on_load/test_requests.py::test_an_editable_install_follows_edits",
        ),
    ),
    "link-keys": Room(
        {"runtime/parts/linking/prepared_link.py": ("PreparedLink._key",)},
        tuple(f"tests/runtime/parts/linking/test_{name}.py" for name in ("link", "installed_modules", "prepared_link")),
    ),
    "link-checks": Room(
        {"builder/link.py": ("is_whole", "_check_*", "_without_ambiguous", "_lto_*", "_merged")},
        ("tests/builder/test_link.py",),
    ),
    "floating-point": Room(
        {"runtime/parts/floating_point.py": ALL},
        ("tests/runtime/parts/test_floating_point.py",),
    ),
    "build-keys": Room({"builder/cache/whole_builds.py": ("_facts",)}, ("tests/builder/cache/test_whole_builds.py",)),
    "struct-layouts": Room(
        {"builder/compile/struct_layouts.py": ALL}, ("tests/builder/compile/test_debugging_information.py",)
    ),
}
