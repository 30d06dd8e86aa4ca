# find_package(CudaWheel) does the same as include(CudaWheel): this folder is all that there is to find.
include("${CMAKE_CURRENT_LIST_DIR}/CudaWheel.cmake")
set(CudaWheel_FOUND TRUE)
