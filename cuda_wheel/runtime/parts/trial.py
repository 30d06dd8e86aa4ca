"""Load code that the driver may refuse, and find out at once whether it does."""

from collections.abc import Callable

from ..driver import check_result, cuda_driver, current_device
from ..errors import DriverError, NoImageError
from ..explanations import no_image_message
from ..manifest import Manifest, Version
from ..module import Module
from ..rules import Rejection, Resolution

__all__ = ["load_on_trial", "try_to_load"]


REFUSALS = ("CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
"""Names of the driver's errors that mean: the driver cannot read the image, or the GPU cannot run it."""


def load_on_trial(
    load: Callable[[], Module],
    manifest: Manifest,
    resolution: Resolution,
    capability: Version,
    driver: Version,
    device: int | None,
) -> Module:
    """Return the module that `load` returns, after a trial if `resolution.doubt` is not None.

    Raises NoImageError, with every image and the reason against it, if the driver refuses it for GPU `device`.
    """
    image, doubt = resolution.image, resolution.doubt
    if image is None or doubt is None:
        return load()
    try:
        return try_to_load(load, doubt, device)
    except NoImageError as error:
        rejected = (Rejection(image, str(error)), *resolution.rejected)
        without = Resolution(None, None, rejected, forbidden=resolution.forbidden)
        raise NoImageError(no_image_message(manifest, without, capability, driver)) from None


def try_to_load(load: Callable[[], Module], doubt: str, device: int | None) -> Module:
    """Return the module that `load` returns, if the driver accepts its code for GPU `device`.

    Raises NoImageError, whose message begins with `doubt`, if the driver refuses the code; DriverError for its other
    errors.
    """
    module = None
    try:
        module = load()
        _use_code(module, device)
        return module
    except DriverError as error:
        if module is not None:
            module.unload()
        if any(refusal in str(error) for refusal in REFUSALS):
            raise NoImageError(f"{doubt}; the driver refused it: {error}") from None
        raise


def _use_code(module: Module, device: int | None) -> None:
    """Make the driver load the module's code on GPU `device` now. Raise DriverError if the driver refuses the code.

    If `device` is None, use the current GPU; if no GPU is current, GPU 0.
    """
    driver, target = cuda_driver(), str(module.image.target)
    # Asking for an attribute of a kernel loads the code, which the driver else does when a kernel is first used.
    for info in [info for info in module.manifest.kernels if target not in info.absent][:1]:
        which = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_BINARY_VERSION
        gpu = (current_device() or 0) if device is None else device
        handle = check_result(driver.cuDeviceGet(gpu), "getting the GPU")
        result = driver.cuKernelGetAttribute(which, module[info.symbol].handle, handle)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
            return  # without a context the driver may not say; a launch will
        check_result(result, f"loading {module.name}, {module.image}")
