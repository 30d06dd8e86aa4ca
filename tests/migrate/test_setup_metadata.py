"""What a setup.py passes to `setup()` moves into pyproject.toml: all that the wheel needs, or nothing."""

from __future__ import annotations

import email
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.migrate.init_project import ProjectChanges, init_project
from cuda_wheel.migrate.project_detection import DetectedProject
from cuda_wheel.migrate.pyproject_edit import ImportedBuild, table_lines
from cuda_wheel.migrate.setup_metadata import MovedSetup, NotMovedError, moved_setup
from tests.support.projects import KERNEL, write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain


def moved(tmp_path: Path, arguments: str, before: str = "", folder: str = "demo", **files: str) -> MovedSetup:
    """Return what moves of `setup(name="demo", version="1", packages=["demo"], ...)`, unless the arguments have them."""
    defaults = {"name": '"demo"', "version": '"1"', "packages": '["demo"]'}
    own = "".join(f"{key}={value}, " for key, value in defaults.items() if f"{key}=" not in arguments)
    text = f"from setuptools import find_packages, setup\n{textwrap.dedent(before)}\nsetup({own}{arguments})\n"
    root = write_files(tmp_path, **{"setup.py": text, f"{folder}/__init__.py": "", **files})
    project = DetectedProject(root, "setuptools.build_meta", "demo", folder, ())
    return moved_setup(project, {"torch", "ninja", "pybind11"})


def test_what_describes_a_project_moves(tmp_path: Path) -> None:
    done = moved(
        tmp_path,
        """
        description="Kernels\\nof a demo", long_description=read("README.md"), author="A. B.", author_email="a@b.c",
        maintainer_email="d@e.f", url="https://a.b", project_urls={"Docs": "https://c.d"}, keywords="one, two",
        classifiers=["License :: OSI Approved :: MIT License"], license="MIT", python_requires=">=3.8",
        long_description_content_type="text/markdown",
        """,
        "def read(name):\n    with open(name) as file:\n        return file.read()",
        **{"README.md": "# Demo\n"},
    )
    assert done.project == {
        "name": "demo",
        "version": "1",
        "description": "Kernels of a demo",
        "readme": "README.md",
        "authors": [{"name": "A. B.", "email": "a@b.c"}],
        "maintainers": [{"email": "d@e.f"}],
        "urls": {"Homepage": "https://a.b", "Docs": "https://c.d"},
        "keywords": ["one", "two"],
        "classifiers": ["License :: OSI Approved :: MIT License"],
        "requires-python": ">=3.8",
        "dependencies": [],
    }
    assert not done.left_out


def test_requirements_and_entry_points_move(tmp_path: Path) -> None:
    done = moved(
        tmp_path,
        """
        install_requires=requirements(), extras_require={"x": ["y"]}, setup_requires=["torch", "numpy>=1", "wheel"],
        entry_points={"console_scripts": ["run = demo:main"], "plugins": ["a=demo.a"]},
        """,
        """
        def requirements():
            with open("requirements.txt") as file:
                return [line.strip() for line in file]
        """,
        **{"requirements.txt": "# of users\ntorch >= 2  # any\n\nnumpy; python_version > '3'\n"},
    )
    assert done.project["dependencies"] == ["torch >= 2", "numpy; python_version > '3'"]
    assert done.project["optional-dependencies"] == {"x": ["y"]} and done.build_requires == ["numpy>=1"]
    assert done.project["scripts"] == {"run": "demo:main"}
    assert done.project["entry-points"] == {"plugins": {"a": "demo.a"}}


@pytest.mark.parametrize(
    ("arguments", "before", "find"),
    [
        ("packages=find_packages()", "", {"namespaces": False}),
        ("packages=find_packages('python', exclude=['t', 'u.*'])", "", {"where": ["python"], "exclude": ["t", "u.*"], "namespaces": False}),
        ("packages=setuptools.find_namespace_packages(include=['demo*'])", "", {"include": ["demo*"], "namespaces": True}),
        ("packages=own", "own = find_packages(where='.')", {"namespaces": False}),
    ],
)  # fmt: skip
def test_packages_that_are_found_are_found_by_a_table(
    arguments: str, before: str, find: dict[str, Any], tmp_path: Path
) -> None:
    done = moved(tmp_path, arguments, before)
    assert done.found_packages == find and "packages" not in done.setuptools


def test_listed_packages_have_the_new_one_and_their_folders(tmp_path: Path) -> None:
    done = moved(tmp_path, "packages=['other'], package_dir={'': 'lib'}", folder="src/demo")
    assert done.setuptools["packages"] == ["other", "demo"] and not done.found_packages
    assert done.setuptools["package-dir"] == {"": "lib", "demo": "src/demo"}
    done = moved(tmp_path, "packages=None, package_data={'': ['*.txt'], 'demo': ['*.json']}", folder="demo")
    assert done.setuptools["packages"] == ["demo"] and "package-dir" not in done.setuptools
    assert done.setuptools["package-data"] == {"*": ["*.txt"], "demo": ["*.json"]}
    assert done.setuptools["include-package-data"] is False
    assert "include-package-data" not in moved(tmp_path, "include_package_data=True").setuptools


def test_a_version_that_setup_reads_from_the_package_stays_there(tmp_path: Path) -> None:
    read = "import re\nversion = re.search('__version__ = (.*)', open('demo/__init__.py').read())[1]"
    files = {"demo/__init__.py": '__version__ = "1.2"\n'}
    done = moved(tmp_path, "version=version", read, **files)
    assert done.project["dynamic"] == ["version"] and "version" not in done.project
    assert done.setuptools["dynamic"] == {"version": {"attr": "demo.__version__"}}
    files = {"demo/_version.py": "__version__ = '1.2'  # of all\n", "demo/__init__.py": ""}
    done = moved(tmp_path, "version=__version__", "exec(open('demo/_version.py').read())", **files)
    assert done.setuptools["dynamic"] == {"version": {"attr": "demo._version.__version__"}}
    with pytest.raises(NotMovedError, match=r"version \(setup\.py:3\) is known only when it runs"):
        moved(tmp_path, "version=compute()", **files)
    with pytest.raises(NotMovedError, match="version"):  # two of them
        moved(tmp_path, "version=__version__", **files | {"demo/__init__.py": '__version__ = "1.2"\n'})
    assert moved(tmp_path, "version='3'", "__version__ = '3'", **files).project["version"] == "3"


def test_what_only_describes_may_be_missing_and_commands_are_named(tmp_path: Path) -> None:
    done = moved(
        tmp_path,
        """long_description=convert("README.md"), author=who(), license="MIT",
        cmdclass={"build_ext": BuildExtension, "bdist_wheel": Own} if x() else {"test": T}""",
    )
    assert done.project.keys() == {"name", "version", "dependencies"}
    assert [line.partition(" (")[0] for line in done.left_out] == [
        "author",
        "license",
        "long_description",
        *["cmdclass"] * 2,
    ]
    assert done.left_out[-2:] == [
        "cmdclass (setup.py:4): the command bdist_wheel",
        "cmdclass (setup.py:4): the command test",
    ]
    assert moved(tmp_path, "cmdclass={'build_ext': B}").left_out == []
    assert "known only when setup.py runs" in done.left_out[0] and "SPDX" in done.left_out[1]
    assert "not the text of one file" in done.left_out[2]
    (tmp_path / "outside.md").write_text("# Outside\n")
    (tmp_path / "project").mkdir()
    done = moved(tmp_path / "project", "long_description=open('../outside.md').read()")
    assert "readme" not in done.project and "../outside.md lies outside the project" in done.left_out[0]


@pytest.mark.parametrize(
    ("arguments", "before", "reason"),
    [
        ("install_requires=['a'] + more()", "", "install_requires (setup.py:3) is known only when it runs"),
        ("install_requires=a", "a = ['a']\na.extend(more())", "install_requires"),
        ("install_requires=a", "a = ['a']\na += more()", "install_requires"),
        ("install_requires=a", "a = ['a']\nif more():\n    a.append('b')", "install_requires"),
        ("install_requires=a", "a = ['a']\nif more():\n    a = ['b']", "install_requires"),
        ("install_requires=a", "import sys\na = ['a']\nif sys.platform == 'linux':\n    a = ['b']", "install_requires"),
        ("install_requires=a", "a = ['a']\nfor each in more():\n    a.append('b')", "install_requires"),
        ("install_requires=a", "a = ['a']\nwhile more():\n    a.append('b')", "install_requires"),
        ("install_requires=f()", "def f():\n    if more():\n        return ['a']\n    return ['b']", "install_requires"),
        ("install_requires=['a'] if more() else ['b']", "", "install_requires"),
        ("install_requires=[each for each in ['a', 'b'] if more(each)]", "", "install_requires"),
        ("install_requires=['-r other.txt']", "", "'-r other.txt', which is no requirement"),
        ("extras_require={'a': ['b'], **more()}", "", "extras_require"),
        ("packages=more()", "", "packages"),
        ("py_modules=more()", "", "py_modules"),
        ("scripts=['a', more()]", "", "scripts"),
        ("package_data=more()", "", "package_data"),
        ("package_dir={'': more()}", "", "package_dir"),
        ("include_package_data=more()", "", "include_package_data"),
        ("python_requires=more()", "", "python_requires"),
        ("data_files=more()", "", "data_files"),
        ("packages=own", "own = find_packages()\nown = own + ['b']", "packages"),
        ("packages=find_packages(exclude=more())", "", "packages"),
        ("packages=find_packages() + ['b']", "", "packages"),
        ("packages=find_packages(other=1)", "", "packages"),
        ("name=more()", "", "name"),
        ("data_files=[('etc', ['a'])]", "", "data_files"),
        ("use_scm_version=True", "", "pyproject.toml has no place for use_scm_version (setup.py:3)"),
        ("**more()", "", "arguments without names"),
        ("entry_points={'console_scripts': 5}", "", "entry_points"),
    ],
)  # fmt: skip
def test_nothing_moves_if_the_wheel_would_lack_something(
    arguments: str, before: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(NotMovedError) as caught:
        moved(tmp_path, arguments, before)
    assert reason in str(caught.value)


def test_two_setups_and_a_setup_cfg_do_not_move(tmp_path: Path) -> None:
    with pytest.raises(NotMovedError, match="2 calls of setup"):
        moved(tmp_path, "", "setup(name='a')")
    with pytest.raises(NotMovedError, match=r"setup\.cfg has metadata"):
        moved(tmp_path, "", **{"setup.cfg": "[metadata]\nname = demo\n"})


SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="demo",
    version="1",
    packages=["demo"],
    install_requires=[REQUIRED],
    ext_modules=[CUDAExtension("demo._C", ["bind.cpp", "k.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
"""


def written(
    tmp_path: Path, setup: str, is_replaced: bool = True, **files: str
) -> tuple[ProjectChanges, dict[str, Any]]:
    """Return what `import --write` does to the settings of a project whose extension is replaced."""
    root = write_files(tmp_path, **{"setup.py": setup, "demo/__init__.py": "", "k.cu": KERNEL, **files})
    imported = ImportedBuild(frozenset({(root.resolve() / "setup.py", 9)}), is_replaced=is_replaced)
    done = init_project(root, "demo", [{"name": "demo.k", "sources": ["k.cu"]}], {}, imported)
    (change,) = done.changes
    return done, tomllib.loads(change.after)


def test_a_project_needs_no_setup_after_the_import(tmp_path: Path) -> None:
    done, content = written(tmp_path, SETUP.replace("REQUIRED", '"torch"'))
    assert done.has_moved_setup and content["project"]["dependencies"] == ["torch", "cuda-wheel"]
    assert content["tool"]["setuptools"]["packages"] == ["demo"]
    assert [each.split("[")[0] for each in content["build-system"]["requires"]] == ["setuptools", "cuda-wheel"]
    (advice,) = done.advice
    assert advice.startswith("remove setup.py: ")


def test_a_setup_that_stays_is_told_with_its_lines(tmp_path: Path) -> None:
    done, content = written(tmp_path, SETUP.replace("REQUIRED", "more()"))
    assert not done.has_moved_setup and "project" not in content
    assert (
        "setup.py stays, and its metadata with it: install_requires (setup.py:8) is known only when it runs"
        in done.reasons
    )
    assert any(line.startswith("setup.py:2: remove: ") for line in done.advice)
    before = '[project]\nname = "demo"\nversion = "2"\n'
    done, content = written(tmp_path, SETUP.replace("REQUIRED", '"torch"'), **{"pyproject.toml": before})
    assert not done.has_moved_setup and content["project"]["version"] == "2"


def test_a_setup_stays_while_nothing_replaces_its_extension(tmp_path: Path) -> None:
    done, content = written(tmp_path, SETUP.replace("REQUIRED", '"torch"'), is_replaced=False)
    assert not done.has_moved_setup and "project" not in content


def test_a_setup_with_another_extension_stays(tmp_path: Path) -> None:
    setup = SETUP.replace("REQUIRED", '"torch"').replace(
        "    cmdclass", "    libraries=CppExtension('demo._D', []),\n    cmdclass"
    )
    done, content = written(tmp_path, setup)
    assert not done.has_moved_setup and "project" not in content


def metadata(root: Path) -> dict[str, list[str]]:
    """Return what setuptools makes of a project: fields of METADATA, and the lines of entry_points.txt."""
    code = "import sys; from setuptools.build_meta import *; print(prepare_metadata_for_build_wheel(sys.argv[1]))"
    command = [sys.executable, "-W", "ignore", "-c", code, str(root / "made")]
    (root / "made").mkdir()
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    info = root / "made" / done.stdout.split()[-1]
    message = email.message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    names = (
        "Name",
        "Version",
        "Summary",
        "Classifier",
        "Requires-Dist",
        "Requires-Python",
        "Provides-Extra",
        "Keywords",
    )
    found = {name: sorted(message.get_all(name, [])) for name in names}
    points = info / "entry_points.txt"
    found["entry points"] = sorted(points.read_text().split("\n")) if points.is_file() else []
    found["readme"] = [str(message.get_payload()).strip()]
    return found


def test_setuptools_makes_of_the_tables_what_it_makes_of_setup(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    arguments = """
    description="A demo", long_description=open("README.md").read(), long_description_content_type="text/markdown",
    keywords=["one", "two"], classifiers=["Programming Language :: Python :: 3"], python_requires=">=3.8",
    install_requires=["numpy>=1; python_version>'3'", "torch"], extras_require={"x": ["y>2"], "z": []},
    entry_points={"console_scripts": ["run=demo:main"], "plugins": ["a = demo.a:b"]}, packages=find_packages(exclude=["t"])
    """
    done = moved(tmp_path, arguments, **{"README.md": "# Demo\n\nText.\n"})
    theirs = metadata(tmp_path)
    (tmp_path / "setup.py").unlink()
    shutil.rmtree(tmp_path / "made")
    tables = {"project": done.project, "tool.setuptools": done.setuptools}
    tables["tool.setuptools.packages.find"] = done.found_packages
    lines = [line for name, table in tables.items() for line in (f"[{name}]", *table_lines(table))]
    (tmp_path / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    assert metadata(tmp_path) == theirs and theirs["Requires-Dist"] and theirs["entry points"]
