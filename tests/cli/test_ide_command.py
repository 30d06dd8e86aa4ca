"""`cuda-wheel ide`: clangd reads the sources of projects without errors, and shows the errors in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from cuda_wheel.migrate.editor_files import FIRST_CLANGD
from tests.support.projects import GOOD, LINKED, ROOT, TORCH_OP, copy_fixture

EXAMPLES = ["image_filter", "launches", "multi_gpu", "numba_plugin", "tuned", "variants", "jax_operator"]
FILES_OF_EXTENSIONS = ["cpu_and_gpu", "torch_functions"]

SOURCE = """\
#include <cooperative_groups.h>
#include <cuda/std/array>
#include <cuda_fp16.h>
#include <cub/block/block_reduce.cuh>
#include <vector>
#include "limit.cuh"
namespace groups = cooperative_groups;
template <class T> __global__ void fill(T* x, int n, cudaTextureObject_t texture)
{
    extern __shared__ float shared[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = __shfl_down_sync(0xffffffff, rsqrtf(tex2D<float>(texture, 1, 2)), 1);
    groups::this_cluster().sync();
    if (i < n) x[i] = T(atomicAdd(shared, __half2float(__ldg((const __half*)shared))) + LIMIT + FROM_SETTINGS);
}
void start(std::vector<float>& x, cudaStream_t stream)
{
    fill<<<dim3(1), 128, 0, stream>>>(x.data(), 1, cudaTextureObject_t{});
    cudaStreamSynchronize(stream);
}
#if __CUDA_ARCH__ == 900
#define NEWEST
#endif
"""


class Clangd:
    """A running clangd, which an editor talks to by the Language Server Protocol."""

    def __init__(self, program: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [program, "--background-index=false", "-j=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
        self._send("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}, id=1)
        self._send("initialized", {})

    def errors(self, path: Path) -> list[str]:
        """Open a file and return its errors as "LINE: MESSAGE", with lines from 1."""
        document = {"uri": path.as_uri(), "languageId": "cuda", "version": 1, "text": path.read_text()}
        self._send("textDocument/didOpen", {"textDocument": document})
        while True:
            message = self._receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == path.as_uri():
                self._send("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
                found = [each for each in message["params"]["diagnostics"] if each["severity"] == 1]
                return [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in found]

    def _send(self, method: str, params: dict[str, Any], **more: int) -> None:
        assert self._process.stdin is not None
        text = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            assert line, "clangd has ended"
            length = int(line.partition(b":")[2]) if line.startswith(b"Content-Length:") else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def clangd(tmp_path: Path) -> Iterator[Clangd]:
    program = shutil.which("clangd", path=sysconfig.get_path("scripts")) or shutil.which("clangd")
    if program is None:
        pytest.skip("needs clangd")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)", version)
    if found is None or int(found[1]) < FIRST_CLANGD:
        pytest.skip(f"needs clangd {FIRST_CLANGD}")
    server = Clangd(program, tmp_path)
    yield server
    server.end()


@pytest.mark.slow
@pytest.mark.every_toolchain
def test_clangd_reads_fixtures_and_examples_without_errors(clangd: Clangd, tmp_path: Path, extra: str) -> None:
    read = 0
    for name in (*GOOD, *LINKED, TORCH_OP, *EXAMPLES, *FILES_OF_EXTENSIONS):
        project = tmp_path / name
        if name in EXAMPLES or name in FILES_OF_EXTENSIONS:
            shutil.copytree(ROOT / "examples" / name, project)
        else:
            copy_fixture(name, project, extra)
        status = main(["ide", str(project)])
        assert status == (1 if name == "nvvm_ir" else 0), name
        for source in sorted(project.rglob("*.cu*")):
            assert clangd.errors(source) == [], source
            read += 1
    assert read > 20


@pytest.mark.slow
@pytest.mark.every_toolchain
@pytest.mark.parametrize("arguments", [[], ["--compile-commands"]])
def test_clangd_shows_what_is_wrong_in_a_source(
    clangd: Clangd, make_project: Callable[..., Path], arguments: list[str]
) -> None:
    table = '[tool.cuda-wheel]\ndefines = { FROM_SETTINGS = 1 }\ninclude-dirs = ["include"]\narchitectures = ["90"]'
    project = make_project(table, **{"demo/fill.cu": SOURCE, "include/limit.cuh": "#define LIMIT (threadIdx.x + 2)\n"})
    assert main(["ide", str(project), *arguments]) == 0
    source = project / "demo/fill.cu"
    assert clangd.errors(source) == []
    assert clangd.errors(project / "include/limit.cuh") == []
    source.write_text(
        SOURCE.replace("i < n", "j < n")  # line 14
        .replace("(x.data(), 1,", "(x.data(), texture,")  # 18
        .replace("#define NEWEST", 'int wrong = "text";')  # 22
    )
    assert [error.partition(":")[0] for error in clangd.errors(source)] == ["14", "18", "22"]


@pytest.mark.slow
def test_clangd_reads_code_for_the_architecture_that_is_asked_for(
    clangd: Clangd, make_project: Callable[..., Path]
) -> None:
    project = make_project(**{"demo/fill.cu": '#if __CUDA_ARCH__ == 800\nstatic_assert(false, "for 8.0");\n#endif\n'})
    assert main(["ide", str(project), "--architecture", "sm_80"]) == 0
    (error,) = clangd.errors(project / "demo/fill.cu")
    assert error.startswith("2: ") and "for 8.0" in error


def test_a_file_of_the_users_is_not_replaced(
    make_project: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_project()
    (project / ".clangd").write_text("CompileFlags:\n")
    assert main(["ide", str(project)]) == 1
    assert "is not a file of cuda-wheel's" in capsys.readouterr().err
    assert (project / ".clangd").read_text() == "CompileFlags:\n"
    for text in ('[{"directory": "/", "command": "nvcc a.cu"}]', "[1]", "{}", "[{]"):
        (project / "compile_commands.json").write_text(text)
        assert main(["ide", str(project), "--compile-commands"]) == 1
        assert "has commands that are not cuda-wheel's" in capsys.readouterr().err
        assert (project / "compile_commands.json").read_text() == text
    (project / "compile_commands.json").unlink()
    (project / ".clangd").unlink()
    for arguments in ([], ["--compile-commands"]):
        for _ in range(2):  # cuda-wheel's own is replaced
            assert main(["ide", str(project), *arguments]) == 0
    (entry,) = json.loads((project / "compile_commands.json").read_text())
    assert entry["file"] == "demo/fill.cu" and "-std=c++17" in entry["arguments"]
    with pytest.raises(SystemExit):
        main(["ide", str(project), "--architecture", "new"])
