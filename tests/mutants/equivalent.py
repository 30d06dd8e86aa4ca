"""The mutants that no test can kill, because the changed code does the same, each with the reason.

They are named by the line that changes, since mutmut's numbers change with the code around it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EQUIVALENT", "Equivalent"]


class Equivalent(NamedTuple):
    """A line of a file, what a mutant makes of it, and why that does not matter."""

    file: str
    line: str
    mutant: str
    reason: str


_LINK_KEY = (
    'return Cache.key("link", FORMAT, strategy.mode, *linker, str(self._target), *options, repr(want_ptx), *contents)'
)
_LOOKS = (
    'pairs = (pair for name in ("libraries", "sources") for pair in zip(paths[name], locations[name], strict=True))'
)
_SIZES = (
    "document |= {name: None if image is None else len(image) for name, image in zip(_IMAGES, images, strict=True)}"
)

EQUIVALENT = (
    Equivalent(
        "runtime/rules.py",
        '" fa".index(image.target.suffix or " "),',
        '" fa".rindex(image.target.suffix or " "),',
        "no character is there twice",
    ),
    Equivalent(
        "runtime/rules.py",
        '" fa".index(image.target.suffix or " "),',
        '"XX faXX".index(image.target.suffix or " "),',
        "the order is the same",
    ),
    *(
        Equivalent(
            "runtime/rules.py",
            "_, best, how, reason = max(candidates, key=lambda candidate: candidate[0])",
            mutant,
            "no two candidates have the same rank, as a manifest has each target once",
        )
        for mutant in ("_, best, how, reason = max(candidates, key=None)", "_, best, how, reason = max(candidates, )")
    ),
    Equivalent(
        "runtime/manifest.py",
        'prefix, _, number = text.partition("_")',
        'prefix, _, number = text.rpartition("_")',
        "neither finds a known prefix and a number in a text with two underscores, or none",
    ),
    Equivalent(
        "builder/manifest_reader.py",
        'if not "".join(figures).isprintable():',
        'if not "XXXX".join(figures).isprintable():',
        "X is printable",
    ),
    *(
        Equivalent(
            "builder/images/ptx_text.py",
            "for old in sorted(roots, key=len, reverse=True):",
            mutant,
            "of two folders of one path, one begins with the other, so that the longer one sorts last either way",
        )
        for mutant in ("for old in sorted(roots, key=None, reverse=True):", "for old in sorted(roots, reverse=True):")
    ),
    *(
        Equivalent(
            "builder/images/ptx_requirements.py",
            f'if "{sign}" in (match["section"] or ""):',
            f'if "{sign}" in (match["section"] or "XXXX"):',
            "X is no such sign",
        )
        for sign in ":-"
    ),
    *(
        Equivalent(
            "runtime/parts/linking/prepared_link.py",
            _LINK_KEY,
            _LINK_KEY.replace('"link", ', first),
            "no other key begins so",
        )
        for first in ("", '"XXlinkXX", ', '"LINK", ')
    ),
    Equivalent(
        "runtime/parts/linking/prepared_link.py",
        _LINK_KEY,
        _LINK_KEY.replace("strategy.mode, ", ""),
        "the options have -lto in one of the two modes",
    ),
    *(
        Equivalent(
            "runtime/parts/linking/prepared_link.py",
            _LINK_KEY,
            _LINK_KEY.replace("str(self._target), ", target),
            "the options have -arch",
        )
        for target in ("", "str(None), ")
    ),
    Equivalent(
        "builder/cache/files.py",
        'recalled = self._memory.read(_key(f"{folder}{os.sep}"), _parse) if self._memory else None',
        'recalled = self._memory.read(_key(f"{folder}{os.sep}"), _parse) if (self._memory) or True else None',
        "without a memory it is not called",
    ),
    Equivalent(
        "builder/cache/files.py",
        'with open(path, "rb", buffering=0) as file:',
        'with open(path, "rb", ) as file:',
        "the whole file is read at once, so a buffer changes the speed alone",
    ),
    *(
        Equivalent(
            "builder/cache/known_toolchain.py",
            _LOOKS,
            _LOOKS.replace(", strict=True", strict),
            "each path comes from one location, so the two have one length",
        )
        for strict in (", strict=None", ", ", ", strict=False")
    ),
    Equivalent(
        "builder/cache/known_toolchain.py",
        'return os.path.join(folders[number], path) if number < len(folders) else ""',
        'return os.path.join(folders[number], path) if number < len(folders) else "XXXX"',
        "neither is the path of a file",
    ),
    Equivalent(
        "builder/compile_on_load/kept_modules.py",
        'entry = len(built.text).to_bytes(8, "big") + built.text + built.fatbin',
        "entry = len(built.text).to_bytes(8, ) + built.text + built.fatbin",
        "big is the default since Python 3.11; 3.10 has none, and every test of it fails",
    ),
    Equivalent(
        "builder/compile_on_load/kept_modules.py",
        'size = 8 + int.from_bytes(entry[:8], "big")',
        "size = 8 + int.from_bytes(entry[:8], )",
        "big is the default since Python 3.11; 3.10 has none, and every test of it fails",
    ),
    *(
        Equivalent(
            "builder/compile_on_load/kept_modules.py",
            'all_manifests(manifest, "the cache")',
            f"all_manifests(manifest, {name})",
            "the name is for a message, which the cache replaces by its own",
        )
        for name in ("None", '"XXthe cacheXX"', '"THE CACHE"')
    ),
    Equivalent(
        "builder/compile_on_load/kept_modules.py",
        'inode = f" {status.st_ctime_ns}" if status.st_nlink == 1 else ""',
        'inode = f" {status.st_ctime_ns}" if status.st_nlink == 1 else "XXXX"',
        "one constant is as good as another",
    ),
    *(
        Equivalent(
            "builder/cache/compile_cache.py",
            _SIZES,
            _SIZES.replace(", strict=True", strict),
            "the images are listed by these names",
        )
        for strict in (", strict=None", ", ", ", strict=False")
    ),
    Equivalent(
        "builder/cache/compile_cache.py",
        '(manifest,) = all_manifests(text, f"the manifest of {module.module.name}")',
        "(manifest,) = all_manifests(text, None)",
        "the name is for a message, which the cache replaces by its own",
    ),
)
