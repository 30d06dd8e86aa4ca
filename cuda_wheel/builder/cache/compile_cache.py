"""Cache the results of jobs, links and modules across builds, folders and environments, by the content of inputs.

For each kind of result one function computes the key, from everything that the result depends on. A compiler is
identified by its exact build, since two patches of one release compile differently. The files that a job reads are not
in the key: `DependencyCache` adds their content.

In a large build workers write most entries: creating files takes long, and the build's own process has no time for it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cache as cache_calls
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from cuda_wheel import __version__
from cuda_wheel.builder.cache.files import DependencyCache, FileHashes, KeptFiles, Recorded, unchanged_since
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import AbsentHeader, BuiltModule, Compiled, Declared, Job, LeftOutCode, LinkJob
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.plan import ModulePlan, Plan
from cuda_wheel.builder.schedule import Durations
from cuda_wheel.builder.sources.header_dependencies import option_folders
from cuda_wheel.builder.sources.header_search import finds_the_same, searched_paths
from cuda_wheel.builder.sources.paths import below
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.headers import device_library_builds
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import GlobalInfo, Parameter
from cuda_wheel.runtime.parts.dtypes import Field, Struct
from cuda_wheel.runtime.parts.user_cache import Cache, cache_limit

__all__ = [
    "OUTSIDE",
    "CompileCache",
    "Place",
    "PostponedEntries",
    "contains_project_path",
    "folders_key",
    "job_key",
    "link_key",
    "module_key",
    "pack",
    "path_of",
    "place_of",
    "unpack",
    "write_and_call",
]


# --- names of files, independent of where they are installed ------------------------------------------

# The same wherever the project and the toolchain are installed: an isolated build installs the toolchain in a new
# folder each time.
Place = tuple[int, str]
"""Location of a file: (index of a folder, path in the folder).

0: the project's folder: (0, "src/k.cuh"). -1: the last folder of `Job.include_dirs`; -2: the one before it.
OUTSIDE: elsewhere. The path is relative to the project's folder. But it is absolute if the file is on another drive,
or below an absolute folder in an option, such as -I/opt/x.
"""

OUTSIDE = 1
"""Index in a `Place` of a file that is neither in an include folder nor in the project."""


def contains_project_path(job: Job, compiled: Compiled) -> bool:
    """Return whether an image of a job's result contains the absolute path of the project's folder.

    Then a build of the same project in another folder has another result.
    """
    root = os.fsencode(job.root)
    return any(root in content for content in (compiled.cubin, compiled.ptx, compiled.ltoir) if content)


def place_of(path: str, job: Job) -> Place:
    """Return the `Place` of the file with the absolute path `path`, which a job read or looked for."""
    return _places(job.root, job.include_dirs, job.options)(path)


@lru_cache(maxsize=64)
def _places(root: str, include_dirs: tuple[str, ...], options: tuple[str, ...]) -> Callable[[str], Place]:
    """Return `place_of` for jobs with these fields. It computes each place once: the jobs for all targets ask for the
    same thousands of paths."""
    # From the end, because the first folder is among the toolchain's once more.
    numbers = {folder: -1 - include_dirs[::-1].index(folder) for folder in include_dirs if os.path.isabs(folder)}
    named = [os.path.normpath(folder) + os.sep for folder in option_folders(options) if os.path.isabs(folder)]

    @cache_calls
    def place(path: str) -> Place:
        for folder, number in numbers.items():
            if path.startswith(folder + os.sep):
                return number, os.path.relpath(path, folder)
        own = below(path, root)
        if own is not None:
            return 0, own
        if path.startswith(tuple(named)):
            # Absolute, as in the option, such as -I/opt/x.
            return OUTSIDE, path
        is_near = os.path.splitdrive(path)[0] == os.path.splitdrive(root)[0]
        return OUTSIDE, os.path.relpath(path, root) if is_near else path

    return place


def path_of(place: Place, job: Job) -> str:
    """Return the absolute path that a `Place` has with the project and include folders of `job`.

    The place may come from the same job on another machine, or in another environment.
    """
    number, below = place
    if number == OUTSIDE:
        return os.path.normpath(os.path.join(job.root, below))
    return f"{job.root if number == 0 else job.include_dirs[number]}{os.sep}{below}"  # not os.path.join: thousands


# --- results as bytes -----------------------------------------------------------------------------------

_IMAGES = ("cubin", "ptx", "ltoir")


def pack(compiled: Compiled, job: Job | None) -> bytes:
    """Return the result of a job, or of a link if `job` is None, as bytes: a line of JSON, then the images."""
    document = {item.name: getattr(compiled, item.name) for item in fields(compiled)}
    images = [document[name] for name in _IMAGES]
    document |= {name: None if image is None else len(image) for name, image in zip(_IMAGES, images, strict=True)}
    document["headers"] = [place_of(path, job) for path in compiled.headers or ()] if job else []
    return json.dumps(document).encode() + b"\n" + b"".join(image or b"" for image in images)


def unpack(entry: bytes, job: Job | None) -> Compiled:
    """Return the result that `pack` wrote as `entry`.

    `job` is None for a link. Paths of headers become those of this `job`, which may have other folders than the job
    that was packed, such as those of another machine.
    """
    head, _, body = entry.partition(b"\n")
    document = json.loads(head)
    at = 0
    for name in _IMAGES:
        size = document[name]
        document[name] = None if size is None else body[at : at + size]
        at += size or 0
    document["headers"] = tuple(path_of(tuple(place), job) for place in document["headers"]) if job else ()
    version = document["ptx_version_compiled"]
    kernels = document["kernels"].items()
    return Compiled(
        **document
        | {
            "ptx_version_compiled": None if version is None else tuple(version),
            "kernels": {symbol: tuple(Parameter(*each) for each in parameters) for symbol, parameters in kernels},
            "parameters": {
                symbol: tuple(Declared(name, type_, _struct(struct)) for name, type_, struct in parameters)
                for symbol, parameters in document["parameters"].items()
            },
            "variables": tuple(GlobalInfo(*each) for each in document["variables"]),
            "left_out": tuple(LeftOutCode(*each) for each in document["left_out"]),
            "absent_headers": tuple(AbsentHeader(*each) for each in document["absent_headers"]),
            "declared": tuple(document["declared"]),
            "python": tuple(tuple(each) for each in document["python"]),
            "hosts": tuple((host, size) for host, size in document["hosts"]),
            "assembler": document["assembler"] and tuple(document["assembler"]),
        }
    )


def _struct(item: list[Any] | None) -> Struct | None:
    """Return the struct that a JSON array describes: [name, size in bytes, fields]. Each field is [name, type, byte
    offset, shape, struct], like `Field`. Return None if `item` is None."""
    if item is None:
        return None
    name, size, items = item
    found = (Field(field, type_, at, tuple(shape), _struct(struct)) for field, type_, at, shape, struct in items)
    return Struct(name, size, tuple(found))


FORMAT = "jobs 20"
"""Version of the layout of this file's cache entries (for jobs, links, modules and include folders). It is part of each
entry's cache key."""

_LOCATIONS = ("library", "libdevice", "tileiras_program", "root")
"""Fields of `Job` that are not part of its cache key: the paths of compilers, of libdevice and of the project, which do
not affect the result."""


_PER_IMAGE: dict[str, Any] = {"arch": "", "cubin": False, "ptx": False, "form": "whole", "describes": False}
"""Field of `Job` that may differ between the targets of one source -> neutral value. With the neutral values in these
fields, two jobs are equal if they compile the same source in the same way."""

_WITHOUT_TEXT: dict[str, Any] = {**_PER_IMAGE, "text": b""}

# The content of `inputs` is added to the key separately. The paths of the folders do not affect the result.
_WITHOUT_CONTENT: dict[str, Any] = {"inputs": (), "include_dirs": (), "system_dirs": ()}
"""Field of `LinkJob` -> neutral value. `link_key` sets each of these fields to its neutral value before it makes the
cache key."""


def job_key(job: Job, toolchain: Toolchain, names_arch_list: bool = False) -> str:
    """Return the cache key of a job, which does not depend on the content of the headers that the job reads.

    With `names_arch_list`, the key depends on `Job.arch_list`. Only a job that reads `__CUDA_ARCH_LIST__` needs this:
    the results of others do not depend on the other targets of the module.

    The key depends on nvJitLink's release, because nvJitLink proves that a lower PTX version gives the same code. It
    depends on the project's include folders and their order, but not on the paths of the toolchain's folders:
    `DependencyCache` records the files that are read from these.
    """
    parts = {item.name: repr(getattr(job, item.name)) for item in fields(job) if item.name not in _LOCATIONS}
    if not names_arch_list:
        del parts["arch_list"]
    parts["system_dirs"] = repr(len(job.system_dirs))
    parts["include_dirs"] = repr([folder for folder in job.include_dirs if not os.path.isabs(folder)])
    return _key(toolchain, *(f"{name}={parts[name]}" for name in sorted(parts)))


def folders_key(job: Job, toolchain: Toolchain) -> str:
    """Return the cache key of an entry with the project's include folders in earlier builds of a job's source."""
    return Cache.key("include folders", job_key(replace(job, **_PER_IMAGE, include_dirs=()), toolchain))


def link_key(job: LinkJob, toolchain: Toolchain) -> str:
    """Return the cache key of a link. A link reads nothing but its inputs, whose content is part of the key."""
    inputs = [(each.source, each.kind, sha256(each.content).hexdigest(), each.declared) for each in job.inputs]
    return _key(toolchain, repr(replace(job, **_WITHOUT_CONTENT)), json.dumps(inputs))


def module_key(plan: Plan, module: ModulePlan, key_of: Callable[[Job], str]) -> str:
    """Return the cache key of a built module, which does not depend on the content of the headers that its jobs read.

    `key_of` returns the key of a job. The key depends on the releases of the toolchain's headers, because the manifest
    names them, also if no job reads one of these headers.
    """
    # The sources' texts are in `module.module`.
    alike = {job: replace(job, **_WITHOUT_TEXT) for job in module.jobs}
    number = {job: index for index, job in enumerate(dict.fromkeys(alike.values()))}
    jobs = [(number[alike[job]], [getattr(job, name) for name in _PER_IMAGE]) for job in module.jobs]
    links = [(str(link.target), link.lto, link.options, len(link.inputs)) for link in module.links]
    return _key(
        plan.toolchain,
        repr((plan.compression(module), plan.ptx_version)),
        repr([(each.name, each.release) for each in plan.toolchain.headers]),
        repr((module.module, module.targets, module.options, jobs, links, len(module.relocatable))),
        device_library_builds(plan.toolchain.include_dirs) if links else "",
        *map(key_of, number),
    )


def _key(toolchain: Toolchain, *parts: str) -> str:
    compilers = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin, toolchain.builds)
    return Cache.key(FORMAT, __version__, repr(compilers), *parts)


class PostponedEntries(NamedTuple):
    """Cache entries (key, bytes of the file) that are still to be written, and the folder of their cache."""

    folder: str
    entries: Sequence[tuple[str, bytes]]


def write_and_call(request: tuple[PostponedEntries, Callable[[Any], Any], Any]) -> Any:
    """Write the entries in `request[0]`, and return `request[1](request[2])`. Runs in workers only."""
    postponed, function, argument = request
    with phase("caching"):
        Cache(postponed.folder).write_postponed(postponed.entries)
    return function(argument)


Places = Sequence[Place]

_KEPT_FOLDERS = 4
"""Maximum number of lists of include folders that the cache keeps for one source. Each list has the project's include
folders in one earlier build. The lists are tried if no result is cached for the present include folders."""


class CompileCache:
    """The results of jobs, links and modules in the user's cache.

    Create it before the jobs begin: a result is not cached if a file that it depends on changes afterwards. `toolchain`
    runs the jobs. Raises ConfigError if the environment variable for the size of the cache is invalid.
    """

    def __init__(self, cache: Cache, toolchain: Toolchain) -> None:
        try:
            cache_limit()
        except CudaWheelError as error:
            raise ConfigError(str(error)) from None
        self.durations = Durations(cache)
        self._cache = cache
        self._results: DependencyCache[Places] = DependencyCache(cache, _parse_places)
        self._toolchain = toolchain
        self._job_request = cache_calls(lambda job: job_key(job, toolchain))
        self._listed_request = cache_calls(lambda job: job_key(job, toolchain, names_arch_list=True))
        self._folders_request = cache_calls(lambda job: folders_key(job, toolchain))
        self._module_requests: dict[str, tuple[ModulePlan, str, str, str]] = {}
        """Full module name -> (plan of the module, compression, PTX version, cache key computed from these)."""
        self._hashes = FileHashes(cache)  # one for all jobs, which share hundreds of headers
        self._deciding: dict[tuple[Job, tuple[str, ...]], tuple[list[Place] | None, list[str]]] = {}
        """(job without its target, headers that it read) -> result of `_deciding_places`, and the absolute paths of
        those places at which there may be a file."""
        self._known: dict[Job, Places] = {}
        """Job -> places of the files that its result depends on. Only jobs whose result is in the cache are
        included."""
        self._inputs: dict[str, tuple[Places, ModulePlan]] = {}
        """Full module name -> (places of the files that the module depends on, plan of the module). Only modules that
        this object read from the cache or stored in it are included."""
        self._files = KeptFiles(cache)
        self._lists: dict[Places, Places] = {}
        """Tuple of places -> the first equal tuple that was seen. Many jobs depend on the same places; with this
        mapping, they share one tuple in memory."""
        self._folders: dict[str, list[list[str]]] = {}
        """Cache key from `folders_key` -> the lists of include folders that this object stored under the key, newest
        first. Each list has the project's include folders in one build."""
        self._began = time.time_ns()

    def postpone(self) -> None:
        """From now until `save`, collect small entries in memory instead of writing them; see `postponed`."""
        self._cache.postponed = []

    def postponed(self) -> PostponedEntries:
        """Return the entries collected so far, and collect from zero again. Any process may write the returned ones."""
        entries = self._cache.postponed or []
        if entries:
            self._cache.postponed = []
        return PostponedEntries(self._cache.folder, entries)

    def save(self) -> None:
        """Write the collected entries, the durations of jobs and links, and the hashes of headers; stop collecting."""
        postponed, self._cache.postponed = self._cache.postponed, None
        self._cache.write_postponed(postponed or ())
        self.durations.save()
        self._hashes.save()

    # --- jobs ---------------------------------------------------------------------------------------

    def load_job(self, job: Job) -> Compiled | None:
        """Return the cached result of a job if all files that it depends on are unchanged; else None."""
        key = self.find_job(job)
        return None if key is None else self.read_job(key, job)

    def find_job(self, job: Job) -> str | None:
        """Return the key of the cache entry with a job's result; None if there is no such entry.

        The entry may be damaged: only `read_job` shows that.
        """
        return self._find(job) or self._find_with_other_folders(job)

    def _find(self, job: Job) -> str | None:
        for request in (self._job_request(job), self._listed_request(job)):
            for recorded in self._results.recorded(request, lambda places: self._state(places, job)):
                if self._results.has(recorded):
                    self._remember(job, recorded.files)
                    return recorded.result_key()
        return None

    def _find_with_other_folders(self, job: Job) -> str | None:
        """Return the cache key of a result that an earlier build stored for `job` with other include folders in the
        project.

        Return None if there is no such result, or if the job would read other files with its present include folders.
        """
        absolute = [folder for folder in job.include_dirs if os.path.isabs(folder)]
        lists = self._cache.found(self._folders_request(job), _parse_folders)
        for folders in (folders for each in lists for folders in each):
            other = replace(job, include_dirs=(*folders, *absolute))
            key = None if other.include_dirs == job.include_dirs else self._find(other)
            result = self.read_job(key, other) if key else None
            if result is None or not finds_the_same(job, other, result.headers or ()):
                continue
            places = self._deciding_places(job, result)
            if places is not None:
                self._remember(job, places)
                return key
        return None

    def read_job(self, key: str, job: Job) -> Compiled | None:
        """Return the job's result from the entry that `find_job` found; None if it is damaged or has been removed."""
        return self._cache.read(key, lambda entry: unpack(entry, job))

    def store_job(self, job: Job, compiled: Compiled) -> bool:
        """Cache a job's result unless another run might have another result; return whether it was cached."""
        self._known.pop(job, None)  # `find_job` may have found a damaged entry; its list of files may be outdated
        places = self._deciding_places(job, compiled)
        if places is None:
            return False
        request = self._listed_request(job) if compiled.names_arch_list else self._job_request(job)
        self._results.put(Recorded(request, places, self._state(places, job)), pack(compiled, job))
        self._remember(job, places)
        self._store_folders(job)
        return True

    def _store_folders(self, job: Job) -> None:
        """Store the job's include folders in the project as one list. It becomes the first of the lists that the cache
        keeps for the job's source; see `_KEPT_FOLDERS`."""
        folders = [folder for folder in job.include_dirs if not os.path.isabs(folder)]
        key = self._folders_request(job)
        stored = self._folders.get(key)
        if stored is None or stored[0] != folders:
            known = (self._cache.read(key, _parse_folders) or []) if stored is None else stored
            earlier = [each for each in known if each != folders]
            self._folders[key] = [folders, *earlier[: _KEPT_FOLDERS - 1]]
            self._cache.put(key, json.dumps(self._folders[key]).encode())

    def has_all(self, jobs: Iterable[Job]) -> bool:
        """Return whether the results of all jobs are cached. Only then may links and modules made from them be
        cached."""
        return all(job in self._known for job in jobs)

    def _deciding_places(self, job: Job, compiled: Compiled) -> list[Place] | None:
        """Return the places of all files that a job's result depends on. Return None if the result must not be cached.

        These are the places of the headers that the compiler read, and places where a new or removed file would change
        what the compiler reads.
        """
        if compiled.headers is None or not unchanged_since(self._began, compiled.headers):
            return None
        if compiled.uses_build_time or contains_project_path(job, compiled):
            return None
        same = replace(job, arch="", cubin=True, ptx=True), tuple(compiled.headers)
        if same not in self._deciding:
            places = _deciding_places(job, compiled.headers)
            paths = [path_of(place, job) for place in places or ()]
            # Most of the thousands of places are in folders that do not exist.
            self._deciding[same] = places, [path for path in paths if self._hashes.has_folder(path)]
        places, paths = self._deciding[same]
        return places if unchanged_since(self._began, filter(os.path.isfile, paths)) else None

    def _remember(self, job: Job, places: Places) -> None:
        self._known[job] = self._lists.setdefault(tuple(places), tuple(places))

    def _state(self, places: Places, job: Job) -> list[str | None]:
        """Return the SHA-256 of the file at each of the `places` in the folders of `job`.

        An item is None if the file does not exist, or if `job` has no include folder with the place's index.
        """
        return [
            self._hashes.of(path_of(place, job)) if -place[0] <= len(job.include_dirs) else None for place in places
        ]

    # --- links --------------------------------------------------------------------------------------

    def load_link(self, job: LinkJob) -> Compiled | None:
        """Return the cached result of a link; None if there is none."""
        return self._cache.read(link_key(job, self._toolchain), lambda entry: unpack(entry, None))

    def store_link(self, job: LinkJob, compiled: Compiled) -> None:
        """Cache the result of a link."""
        self._cache.put(link_key(job, self._toolchain), pack(compiled, None))

    # --- modules: one entry to read for each module, instead of one for each of its jobs ---------------

    def load_module(self, plan: Plan, module: ModulePlan) -> tuple[BuiltModule, list[str]] | None:
        """Return a built module and its warnings from the cache.

        Return None if the cache has no such module, or if a file that it depends on has changed.
        """
        request = self._module_request(plan, module)
        for recorded in self._results.recorded(request, lambda places: self._module_state(places, module)):
            built = self._results.read(recorded, lambda entry: _unpack_module(entry, module, self._files))
            if built is not None:
                self._inputs[module.module.full_name] = recorded.files, module
                return built
        return None

    def store_module(self, plan: Plan, module: ModulePlan, built: BuiltModule, warnings: Sequence[str]) -> None:
        """Cache a built module and its warnings, if the results of all its jobs are cached."""
        if not self.has_all(module.jobs) or len({job.include_dirs for job in module.jobs}) > 1:
            return
        places: Places = sorted({place for job in module.jobs for place in self._known[job]})
        recorded = Recorded(self._module_request(plan, module), places, self._module_state(places, module))
        self._results.put(recorded, _pack_module(module, built, warnings, self._files))
        self._inputs[module.module.full_name] = places, module

    def _module_request(self, plan: Plan, module: ModulePlan) -> str:
        name, facts = module.module.full_name, (plan.compress, plan.ptx_version)
        known = self._module_requests.get(name)
        if known is None or known[0] is not module or known[1:3] != facts:
            known = self._module_requests[name] = (module, *facts, module_key(plan, module, self._job_request))
        return known[3]

    def inputs(self, modules: Iterable[ModulePlan]) -> dict[Place, str | None] | None:
        """Return place -> SHA-256 of each file that the modules depend on; None if one of the modules is not cached.

        The SHA-256 is None for a file that would affect the result if it existed.
        """
        found: dict[Place, str | None] = {}
        for module in modules:
            if module.module.full_name not in self._inputs:
                return None
            places, planned = self._inputs[module.module.full_name]
            new = [place for place in places if place not in found]
            found |= zip(new, self._module_state(new, planned), strict=True)
        return found

    def _module_state(self, places: Places, module: ModulePlan) -> list[str | None]:
        return self._state(places, module.jobs[0]) if module.jobs else []  # without jobs no file is read


def _deciding_places(job: Job, headers: Sequence[str]) -> list[Place] | None:
    """Return the places of the files that a job reads and of those that would change what it reads; None if they are
    unknown, or differ between machines. `headers` are the absolute paths of the headers that it read."""
    read = [place_of(path, job) for path in headers]
    if any(number == OUTSIDE for number, _ in read):  # such a header may differ on another machine
        return None
    searched = searched_paths(job, headers)
    return None if searched is None else sorted({*read, *(place_of(path, job) for path in searched)})


def _parse_places(listed: Any) -> list[Place]:
    return [(min(number, OUTSIDE), str(path)) for number, path in listed]


def _parse_folders(entry: bytes) -> list[list[str]]:
    return [list(map(str, folders)) for folders in json.loads(entry)]


def _pack_module(module: ModulePlan, built: BuiltModule, warnings: Sequence[str], files: KeptFiles) -> bytes:
    """Return a cache entry, as bytes, for a built module and the warnings of its build. Add the contents of its
    manifest and its fatbin to `files`; the entry has only their SHA-256."""
    document = {
        "manifest": files.put(built.text),
        "fatbin": files.put(built.fatbin),
        "warnings": list(warnings),
        "headers": [place_of(path, module.jobs[0]) for path in built.headers or ()],
    }
    return json.dumps(document).encode()


def _unpack_module(entry: bytes, module: ModulePlan, files: KeptFiles) -> tuple[BuiltModule, list[str]] | None:
    document = json.loads(entry)
    text, fatbin = files.read(document["manifest"]), files.read(document["fatbin"])
    if text is None or fatbin is None:
        return None
    headers = tuple(path_of((number, path), module.jobs[0]) for number, path in document["headers"])
    (manifest,) = all_manifests(text, f"the manifest of {module.module.name}")
    return BuiltModule((manifest,), text, fatbin, headers), document["warnings"]
