"""Process compiled images: lower PTX, drop unused variables, bundle."""
