"""Move into pyproject.toml what a setup.py passes to `setup()`: for [project] and for [tool.setuptools].

setup.py is read, and not run. All of it moves or nothing does: a value that the text does not determine, and that the
wheel would lack, is a reason to move nothing. Texts that only describe the project may be missing; each is a message.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.project_detection import DetectedProject, project_files
from cuda_wheel.migrate.pyproject_edit import read_text, relative_path, requirement_name
from cuda_wheel.migrate.read_files import FileText
from cuda_wheel.migrate.script_reader import ScriptCall, calls_in, is_whole, parsed

__all__ = ["MovedSetup", "NotMovedError", "moved_setup"]


@dataclass
class MovedSetup:
    """What a setup.py says, as tables of pyproject.toml."""

    project: dict[str, Any] = field(default_factory=dict)
    """Content of [project]."""
    setuptools: dict[str, Any] = field(default_factory=dict)
    """Content of [tool.setuptools], without the table below it."""
    found_packages: dict[str, Any] = field(default_factory=dict)
    """Content of [tool.setuptools.packages.find]; empty if the packages are listed."""
    build_requires: list[str] = field(default_factory=list)
    """Requirements of builds (`setup_requires`)."""
    left_out: list[str] = field(default_factory=list)
    """Messages, one line each: what setup.py says that is in neither table."""


class NotMovedError(Exception):
    """A setup.py cannot be moved; the message is the reason, such as "install_requires is known only when it runs"."""


_FIND = {"find_packages": False, "find_namespace_packages": True}
"""Function of setuptools that finds packages -> whether it finds namespace packages, too."""

_DESCRIBES = frozenset({"description", "long_description", "url", "download_url", "project_urls", "keywords"}) | {
    *("author", "author_email", "maintainer", "maintainer_email", "license", "classifiers"),
}
"""Keywords of `setup()` that only describe the project: it can be built and used without them."""

_FOR_CPP = frozenset(
    {"ext_modules", "ext_package", "libraries", "zip_safe", "platforms", "test_suite", "tests_require"}
)
"""Keywords of `setup()` that have no meaning for a wheel without C++, or for no wheel at all."""

_KNOWN = (_DESCRIBES | _FOR_CPP) | {
    *("name", "version", "packages", "package_dir", "package_data", "exclude_package_data", "include_package_data"),
    *("py_modules", "scripts", "data_files", "install_requires", "extras_require", "setup_requires", "entry_points"),
    *("python_requires", "cmdclass", "long_description_content_type", "license_file", "license_files"),
}
"""All keywords of `setup()` that `moved_setup` moves or can leave out. Source: setuptools, "Keywords"."""


def moved_setup(project: DetectedProject, unneeded: Collection[str]) -> MovedSetup:
    """Return the tables for what the project's setup.py passes to `setup()`. Raises NotMovedError.

    `unneeded`: normalised names of the distributions that no build of the project requires any more.
    """
    script = project.root / "setup.py"
    try:
        calls = calls_in(script, ["setup", *_FIND], is_exact=True)
        tree = parsed(script)
    except ConfigError as error:
        raise NotMovedError(str(error)) from error
    found = [call for call in calls if call.function == "setup"]
    if len(found) != 1:
        raise NotMovedError(f"it has {len(found) or 'no'} calls of setup() with values that are known")
    config = read_text(project.root / "setup.cfg") or ""
    if re.search(r"^\[(metadata|options)", config, re.MULTILINE):
        raise NotMovedError("setup.cfg has metadata, too")
    return _Mover(project, found[0], calls, tree, frozenset(unneeded)).moved()


class _Mover:
    """Converts one call of `setup()`."""

    def __init__(
        self,
        project: DetectedProject,
        call: ScriptCall,
        calls: list[ScriptCall],
        tree: ast.Module,
        unneeded: frozenset[str],
    ) -> None:
        self._project = project
        self._values = call.keywords
        self._nodes = {each.arg: each.value for each in call.node.keywords if each.arg}
        self._finds = {id(each.node): each for each in calls if each.function in _FIND}
        self._positions = {(each.node.lineno, each.node.col_offset): each for each in self._finds.values()}
        self._tree = tree
        self._unneeded = unneeded
        self._call = call
        self._done = MovedSetup()

    def moved(self) -> MovedSetup:
        """Return the tables. Raises NotMovedError."""
        if self._call.arguments or any(each.arg is None for each in self._call.node.keywords):
            raise NotMovedError(f"setup() gets arguments without names (setup.py:{self._call.node.lineno})")
        for name in self._values:
            if name not in _KNOWN:
                raise NotMovedError(f"pyproject.toml has no place for {self._at(name)}")
        own, setuptools = self._done.project, self._done.setuptools
        own["name"] = self._value("name", str)
        self._move_version()
        self._move_descriptions()
        if "python_requires" in self._values:
            own["requires-python"] = self._value("python_requires", str)
        self._move_readme()
        own["dependencies"] = self._requirements("install_requires")
        if "extras_require" in self._values:
            extras = self._value("extras_require", dict)
            own["optional-dependencies"] = {name: self._listed(each, "extras_require") for name, each in extras.items()}
        self._move_entry_points()
        self._move_packages()
        for name, key in (("py_modules", "py-modules"), ("scripts", "script-files")):
            if self._is_given(name):
                setuptools[key] = self._strings(name)
        for name in ("package_data", "exclude_package_data"):
            if self._is_given(name):
                data = self._value(name, dict)
                setuptools[name.replace("_", "-")] = {
                    key or "*": self._listed(each, name) for key, each in data.items()
                }
        # With [project], setuptools adds the files of MANIFEST.in to packages unless this says otherwise.
        if not (self._is_given("include_package_data") and self._value("include_package_data", object)):
            setuptools["include-package-data"] = False
        if self._is_given("data_files"):
            raise NotMovedError(f"{self._at('data_files')} install files outside the package")
        self._move_build_requirements()
        self._leave_out_commands()
        return self._done

    def _at(self, name: str) -> str:
        """Return a keyword with its place, for messages: "version (setup.py:12)"."""
        node = self._nodes.get(name, self._call.node)
        return f"{name} (setup.py:{node.lineno})"

    def _is_given(self, name: str) -> bool:
        """Return whether a keyword has a value that is not empty, or that is not known."""
        value = self._values.get(name)
        return bool(value) or not is_whole(value)

    def _value(self, name: str, kind: type) -> Any:
        """Return the value of a keyword. Raises NotMovedError if it is not known, or no `kind`."""
        value = self._values.get(name)
        if not is_whole(value):
            raise NotMovedError(f"{self._at(name)} is known only when it runs")
        if not isinstance(value, kind):
            raise NotMovedError(f"{self._at(name)} has no value that pyproject.toml can have")
        return value

    def _strings(self, name: str) -> list[str]:
        return self._listed(self._value(name, object), name)

    def _listed(self, value: Any, name: str) -> list[str]:
        """Return the strings of a value, as setuptools reads it: a list, or a string of lines."""
        items = value.splitlines() if isinstance(value, str) else value
        if not isinstance(items, (list, tuple, set)) or not all(isinstance(each, str) for each in items):
            raise NotMovedError(f"{self._at(name)} has no value that pyproject.toml can have")
        return [str(each) for each in items]

    def _requirements(self, name: str) -> list[str]:
        """Return the requirements of a keyword, without comments and empty lines."""
        if self._values.get(name) is None:
            return []
        lines = [re.sub(r"(^|\s+)#.*", "", each).strip() for each in self._strings(name)]
        wrong = next((each for each in lines if each and not requirement_name(each)), None)
        if wrong is not None:
            raise NotMovedError(f"{self._at(name)} has {wrong!r}, which is no requirement")
        return [each for each in lines if each]

    def _move_version(self) -> None:
        """Move the version: as it is, or as the attribute `__version__` that setup.py reads."""
        version, named = self._values.get("version"), self._attribute()
        if isinstance(version, str) and (
            not named or version != named[1] or isinstance(self._nodes["version"], ast.Constant)
        ):
            self._done.project["version"] = version
        elif named and (isinstance(version, str) or not is_whole(version)):
            self._done.project["dynamic"] = ["version"]
            self._done.setuptools["dynamic"] = {"version": {"attr": named[0]}}
        else:
            self._value("version", str)

    def _attribute(self) -> tuple[str, str] | None:
        """Return the dotted name and the value of the only `__version__` in the project's package; None if there are
        none or several, and if setup.py does not name `__version__`."""
        root, folder = self._project.root, self._project.folder
        if "__version__" not in (read_text(root / "setup.py") or ""):
            return None
        found = []
        for path in project_files(root, (".py",)):
            if os.path.dirname(path) != folder.rstrip("."):
                continue
            text = read_text(root / path) or ""
            match = re.search(r"^__version__\s*(?::\s*str\s*)?=\s*([\"'])([^\"'\n]+)\1\s*(#.*)?$", text, re.MULTILINE)
            if match:
                module = os.path.basename(path).removesuffix(".py")
                parts = [self._project.package, *([] if module == "__init__" else [module]), "__version__"]
                found.append((".".join(parts), match[2]))
        return found[0] if len(found) == 1 else None

    def _move_descriptions(self) -> None:
        """Move what only describes the project."""
        own = self._done.project
        texts = {
            name: self._described(name) for name in sorted(_DESCRIBES & self._values.keys() - {"long_description"})
        }
        if isinstance(texts.get("description"), str):
            own["description"] = " ".join(texts["description"].split())
        for role in ("author", "maintainer"):
            name, address = texts.get(role), texts.get(f"{role}_email")
            if name and address and "," in name + address:
                self._leave_out(role, "several names")
            elif name or address:
                own[f"{role}s"] = [{key: each for key, each in (("name", name), ("email", address)) if each}]
        classifiers = [each for each in self._described_list("classifiers", texts) if each]
        if classifiers:
            own["classifiers"] = classifiers
        if texts.get("license") and not any(each.startswith("License ::") for each in classifiers):
            self._leave_out("license", 'project.license must be an SPDX expression, such as "MIT"')
        if "keywords" in texts:
            words = texts["keywords"]
            split = re.split(r"[,\s]+", words) if isinstance(words, str) else self._described_list("keywords", texts)
            own["keywords"] = [each for each in split if each]
        urls = {"Homepage": texts.get("url"), "Download": texts.get("download_url")}
        urls |= texts["project_urls"] if isinstance(texts.get("project_urls"), dict) else {}
        urls = {name: each for name, each in urls.items() if isinstance(each, str) and each}
        if urls:
            own["urls"] = urls
        for name in ("license_files", "license_file"):
            if self._is_given(name):
                own["license-files"] = self._strings(name)

    def _described(self, name: str) -> Any:
        """Return the value of a keyword that only describes; None, with a message, if it is not known."""
        value = self._values[name]
        if is_whole(value):
            return value
        self._leave_out(name, "known only when setup.py runs")
        return None

    def _described_list(self, name: str, texts: Mapping[str, Any]) -> list[str]:
        value = texts.get(name)
        return [] if value is None else self._listed(value, name)

    def _leave_out(self, name: str, reason: str) -> None:
        self._done.left_out.append(f"{self._at(name)}: {reason}")

    def _move_readme(self) -> None:
        """Move the long description, if it is the text of a file."""
        if not self._is_given("long_description"):
            return
        text = self._values["long_description"]
        if not isinstance(text, FileText):
            self._leave_out("long_description", "not the text of one file")
            return
        path = relative_path(os.path.realpath(text.path), self._project.root)
        kind = self._values.get("long_description_content_type")
        plain = {".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}.get(Path(path).suffix.lower())
        kind = kind if isinstance(kind, str) else plain if plain != "text/markdown" else "text/plain"
        if path.startswith("../"):
            self._leave_out("long_description", f"{path} lies outside the project")
        else:
            self._done.project["readme"] = (
                path if kind == plain else {"file": path, "content-type": kind or "text/plain"}
            )

    def _move_entry_points(self) -> None:
        if not self._is_given("entry_points"):
            return
        own, others = self._done.project, {}
        for group, listed in self._value("entry_points", dict).items():
            pairs = [each.partition("=") for each in self._listed(listed, "entry_points")]
            named = {name.strip(): target.strip() for name, _, target in pairs if name.strip()}
            key = {"console_scripts": "scripts", "gui_scripts": "gui-scripts"}.get(group)
            if key:
                own[key] = named
            else:
                others[group] = named
        if others:
            own["entry-points"] = others

    def _move_packages(self) -> None:
        """Move `packages` and `package_dir`, and add the package that takes the place of an extension."""
        project, setuptools = self._project, self._done.setuptools
        folders = dict(self._value("package_dir", dict)) if self._is_given("package_dir") else {}
        find = self._find(self._nodes.get("packages"))
        is_found = find is not None
        if find is not None:
            self._done.found_packages = self._found(find)
        elif self._is_given("packages"):
            setuptools["packages"] = self._strings("packages")
        else:
            setuptools["packages"] = []  # without extensions, setuptools would look for packages
        parent = project.folder.removesuffix(project.package.replace(".", "/")).rstrip("/")
        default = os.path.normpath(os.path.join(folders.get("", "."), project.package.replace(".", "/")))
        if not is_found and project.package not in setuptools["packages"]:
            setuptools["packages"].append(project.package)
        if os.path.normpath(folders.get(project.package, default)) != os.path.normpath(project.folder):
            if is_found and parent:
                raise NotMovedError(f"{self._at('packages')} does not find {project.folder}")
            folders[project.package] = project.folder
        if folders:
            setuptools["package-dir"] = {key: os.fspath(each) or "." for key, each in folders.items()}

    def _find(self, node: ast.expr | None) -> ScriptCall | None:
        """Return the call of `find_packages` that gives an expression its value: the expression itself, or what a
        variable gets that is assigned once; None for all else."""
        if isinstance(node, ast.Name):
            assigned = [
                each
                for each in ast.walk(self._tree)
                if isinstance(each, (ast.Name, ast.arg)) and _name(each) == node.id and not _is_read(each)
            ]
            values = [
                each.value
                for each in ast.walk(self._tree)
                if isinstance(each, ast.Assign) and [_name(target) for target in each.targets] == [node.id]
            ]
            node = values[0] if len(values) == len(assigned) == 1 else None
        return self._positions.get((node.lineno, node.col_offset)) if isinstance(node, ast.Call) else None

    def _found(self, call: ScriptCall) -> dict[str, Any]:
        """Return the table `packages.find` for a call of `find_packages`."""
        values = {key: call.argument(number, key) for number, key in enumerate(("where", "exclude", "include"))}
        if not is_whole(list(values.values())) or call.keywords.keys() - values.keys():
            raise NotMovedError(f"{self._at('packages')} is known only when it runs")
        table: dict[str, Any] = {}
        if values["where"] not in (None, ".", ""):
            table["where"] = [relative_path(self._project.root / os.fspath(values["where"]), self._project.root)]
        for key in ("exclude", "include"):
            if values[key]:
                table[key] = self._listed(values[key], "packages")
        return table | {"namespaces": _FIND[call.function]}

    def _move_build_requirements(self) -> None:
        if self._values.get("setup_requires") is None:
            return
        if not is_whole(self._values["setup_requires"]):
            self._leave_out("setup_requires", "known only when setup.py runs")
            return
        listed = self._requirements("setup_requires")
        self._done.build_requires = [
            each for each in listed if requirement_name(each) not in {"setuptools", "wheel", *self._unneeded}
        ]

    def _leave_out_commands(self) -> None:
        """Add a message for each command of setup.py's own; `build_ext` goes with the extensions."""
        node = self._nodes.get("cmdclass")
        if node is None:
            return
        tables = [each for each in ast.walk(node) if isinstance(each, ast.Dict)]
        names = [str(key.value) for table in tables for key in table.keys if isinstance(key, ast.Constant)]
        for name in dict.fromkeys(names if tables else ["cmdclass"]):
            if name != "build_ext":
                self._leave_out("cmdclass", f"the command {name}" if tables else "commands of its own")


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
