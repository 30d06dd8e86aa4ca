"""Launch on streams in four ways, and compare each result with PyTorch's: `python -m streams_demo`."""

import sys

import torch

import cuda_wheel
import streams_demo

N, STEPS, RATE = 1 << 16, 20, 0.25
GRID, BLOCK = -(-N // 256), 256


def samples():
    """Yield new tensors, which PyTorch fills on its current stream."""
    for step in range(STEPS):
        yield torch.full((N,), float(step), device="cuda")


def on_pytorchs_stream(average):
    """Without `stream`, a launch runs after what PyTorch does on its current stream, here one at the side."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for sample in samples():
            streams_demo.update.launch(GRID, BLOCK, average, sample, RATE, N)
    torch.cuda.current_stream().wait_stream(side)


def in_a_graph(average):
    """What is launched while PyTorch captures a graph is a part of it, and runs at each replay."""
    sample = torch.zeros(N, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        streams_demo.update.launch(GRID, BLOCK, average, sample, RATE, N)
        sample += 1
    for _ in range(STEPS):
        graph.replay()


def in_a_block(average):
    """Addresses belong to no library. The block says on which stream their launches run."""
    with cuda_wheel.launch_stream(torch.cuda.current_stream()):
        for sample in samples():
            streams_demo.update.launch(GRID, BLOCK, average.data_ptr(), sample.data_ptr(), RATE, N)


def on_a_given_stream(average):
    """`stream` takes the streams of every library, and addresses; "default" is the driver's default stream."""
    torch.cuda.synchronize()
    for sample in samples():
        torch.cuda.current_stream().synchronize()
        streams_demo.update.launch(GRID, BLOCK, average, sample, RATE, N, stream="default")
    torch.cuda.synchronize()


def main():
    expected = torch.zeros(N, device="cuda")
    for sample in samples():
        expected += RATE * (sample - expected)
    # The first launch loads the module, which a graph's capture does not allow.
    streams_demo.update.launch(GRID, BLOCK, torch.zeros(N, device="cuda"), expected, RATE, N)
    for way in (on_pytorchs_stream, in_a_graph, in_a_block, on_a_given_stream):
        average = torch.zeros(N, device="cuda")
        way(average)
        error = float((average - expected).abs().max())
        print(f"{way.__name__}: largest error {error:.2g}")
        if not error < 1e-4:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
