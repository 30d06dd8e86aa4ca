"""Calls of curobo's kinematics: where the links, the spheres and the centre of mass of a robot are, and the gradients.

Links follow their parents; a joint moves a link along or around an axis (types 0 to 5), or nothing does (-1). Element
types of the maps, and at least one batch, are asserted: the process ends where an assertion fails, which is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random

FORWARD, SPHERES = "launch_kinematics_forward", "launch_kinematics_forward_spheres"
JACOBIAN, BACKWARD = "launch_kinematics_forward_spheres_jacobian", "launch_kinematics_backward"


def short(numbers: Sequence[int]) -> Tensor:
    return on_gpu(list(numbers), dtype=torch.int16)


@dataclass(frozen=True)
class Robot:
    """A robot, and how often it is computed."""

    links: int = 9
    joints: int = 6
    spheres: int = 11
    frames: tuple[int, ...] = (3, 8)
    """The links whose poses are asked for."""
    batch: int = 5
    horizon: int = 1
    places: int = 1
    """How many sets of spheres there are."""
    branches: int = 0
    """After how many links the next one follows the base again; 0: there is one chain."""

    @property
    def parents(self) -> list[int]:
        def parent(link: int) -> int:
            return 0 if self.branches and link % self.branches == 1 else link - 1

        return [0, *map(parent, range(1, self.links))]

    @property
    def types(self) -> list[int]:
        """Every fifth link is fixed, and so is the base."""
        return [-1 if link % 5 == 0 else link * 7 % 6 for link in range(self.links)]

    @property
    def moved_by(self) -> list[int]:
        """Return the joint of each link; with fewer joints than links, one moves several."""
        return [-1 if kind < 0 else link % self.joints for link, kind in enumerate(self.types)]

    def chain(self, link: int) -> list[int]:
        """Return a link and those that it follows, from the base on."""
        parents, found = self.parents, [link]
        while found[0]:
            found.insert(0, parents[found[0]])
        return found

    def packed(self, lists: Sequence[Sequence[int]]) -> list[Tensor]:
        """Return the lists behind each other, and where they begin."""
        lengths = [len(each) for each in lists]
        return [short([n for each in lists for n in each]), short([sum(lengths[:n]) for n in range(len(lists) + 1)])]

    def chains(self) -> list[Tensor]:
        links = [[link for link, joint in enumerate(self.moved_by) if joint == n] for n in range(self.joints)]
        affects = [[bool(set(mine) & set(self.chain(frame))) for frame in self.frames] for mine in links]
        chains = self.packed([self.chain(link) for link in range(self.links)])
        return [*chains, *self.packed(links), on_gpu(affects, dtype=torch.bool)]

    def transforms(self, count: int, seed: int) -> Tensor:
        """Return rotations and small translations, (count, 3, 4)."""
        quaternions = torch.nn.functional.normalize(random(count, 4, seed=seed) - 0.5, dim=1)
        w, x, y, z = quaternions.unbind(1)
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        rotations = torch.stack([torch.stack(row, 1) for row in rows], 1)
        return torch.cat([rotations, random(count, 3, 1, seed=seed + 1) - 0.5], 2).contiguous()

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros(self.batch, *shape, device=DEVICE)

    def poses(self) -> list[Tensor]:
        return [self.zeros(len(self.frames), 3), self.zeros(len(self.frames), 4)]

    def masses(self) -> Tensor:
        return random(self.links, 4, seed=3) - 0.1

    def maps(self) -> list[Tensor]:
        """Return the maps of the joints' types, the joints, the parents and the frames."""
        types = on_gpu(self.types, dtype=torch.int8)
        return [types, short(self.moved_by), short(self.parents), short(self.frames)]

    def offsets(self) -> Tensor:
        """Return the factor and the offset of each link's joint."""
        signs = on_gpu([1.0 if link % 3 else -1.0 for link in range(self.links)])
        return torch.stack([signs, random(self.links, seed=4)], 1).contiguous()

    def all_spheres(self) -> Tensor:
        return random(self.places, self.spheres, 4, seed=5) - 0.4

    def of_spheres(self) -> Tensor:
        return short([n * 5 % self.links for n in range(self.spheres)])

    def which(self) -> Tensor:
        """Return which set of spheres each trajectory has."""
        return on_gpu([n % self.places for n in range(self.batch // self.horizon)], dtype=torch.int)

    def angles(self) -> Tensor:
        return random(self.batch, self.joints, seed=6) * 6 - 3

    def forward(self, mass: bool = False) -> list[Any]:
        outputs = [*self.poses(), self.zeros(4), self.zeros(self.links, 3, 4)]
        inputs = [self.angles(), self.transforms(self.links, 8), self.masses(), *self.maps(), self.offsets()]
        return [*outputs, *inputs, self.batch, self.horizon, self.joints, mass]

    def with_spheres(
        self, threads: int = 32, writes: bool = True, mass: bool = False, jacobian: bool = False
    ) -> list[Any]:
        more = [self.zeros(len(self.frames), 6, self.joints)] if jacobian else []
        outputs = [*self.poses(), self.zeros(self.spheres, 4), self.zeros(4), *more, self.zeros(self.links, 3, 4)]
        inputs = [self.angles(), self.transforms(self.links, 8), self.all_spheres(), self.masses(), *self.maps()]
        inputs += [self.of_spheres(), *(self.chains() if jacobian else []), self.offsets(), self.which()]
        sizes = [self.places, self.batch, self.horizon, self.joints, self.spheres, threads]
        return [*outputs, *inputs, *sizes, writes, mass]

    def backward(self, mass: bool = False, jacobian: bool = False, is_sparse: bool = False) -> list[Any]:
        frames = len(self.frames)
        gradients = [
            random(self.batch, *size, seed=seed) - 0.5
            for seed, size in enumerate(((frames, 3), (frames, 4), (self.spheres, 4), (4,)), 10)
        ]
        if is_sparse:
            gradients = [each * (random(*each.shape[:-1], 1, seed=20) > 0.6) for each in gradients]
        centre = random(self.batch, 4, seed=14) - 0.2
        of_jacobian = random(self.batch, frames, 6, self.joints, seed=15) - 0.5
        links = self.transforms(self.batch * self.links, 16).view(self.batch, self.links, 3, 4)
        types, joints, parents, places = self.maps()
        maps = [parents, joints, types, places, self.of_spheres(), *self.chains(), self.offsets(), self.which()]
        sizes = [self.places, self.batch, self.horizon, self.joints, self.spheres]
        inputs = [*gradients, centre, of_jacobian, links, self.all_spheres(), self.masses(), *maps]
        return [self.zeros(self.joints), *inputs, *sizes, mass, jacobian]


ROBOTS = {
    "usual": Robot(),
    "one link": Robot(1, 1, 1, (0,), 1),
    "two links": Robot(2, 1, 3, (1,), 2),
    "branches": Robot(20, 12, 40, (19, 4, 12, 0), 33, branches=6),
    "trajectories in several places": Robot(12, 7, 65, (11,), 12, horizon=3, places=4),
    "many joints": Robot(40, 30, 129, (39, 20), 7, branches=10),
    "more joints": Robot(80, 70, 200, (79,), 3, branches=20),
    "many batches": Robot(5, 3, 4, (4,), 1000),
}


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def usual() -> Iterator[Case]:
    for what, robot in ROBOTS.items():
        for mass in (False, True):
            yield Case(FORWARD, lambda r=robot, m=mass: r.forward(m), f"{what}, mass {mass}")
            for jacobian in (False, True):
                yield Case(
                    BACKWARD,
                    lambda r=robot, m=mass, j=jacobian: r.backward(m, j),
                    f"{what}, mass {mass}, Jacobian {jacobian}",
                )
        for threads in (32, 64, 128):
            for writes in (False, True):
                for mass in (False, True):
                    options = (threads, writes, mass)
                    for function, jacobian in ((SPHERES, False), (JACOBIAN, True)):
                        yield Case(
                            function, lambda r=robot, o=options, j=jacobian: r.with_spheres(*o, j), f"{what}, {options}"
                        )
        yield Case(BACKWARD, lambda r=robot: r.backward(True, True, is_sparse=True), f"{what}, many zeros")
    yield Case(FORWARD, lambda: Robot(500, 10, 1, (499,), 2).forward(True), "500 links")
    yield Case(SPHERES, lambda: Robot(200, 10, 1000, (199,), 3).with_spheres(), "many spheres")
    yield Case(BACKWARD, lambda: Robot(30, 10, 5200, (29,), 3).backward(True), "so many spheres that blocks add up")
    yield Case(FORWARD, lambda: Robot(frames=()).forward(), "no frames")
    yield Case(SPHERES, lambda: Robot(spheres=0).with_spheres(), "no spheres")
    yield Case(FORWARD, lambda: Robot().forward()[:-1], "no mass by default")
    yield Case(SPHERES, lambda: Robot().with_spheres()[:-2], "transforms are written by default")
    yield Case(JACOBIAN, lambda: Robot().with_spheres(jacobian=True)[:-2], "transforms are written by default")


def refused() -> Iterator[Case]:
    robot = Robot()

    def with_gaps(t: Tensor) -> Tensor:
        return torch.stack([t, t], -1)[..., 0]

    for function, make, tensors in (
        (FORWARD, robot.forward, 12),
        (SPHERES, robot.with_spheres, 16),
        (JACOBIAN, lambda: robot.with_spheres(jacobian=True), 22),
        (BACKWARD, robot.backward, 22),
    ):
        for place in range(tensors):
            yield Case(function, lambda m=make, p=place: changed(m(), p, Tensor.cpu), f"{place} on the CPU: refused")
            yield Case(function, lambda m=make, p=place: changed(m(), p, with_gaps), f"{place} with gaps: refused")
        for place in range(4):
            yield Case(function, lambda m=make, p=place: changed(m(), p, Tensor.double), f"{place} double: refused")
        yield Case(function, lambda m=make, p=tensors: changed(m(), p, str), "a text as a size: refused")
    for function, jacobian in ((SPHERES, False), (JACOBIAN, True)):
        for threads in (0, 16, 256):
            case = lambda t=threads, j=jacobian: robot.with_spheres(t, jacobian=j)  # noqa: E731
            yield Case(function, case, f"{threads} threads: refused")
    yield Case(FORWARD, lambda: Robot(501, 10, 1, (500,), 2).forward(), "501 links: refused")
    yield Case(SPHERES, lambda: Robot(501, 10, 1, (500,), 2).with_spheres(), "501 links: refused")


def cases() -> Iterator[Case]:
    yield from usual()
    yield from refused()
