// The headers of the standard library that PyTorch's own headers include, and that its users therefore leave out;
// but for <atomic> and <complex>, which take longer to compile than all of these.
#ifndef CUDA_WHEEL_PYTORCH_STANDARD_LIBRARY_H
#define CUDA_WHEEL_PYTORCH_STANDARD_LIBRARY_H

#include <algorithm>
#include <array>
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
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#ifndef CUDA_WHEEL_WITHOUT_MATH
#include <cmath>
#endif
#ifndef CUDA_WHEEL_WITHOUT_CONTAINERS
#include <deque>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#endif
#ifndef CUDA_WHEEL_WITHOUT_STREAMS
#include <iomanip>
#include <iostream>
#include <sstream>
#endif
#ifndef CUDA_WHEEL_WITHOUT_THREADS
#include <chrono>
#include <mutex>
#endif
#ifndef CUDA_WHEEL_WITHOUT_VARIANT
#include <variant>
#endif
#ifndef CUDA_WHEEL_WITHOUT_NUMERIC
#include <numeric>
#endif

#endif
