"""Pictures of a MuJoCo task: off screen with or without a display, and in a window.

MuJoCo fixes its OpenGL library when it is imported, from the variable MUJOCO_GL. Here the choice
is made at the first picture instead, so that a task without pictures needs no OpenGL at all and a
machine without a display needs no variable.
"""

import atexit
import ctypes
import os
import sys
import time
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.optional import require

mujoco = require("mujoco", "mujoco")

INSTALL_GL = (
    "MuJoCo found no OpenGL library to draw with. Without a display it needs EGL or OSMesa; on "
    "Debian or Ubuntu: apt-get install libegl1 libegl-mesa0 (or libosmesa6). With a display, or "
    "to choose one yourself, set MUJOCO_GL to glfw, egl or osmesa"
)


class RenderingError(RuntimeError):
    """Rendering is not possible on this machine; the message says what to install."""


def has_display() -> bool:
    """Is there a screen to open a window on?"""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def has_egl_device() -> bool:
    """Whether EGL works; checked before MuJoCo's EGL module binds PyOpenGL to EGL permanently."""
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    address = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    if not address:
        return False
    count = ctypes.c_int(0)
    query = ctypes.CFUNCTYPE(
        ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)
    )(address)
    return bool(query(0, None, ctypes.byref(count))) and count.value > 0


def has_osmesa() -> bool:
    """Whether OSMesa is installed."""
    for name in ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def choose_gl() -> str:
    """The OpenGL library to use: the user's choice, else glfw, EGL or OSMesa, as this machine has.

    An empty string means MuJoCo's own default.
    """
    wish = os.environ.get("MUJOCO_GL", "").strip().lower()
    if wish or has_display():
        return wish
    if has_egl_device():
        return "egl"
    if has_osmesa():
        return "osmesa"
    raise RenderingError(INSTALL_GL + ".")


def gl_context(width: int, height: int) -> Any:
    """A new OpenGL context of the chosen library, or an error that says what to install."""
    name = choose_gl()
    try:
        if name in ("egl", "osmesa"):
            # MuJoCo's loader of OpenGL functions reads the variable again at the first context.
            os.environ["MUJOCO_GL"] = name
            context_class = require(f"mujoco.{name}", "mujoco").GLContext
        else:
            context_class = mujoco.GLContext
        return context_class(width, height)
    except Exception as error:
        raise RenderingError(f"{INSTALL_GL} (tried {name or 'glfw'}: {error}).") from error


class Picture:
    """Draws one model off screen, from one of its cameras."""

    def __init__(self, model: Any, camera: str, width: int, height: int) -> None:
        self._context = gl_context(width, height)
        self._context.make_current()
        # A context that lives until Python has shut down complains when it is deleted then.
        atexit.register(_close, weakref.ref(self))
        self._model = model
        self._rectangle = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._option = mujoco.MjvOption()
        self._camera = fixed_camera(model, camera)
        try:
            self._resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        except mujoco.FatalError as error:
            raise RenderingError(f"{INSTALL_GL} ({error}).") from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._resources)

    def draw(self, data: Any) -> npt.NDArray[np.uint8]:
        self._context.make_current()
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        pixels = np.empty((self._rectangle.height, self._rectangle.width, 3), np.uint8)
        mujoco.mjr_render(self._rectangle, self._scene, self._resources)
        mujoco.mjr_readPixels(pixels, None, self._rectangle, self._resources)
        return np.ascontiguousarray(pixels[::-1])  # OpenGL counts rows from below

    def close(self) -> None:
        if self._context is None:
            return
        self._context.make_current()
        self._resources.free()
        self._context.free()
        self._context = None


def _close(reference: "weakref.ref[Picture]") -> None:
    picture = reference()
    if picture is not None:
        picture.close()


class Window:
    """Shows one model on the screen, at the speed of real time."""

    def __init__(self, model: Any, data: Any, camera: str, frames_per_second: float) -> None:
        if not has_display():
            raise RenderingError(
                'render_mode="human" needs a display, and DISPLAY is not set: use '
                'render_mode="rgb_array" on this machine.'
            )
        viewer = require("mujoco.viewer", "mujoco")
        self._handle = viewer.launch_passive(model, data, show_left_ui=False, show_right_ui=False)
        with self._handle.lock():
            self._handle.cam.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
            self._handle.cam.fixedcamid = camera_id(model, camera)
        self._period = 1.0 / frames_per_second
        self._next = time.perf_counter()

    def show(self) -> None:
        self._handle.sync()
        now = time.perf_counter()
        time.sleep(max(0.0, self._next - now))
        self._next = max(self._next, now) + self._period

    def close(self) -> None:
        self._handle.close()


def camera_id(model: Any, name: str) -> int:
    """The number of a camera of the model."""
    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA.value, name))


def fixed_camera(model: Any, name: str) -> Any:
    """A view through a camera of the model."""
    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
    camera.fixedcamid = camera_id(model, name)
    return camera
