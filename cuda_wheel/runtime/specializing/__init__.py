"""Load what no wheel contains: the build side compiles it on this machine, where a toolchain is installed."""
