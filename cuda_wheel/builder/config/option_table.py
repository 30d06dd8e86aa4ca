"""The table of compiler options in `options`: those of NVRTC, and those of nvcc that people paste.

Sources: NVRTC, "Supported Compile Options"; nvcc, "NVCC Command Options"; and trials with NVRTC 12.9 and 13.5.
"""

from __future__ import annotations

__all__ = [
    "FRONT_END",
    "GNU_STANDARD",
    "HOST",
    "HOST_MACROS",
    "HOST_REFUSED",
    "IGNORED",
    "IGNORED_PATTERNS",
    "IGNORED_WITH_VALUE",
    "PROCESSOR",
    "PROCESSOR_OPTION",
    "PTXAS_IGNORED",
    "PTXAS_REFUSED",
    "REFUSED",
    "RELOCATABLE",
    "TARGETS",
    "TRANSLATED",
    "VALUE",
]

VALUE = (
    "D",
    "U",
    "I",
    "define-macro",
    "undefine-macro",
    "include-path",
    "pre-include",
    "include",
    "maxrregcount",
    "ftz",
    "fmad",
    "prec-div",
    "prec-sqrt",
    "dopt",
    "diag-suppress",
    "diag-error",
    "diag-warn",
    "jump-table-density",
    "jtd",
    "Ofc",
    "Ofast-compile",
)
"""NVRTC's options whose value may be the next option. What is not listed anywhere goes to NVRTC as it is."""

HOST = "for the host compiler; a wheel has device code only"
PROCESSOR = (
    "for the host compiler; the macros of the processor that it names, such as __AVX2__, stay undefined: define those "
    "that the sources ask for"
)
PROCESSOR_OPTION = r"-march=.+|-m(no-)?(avx|sse|amx|bmi|aes|sha|fma|lzcnt|adx|rdrnd|pclmul).*"
_WARNINGS = "for warnings of nvcc or of the host compiler; NVRTC has --diag-suppress"
_LINKER = "for the linker of host code; a wheel has device code only"
_RUN = "for one run of nvcc; cuda-wheel calls no nvcc"
_PARALLEL = (
    "only makes compiling faster, and some compilers then generate other machine code each time; cuda-wheel runs "
    "compile jobs in parallel"
)

_FAST = (
    *("-D__FAST_MATH__=1", "-U__FINITE_MATH_ONLY__", "-D__FINITE_MATH_ONLY__=1", "-D__ASSOCIATIVE_MATH__=1"),
    *("-D__NO_MATH_ERRNO__=1", "-D__NO_SIGNED_ZEROS__=1", "-D__NO_TRAPPING_MATH__=1", "-D__RECIPROCAL_MATH__=1"),
    *("-U__STDC_IEC_559__", "-U__STDC_IEC_559_COMPLEX__", "-U__STDC_IEC_60559_BFP__", "-U__STDC_IEC_60559_COMPLEX__"),
)
_SSE3 = ("-D__SSE3__=1",)
_SSSE3 = (*_SSE3, "-D__SSSE3__=1")
_SSE4_1 = (*_SSSE3, "-D__SSE4_1__=1")
_SSE4_2 = (*_SSE4_1, "-D__SSE4_2__=1", "-D__CRC32__=1", "-D__POPCNT__=1")
_AVX = (*_SSE4_2, "-D__AVX__=1", "-D__XSAVE__=1", "-U__BIGGEST_ALIGNMENT__", "-D__BIGGEST_ALIGNMENT__=32")

HOST_MACROS: dict[str, tuple[str, ...]] = {
    "-ffast-math|-Ofast": _FAST,
    "-ffinite-math-only": ("-U__FINITE_MATH_ONLY__", "-D__FINITE_MATH_ONLY__=1"),
    "-fno-math-errno": ("-D__NO_MATH_ERRNO__=1",),
    "-fno-signed-zeros": ("-D__NO_SIGNED_ZEROS__=1",),
    "-fno-trapping-math": ("-D__NO_TRAPPING_MATH__=1",),
    "-freciprocal-math": ("-D__RECIPROCAL_MATH__=1",),
    "-fopenmp": ("-D_OPENMP=201511", "-D_REENTRANT=1"),
    "-pthreads?": ("-D_REENTRANT=1",),
    "-funsigned-char|-fno-signed-char": ("-D__CHAR_UNSIGNED__=1",),
    "-fno-rtti": ("-U__GXX_RTTI",),
    "-fsanitize=address.*": ("-D__SANITIZE_ADDRESS__=1",),
    "-fsanitize=thread.*": ("-D__SANITIZE_THREAD__=1",),
    "-msse3": _SSE3,
    "-mssse3": _SSSE3,
    r"-msse4\.1": _SSE4_1,
    r"-msse4(\.2)?": _SSE4_2,
    "-mpopcnt": ("-D__POPCNT__=1",),
    "-mavx": _AVX,
    "-mavx2": (*_AVX, "-D__AVX2__=1"),
    "-mfma": (*_AVX, "-D__FMA__=1", "-D__FP_FAST_FMA=1", "-D__FP_FAST_FMAF=1"),
    "-mf16c": (*_AVX, "-D__F16C__=1"),
}
"""Options of GCC that decide what device code sees, by pattern: nvcc has it preprocess device code too, so that their
macros are defined there; they have no other effect on it. As GCC 12.2 defines them. `__EXCEPTIONS` stays defined with
-fno-exceptions: NVRTC's cannot be undefined."""

_GCC_FILE = "gives the preprocessor a file of macros; write -include, or the key defines."
_OTHER_LANGUAGE = "changes what macros say of the C++ standard, and not what the compiler does; use the key std."

HOST_REFUSED = {
    "-imacros.*": _GCC_FILE,
    "-std=.*|-ansi": _OTHER_LANGUAGE,
    "-f(no-)?(short-wchar|char8_t|concepts|coroutines|implicit-constexpr|abi-version=.*)": _OTHER_LANGUAGE,
    "-undef|-nostdinc(\\+\\+)?|-m32|-mx32|-m16": "makes the preprocessor describe another machine; leave it out.",
}
"""Options of GCC that change what device code sees in a way that is not supported, by pattern, and what to do."""

IGNORED = {
    "O": "for host code; device code is optimised by default (less: --ptxas-options=-O0); no __OPTIMIZE__",
    "optimize": "for host code; device code is optimised by default (less: --ptxas-options=-O0)",
    **dict.fromkeys(("Xcompiler", "compiler-options", "ccbin", "compiler-bindir", "default-stream"), HOST),
    **dict.fromkeys(("forward-unknown-to-host-compiler", "forward-unknown-opts", "no-align-double"), HOST),
    **dict.fromkeys(("allow-unsupported-compiler", "static-global-template-stub", "m64", "m", "machine"), HOST),
    **dict.fromkeys(("device-entity-has-hidden-visibility", "dont-use-profile", "noprof", "use-local-env"), HOST),
    "force-cl-env-setup": HOST,
    "keep-device-functions": "a program finds kernels and variables by name, and no other functions",
    **dict.fromkeys(("g", "debug", "pg", "profile", "noeh", "no-exceptions", "pthread", "s", "pipe", "ansi"), HOST),
    **dict.fromkeys(("Xlinker", "linker-options", "Xarchive", "archive-options", "Xnvlink", "nvlink-options"), _LINKER),
    **dict.fromkeys(("cudart", "cudadevrt", "shared", "library", "library-path", "L", "l", "nodlink"), _LINKER),
    **dict.fromkeys(("no-device-link", "host-linker-script", "hls", "augment-host-linker-script", "aug-hls"), _LINKER),
    **dict.fromkeys(("forward-unknown-to-host-linker", "archiver-binary", "arbin"), _LINKER),
    **dict.fromkeys(("c", "compile", "o", "output-file", "x", "v", "verbose", "dryrun", "keep", "keep-dir"), _RUN),
    **dict.fromkeys(("MD", "MMD", "MF", "MT", "MP", "M", "MM", "odir", "output-directory", "save-temps"), _RUN),
    **dict.fromkeys(("generate-dependencies-with-compile", "generate-nonsystem-dependencies-with-compile"), _RUN),
    **dict.fromkeys(("generate-dependencies", "generate-nonsystem-dependencies", "dependency-output"), _RUN),
    **dict.fromkeys(("generate-dependency-targets", "dependency-target-name", "objdir-as-tempdir", "objtemp"), _RUN),
    **dict.fromkeys(("input-drive-prefix", "idp", "dependency-drive-prefix", "ddp", "drive-prefix", "dp"), _RUN),
    **dict.fromkeys(("clean-targets", "clean", "run-args", "libdevice-directory", "ldir", "jobserver"), _RUN),
    **dict.fromkeys(("target-directory", "target-dir", "qpp-config"), _RUN),
    **dict.fromkeys(("Wmissing-launch-bounds", "Wext-lambda-captures-this"), _WARNINGS),
    **dict.fromkeys(("Wreorder", "Wdefault-stream-launch"), _WARNINGS),
    **dict.fromkeys(("res-usage", "resource-usage"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("t", "threads", "split-compile", "split-compile-extended"), _PARALLEL),
    **dict.fromkeys(("Xfatbin", "fatbin-options", "compress-mode", "no-compress"), "the key compress decides"),
    **dict.fromkeys(("src-in-ptx", "source-in-ptx"), "a wheel's PTX has no comments"),
    "ftemplate-depth": "templates may nest 1,200 deep",
    "ftemplate-backtrace-limit": "NVRTC has its own limit",
}
"""Options without an effect on the images, by name, and why."""

IGNORED_WITH_VALUE = (
    "O",
    "optimize",
    "Xcompiler",
    "compiler-options",
    "ccbin",
    "compiler-bindir",
    "default-stream",
    "Xlinker",
    "linker-options",
    "Xarchive",
    "archive-options",
    "Xnvlink",
    "nvlink-options",
    "cudart",
    "cudadevrt",
    "library",
    "library-path",
    "L",
    "l",
    "o",
    "output-file",
    "x",
    "keep-dir",
    "MF",
    "MT",
    "odir",
    "t",
    "threads",
    "split-compile",
    "split-compile-extended",
    "Xfatbin",
    "fatbin-options",
    "compress-mode",
    "ftemplate-depth",
    "ftemplate-backtrace-limit",
    "m",
    "machine",
    "static-global-template-stub",
    "device-entity-has-hidden-visibility",
    "host-linker-script",
    "hls",
    "archiver-binary",
    "arbin",
    "output-directory",
    "dependency-output",
    "dependency-target-name",
    "input-drive-prefix",
    "idp",
    "dependency-drive-prefix",
    "ddp",
    "drive-prefix",
    "dp",
    "run-args",
    "libdevice-directory",
    "ldir",
    "target-directory",
    "target-dir",
    "qpp-config",
)
"""Those of them whose value may be the next option."""

IGNORED_PATTERNS = {
    r"-O(\d|s|fast|max|min)?": IGNORED["O"],
    r"-t\d+": _PARALLEL,
    r"-[lL].+": _LINKER,
    PROCESSOR_OPTION: PROCESSOR,
    r"-f(?!tz|mad|device|random).+|-m(?!axrregcount|inimal|odify|achine|32).+": HOST,
    r"--?Wno-.+|-W(?!error|reorder|default-stream-launch).+": _WARNINGS,
}

_FILES = "makes the compiler write a file into the project; leave it out."
_PRECOMPILED = "is for precompiled headers, which cuda-wheel makes by itself; leave it out."
_LINK = (
    "is set by the keys link and relocatable; use those if sources call each other's functions, and otherwise leave it "
    "out."
)
_OUTPUT = "makes something else than the images of a wheel; leave it out."

REFUSED = {
    **dict.fromkeys(("pch", "create-pch", "use-pch", "time", "fdevice-time-trace"), _FILES),
    **dict.fromkeys(("pch-dir", "pch-verbose", "pch-messages", "instantiate-templates-in-pch"), _PRECOMPILED),
    **dict.fromkeys(("rdc", "relocatable-device-code", "dc", "device-c", "dw", "device-w"), _LINK),
    **dict.fromkeys(("dlto", "dlink-time-opt", "lto", "gen-opt-lto", "ewp", "extensible-whole-program"), _LINK),
    **dict.fromkeys(("relocatable-link", "r", "relocatable-ptx", "reloc-ptx"), _LINK),
    **dict.fromkeys(("optix-ir", "fdevice-syntax-only", "ptx", "cubin", "fatbin", "E", "preprocess", "ltoir"), _OUTPUT),
    **dict.fromkeys(("cuda", "link", "dlink", "lib", "run", "device-link"), _OUTPUT),
    **dict.fromkeys(("compile-as-tools-patch", "astoolspatch", "help", "h", "version", "V"), _OUTPUT),
    **dict.fromkeys(("list-gpu-code", "code-ls", "list-gpu-arch", "arch-ls"), _OUTPUT),
    **dict.fromkeys(("entries", "e"), "is set by the key instances of a module; use that."),
    **dict.fromkeys(("options-file", "optf"), "names a file of options; write them into options."),
    "frandom-seed": "is set by cuda-wheel, so that builds are reproducible; leave it out.",
    "m32": "is for 32-bit code, which no current GPU runs; leave it out.",
    **dict.fromkeys(
        ("fdevice-sanitize", "sanitize"), "makes code for a checker that cuda-wheel does not run; leave it out."
    ),
    "Xnvvm": "is undocumented and gets lost where code is linked; leave it out.",
}
"""Options that would change the result unseen, or contradict what cuda-wheel sets, and what to do."""

PTXAS_IGNORED = {
    **dict.fromkeys(("v", "verbose"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("split-compile", "extended-split-compile"), _PARALLEL),
}

PTXAS_REFUSED = {
    **dict.fromkeys(("arch", "gpu-name"), "is set by the key architectures; use that."),
    **dict.fromkeys(("lineinfo", "generate-line-info"), "is set by the key lineinfo; use that."),
    **dict.fromkeys(("c", "compile-only", "ewp", "extensible-whole-program", "r"), _LINK),
    **dict.fromkeys(("o", "output-file", "optf", "options-file", "input-as-string", "e", "entry"), _OUTPUT),
    "preserve-relocs": _OUTPUT,
    "fmad": "is lost where code is linked; write --fmad in its place.",
}

TRANSLATED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("isystem", "system-include"), ("--include-path={}",)),
    **dict.fromkeys(("optimization-info", "opt-info"), ("--optimization-info={}",)),
    # NVRTC's front end is that of nvcc and knows both, though NVRTC's own messages say otherwise. A host function,
    # which a constexpr function without a mark is, is only a discretionary error.
    "expt-relaxed-constexpr": (
        "-Xcudafe=--relaxed_constexpr",
        "-Xcudafe=--diag_suppress=unannotated_function_in_jit",
    ),
    **dict.fromkeys(("extended-lambda", "expt-extended-lambda"), ("-Xcudafe=--extended-lambda",)),
    **dict.fromkeys(("nohdmoveforward", "no-host-device-move-forward"), ("--builtin-move-forward=false",)),
    **dict.fromkeys(("nohdinitlist", "no-host-device-initializer-list"), ("--builtin-initializer-list=false",)),
}
"""nvcc's options that NVRTC has under other names; "{}" is the value."""

FRONT_END = (
    "--display_error_number",
    "--no_warnings",
    "--extended-lambda",
    "--relaxed_constexpr",
)
"""Options of the front end that need no value and do no harm."""

GNU_STANDARD = ("-U__STRICT_ANSI__", "-Dlinux=1", "-Dunix=1")
"""The macros by which -std=gnu++17 differs from -std=c++17 with GCC, for the compiler."""

RELOCATABLE = ("rdc", "relocatable-device-code")
TARGETS = ("gencode", "generate-code", "arch", "gpu-architecture", "code", "gpu-code")
