"""What a Python file passes to functions is read from its text, and the text is not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.script_reader import UNKNOWN, calls_in, is_whole, strings

pytestmark = pytest.mark.one_toolchain


def arguments(text: str, folder: Path) -> list[Any]:
    """Return the first argument of each call of `wanted` in a text."""
    path = folder / "script.py"
    path.write_text(text)
    return [call.argument(0, "x") for call in calls_in(path, ["wanted"])]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("wanted([1, 'a', *('b', 'c')])", [1, "a", "b", "c"]),
        ("a = ['x']\nb = a\nb += ['y']\nb.append('z')\nwanted(x=b)", ["x", "y", "z"]),
        ("a = {'nvcc': ['-O3']}\na['nvcc'] += ['-g']\na['nvcc'].extend(['-v'])\na['cxx'] = []\nwanted(a)", {"nvcc": ["-O3", "-g", "-v"], "cxx": []}),
        ("import os.path as osp\nwanted(osp.join('a', 'b' + '.cu'))", "a/b.cu"),
        ("wanted(['%s.%s' % (n, 1) for n in ('a', 'b') if n != 'a'])", ["b.1"]),
        ("d = 'csrc'\nwanted(f'{d}/x.cu'.replace('x', 'y').split('/')[-1][:-3])", "y"),
        ("def f(a, *, b='1', c=0):\n    if c:\n        return None\n    return [a, b]\nwanted(f('x', b='2'))", ["x", "2"]),
        ("import sys\nif sys.platform == 'win32':\n    a = 1\nelif not torch.cuda.is_available():\n    a = 2\nelse:\n    a = 3\nwanted(a)", 3),
        ("import os\nif os.getenv('X', '0') == '1':\n    a = 1\nelse:\n    a = 2\nwanted(a)", 2),
        ("if who_knows():\n    a = 1\nelse:\n    a = 2\nwanted(a)", 1),
        ("wanted([who(), 'a', who.knows[3]])", [UNKNOWN, "a", UNKNOWN]),
        ("a = 'x' if who_knows() else 'y'\nwanted(a)", "x"),
        ("f = mod.wanted\nf(7)", 7),
        ("def unused(a):\n    return wanted([a, 5])", [UNKNOWN, 5]),
        ("class C:\n    def m(self):\n        with open('x') as f:\n            try:\n                wanted(1)\n            finally:\n                pass", 1),
        ("BUILD = False\nif BUILD:\n    wanted(1)", 1),
        ("a = ['x']\nfor i in range(1000000000):\n    a += a\nwanted(len(a) > 100000)", False),
        ("def f():\n    return f()\nwanted(f())", UNKNOWN),
        ("from pathlib import Path\nwanted(str(Path(__file__).parent / 'a').startswith('/'))", True),
        ("from itertools import product\na = []\nfor p, q in product('ab', [1]):\n    a.append((p, q))\nwanted(a)", [("a", 1), ("b", 1)]),
        ("T = ('float', 'double')\nwanted([f'k<{t}, {n}>' for t in T for n in range(4) if n > 2])", ["k<float, 3>", "k<double, 3>"]),
        ("T = {np.float32: 'float', np.float64: 'double'}\nwanted([f'k<{t}>' for t in T.values()])", ["k<float>", "k<double>"]),
        ("T = {np.float32: 'float', 'b': 'double'}\nwanted([list(T), [k for k in T], [k for k, v in T.items()], sorted(T.values())])", [[UNKNOWN, "b"], [UNKNOWN, "b"], [UNKNOWN, "b"], ["double", "float"]]),
        ("wanted(tuple('k<%s>' % t for t in ('int',)) + tuple(map_of(x) for x in ()))", ["k<int>"]),
        ("n = 3\nwanted(f'{n:02d}{n!r:>4}{\"x\"!r}{n:{n}d}')", "03   3'x'  3"),
        ("n = 3\nwanted(f'{n:100000}')", UNKNOWN),
        ("wanted([x for x in unknown()])", UNKNOWN),
        ("wanted([x for a in range(1000) for b in range(1000) for c in range(1000) if 0])", UNKNOWN),
        ("d = {('a', []): 1, 2: 3}\nwanted(d.values())", [3]),
        ("import os\nwanted(os.path.join(os.path.dirname(os.path.curdir), os.pardir, 'a.cu'))", "../a.cu"),
        ("from m import wanted as w, other as o\nw(5)", 5),
    ],
)  # fmt: skip
def test_values_that_the_text_determines_are_computed(text: str, value: Any, tmp_path: Path) -> None:
    assert arguments(text, tmp_path) == [value]


def test_files_are_looked_for_in_the_folder_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "k.cu").write_text("")
    text = "from pathlib import Path\nd = Path('csrc')\nwanted([d.exists(), d.is_dir(), d.is_file(), (d / 'k.cu').is_file()])"
    assert arguments(text, tmp_path) == [[True, True, False, True]]
    assert arguments("from pathlib import Path\nwanted(Path('setup.py/no').exists())", tmp_path) == [False]


def test_a_helper_that_is_called_twice_gives_two_calls(tmp_path: Path) -> None:
    text = "def make(n):\n    return wanted(n + '_C', v=n)\nall = [make(n) for n in ('a', 'b')]\nmake(name())"
    assert arguments(text, tmp_path) == ["a_C", "b_C", UNKNOWN]


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = (
        f"import os, sys\nopen({str(mark)!r}, 'w')\nos.mkdir({str(mark)!r})\nsys.exit(3)\nraise SystemExit\nwanted(1)"
    )
    assert arguments(text, tmp_path) == [1]
    assert not mark.exists()
    with pytest.raises(ConfigError, match=r"script\.py cannot be read"):
        arguments("wanted(", tmp_path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", ["a"]),
        (Path("a/b"), ["a/b"]),
        (["a", Path("b"), UNKNOWN, 3, None], ["a", "b"]),
        (("a", ["b"]), ["a"]),
        (UNKNOWN, []),
        (None, []),
        (3, []),
    ],
)
def test_a_value_for_a_list_of_strings_or_paths_may_be_one_of_them(value: Any, expected: list[str]) -> None:
    assert strings(value) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("import sys\nwanted([__name__, sys.platform, torch.version.cuda])", ["__main__", UNKNOWN, UNKNOWN]),
        ("import torch\nwanted(torch.cuda.is_available())", UNKNOWN),
        ("import os\nwanted(os.environ.get('X', 'y'))", "y"),
        ("a = 1\nif who():\n    a = 2\nwanted(a)", UNKNOWN),
        ("a = {}\nif who():\n    a['b'] = 2\nwanted(a)", UNKNOWN),
        ("a = 1\nif who():\n    b = 2\nwanted(a)", 1),
        ("def f(x):\n    if x:\n        return 1\n    return 2\nwanted([f(0), f(who())])", [2, UNKNOWN]),
        ("wanted({**who(), 'a': 1}['a'])", 1),
    ],
)
def test_an_exact_reading_has_no_value_that_may_be_another(text: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(text)
    (call,) = calls_in(tmp_path / "script.py", ["wanted"], is_exact=True)
    assert call.argument(0, "x") == value


def test_a_value_is_whole_if_nothing_in_it_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("wanted([1, {'a': ('b',)}], {who(): 1}, {'a': [who()]}, {**who()})")
    (call,) = calls_in(tmp_path / "script.py", ["wanted"], is_exact=True)
    assert [is_whole(each) for each in call.arguments] == [True, False, False, False]


def test_the_lines_of_an_open_file_are_known(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a\nb\n")
    with_lines = "with open('list.txt') as f:\n    wanted({})"
    for text in ("[x.strip() for x in f]", "f.read().splitlines()", "[x[0] for x in f.readlines()]"):
        assert arguments(with_lines.format(text), tmp_path) == [["a", "b"]]
    assert arguments("a = []\nfor x in open('list.txt'):\n    a.append(x)\nwanted(a)", tmp_path) == [["a\n", "b\n"]]
    assert arguments("wanted([x for x in open('none.txt')])", tmp_path) == [UNKNOWN]
