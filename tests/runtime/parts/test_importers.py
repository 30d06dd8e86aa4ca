"""Packages of importers without files: with resource readers, and with get_data alone."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ImageError
from tests.support.driver import Driver
from tests.support.package_files import FATBIN, SAXPY

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable
else:
    from importlib.abc import Traversable


pytestmark = pytest.mark.one_toolchain


class InMemory:
    """Finds and loads the packages of `files`, and provides their other files through the protocol `way`."""

    def __init__(self, files: Mapping[str, bytes], way: str) -> None:
        self.files = files
        self.way = way

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        folder = name.replace(".", "/")
        for file in (f"{folder}/__init__.py", f"{folder}.py"):
            if file in self.files:
                loader = InMemoryLoader(self, file)
                return spec_from_loader(name, loader, is_package=file.endswith("/__init__.py"))  # type: ignore[arg-type]
        return None


class InMemoryLoader:
    def __init__(self, finder: InMemory, file: str) -> None:
        self.files = finder.files
        self.file = file
        folder = file.rpartition("/")[0]
        if finder.way == "get_data":
            self.get_data = self._get_data
        elif finder.way != "none":
            reader = {"files": Files, "unseekable": Unseekable, "reader": Reader}[finder.way]
            self.get_resource_reader = lambda name: reader(self.files, folder)

    def create_module(self, spec: ModuleSpec) -> None:
        pass

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = f"memory:/{self.file}"
        exec(self.files[self.file], module.__dict__)

    def _get_data(self, path: str) -> bytes:
        name = path.replace("\\", "/").removeprefix("memory:/")
        if name not in self.files:
            raise OSError(f"no {name}")
        return self.files[name]


class Reader:
    """Implements importlib.resources.abc.ResourceReader, the older protocol."""

    def __init__(self, files: Mapping[str, bytes], folder: str) -> None:
        self.its = {name.removeprefix(f"{folder}/"): files[name] for name in files if name.startswith(f"{folder}/")}

    def open_resource(self, name: str) -> io.BytesIO:
        if name not in self.its:
            raise FileNotFoundError(name)
        return io.BytesIO(self.its[name])

    def contents(self) -> Iterator[str]:
        return iter({name.partition("/")[0] for name in self.its})


class Files:
    """Implements importlib.resources.abc.TraversableResources, the newer protocol."""

    def __init__(self, files: Mapping[str, bytes], folder: str) -> None:
        self.its, self.folder = files, folder

    def files(self) -> Traversable:
        return Entry(self.its, self.folder)

    def stream(self, content: bytes) -> io.BytesIO:
        return io.BytesIO(content)


class Entry(Traversable):
    stream: type[io.BytesIO] = io.BytesIO

    def __init__(self, files: Mapping[str, bytes], path: str) -> None:
        self.its, self.path = files, path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def is_dir(self) -> bool:
        return any(name.startswith(f"{self.path}/") for name in self.its)

    def is_file(self) -> bool:
        return self.path in self.its

    def iterdir(self) -> Iterator[Traversable]:
        below = {name[len(self.path) + 1 :].partition("/")[0] for name in self.its if name.startswith(f"{self.path}/")}
        return (type(self)(self.its, f"{self.path}/{name}") for name in below)

    def joinpath(self, *names: str) -> Traversable:
        return type(self)(self.its, "/".join([self.path, *names]))

    __truediv__ = joinpath

    def open(self, mode: str = "r", *_: Any, **__: Any) -> Any:
        return self.stream(self.its[self.path])

    def read_bytes(self) -> bytes:
        return self.its[self.path]

    def read_text(self, encoding: str | None = None) -> str:
        return self.its[self.path].decode(encoding or "utf-8")


class Forward(io.BytesIO):
    """A stream that can only be read forwards, like a stream from a network."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("seek")


class ForwardEntry(Entry):
    stream = Forward


class Unseekable(Files):
    def files(self) -> Traversable:
        return ForwardEntry(self.its, self.folder)


@pytest.mark.parametrize("way", ["files", "unseekable", "reader"])
def test_a_package_of_an_importer_without_files(way: str, files: dict[str, bytes], check: Callable[..., None]) -> None:
    check(InMemory(files, way), files)


def test_a_package_of_an_importer_that_only_has_get_data(
    files: dict[str, bytes], use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an importer cannot list files, so that no kernels can be attached."""
    driver = use((8, 6))
    plain = {**files, "saxpy_demo/kernels/__init__.py": b"", "saxpy_demo/__init__.py": b""}
    for way, init in (("get_data", b""), ("none", b""), ("get_data", files["saxpy_demo/kernels/__init__.py"])):
        finder = InMemory({**plain, "saxpy_demo/kernels/__init__.py": init}, way)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "meta_path", [finder, *sys.meta_path])
            if way == "none":
                with pytest.raises(
                    ImageError,
                    match=r"has no images: looked for saxpy\.fatbin\.json through the importer of saxpy_demo\.kernels",
                ):
                    cuda_wheel.load(SAXPY)
            elif init:
                with pytest.raises(ImageError, match="cannot attach its kernels: its importer lists no files"):
                    importlib.import_module("saxpy_demo.kernels")
            else:
                image = cuda_wheel.load(SAXPY).image
                assert driver.loaded == [files[FATBIN][image.offset : image.offset + image.size]]
                use((8, 6))
        for name in [name for name in sys.modules if name.startswith("saxpy_demo")]:
            del sys.modules[name]
