"""cuTile kernels: CUDA Tile kernels in Python."""
