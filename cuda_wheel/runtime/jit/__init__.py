"""Compile PTX on the user's machine, by the driver or by nvJitLink. Imported at the first compilation."""
