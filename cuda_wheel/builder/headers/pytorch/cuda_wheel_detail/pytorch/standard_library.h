// The headers of the standard library and of the C library that PyTorch's own headers include (2.14, with libstdc++ 12),
// and that its users therefore leave out. <torch/extension.h> includes all of them, <c10/...> most.
#ifndef CUDA_WHEEL_PYTORCH_STANDARD_LIBRARY_H
#define CUDA_WHEEL_PYTORCH_STANDARD_LIBRARY_H

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cfloat>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <endian.h>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <strings.h>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unistd.h>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <compare>
#include <concepts>
#include <numbers>
#include <span>
#endif

#ifndef CUDA_WHEEL_WITHOUT_ATOMIC
#include <atomic>
#endif
#if !defined(CUDA_WHEEL_WITHOUT_COMPLEX) && __has_include(<cuda/std/complex>)
#include <complex>
#endif
#ifndef CUDA_WHEEL_WITHOUT_MATH
#include <cmath>
#endif
#ifndef CUDA_WHEEL_WITHOUT_CONTAINERS
#include <bitset>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <stack>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#endif
#ifndef CUDA_WHEEL_WITHOUT_LOCALES
#include <clocale>
#include <cwchar>
#include <cwctype>
#include <locale>
#endif
#ifndef CUDA_WHEEL_WITHOUT_STREAMS
#include <iomanip>
#include <iostream>
#include <sstream>
#endif
#ifndef CUDA_WHEEL_WITHOUT_THREADS
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#endif
#ifndef CUDA_WHEEL_WITHOUT_VARIANT
#include <variant>
#endif
#ifndef CUDA_WHEEL_WITHOUT_NUMERIC
#include <numeric>
#endif

#endif
