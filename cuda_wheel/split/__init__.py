"""Divide a wheel into a base wheel with PTX, and companion wheels with machine code: `split = "architecture"`."""
