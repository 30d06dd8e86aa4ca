"""What the messages of nvJitLink and the driver's linker mean. The logs are those of nvJitLink 12.9 and 13.5."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.parts.linking.linkers import (
    Cause,
    causes,
    duplicate_message,
    duplicate_symbols,
    locate_errors,
    locate_link_errors,
    undefined_message,
    undefined_symbols,
    unreported_errors,
)

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (undefined_message("f"), Cause.UNDEFINED),
        ("error   : Unresolved extern function 'f'", Cause.UNDEFINED),
        (duplicate_message("f", "b.ptx", "a.ptx"), Cause.DUPLICATE),
        ("Linking globals named 'f': symbol multiply defined!", Cause.DUPLICATE),
        ("LTOIR arch newer than target arch", Cause.LTOIR_FOR_NEWER_GPU),
        ("SM version specified by .target is higher than default SM version assumed", Cause.PTX_FOR_NEWER_GPU),
        ("nvvm input without LTO enabled", Cause.NEEDS_LTO),
        ("bad input: part.o", Cause.BAD_INPUT),
        ("parse Invalid record", Cause.DAMAGED),
        ("ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink library", Cause.NEWER_LTOIR),
        ("ptxas fatal   : Unsupported .version 99.0", Cause.NEWER_PTX),
    ],
)
def test_a_log_names_its_cause(log: str, cause: Cause) -> None:
    assert causes(f"first line\n{log}\n") == [cause]


def test_symbols_are_read_from_a_log() -> None:
    log = "\n".join([undefined_message("f"), undefined_message("f"), duplicate_message("g", "b", "a")])
    assert (undefined_symbols(log), duplicate_symbols(log)) == (["f"], ["g"])
    assert duplicate_symbols("Linking globals named 'h': symbol multiply defined!") == ["h"]


def test_errors_of_a_link_that_reports_success_are_found() -> None:
    warning, error = "warning : unused", "error   : Unresolved extern variable 'v'"
    assert unreported_errors(f"{warning}\n@E@{error}\nptxas info : 0 bytes gmem\n") == [error]
    assert unreported_errors(f"{warning}\n") == []


def test_errors_of_the_assembler_get_their_line() -> None:
    log = "ptxas application ptx input, line 9; error   : Unknown modifier '.xx'"
    assert locate_errors(log, "k.ptx") == "k.ptx:9: error: Unknown modifier '.xx'"
    located = locate_link_errors(f"{log}\nptxas fatal: aborted\nERROR 4: JIT the PTX (k.ptx)\nERROR 9: finish\n")
    assert located.strip() == "k.ptx:9: error: Unknown modifier '.xx'"
