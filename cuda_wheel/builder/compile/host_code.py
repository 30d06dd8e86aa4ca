"""Compile a job's source with its host code: a list of strategies, and one loop.

Each strategy has a name, a precondition and a function that returns its request. Each round tries the first strategy in
the list whose precondition is met and which returns a request. The loop ends if there is none, or once the job's budget
of NVRTC calls is spent.

Two strategies avoid a crash of NVRTC 12.9 and 13.0. For compute capability 10.0 and later they crash on some constants
of a lambda inside another lambda if `--relaxed_constexpr` is on; macros of many projects make such constants
(`BOOL_SWITCH`). NVRTC 13.5 does not crash. The option permits calls of `constexpr` host functions from device code and
changes nothing else, so a source with lambdas is compiled without it. If it has such calls, those of the project's
functions are marked `__host__ __device__`; if others are called, it is compiled with the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.compile.edited_source import SECONDS_FOR_ALL_ERRORS, EditedSource, read_project
from cuda_wheel.builder.compile.error_text import read_job_log
from cuda_wheel.builder.compile.needed_parts import needed_parts
from cuda_wheel.builder.compile.nvrtc_request import in_memory, nvrtc_request
from cuda_wheel.builder.compile.nvrtc_result import NvrtcOutcome
from cuda_wheel.builder.compile.precompiled_headers import precompiles
from cuda_wheel.builder.config.compiler_options import macro_options
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.ptx_text import undefined
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.rewriting.front_end import (
    COMPLEX_FUNCTIONS,
    CONSTEXPR_CALL,
    FIRST_ERROR,
    NOT_NVRTC_OPTIONS,
    PREAMBLE_OPTION,
    USED_PARTS_OPTION,
    is_about_host_code,
)
from cuda_wheel.builder.rewriting.project_texts import operator_headers, project_texts, some_project_texts
from cuda_wheel.builder.rewriting.used_parts import left_out_parts, names_in, part_options, used_headers
from cuda_wheel.builder.sources.header_dependencies import option_folders, pre_includes
from cuda_wheel.builder.sources.header_search import MISSING_HEADER, is_listed, optional_headers, unsafe_names
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, version

if TYPE_CHECKING:
    from cuda_wheel.builder.compile.nvrtc_calls import NvrtcCalls
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = ["STRATEGIES", "check_launches", "compile_with_host_code", "needs_permission"]


class _Attempts:
    """The attempts to compile one job's source: the last request, its result, and the facts that strategies depend
    on."""

    def __init__(self, job: Job, calls: NvrtcCalls) -> None:
        self.calls = calls
        self._project = read_project(job)
        """The files of the job's project. They are read when they are needed, and only once."""
        self.absent = optional_headers(job)
        """Names of missing headers, such as "Eigen/Core", that match a glob in the setting `missing-headers`. At first,
        these are headers that the project's files include. More are added when the compiler reports that they are
        missing."""
        self.unsafe: set[str] = set()
        """Names in `absent` for which the compiler must not read an empty file. The empty file would make
        `__has_include` true, or an include would read it instead of an existing header of the same name."""
        self.restart(replace(job, absent_headers=tuple(sorted(self.absent))))

    def restart(self, job: Job, relaxed_constexpr: bool | None = None) -> None:
        """Forget all attempts and start with `job`. With None, `--relaxed_constexpr` is on unless NVRTC may crash."""
        self.job = job
        self.relaxed_constexpr = not _may_crash(job) if relaxed_constexpr is None else relaxed_constexpr
        self.request: NvrtcRequest | None = None
        self.result: NvrtcResult | None = None
        self.edited: EditedSource | None = None
        """The source of the last request, with the edits that strategies have made to its text so far. None until a
        strategy needs it, and again after each strategy that does not edit the text."""
        self.with_macro: EditedSource | None = None
        """The source compiled with NVRTC's macro `__CUDACC_RTC__`, and the errors of this compilation. None until a
        strategy hides the macro."""
        self._failure: NvrtcOutcome | None = None
        self._reported: EditedSource | None = None
        """`edited` or `with_macro`: the source whose errors are in `_failure`. None if `_failure` is None or contains
        all errors of NVRTC's last result."""

    @property
    def is_new(self) -> bool:
        return self.result is None

    @property
    def has_failed(self) -> bool:
        """Whether the last result is an error that another request may overcome."""
        if self.result is None or self.job.host_code == "reject" or self.result["error"] in ("", INVALID_OPTION):
            return False
        return self.relaxed_constexpr or not _is_broken(self.result)

    @property
    def options(self) -> list[str]:
        """The last request's options."""
        return [] if self.request is None else self.request["options"]

    def add(self, strategy: Strategy, request: NvrtcRequest, result: NvrtcResult) -> None:
        """Record the request that a strategy made, with NVRTC's result for it."""
        if not strategy.changes_text:
            self.edited = None
        if not self.relaxed_constexpr:
            result = _with_missing_functions(result, self.job.source)
        self.request, self.result, self._failure, self._reported = request, result, None, None
        if strategy.changes_text and self.edited is not None:
            self.edited.add(result, request)

    def with_changes(self) -> EditedSource:
        """Return the source of the last request, for changes of its text."""
        if self.edited is None:
            assert self.request is not None and self.result is not None
            self.edited = EditedSource(self.job, self.calls, self.request, self.result, self._project)
        return self.edited

    def failure(self) -> NvrtcOutcome:
        """Return the errors to report, without notes. The last result must be an error."""
        if self._failure is None:
            assert self.request is not None and self.result is not None
            self._failure = NvrtcOutcome(self.result, self.request)
            histories = [each for each in (self.with_macro, self.edited) if each is not None]
            if histories and self.has_failed:
                self._failure = histories[0].failure()
                self._reported = histories[0]
                if len(histories) > 1:
                    other = histories[1].failure()
                    both = histories[0].errors_in_both(self._failure, other)
                    if both is None:
                        self._failure, self._reported = other, histories[1]
                    else:
                        self._failure = both
        return self._failure

    def outcome(self) -> NvrtcOutcome:
        """Return the last result with the code that was left out; after an error, the errors to report with notes."""
        assert self.request is not None and self.result is not None
        if not self.result["error"]:
            return NvrtcOutcome(self.result, self.request, self.edited.left_out if self.edited else ())
        found = self.failure()
        if self._reported is not None:
            found = self._reported.with_notes(found)
        if self.calls.is_spent and self.has_failed:
            spent = f"note: no further way to compile this source was tried after {self.calls.made} calls of NVRTC."
            found = replace(found, notes=(*found.notes, spent))
        return found


class Strategy(NamedTuple):
    """One way to compile a source with host code."""

    name: str
    applies: Callable[[_Attempts], bool]
    """Function that takes the attempts made so far, and returns whether to try the strategy next."""
    request: Callable[[_Attempts], NvrtcRequest | None]
    """Function that takes the attempts made so far, and returns the request (NVRTC call) to try next. It returns None
    if the strategy has nothing to change."""
    changes_text: bool = False
    """Whether the strategy edits the text of the source or of a project's header. False for a strategy that changes
    options, or that adds or removes headers."""
    rarely_helps: bool = False
    """Whether a source that reaches this strategy with left-out parts probably has a mistake. Then all its errors are
    asked for at once, and not first whether there is one."""


def compile_with_host_code(job: Job, calls: NvrtcCalls) -> tuple[Job, NvrtcOutcome]:
    """Compile a job's source with its host code. Return the job, with `absent_headers` set, and NVRTC's outcome."""
    attempts = _Attempts(job, calls)
    while not (calls.is_spent and attempts.result is not None and attempts.result["error"]):
        for strategy in STRATEGIES:
            request = strategy.request(attempts) if strategy.applies(attempts) else None
            if request is not None:
                break
        else:
            break
        attempts.add(strategy, request, _result(attempts, strategy, request))
        if attempts.job.host_code == "reject" and attempts.result is not None:
            _reject_host_code(attempts.job, attempts.result)
    return attempts.job, attempts.outcome()


def _result(attempts: _Attempts, strategy: Strategy, request: NvrtcRequest) -> NvrtcResult:
    """Return NVRTC's result for a request: its first error, or all errors where they are known at the same cost."""
    if strategy.rarely_helps and USED_PARTS_OPTION in attempts.options:
        whole = attempts.calls.all_errors(request, SECONDS_FOR_ALL_ERRORS)
        if whole is not None and attempts.result is not None and whole["error"] == attempts.result["error"]:
            return whole
    return attempts.calls.compile(request, *(() if attempts.job.host_code == "reject" else FIRST_ERROR))


def _first_request(attempts: _Attempts) -> NvrtcRequest:
    request = nvrtc_request(attempts.job, attempts.relaxed_constexpr)
    return _used_parts_request(attempts.job, request) or request


def _with_preamble(attempts: _Attempts) -> NvrtcRequest | None:
    """Return the last request, for the unchanged source, with the host-code preamble and with the parts of it and of
    PyTorch's stand-ins that the errors may need. The preamble declares what nvcc declares: the CUDA runtime API and
    parts of the C library. Return None if the errors need nothing more."""
    request = attempts.edited.request if attempts.edited is not None else attempts.request
    assert request is not None and attempts.result is not None
    options, headers = request["options"], in_memory(attempts.job, operator_headers())
    if PREAMBLE_OPTION not in options:
        all_parts: NvrtcRequest = {**request, "options": [*options, PREAMBLE_OPTION], "headers": headers}
        return _used_parts_request(attempts.job, all_parts) or all_parts
    result = attempts.result
    if attempts.edited is None and left_out_parts(options):
        whole = attempts.calls.all_errors(request, SECONDS_FOR_ALL_ERRORS)
        if whole is not None and whole["error"] == result["error"]:  # else only the first error is reported
            result = whole
    needed = needed_parts(attempts.job, options, result["log"])
    if not needed:
        return None
    options = [option for option in options if option not in needed]
    if not left_out_parts(options):
        options.remove(USED_PARTS_OPTION)
    return {**request, "options": options, "headers": headers}


def _with_complex_functions(attempts: _Attempts) -> NvrtcRequest | None:
    macro = f"--define-macro={COMPLEX_FUNCTIONS}"
    if attempts.request is None or macro in attempts.options:
        return None
    return {**attempts.request, "options": [*attempts.options, macro]}


def _without_nvrtcs_macro(attempts: _Attempts) -> NvrtcRequest | None:
    if not attempts.with_changes().may_be_hidden:
        return None
    attempts.with_macro = attempts.with_changes()
    request = attempts.with_macro.request
    return {**request, "options": [*NOT_NVRTC_OPTIONS, *request["options"]]}


def _with_permission(attempts: _Attempts) -> NvrtcRequest | None:
    if not needs_permission(attempts.failure().result):
        return None
    attempts.restart(attempts.job, relaxed_constexpr=True)
    return _first_request(attempts)


def _with_empty_headers(attempts: _Attempts) -> NvrtcRequest | None:
    """Restart `attempts` with other `absent_headers` (missing headers that the compiler reads as empty files). Return
    the first request of the changed job; None if `absent_headers` stays the same.

    After an error, add headers that the error message names and the setting `missing-headers` lists. After success,
    remove headers for which an empty file is unsafe; see `_Attempts.unsafe`.
    """
    assert attempts.result is not None
    job, headers = attempts.job, attempts.result["headers"] or ()
    if attempts.result["error"]:
        # Headers that a macro or a library header includes are found only in this way.
        named = MISSING_HEADER.findall(attempts.failure().result["log"])
        new = {name for name in named if is_listed(name, job.missing_headers)} - attempts.absent
        new -= unsafe_names(job, headers, new)
        attempts.absent |= new
    else:
        new = unsafe_names(job, headers, job.absent_headers)
        attempts.unsafe |= new
    if not new:
        return None
    attempts.restart(replace(job, absent_headers=tuple(sorted(attempts.absent - attempts.unsafe))))
    return _first_request(attempts)


STRATEGIES = (
    Strategy(
        "used parts: the preamble and the stand-ins without parts that the source cannot name, or the source as it is",
        lambda attempts: attempts.is_new,
        _first_request,
    ),
    Strategy(
        "complex functions: the first error names them",
        lambda attempts: attempts.has_failed and attempts.edited is None and _lacks_complex_functions(attempts.result),
        _with_complex_functions,
    ),
    Strategy(
        "preamble: it, or all parts that the errors may need",
        lambda attempts: (
            attempts.has_failed and (USED_PARTS_OPTION in attempts.options or PREAMBLE_OPTION not in attempts.options)
        ),
        _with_preamble,
        rarely_helps=True,
    ),
    Strategy(
        "complex functions: a later error names them",
        lambda attempts: attempts.has_failed and _lacks_complex_functions(attempts.with_changes().first),
        _with_complex_functions,
    ),
    Strategy(
        "rewriting: what only nvcc reads is written in another way",
        lambda attempts: attempts.has_failed,
        lambda attempts: attempts.with_changes().rewritten(),
        changes_text=True,
    ),
    Strategy(
        "leaving out: bodies of host functions that no kernel depends on",
        lambda attempts: attempts.has_failed and attempts.job.host_code == "leave-out",
        lambda attempts: attempts.with_changes().without_bodies(),
        changes_text=True,
    ),
    Strategy(
        "without __CUDACC_RTC__: the project's headers may ask for it and leave out host code",
        lambda attempts: attempts.has_failed and NOT_NVRTC_OPTIONS[1] not in attempts.options,
        _without_nvrtcs_macro,
    ),
    Strategy(
        "relaxed constexpr: device code calls constexpr functions of the host",
        lambda attempts: (
            not attempts.relaxed_constexpr and attempts.result is not None and attempts.result["error"] != ""
        ),
        _with_permission,
    ),
    Strategy(
        "missing headers: those that missing-headers lists are empty",
        lambda attempts: attempts.result is not None and bool(attempts.job.missing_headers),
        _with_empty_headers,
    ),
)
"""Ways to make NVRTC, which compiles only device code, accept a source that also has host code.

After each NVRTC call, the first strategy that applies and has a request makes the next call. If none does, the last
result counts.
"""


def _lacks_complex_functions(result: NvrtcResult | None) -> bool:
    return result is not None and result["error"] != "" and COMPLEX_FUNCTIONS in result["log"]


def _used_parts_request(job: Job, request: NvrtcRequest) -> NvrtcRequest | None:
    """Return the request with only the used parts of cuda-wheel's own headers: parts that declare a name in the
    project's texts. These headers are the host-code preamble (text put before the source) and the stand-ins for
    library headers.

    Return None if the request has no preamble, if precompiling the whole headers saves more time, or if the names that
    the project uses are not all known.
    """
    options = request["options"]
    if PREAMBLE_OPTION not in options or precompiles(request):
        return None
    texts = project_texts(job.text, job.source, job.root, (*option_folders(job.options), *job.include_dirs))
    if texts is None or pre_includes(job.options):
        return None
    # What an option defines is a name of the project; its value may be a name of a part.
    values = [option.value for option in macro_options(job.options) if option.value is not None]
    names = names_in([*texts, *map(str.encode, (*values, *job.instantiate))])
    # A macro may form names with `##`, for example.
    if names is None:
        return None
    is_relocatable = job.form != "whole" or any("rdc" in each for each in job.options)
    options = [*options, USED_PARTS_OPTION, *part_options(names, is_relocatable)]
    return {**request, "options": options, "headers": in_memory(job, used_headers(names))}


def _reject_host_code(job: Job, result: NvrtcResult) -> None:
    """Raise CompileError if the log of NVRTC's result has warnings about host code in the project's files. The error
    message has an error "this is host code" for each of these warnings."""
    found = [each for each in read_job_log(job, result["log"]).diagnostics if is_about_host_code(each.message)]
    if found:
        reason = 'this is host code (host-code = "reject")'
        raise CompileError(
            "\n\n".join(str(each._replace(severity="error", message=reason, number="")) for each in found)
        )


_LAUNCHED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}]*>\s*)?<<<")
"""Matches the start of a kernel launch: a function name, which is group 1, and `<<<`."""


def check_launches(job: Job, compiled: Compiled) -> None:
    """Raise CompileError if a job's source launches a function without `__global__`: an error of nvcc, but not of
    NVRTC."""
    names = set(_LAUNCHED.findall(job.text)) if job.host_code != "reject" and job.form == "whole" else set()
    symbols = b" ".join(symbol.encode() for symbol in compiled.kernels)
    if any(name not in symbols for name in names):
        from cuda_wheel.builder.rewriting.editing import unmarked_kernels  # start-up time: 8 ms, and few jobs need it

        errors = unmarked_kernels(read_project(job))
        if errors:
            raise CompileError("\n".join(errors))


_FIRST_CAPABILITY = 100
"""Lowest compute capability, times 10, for which NVRTC may crash on a lambda if the option `--relaxed_constexpr` is
on."""

_MENDED = (13, 5)
"""First NVRTC release, as (major, minor), in which `--relaxed_constexpr` does not cause crashes on lambdas."""

_BROKEN = "Broken module found"
"""Error message of NVRTC 13.0 for some sources in which device code calls `constexpr` host functions, such as sources
that use GLM."""

_LAMBDA = re.compile(rb"\[\s*[&=]")
"""Matches the beginning of a lambda that captures variables: `[&` or `[=`."""


def _may_crash(job: Job) -> bool:
    """Return whether NVRTC may crash on a job's host code with the option `--relaxed_constexpr`.

    True if the project's texts contain a lambda that captures variables (`[&` or `[=`), the architecture is 10.0 or
    later, and NVRTC is older than 13.5. Always False with `host-code = "reject"`, and for code to be linked.
    """
    architecture = re.match(r"\d+", job.arch)
    if job.kind != "cuda" or job.form != "whole" or job.host_code == "reject" or architecture is None:
        return False
    if int(architecture[0]) < _FIRST_CAPABILITY or version(job.library) >= _MENDED:
        return False
    if _LAMBDA.search(job.text):  # before the headers, which would be read
        return True
    folders = (*option_folders(job.options), *job.include_dirs)
    return any(map(_LAMBDA.search, some_project_texts(job.text, job.source, job.root, folders)))


def _with_missing_functions(result: NvrtcResult, source: str) -> NvrtcResult:
    """Return `result`, the result of a compilation without `--relaxed_constexpr`. If device code calls `constexpr` host
    functions, return an error that names each such function instead. `source` is the source's path for the error
    message."""
    if result["error"] or not result["ptx"]:
        return result
    # Usually NVRTC 12.9 and 13.0 declare such a function in the PTX, do not define it, and report no error.
    symbols = [each for each in undefined(result["ptx"].decode()) if not each.startswith("__nv_")]
    if not symbols:
        return result
    lines = [f'{source}(1): error: {CONSTEXPR_CALL}("{signature(symbol).name}")\n\n' for symbol in symbols]
    return {**result, "error": "NVRTC_ERROR_COMPILATION", "log": "".join(lines) + result["log"]}


def needs_permission(result: NvrtcResult) -> bool:
    """Return whether the result of a compilation without `--relaxed_constexpr` shows that the source may need it."""
    return result["error"] != "" and (CONSTEXPR_CALL in result["log"] or _is_broken(result))


def _is_broken(result: NvrtcResult) -> bool:
    """Return whether NVRTC failed with "Broken module found". After this error, leaving out host code does not help.
    With `--relaxed_constexpr`, the source compiles, or NVRTC reports its real errors."""
    return result["error"] != "" and _BROKEN in result["log"]
