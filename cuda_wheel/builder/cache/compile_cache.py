"""Keep what compile jobs gave, across builds, folders and environments: by the content of all that a job reads."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

from cuda_wheel import __version__
from cuda_wheel.builder.cache.file_hashes import FileHashes, unchanged_since
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule, Compiled, Job, LinkJob
from cuda_wheel.builder.plan import ModulePlan, Plan
from cuda_wheel.builder.schedule.durations import Seconds
from cuda_wheel.builder.sources.includes import includes, searched
from cuda_wheel.builder.sources.paths import below
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.cache import Cache, cache_limit
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import GlobalInfo, Manifest, Parameter

__all__ = [
    "CLOCK",
    "CompileCache",
    "Place",
    "holds_folder",
    "looked_for",
    "packed",
    "path_of",
    "place_of",
    "unpacked",
]


FORMAT = "jobs 6"
"""Part of every key: entries of another layout are other entries."""


CLOCK = re.compile(rb"\b__(DATE|TIME|TIMESTAMP)__\b")
"""What makes every compilation another one."""


Place = tuple[int, str]
"""A file by the folder of headers that it is in, and its path there: builds in isolation have the toolchain elsewhere
each time. The number counts `Job.include_dirs` from their end, as -1; 0 is the project."""


class CompileCache:
    """What jobs gave, in the cache of this user. `toolchain` is the one that does the jobs, which begin later.

    Raises ConfigError where the environment bounds the cache to what is no amount.
    """

    def __init__(self, cache: Cache, toolchain: Toolchain) -> None:
        try:
            cache_limit()
        except CudaWheelError as error:
            raise ConfigError(str(error)) from None
        self.seconds = Seconds(cache)
        self._cache = cache
        self._toolchain = (toolchain.nvrtc, toolchain.nvjitlink)
        self._nvfatbin = f"{toolchain.nvrtc} {toolchain.nvfatbin}"  # nvFatbin's own version is less exact
        self._hashes = FileHashes()  # headers are many, and shared by all jobs
        self._known: dict[Job, tuple[Place, ...]] = {}
        """The files that decide what each job gives, of those that are kept."""
        self._lists: dict[tuple[Place, ...], tuple[Place, ...]] = {}
        """These, each once: many jobs have theirs in common."""
        self._began = time.time_ns()

    def recall(self, job: Job) -> Compiled | None:
        """Return what the same job gave before, if all the files that it read are as they were."""
        key = self.find(job)
        return None if key is None else self.fetch(key, job)

    def find(self, job: Job) -> str | None:
        """Return the key by which `fetch` may have what the same job gave before, if all the files that it read are as
        they were."""
        request = self._request(job)
        for places in self._cache.found(request, _places):  # each folder's latest job may have read other files
            key = self._result(request, job, places)
            if self._cache.has(key):
                self._take_note(job, places)
                return key
        return None

    def fetch(self, key: str, job: Job) -> Compiled | None:
        """Return what is kept by a key that `find` returned for a job; None where that is damaged."""
        return self._cache.read(key, lambda entry: unpacked(entry, job))

    def keep(self, job: Job, compiled: Compiled) -> bool:
        """Keep what a job gave, unless it may be another next time; return whether it was."""
        self._known.pop(job, None)  # it may have been found and then be damaged: what it was found by is of that time
        if compiled.headers is None or not unchanged_since(self._began, compiled.headers):
            return False
        if _is_singular(job, compiled):
            return False
        read = [place_of(path, job) for path in compiled.headers]
        if None in read:  # a header from nowhere: another machine may have another one there
            return False
        places = {*read, *(place_of(path, job) for path in (*looked_for(compiled.headers, job), *compiled.absent))}
        known = sorted(place for place in places if place is not None)
        if not unchanged_since(self._began, filter(os.path.isfile, (path_of(place, job) for place in known))):
            return False
        request = self._request(job)
        self._cache.put(request, json.dumps(known).encode())
        self._cache.put(self._result(request, job, known), packed(compiled, job))
        self._take_note(job, known)
        return True

    def has_all(self, jobs: Iterable[Job]) -> bool:
        """Return whether all that these jobs gave is kept, so that what is made of it may be."""
        return all(job in self._known for job in jobs)

    def _take_note(self, job: Job, places: Sequence[Place]) -> None:
        self._known[job] = self._lists.setdefault(tuple(places), tuple(places))

    def recall_linked(self, job: LinkJob) -> Compiled | None:
        """Return what the same link gave before."""
        return self._cache.read(self._link_key(job), lambda entry: unpacked(entry, None))

    def keep_linked(self, job: LinkJob, compiled: Compiled) -> None:
        """Keep what a link gave: it reads nothing but its inputs."""
        self._cache.put(self._link_key(job), packed(compiled, None))

    def recall_module(self, plan: Plan, module: ModulePlan) -> tuple[BuiltModule, list[str]] | None:
        """Return what the same module was built to before, and the warnings about it, if all the files that its jobs
        read are as they were: of many modules each is one entry to read, and none of their jobs."""

        def understand(entry: bytes) -> tuple[BuiltModule, list[str]]:
            head, _, body = entry.partition(b"\n")
            known = json.loads(head)
            text, fatbin = body[: known["manifest"]], body[known["manifest"] :]
            headers, absent = (
                tuple(path_of((number, path), module.jobs[0]) for number, path in known[name])
                for name in ("headers", "absent")
            )
            manifest = Manifest.from_json(text, f"the manifest of {module.module.name}")
            return BuiltModule(manifest, text, fatbin, headers, absent), known["warnings"]

        request = self._module_request(plan, module)
        for places in self._cache.found(request, _places):
            built = self._cache.read(self._module_result(request, module, places), understand)
            if built is not None:
                return built
        return None

    def keep_module(self, plan: Plan, module: ModulePlan, built: BuiltModule, warnings: Sequence[str]) -> None:
        """Keep what a module was built to, if all that its jobs gave is kept."""
        if not self.has_all(module.jobs) or len({job.include_dirs for job in module.jobs}) > 1:
            return
        known = {
            "manifest": len(built.text),
            "warnings": list(warnings),
            "headers": [place_of(path, module.jobs[0]) for path in built.headers or ()],
            "absent": [place_of(path, module.jobs[0]) for path in built.absent],
        }
        places = sorted({place for job in module.jobs for place in self._known[job]})
        request = self._module_request(plan, module)
        self._cache.put(request, json.dumps(places).encode())
        entry = json.dumps(known).encode() + b"\n" + built.text + built.fatbin
        self._cache.put(self._module_result(request, module, places), entry)

    def _module_request(self, plan: Plan, module: ModulePlan) -> str:
        # The jobs of one source differ in these alone, and their text is among the module's sources.
        alike = {job: replace(job, arch="", cubin=False, ptx=False, form="whole", text=b"") for job in module.jobs}
        number = {job: index for index, job in enumerate(dict.fromkeys(alike.values()))}
        jobs = [(number[alike[job]], job.arch, job.cubin, job.ptx, job.form) for job in module.jobs]
        links = [(str(link.target), link.lto, link.options, len(link.inputs)) for link in module.links]
        return Cache.key(
            FORMAT,
            "module",
            __version__,
            repr((self._toolchain, self._nvfatbin, plan.compression(module), plan.ptx_version)),
            repr((module.module, module.targets, module.options, jobs, links, len(module.relocatable))),
            *map(self._request, number),
        )

    def _module_result(self, request: str, module: ModulePlan, places: Sequence[Place]) -> str:
        return self._result(request, module.jobs[0], places) if module.jobs else Cache.key(request)

    def _link_key(self, job: LinkJob) -> str:
        inputs = [(each.source, each.kind, sha256(each.content).hexdigest()) for each in job.inputs]
        rest = repr(replace(job, inputs=(), include_dirs=()))
        return Cache.key(FORMAT, "link", __version__, repr(self._toolchain), rest, json.dumps(inputs))

    def _request(self, job: Job) -> str:
        parts = {item.name: repr(getattr(job, item.name)) for item in fields(job)}
        del parts["library"], parts["libdevice"], parts["root"]  # where they lie decides nothing
        parts["include_dirs"] = repr([folder for folder in job.include_dirs if not os.path.isabs(folder)])
        return Cache.key(
            FORMAT, __version__, repr(self._toolchain), *(f"{name}={parts[name]}" for name in sorted(parts))
        )

    def _result(self, request: str, job: Job, places: Sequence[Place]) -> str:
        # Where fewer packages of headers are installed than there were, what lay in the first folders is not there.
        hashes = [
            self._hashes.of(path_of(place, job)) if -place[0] <= len(job.include_dirs) else None for place in places
        ]
        return Cache.key(request, json.dumps(hashes))


def _places(listed: bytes) -> list[Place]:
    return [(min(number, 0), str(path)) for number, path in json.loads(listed)]


def looked_for(headers: Sequence[str], job: Job) -> list[str]:
    """Return the absolute paths that decide what a job reads beside these headers: where another would have been found
    first, had there been a file, and where a text of the project asks whether there is one."""
    folders = searched(job.root, job.source, job.include_dirs)
    paths: dict[str, None] = {}
    for header in headers:
        place = next((index for index, folder in enumerate(folders) if header.startswith(folder + os.sep)), 0)
        paths |= dict.fromkeys(folder + header[len(folders[place]) :] for folder in folders[:place])
    for path, text in _own_texts(headers, job) if job.kind == "cuda" else ():
        beside = os.path.dirname(path)
        for include in includes(text):
            if include.name is not None:
                places = [beside, *folders] if include.quoted else folders
                candidates = [os.path.normpath(os.path.join(place, include.name)) for place in places]
                paths |= dict.fromkeys(each for each in candidates if include.asked or not os.path.isfile(each))
    return list(paths)


def _own_texts(headers: Sequence[str], job: Job) -> Iterator[tuple[str, bytes]]:
    """Yield absolute path and content of what a job reads of its project."""
    yield os.path.join(job.root, job.source), job.text
    for path in headers:
        if path.startswith(job.root + os.sep):
            yield path, Path(path).read_bytes()


def _is_singular(job: Job, compiled: Compiled) -> bool:
    """Return whether a compilation elsewhere, or at another time, would give something else."""
    own = _own_texts(compiled.headers or (), job)
    return any(CLOCK.search(text) for _, text in own) or holds_folder(job, compiled)


def holds_folder(job: Job, compiled: Compiled) -> bool:
    """Return whether an image holds the path of the project's folder, so that builds elsewhere give another."""
    return any(
        os.fsencode(job.root) in content for content in (compiled.cubin, compiled.ptx, compiled.ltoir) if content
    )


def place_of(path: str, job: Job) -> Place | None:
    """Return the place of a file that a job read; None where it is in none of the job's folders."""
    for number, folder in enumerate(job.include_dirs):
        if os.path.isabs(folder) and path.startswith(folder + os.sep):
            return number - len(job.include_dirs), os.path.relpath(path, folder)
    own = below(path, job.root)
    return None if own is None else (0, own)


def path_of(place: Place, job: Job) -> str:
    """Return the path that a place has for a job, which may be of another machine."""
    number, below = place
    return f"{job.root if number == 0 else job.include_dirs[number]}{os.sep}{below}"  # there are thousands


_CODE = ("cubin", "ptx", "ltoir")


def packed(compiled: Compiled, job: Job | None) -> bytes:
    """Return what a job gave, or a link, which has none, as one text of bytes."""
    document = {item.name: getattr(compiled, item.name) for item in fields(compiled)}
    code = [document[name] for name in _CODE]
    document |= {name: None if content is None else len(content) for name, content in zip(_CODE, code, strict=True)}
    for name in ("headers", "absent"):
        document[name] = [place_of(path, job) for path in document[name] or ()] if job else []
    return json.dumps(document).encode() + b"\n" + b"".join(content or b"" for content in code)


def unpacked(entry: bytes, job: Job | None) -> Compiled:
    """Return what `packed` was given, with the paths that its files have for a job, which may be of another machine."""
    head, _, body = entry.partition(b"\n")
    document = json.loads(head)
    at = 0
    for name in _CODE:
        size = document[name]
        document[name] = None if size is None else body[at : at + size]
        at += size or 0
    for name in ("headers", "absent"):
        document[name] = tuple(path_of(tuple(place), job) for place in document[name]) if job else ()
    version = document["ptx_version_compiled"]
    return Compiled(
        **document
        | {
            "ptx_version_compiled": None if version is None else tuple(version),
            "kernels": {symbol: tuple(Parameter(*each) for each in its) for symbol, its in document["kernels"].items()},
            "variables": tuple(GlobalInfo(*each) for each in document["variables"]),
            "blanked": tuple(document["blanked"]),
        }
    )
