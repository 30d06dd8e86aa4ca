"""Read the files of a package through its importer: from zip archives, frozen applications and other places."""

import importlib
import io
import os
from collections.abc import Sequence
from contextlib import suppress
from pkgutil import get_importer
from typing import Any

from ..errors import ImageError, describe_error

__all__ = ["find_file", "list_files", "open_file"]


def open_file(package: str, file: str) -> Any:
    """Return a binary stream of a package's file.

    Uses the importer's resource reader (importlib.resources), else its `get_data` (PEP 302). Raises FileNotFoundError
    if there is no such file, and whatever the importer raises.
    """
    module = importlib.import_module(package)
    reader = _resource_reader(module)
    if hasattr(reader, "files"):
        resource = reader.files().joinpath(file)
        if resource.is_file():
            return resource.open("rb")
    elif reader is not None:
        return reader.open_resource(file)
    beside = os.path.dirname(getattr(module, "__file__", None) or "")
    # A package in several places has several importers.
    importers = [(getattr(module.__spec__, "loader", None), beside)]
    importers += [(get_importer(folder), folder) for folder in module.__path__]
    for importer, folder in importers:
        get_data = getattr(importer, "get_data", None)
        if get_data is not None:
            with suppress(OSError):
                return io.BytesIO(get_data(os.path.join(folder, file)))
    raise FileNotFoundError(f"{package} has no file {file}")


def find_file(package: str, folders: Sequence[str], file: str) -> str | None:
    """Return the place of a package's file, for messages; None if the package has no such file.

    `folders` are the places where Python looks for the package's files. Raises ImageError if the importer fails.
    """
    where = os.path.join(folders[0], file) if folders else f"{file} in {package}, through its importer"
    try:
        open_file(package, file).close()
    except FileNotFoundError:
        return None
    except Exception as error:  # importers raise anything for a damaged archive
        raise ImageError(f"{where} cannot be read: {describe_error(error)}") from error
    return where


def list_files(package: str) -> list[str]:
    """Return the names of the files and folders in a package; an empty list if its importer cannot list them.

    Raises whatever the importer raises.
    """
    reader = _resource_reader(importlib.import_module(package))
    with suppress(OSError):  # the package of a frozen application whose folder was left out
        if hasattr(reader, "files"):
            return [entry.name for entry in reader.files().iterdir()]
        if reader is not None:
            return list(reader.contents())
    return []


def _resource_reader(module: Any) -> Any:
    """Return the object by which a package's importer reads the package's files (see importlib.resources); None if the
    importer has none."""
    get_reader = getattr(getattr(module.__spec__, "loader", None), "get_resource_reader", None)
    if get_reader is not None:
        with suppress(OSError):  # before Python 3.13, the reader of a namespace package knows folders only
            return get_reader(module.__name__)
    return None
