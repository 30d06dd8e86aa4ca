// <thrust/iterator/constant_iterator.h>, and the system of such an iterator.
#ifndef CUDA_WHEEL_THRUST_CONSTANT_ITERATOR
#define CUDA_WHEEL_THRUST_CONSTANT_ITERATOR  // before CCCL's header, which includes itself again
#include_next <thrust/iterator/constant_iterator.h>

// Thrust asks iterator_traits for the category. Before C++20, those ask whether the iterator can be copied, whose converting
// constructor asks for its system: nvcc's front end ends this circle, and NVRTC's refuses it. The category is the same.
THRUST_NAMESPACE_BEGIN
template <class... Arguments>
struct iterator_system<constant_iterator<Arguments...>>
    : detail::iterator_category_to_system<typename constant_iterator<Arguments...>::iterator_category> {};
THRUST_NAMESPACE_END

#endif
