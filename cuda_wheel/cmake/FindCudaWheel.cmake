# find_package(CudaWheel) is include(CudaWheel): there is nothing to search for but this folder.
include("${CMAKE_CURRENT_LIST_DIR}/CudaWheel.cmake")
set(CudaWheel_FOUND TRUE)
