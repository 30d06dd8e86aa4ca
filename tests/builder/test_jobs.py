"""The records of a build: they name targets and places, are keys of dictionaries, and import no compiler."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

import pytest

from cuda_wheel.builder.jobs import EMPTY, AbsentHeader, BuiltModule, Job, LeftOutCode, LinkInput, LinkJob
from tests.support.manifests import image, manifest
from tests.support.processes import run

pytestmark = pytest.mark.one_toolchain

JOB = Job(
    library="/n", root="/project", source="k.cu", text=b"", arch="90a", cubin=True, ptx=True, options=(),
    include_dirs=(), instantiate=(), lineinfo=False, ptx_version="auto",
)  # fmt: skip
LINK = LinkJob(
    module="demo.k", arch="80", real=True, lto=True, inputs=(LinkInput("k.cu", "ltoir", b"1"),), options=(),
    lineinfo=False, ptx_version="auto", include_dirs=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("cubin", "ptx", "name"), [(True, True, "sm_90a"), (True, False, "sm_90a"), (False, True, "compute_90a")]
)
def test_a_job_is_named_by_its_machine_code_if_it_makes_any(cubin: bool, ptx: bool, name: str) -> None:
    assert replace(JOB, cubin=cubin, ptx=ptx).target_name == name


def test_left_out_code_and_missing_headers_are_shown_with_their_place() -> None:
    assert str(LeftOutCode("k.cu", 12, 40, "main", "error")) == "k.cu:12-40: body of main"
    assert str(LeftOutCode("k.cu", 12, 12, "main", "error")) == "k.cu:12: body of main"
    assert str(AbsentHeader("k.cu", 1, "Eigen/Core", "Eigen/*")) == "k.cu:1: missing header Eigen/Core"


def test_a_module_with_variants_has_the_name_and_manifest_of_the_first() -> None:
    first, second = (manifest(image(target)) for target in ("sm_80", "sm_90"))
    built = BuiltModule((first, second._replace(name="other")), b"", b"", ())
    assert built.manifest == first and built.name == first.name


@pytest.mark.parametrize("record", [JOB, LINK, EMPTY])
def test_records_reach_workers_unchanged(record: object) -> None:
    assert pickle.loads(pickle.dumps(record)) == record


def test_equal_jobs_are_one_key() -> None:
    assert {JOB: 1, replace(JOB): 2, LINK: 3, replace(LINK): 4} == {JOB: 2, LINK: 4}
    assert len({JOB, replace(JOB, arch="80"), replace(JOB, text=b"x")}) == 3


def test_the_records_import_no_compiler() -> None:
    program = "import sys, cuda_wheel.builder.jobs; print(*sorted(n for n in sys.modules if n.startswith('cuda_wheel.builder.')))"
    assert run(sys.executable, "-c", program).stdout.split() == ["cuda_wheel.builder.jobs"]
