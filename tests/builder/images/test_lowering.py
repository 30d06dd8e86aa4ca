"""A proof needs each form of line once: kernels that add none are left out of the text that is assembled for it."""

from __future__ import annotations

import re

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import machine_code
from cuda_wheel.builder.images.lowering import in_short, lower, proof_text
from cuda_wheel.builder.images.ptx_text import normalise, set_version
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats import ptx

HEAD = """
.version 9.5
.target sm_80
.address_size 64
.extern .func vprintf;
.global .align 4 .b8 own[16];
"""

BODY = """\
.visible .entry {name}(
.param .u64 {name}_param_0
)
.maxntid 128, 1, 1
{{
.reg .pred %p<2>;
.reg .f32 %f<9>;
.shared .align 4 .b8 _ZZ{inner}E5tile[{size}];
ld.param.u64 %rd1, [{name}_param_0];
mov.u64 %rd2, _ZZ{inner}E5tile;
setp.eq.s32 %p1, %r3, {size};
@%p1 bra $L__BB{number}_2;
add.f32 %f{number}, %f2, 0f3F800000;
$L__BB{number}_2:
ret;
}}
"""


def kernel(number: int, *, size: int = 64, **changes: str) -> str:
    """Return a kernel; in its text each key of `changes`, with "_" for a space, becomes the value."""
    name = f"_Z1kILi{number}EEvPf"
    text = BODY.format(name=name, inner=name.removeprefix("_Z"), number=number, size=size)
    for before, after in changes.items():
        assert before.replace("_", " ") in text
        text = text.replace(before.replace("_", " "), after, 1)
    return text


def shortened(ptx: str) -> str:
    return proof_text(ptx)[0]


def test_forms_that_are_proven_are_left_out() -> None:
    first = HEAD + kernel(1) + kernel(2)
    text, forms = proof_text(first)
    assert text == HEAD + kernel(1) + "\n"
    assert proof_text(first, forms) == ("", frozenset())
    assert proof_text(HEAD + kernel(3), forms) == ("", frozenset())
    changed = kernel(4, **{"add.f32": "add.rz.f32"})
    text, more = proof_text(HEAD + kernel(5) + changed, forms)
    assert text == HEAD + "\n" + changed
    assert any("add.rz.f32" in form for form in more) and not more & forms
    function = ".func g()\n{\nret.uni;\n}\n"
    text, more = proof_text(HEAD + function + kernel(6), forms)
    assert text == HEAD + function + "\n" and "ret.uni;" in more
    assert proof_text(HEAD.replace("9.5", "9.4") + kernel(7), forms)[0]


def test_kernels_that_differ_in_names_registers_and_numbers_alone_are_left_out() -> None:
    kernels = [kernel(number, size=4 * number) for number in range(1, 9)]
    assert shortened(HEAD + "".join(kernels)) == HEAD + kernels[0] + "\n" * 7


def test_kernels_that_differ_in_string_literals_alone_are_left_out() -> None:
    kernels = [
        kernel(
            number, **{"mov.u64_%rd2,": f"mov.u64 %rd3, $str${number}; mov.u64 %rd4, __unnamed_{number}; mov.u64 %rd2,"}
        )
        for number in range(1, 5)
    ]
    assert shortened(HEAD + "".join(kernels)) == HEAD + kernels[0] + "\n" * 3


def test_kernels_that_differ_in_names_of_variables_alone_are_left_out() -> None:
    kernels = [kernel(n, **{"ret": f"ld.global.v2.f32 {{%f1, %f2}}, [_Z${10 * n}];\nret"}) for n in range(1, 5)]
    assert shortened(HEAD + "".join(kernels)) == HEAD + kernels[0] + "\n" * 3


@pytest.mark.parametrize(
    "change",
    [
        {"add": "add.ftz"},
        {"add": "sub"},
        {"add.f32": "add.f64"},
        {"add": "@%p1 add"},
        {"add": "@!%p1 add"},
        {"eq.s32": "eq.u32"},
        {"%r3": "%tid.x"},
        {"%r3": "%p3"},
        {"bra": "bra.uni"},
        {".shared": ".local"},
        {".maxntid": ".reqntid"},
        {".param": ".param .align 8"},
        {"ret": '.pragma "nounroll";\nret'},
        {"ret": "call.uni vprintf, (%r1);\nret"},
        {"ret": "st.v2.f32 [%rd1], {%f1, %f2};\nret"},
        {"ret": "min.f32 %f1, %f2, %f3;\nmin.f32 %f1, %f2, %f3, %f4;\nret"},
        {"ret": "ld.global.f32 %f1, [own+4];\nret"},
        {"ret": "mov.u64 %rd2, _Z1kILi2EEvPf_param_0;\nret"},
        {"ret": "ld.global.f32 %f1, [_Z1v+4];\nret"},
    ],
    ids=str,
)
def test_a_kernel_with_a_form_of_its_own_is_kept(change: dict[str, str]) -> None:
    other = kernel(2, **change)
    kept = shortened(HEAD + kernel(1) + other + kernel(3))
    assert other in kept
    assert kernel(3) not in kept


def test_the_size_of_a_parameter_is_a_form() -> None:
    # More than 4352 bytes need PTX ISA 8.1.
    small, large = (
        kernel(1).replace(".u64 _Z1kILi1EEvPf_param_0\n", f".align 4 .b8 _Z1kILi1EEvPf_param_0[{size}]\n")
        for size in (16, 4400)
    )
    large = large.replace("kILi1E", "kILi2E")
    assert shortened(HEAD + small + large) == HEAD + small + large


def test_functions_and_variables_stay() -> None:
    function = ".func f()\n{\nfma.rn.f32 %f1, %f2, %f3, %f4;\nret;\n}\n"
    assert shortened(HEAD + kernel(1) + function + kernel(2)) == HEAD + kernel(1) + function + "\n"


def test_a_text_with_debug_information_stays_whole() -> None:
    text = HEAD + kernel(1) + kernel(2) + ".section .debug_info\n{\n.b64 _Z1kILi2EEvPf\n}\n"
    assert shortened(text) == text


def test_in_short_a_kernel_has_each_form_once_between_loads_and_stores() -> None:
    more = "add.f32 %f7, %f8, 0f40000000;\nadd.rz.f32 %f3, %f4, %f5;\n@%p1 bra $L__BB1_2;\nret"
    text = in_short(HEAD + kernel(1, ret=more) + kernel(2))
    assert text.count("add.f32") == text.count("add.rz.f32") == text.count("bra $L__BB1_2;") == 1
    assert "$L__BB1_2:" in text and ".pragma" not in text
    rounded = text.split("\n").index("add.rz.f32 %f3, %f4, %f5;")
    around = text.split("\n")[rounded - 3 : rounded + 2]
    assert around[0].startswith("ld.volatile.global.b32 %f3,") and around[4].endswith("], %f3;")
    second = text[text.index("_Z1kILi2E") :]
    assert "add" not in second and "_Z1kILi2EEvPf_param_0\n" in second and ".shared" in second
    assert "add.rz" not in in_short(HEAD + kernel(1, ret=more), {"add.rz.f32 0, 0, 0;"})


def test_what_the_assembler_refuses_in_short_is_proven_as_it_is() -> None:
    head = HEAD.partition(".extern")[0]
    whole = head + ".visible .entry k()\n{\n.reg .f32 %f<4>;\nadd.f32 %f1, %f2, %f3;\nret;\n}\n"
    assembled = []

    def assemble(text: str, arch: str) -> bytes:
        assembled.append(text)
        if "__cuda_wheel_any" in text:
            raise CompileError("refused")
        return b"machine code"

    assert lower(whole, "auto", "80", "k.cu", assemble) == set_version(whole, (7, 0))
    assert assembled[1:] == [whole, set_version(whole, (7, 0))]


SOURCE = """
template <typename T, int N> __global__ void scale(T* x) {
    __shared__ T tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < N; ++i) x[i] += tile[N - i - 1];
}
"""


def without_effect(text: str) -> list[str]:
    """Return the statements of a text in short without which its machine code stays the same."""
    expected, lines = machine_code(text, "80"), text.split("\n")
    is_statement = re.compile(r"(?!.*cuda_wheel|\.|ret|\}).*;$")
    places = [at for at, line in enumerate(lines) if is_statement.match(line) and "{" in lines[:at]]
    assert len(places) > 20
    return [lines[at] for at in places if machine_code("\n".join(lines[:at] + lines[at + 1 :]), "80") == expected]


def test_a_source_of_many_instances_is_proven_with_few(workers: Workers, toolchain: Toolchain) -> None:
    instances = tuple(f"scale<{type_}, {n}>" for type_ in ("float", "double") for n in range(32, 48))
    job = Job(
        library=toolchain.libraries[0],
        root=".",
        source="k.cu",
        text=SOURCE.encode(),
        arch="80",
        cubin=False,
        ptx=True,
        options=("--std=c++17",),
        include_dirs=toolchain.include_folders(()),
        instantiate=instances,
        lineinfo=False,
        ptx_version="as-compiled",
    )
    text = normalise(workers.submit(compile_job, job).result().ptx.decode())
    assert without_effect(in_short(proof_text(text)[0])) == []
    assembled = []

    def assemble(text: str, arch: str) -> bytes:
        assembled.append(text)
        return b"machine code"

    assert lower(text, "auto", "80", "k.cu", assemble) == set_version(text, (7, 0))
    assert len(ptx.kernels(text)) == len(instances)
    assert 2 <= len(ptx.kernels(assembled[0])) <= 8
    assert assembled[1] == set_version(assembled[0], (7, 0))
