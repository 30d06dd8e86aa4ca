"""Write the base wheel and the companion wheels of a whole wheel, or variant wheels.

The same wheel gives the same bytes, on every machine with the same zlib. Sources: "Binary distribution format" and
"Core metadata" of the PyPA specifications.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path

import cuda_wheel
from cuda_wheel import VENDORED_PACKAGE
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import BundleRequest, Fatbin
from cuda_wheel.builder.sources.layout import SBOM
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.inspect.archive import open_wheel, read_member, wheel_members
from cuda_wheel.inspect.manifest_checks import manifest_differences
from cuda_wheel.inspect.modules import FoundModule, find_modules
from cuda_wheel.inspect.wheel_checks import encoded_hash, record_differences
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Version, dotted
from cuda_wheel.split.division import (
    DividedModule,
    ModuleFile,
    capabilities_of,
    divide,
    extra_of,
    name_of_companion,
    package_of,
    reduced,
)

__all__ = ["ALL", "SplitWheel", "normalized", "split_wheel", "variant_wheels", "with_fields"]

ALL = "all-gpus"
"""The extra of a base that requires all its companions."""

_COPIED = (
    "Requires-Python",
    *("License-Expression", "License", "License-File", "Classifier"),
    *("Author", "Author-email", "Maintainer", "Maintainer-email", "Home-page", "Project-URL"),
)
"""Fields of the base's metadata that are those of its companions too. A classifier may forbid uploads."""


@dataclass(frozen=True)
class SplitWheel:
    """A base wheel, a companion wheel or a variant wheel."""

    file: str
    content: bytes
    capability: Version | None
    """Compute capability that a companion or variant is for; None for the base, and for what serves all machines."""
    is_needed: bool = False
    """Whether the base has a module without PTX for the companion's compute capability."""


@dataclass(frozen=True)
class _Metadata:
    """What the metadata of a whole wheel say."""

    folder: str
    """Name of the metadata folder: "demo-1.0.dist-info"."""
    text: str
    fields: Message
    distribution: str
    """Normalized name, with "-"."""
    version: str


@dataclass(frozen=True)
class _Whole:
    """A wheel to divide, as the build back end made it."""

    path: Path
    modules: Sequence[FoundModule]
    infos: Mapping[str, zipfile.ZipInfo]
    """Path in the wheel -> entry of the archive."""
    contents: Mapping[str, bytes]
    metadata: _Metadata


def split_wheel(path: Path) -> list[SplitWheel]:
    """Return the base wheel and the companions of a whole wheel, the base first.

    Raises ImageError if the wheel is damaged or signed, is divided already, has no module to divide, has an extra of a
    name that is needed, or contains a copy of the loader that cannot find companions; ToolchainError without nvFatbin.
    """
    whole = _read(path)
    _check_loader(path, whole.contents)
    metadata = whole.metadata
    with _bundling() as bundled:
        found = (divide(module, metadata.distribution, metadata.version, bundled) for module in whole.modules)
        divided = [module for module in found if module is not None]
    if not divided:
        raise _nothing_to_divide(path)
    capabilities = sorted({capability for module in divided for capability in module.companions})
    text = _base_metadata(metadata, capabilities)
    base = _changed(whole, {module.name: module.base for module in divided}, {"METADATA": text})
    companions = [_companion(whole, divided, capability) for capability in capabilities]
    return [SplitWheel(path.name, base, None), *companions]


def variant_wheels(path: Path) -> list[SplitWheel]:
    """Return variant wheels of a whole wheel, one for each compute capability, the whole wheel for all other machines,
    and last, in its file, what an index or a folder must say about them.

    Each variant wheel has the PTX, and the machine code for its GPUs. Sources: drafts of PEP 825 and of the properties
    for NVIDIA's GPUs, as uv 0.13.9 reads them. Raises ImageError as `split_wheel`.
    """
    whole = _read(path)
    capabilities = sorted({capability for module in whole.modules for capability in capabilities_of(module)})
    if not capabilities:
        raise _nothing_to_divide(path)
    wheels = []
    with _bundling() as bundled:
        for capability in capabilities:
            modules = {each.name: reduced(each, capability, bundled) for each in whole.modules if capabilities_of(each)}
            content = _changed(whole, modules, {"variant.json": _variants([capability])})
            wheels.append(SplitWheel(f"{path.stem}-{extra_of(capability)}.whl", content, capability))
    name = path.name.split("-")[:2]
    index = SplitWheel(f"{'-'.join(name)}-variants.json", _variants(capabilities), None)
    return [*wheels, SplitWheel(path.name, path.read_bytes(), None), index]


def _variants(capabilities: Sequence[Version]) -> bytes:
    """Return the JSON text that says which GPUs variant wheels are for."""
    document = {
        "$schema": "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json",
        "default-priorities": {"namespace": ["nvidia"]},
        "providers": {
            "nvidia": {
                "requires": ["nvidia-variant-provider"],
                "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
            }
        },
        "variants": {
            extra_of(capability): {"nvidia": {"sm_arch": [f"{capability[0]}{capability[1]}_real"]}}
            for capability in capabilities
        },
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _nothing_to_divide(path: Path) -> ImageError:
    return ImageError(
        f"{path} cannot be divided: no module has both machine code and PTX. Add a virtual target, such as "
        '"75-virtual", to architectures.'
    )


@contextmanager
def _bundling() -> Iterator[Callable[[BundleRequest], Fatbin]]:
    """Yield a function that makes fatbins, in a worker."""
    with Workers(timeout=600, memory=None, count=1) as workers:
        yield lambda request: workers.submit(bundle, request).result()


def _read(path: Path) -> _Whole:
    """Return the wheel at `path`. Raises ImageError if it is damaged, signed or no valid wheel."""
    modules = find_modules(str(path))
    differences = [*record_differences(path), *(line for module in modules for line in manifest_differences(module))]
    if differences:
        raise ImageError(f"{path} is damaged: {'; '.join(differences)}. Build it again.")
    with open_wheel(path) as archive:
        infos = {info.filename: info for info in wheel_members(path, archive)}
        contents = {name: read_member(archive, name) for name in infos}
    return _Whole(path, modules, infos, contents, _metadata(path, contents))


def _metadata(path: Path, contents: Mapping[str, bytes]) -> _Metadata:
    names = [name for name in contents if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if len(names) != 1:
        raise ImageError(f"{path} is not a valid wheel: it contains {len(names)} files METADATA.")
    text = contents[names[0]].decode(errors="surrogateescape")
    fields = HeaderParser().parsestr(text)
    name, version = fields["Name"], fields["Version"]
    if not name or not version or not re.fullmatch(r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?", name, re.ASCII):
        raise ImageError(f"{path} is not a valid wheel: its METADATA has no name, or no version.")
    folder = names[0].partition("/")[0]
    signed = next((each for each in contents if each.startswith(f"{folder}/RECORD.")), None)
    if signed is not None:
        raise ImageError(f"{path} is signed ({signed}), and no part of it would be: divide the wheel, then sign.")
    return _Metadata(folder, text, fields, normalized(name), version)


def normalized(name: str) -> str:
    """Return the name of a distribution or an extra in the form in which names are compared. Source: PyPA
    specifications, "Names and normalization"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _check_loader(path: Path, contents: Mapping[str, bytes]) -> None:
    """Raise ImageError if the wheel has a copy of the loader without the part that finds companions."""
    for name in contents:
        package, found, file = name.partition(f"/{VENDORED_PACKAGE}/")
        if found and file == "__init__.py" and f"{package}{found}parts/companions.py" not in contents:
            raise ImageError(
                f"{path}: the loader in {package}/{VENDORED_PACKAGE} cannot find companions. Build the wheel with "
                'split = "architecture" in [tool.cuda-wheel], and divide it then.'
            )


def _changed(whole: _Whole, modules: Mapping[str, ModuleFile], metadata: Mapping[str, bytes]) -> bytes:
    """Return the whole wheel with other files of some modules, and other or more files of its metadata."""
    folder = whole.metadata.folder
    files = dict(whole.contents)
    for name, module in modules.items():
        stem = name.replace(".", "/")
        files[f"{stem}.fatbin"] = module.fatbin
        files[stem + MANIFEST_SUFFIX] = module.manifest
    sbom = f"{folder}/sboms/{SBOM}"
    if sbom in files:
        paths = {f"{name.replace('.', '/')}.fatbin": module.fatbin for name, module in modules.items()}
        files[sbom] = _sbom(files[sbom], {path: (path, content) for path, content in paths.items()}, keep_others=True)
    files |= {f"{folder}/{name}": content for name, content in metadata.items()}
    return _archive(files, f"{folder}/RECORD", whole.infos, whole.infos[f"{folder}/METADATA"])


def _base_metadata(metadata: _Metadata, capabilities: Sequence[Version]) -> bytes:
    """Return METADATA with an extra for each companion, and one for all. Raises ImageError if it has such an extra."""
    requirements: dict[str, list[str]] = {}
    for capability in capabilities:
        requirement = f"{name_of_companion(metadata.distribution, capability)}=={metadata.version}"
        requirements[extra_of(capability)] = [requirement]
        requirements.setdefault(ALL, []).append(requirement)
    own = {*map(normalized, metadata.fields.get_all("Provides-Extra", []))}
    taken = sorted(own & requirements.keys())
    if taken:
        raise ImageError(
            f"the project {metadata.distribution} has an extra {taken[0]} of its own, which the base needs for its "
            "companions: give it another name."
        )
    lines = []
    for extra, required in sorted(requirements.items(), key=lambda item: item[0] == ALL):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {each}; extra == '{extra}'" for each in required]
    return with_fields(metadata.text, lines)


def with_fields(text: str, lines: Sequence[str]) -> bytes:
    """Return METADATA or PKG-INFO with more fields, each a line."""
    head, *body = re.split(r"\r?\n\r?\n", text, maxsplit=1)  # the first empty line ends the fields
    return "\n".join([head.rstrip(), *lines, "", *body]).encode(errors="surrogateescape")


def _companion(whole: _Whole, divided: Sequence[DividedModule], capability: Version) -> SplitWheel:
    metadata = whole.metadata
    name = name_of_companion(metadata.distribution, capability)
    package = package_of(name)
    folder = f"{package}-{metadata.folder.removesuffix('.dist-info').partition('-')[2]}.dist-info"
    about = f"GPU code of {metadata.distribution} {metadata.version} for compute capability {dotted(capability)}"
    files = {f"{package}/__init__.py": f'"""{about}, which the loader of cuda-wheel finds."""\n'.encode()}
    for module in divided:
        part = module.companions.get(capability)
        if part is not None:
            files[f"{package}/{module.name}.fatbin"] = part.fatbin
            files[f"{package}/{module.name}{MANIFEST_SUFFIX}"] = part.manifest
    fields = [("Metadata-Version", metadata.fields["Metadata-Version"]), ("Name", name), ("Version", metadata.version)]
    fields += [("Summary", about)]
    fields += [(key, value) for key in _COPIED for value in metadata.fields.get_all(key, [])]
    fields += [("Requires-Dist", f"{metadata.distribution}=={metadata.version}")]
    fields += [("Description-Content-Type", "text/plain")]
    text = "".join(f"{key}: {value}\n" for key, value in fields)
    text += f'\nInstall it with its base: pip install "{metadata.distribution}[{extra_of(capability)}]"\n'
    files[f"{folder}/METADATA"] = text.encode(errors="surrogateescape")
    generator = f"Generator: cuda-wheel {cuda_wheel.__version__}"
    files[f"{folder}/WHEEL"] = f"Wheel-Version: 1.0\n{generator}\nRoot-Is-Purelib: true\nTag: py3-none-any\n".encode()
    licenses = f"{metadata.folder}/licenses/"
    files |= {
        f"{folder}/licenses/{path.removeprefix(licenses)}": content
        for path, content in whole.contents.items()
        if path.startswith(licenses)
    }
    sbom = whole.contents.get(f"{metadata.folder}/sboms/{SBOM}")
    if sbom is not None:
        files[f"{folder}/sboms/{SBOM}"] = _companion_sbom(sbom, divided, capability, package)
    content = _archive(files, f"{folder}/RECORD", {}, whole.infos[f"{metadata.folder}/METADATA"])
    is_needed = any(capability in module.only_in_companion for module in divided)
    return SplitWheel(f"{folder.removesuffix('.dist-info')}-py3-none-any.whl", content, capability, is_needed)


def _companion_sbom(content: bytes, divided: Sequence[DividedModule], capability: Version, package: str) -> bytes:
    fatbins = {
        f"{module.name.replace('.', '/')}.fatbin": (f"{package}/{module.name}.fatbin", part.fatbin)
        for module in divided
        if (part := module.companions.get(capability)) is not None
    }
    return _sbom(content, fatbins, keep_others=False)


def _sbom(content: bytes, fatbins: Mapping[str, tuple[str, bytes]], keep_others: bool) -> bytes:
    """Return an SBOM with the paths and hashes of other fatbins.

    `fatbins` is path in the whole wheel -> new path and content. Without `keep_others`, other fatbins, and what only
    they were made from, are left out.
    """
    document = json.loads(content)
    renamed = {f"wheel:{old}": f"wheel:{new}" for old, (new, _) in fatbins.items()}
    dependencies = [
        {**entry, "ref": renamed.get(entry["ref"], entry["ref"])}
        for entry in document["dependencies"]
        if keep_others or entry["ref"] in renamed
    ]
    needed = {each for entry in dependencies for each in (entry["ref"], *entry["dependsOn"])}
    digests = {f"wheel:{new}": (new, sha256(fatbin).hexdigest()) for new, fatbin in fatbins.values()}
    components = []
    for component in document["components"]:
        reference = renamed.get(component["bom-ref"], component["bom-ref"])
        if reference not in needed:
            continue
        if reference in digests:
            path, digest = digests[reference]
            hashes = [{"alg": "SHA-256", "content": digest}]
            component = {**component, "bom-ref": reference, "name": path, "hashes": hashes}
        components.append(component)
    document["components"] = sorted(components, key=lambda component: str(component["bom-ref"]))
    document["dependencies"] = sorted(dependencies, key=lambda entry: str(entry["ref"]))
    return (json.dumps(document, indent=1) + "\n").encode()


def _archive(
    files: Mapping[str, bytes], record: str, infos: Mapping[str, zipfile.ZipInfo], model: zipfile.ZipInfo
) -> bytes:
    """Return a wheel with these files and a new RECORD, at the path `record`, which comes last.

    `infos` has times and permissions of files; `model` those of all others.
    """
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    contents = {name: content for name, content in files.items() if name != record}
    for name, content in contents.items():
        writer.writerow((name, f"sha256={encoded_hash(sha256(content).digest())}", len(content)))
    writer.writerow((record, "", ""))
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, record: rows.getvalue().encode()}.items():
            known = infos.get(name, model)
            info = zipfile.ZipInfo(name, known.date_time)
            info.external_attr, info.create_system = known.external_attr, known.create_system
            info.compress_type = known.compress_type
            archive.writestr(info, content)
    return written.getvalue()
