"""Bytes that translated host functions set and copy in GPU memory, on PyTorch's current stream."""

from __future__ import annotations

import pytest

from cuda_wheel.torch.arithmetic import address, copy_bytes, elements, fill_bytes, read_numbers, write_numbers
from tests.gpu.test_torch_operators import PYTORCHS_OWN_WARNINGS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings(*PYTORCHS_OWN_WARNINGS)


@pytest.mark.parametrize("by_address", [False, True])
def test_bytes_are_set_on_the_current_stream(by_address: bool) -> None:
    x = torch.zeros(1 << 26, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    fill_bytes(address(x) if by_address else x, 0, 0, 1)  # loads what a first call needs
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        fill_bytes(address(x) if by_address else x, 1, 0x107, x.numel() - 2)
        assert not stream.query()
    stream.synchronize()
    assert x[[0, 1, -2, -1]].tolist() == [0, 7, 7, 0] and int(x.sum()) == 7 * (x.numel() - 2)


@pytest.mark.parametrize("to_address", [False, True])
@pytest.mark.parametrize("from_address", [False, True])
def test_bytes_are_copied_on_the_current_stream(to_address: bool, from_address: bool) -> None:
    x = torch.zeros(64, dtype=torch.int16, device="cuda")
    y = torch.arange(64, dtype=torch.int16, device="cuda")
    stream = torch.cuda.Stream()
    copy_bytes(
        address(x) if to_address else x, 0, address(y) if from_address else y, 0, 2
    )  # loads what a first call needs
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        copy_bytes(address(x) if to_address else x, 4, address(y) if from_address else y, 20, 8)
        assert not stream.query()
    stream.synchronize()
    assert x.tolist() == [0, 0, 10, 11, 12, 13, *[0] * 58]


@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("by_address", [False, True])
def test_copies_to_host_memory_are_complete(is_pinned: bool, by_address: bool) -> None:
    x = torch.zeros(1 << 20, dtype=torch.int32, pin_memory=is_pinned)
    y = torch.zeros(1 << 20, dtype=torch.int32, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        y.fill_(5)
        copy_bytes(x, 4, address(y) if by_address else y, 0, 4 * x.numel() - 4)
        assert x[0] == 0 and bool((x[1:] == 5).all())
        x.fill_(6)
        copy_bytes(address(y) if by_address else y, 0, x, 0, 4 * x.numel())
    stream.synchronize()
    assert bool((y == 6).all())


def test_both_become_parts_of_a_graph() -> None:
    x = torch.zeros(64, dtype=torch.uint8, device="cuda")
    y = torch.zeros(64, dtype=torch.uint8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fill_bytes(x, 0, 3, 64)
        fill_bytes(address(x), 0, 4, 8)
        copy_bytes(y, 0, x, 0, 64)
        copy_bytes(address(y), 8, x, 0, 8)
    assert not y.any()
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [4] * 16 + [3] * 48


@pytest.mark.parametrize("by_address", [False, True])
def test_numbers_of_the_host_wait_for_the_current_stream(by_address: bool) -> None:
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    given = address(x) if by_address else x
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(5)
        assert read_numbers(given, 8, torch.int32, 3) == [5, 5, 5]
        write_numbers(given, 4, torch.int64, [2**32 + 7, -1])
        assert read_numbers(given, 0, torch.int32, 6) == [5, 7, 1, -1, -1, 5]


def test_the_host_reads_no_memory_of_the_gpu() -> None:
    with pytest.raises(RuntimeError, match="the memory of a tensor on cuda:0 cannot be read on the host"):
        elements(torch.zeros(3, device="cuda"), torch.float32)
