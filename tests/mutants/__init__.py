"""Measure whether the tests fail when the code is wrong: change the code in thousands of small ways and run its tests.

`nox -s mutants -- ROOM ...` runs it; `rooms` lists the rooms.
"""
