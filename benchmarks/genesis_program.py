"""The process that runs one scene of Genesis: `python genesis_program.py SCENE STEPS OUT.npy`, on
Quadrants, or by `python -m mlirad.quadrants genesis_program.py ...` on mlirad.

It needs Genesis alone, writes the positions after the steps in double precision, and prints one
line of JSON: the seconds of import, build, first and following steps.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PREFIX = "@@"  # marks our line among what Genesis prints
Positions = Callable[[], Any]

began = time.perf_counter()
import genesis as gs  # noqa: E402  # type: ignore[import-not-found]

imported = time.perf_counter() - began


def main() -> None:
    """Build the scene, take its steps, write where things are."""
    name, steps, path = sys.argv[1:4]
    gs.init(backend=gs.cpu, precision="64", logging_level="warning", seed=0)
    times = {"import": imported}
    began = time.perf_counter()
    scene, read, *_ = SCENES[name]()
    times["build"] = time.perf_counter() - began
    seconds = []
    for _ in range(int(steps)):
        began = time.perf_counter()
        scene.step()
        seconds.append(time.perf_counter() - began)
    times["first"], times["step"] = seconds[0], sorted(seconds)[len(seconds) // 2]
    began = time.perf_counter()
    positions = read()
    times["read"] = time.perf_counter() - began
    np.save(Path(path), np.asarray(getattr(positions, "numpy", lambda: positions)()))
    print(PREFIX + json.dumps({"scene": name, **times}), flush=True)


def _scene(**options: Any) -> Any:
    return gs.Scene(show_viewer=False, **options)


def _in_box(solver: Any, **options: Any) -> Any:
    return solver(lower_bound=(-0.5, -0.5, 0.0), upper_bound=(0.5, 0.5, 1.0), **options)


def box() -> tuple[Any, Positions]:
    """Drop a box on a plane."""
    scene = _scene()
    scene.add_entity(gs.morphs.Plane())
    cube = scene.add_entity(
        gs.morphs.Box(size=(0.2, 0.2, 0.2), pos=(0.0, 0.0, 0.3), euler=(20, 10, 0))
    )
    scene.build()
    return scene, cube.get_qpos


def boxes() -> tuple[Any, Positions]:
    """Drop boxes and a ball, side by side."""
    scene = _scene()
    scene.add_entity(gs.morphs.Plane())
    sizes = [(0.2, 0.2, 0.2), (0.1, 0.2, 0.15), (0.2, 0.3, 0.1)]
    bodies = [
        scene.add_entity(
            gs.morphs.Box(size=size, pos=(0.4 * i, 0.0, 0.25), euler=(25 * i + 10, 15, 5))
        )
        for i, size in enumerate(sizes)
    ]
    bodies.append(scene.add_entity(gs.morphs.Sphere(radius=0.1, pos=(-0.5, 0.0, 0.15))))
    scene.build()
    return scene, lambda: np.concatenate([body.get_qpos().numpy() for body in bodies])


def franka(environments: int = 0) -> tuple[Any, Positions]:
    """Let an arm of Franka's fall to a given pose over a plane."""
    scene = _scene()
    scene.add_entity(gs.morphs.Plane())
    arm = scene.add_entity(gs.morphs.MJCF(file="xml/franka_emika_panda/panda.xml"))
    scene.build(n_envs=environments)
    arm.control_dofs_position(
        np.array([0.3, 0.2, 0.0, -1.5, 0.1, 1.5, 0.4, 0.02, 0.02])
        if not environments
        else np.tile([0.3, 0.2, 0.0, -1.5, 0.1, 1.5, 0.4, 0.02, 0.02], (environments, 1))
    )
    return scene, arm.get_qpos


def franka_many() -> tuple[Any, Positions]:
    """Let 4,096 arms fall."""
    return franka(4096)


def _mpm(material: Any, **options: Any) -> tuple[Any, Positions]:
    scene = _scene(
        sim_options=gs.options.SimOptions(dt=4e-3, substeps=10, **options),
        mpm_options=_in_box(gs.options.MPMOptions, grid_density=32),
    )
    scene.add_entity(gs.morphs.Plane())
    body = scene.add_entity(
        material=material,
        morph=gs.morphs.Box(pos=(0.0, 0.0, 0.4), size=(0.2, 0.2, 0.2)),
    )
    scene.build()
    return scene, body.get_particles_pos


def mpm_elastic() -> tuple[Any, Positions]:
    """Drop an elastic cube of material points."""
    return _mpm(gs.materials.MPM.Elastic(sampler="regular"))


def mpm_liquid() -> tuple[Any, Positions]:
    """Drop a cube of liquid, of material points."""
    return _mpm(gs.materials.MPM.Liquid(sampler="regular"))


def mpm_gradient() -> tuple[Any, Positions]:
    """Push an elastic cube of material points, and ask for the derivative of where it gets to."""
    scene = _scene(
        sim_options=gs.options.SimOptions(dt=2e-3, substeps=10, requires_grad=True),
        mpm_options=_in_box(gs.options.MPMOptions, grid_density=32),
    )
    body = scene.add_entity(
        material=gs.materials.MPM.Elastic(sampler="regular"),
        morph=gs.morphs.Box(pos=(0.0, 0.0, 0.4), size=(0.2, 0.2, 0.2)),
    )
    scene.build()
    velocity = gs.tensor([1.0, 0.2, -0.5], requires_grad=True)
    body.set_velocity(velocity)

    def derivative() -> Any:
        loss = (body.get_state().pos ** 2).mean()
        loss.backward()
        return np.concatenate([loss.detach().numpy().ravel(), velocity.grad.numpy().ravel()])

    return scene, derivative


def sph() -> tuple[Any, Positions]:
    """Drop a cube of smoothed particles."""
    scene = _scene(
        sim_options=gs.options.SimOptions(dt=4e-3, substeps=10),
        sph_options=_in_box(gs.options.SPHOptions, particle_size=0.02),
    )
    scene.add_entity(gs.morphs.Plane())
    body = scene.add_entity(
        material=gs.materials.SPH.Liquid(sampler="regular"),
        morph=gs.morphs.Box(pos=(0.0, 0.0, 0.3), size=(0.3, 0.3, 0.3)),
    )
    scene.build()
    return scene, body.get_particles_pos


def pbd() -> tuple[Any, Positions]:
    """Drop a cloth whose corners are held."""
    scene = _scene(sim_options=gs.options.SimOptions(dt=4e-3, substeps=10))
    scene.add_entity(gs.morphs.Plane())
    cloth = scene.add_entity(
        material=gs.materials.PBD.Cloth(),
        morph=gs.morphs.Mesh(file="meshes/cloth.obj", scale=1.0, pos=(0.0, 0.0, 0.5)),
    )
    scene.build()
    return scene, cloth.get_particles_pos


def fem() -> tuple[Any, Positions]:
    """Drop an elastic ball of finite elements."""
    scene = _scene(
        sim_options=gs.options.SimOptions(dt=1e-3, substeps=20),
        fem_options=gs.options.FEMOptions(damping=0.0),
    )
    scene.add_entity(gs.morphs.Plane())
    ball = scene.add_entity(
        material=gs.materials.FEM.Elastic(E=1e4, nu=0.3, rho=1000.0),
        morph=gs.morphs.Sphere(pos=(0.0, 0.0, 0.3), radius=0.1),
    )
    scene.build()
    return scene, lambda: ball.get_state().pos


def coupled() -> tuple[Any, Positions]:
    """Drop a rigid box on an elastic cube of material points."""
    scene = _scene(
        sim_options=gs.options.SimOptions(dt=4e-3, substeps=10),
        mpm_options=_in_box(gs.options.MPMOptions, grid_density=32),
    )
    scene.add_entity(gs.morphs.Plane())
    soft = scene.add_entity(
        material=gs.materials.MPM.Elastic(sampler="regular"),
        morph=gs.morphs.Box(pos=(0.0, 0.0, 0.2), size=(0.2, 0.2, 0.2)),
    )
    rigid = scene.add_entity(gs.morphs.Box(pos=(0.02, 0.0, 0.42), size=(0.15, 0.15, 0.15)))
    scene.build()
    return scene, lambda: np.concatenate(
        [soft.get_particles_pos().numpy().ravel(), rigid.get_qpos().numpy().ravel()]
    )


SCENES = {
    scene.__name__: scene
    for scene in (
        box,
        boxes,
        franka,
        franka_many,
        mpm_elastic,
        mpm_gradient,
        mpm_liquid,
        sph,
        pbd,
        fem,
        coupled,
    )
}
if __name__ == "__main__":
    main()
