"""Files that a module may have: inside the project, whatever links say."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from tests.support.package_sources import PACKAGE, names

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("key", ["sources", "extern-default", "include-dirs"])
@pytest.mark.parametrize(
    "path", ["../far", "/far", "src/../../far", "src\\..\\..\\far", "link", "link/far.cu", "a\nb.cu"]
)
def test_no_key_leads_out_of_the_project(root: Path, tmp_path: Path, key: str, path: str) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/far.cu").write_text("// nothing\n")
    (root / "link").symlink_to(tmp_path / "far")
    module = {"name": "pkg.kernels.c", "sources": ["csrc/c.cu"], "extern": ["f"], "link": "lto"}
    with pytest.raises(
        ConfigError, match=rf"{key}: .*(lies outside the project|contains characters that a file name must not have)"
    ):
        names(root, {"module": [{**module, key: [path]}]})


def test_globs_follow_no_loops_and_no_links_out_of_the_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/far.cu").write_text("// nothing\n")
    (root / "src/pkg/out").symlink_to(tmp_path / "far")
    (root / "src/pkg/loop").symlink_to(root / "src")
    (root / "src/pkg/kernels/self.cu").symlink_to("self.cu")
    assert list(names(root, {"sources": ["src/**/*.cu"]})) == ["pkg.kernels.a", "pkg.kernels.b"]
    with pytest.raises(ConfigError, match=r"src/pkg/out/far\.cu lies outside the project"):
        names(root, {"sources": ["src/pkg/*/far.cu"]})


def test_a_source_that_a_link_leads_to_outside_the_project_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "far.cu").write_text("// nothing\n")
    (root / PACKAGE[2]).unlink()
    (root / PACKAGE[2]).symlink_to(tmp_path / "far.cu")
    with pytest.raises(
        ConfigError, match=r"a\.cu is for the wheel, but lies outside the project \(/.*far\.cu\): copy it"
    ):
        names(root)
    (root / PACKAGE[2]).unlink()
    (root / PACKAGE[2]).symlink_to(root / "csrc/c.cu")
    assert "pkg.kernels.a" in names(root)


def test_a_link_that_leads_out_of_the_project_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.cu").write_text("")
    (root / "src/pkg/kernels/link.cu").symlink_to(tmp_path / "secret.cu")
    with pytest.raises(
        ConfigError, match=r"link\.cu lies outside the project: a link leads to /.*secret\.cu\. Put a copy"
    ):
        names(root, {"sources": ["src/**/link.cu"]})
