"""Take the device code out of files that mix it with host code."""
