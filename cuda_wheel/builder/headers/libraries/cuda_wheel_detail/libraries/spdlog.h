// spdlog as host code uses it: messages of every level, loggers, sinks and their macros.
#ifndef CUDA_WHEEL_LIBRARIES_SPDLOG_H
#define CUDA_WHEEL_LIBRARIES_SPDLOG_H

#include <chrono>
#include <cuda_wheel_detail/libraries/fmt.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// The release whose interface this header declares, which is that with {fmt} 11.2; `defines` may name another.
#ifndef SPDLOG_VER_MAJOR
#define SPDLOG_VER_MAJOR 1
#define SPDLOG_VER_MINOR 15
#define SPDLOG_VER_PATCH 3
#endif
#define SPDLOG_TO_VERSION(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#define SPDLOG_VERSION SPDLOG_TO_VERSION(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)
#define SPDLOG_LEVEL_TRACE 0
#define SPDLOG_LEVEL_DEBUG 1
#define SPDLOG_LEVEL_INFO 2
#define SPDLOG_LEVEL_WARN 3
#define SPDLOG_LEVEL_ERROR 4
#define SPDLOG_LEVEL_CRITICAL 5
#define SPDLOG_LEVEL_OFF 6

namespace spdlog {

namespace fmt_lib = fmt;
using string_view_t = fmt::string_view;
using filename_t = std::string;
template <class... Args>
using format_string_t = fmt::format_string<Args...>;
namespace level {
enum level_enum : int { trace, debug, info, warn, err, critical, off, n_levels };
string_view_t to_string_view(level_enum);
level_enum from_str(const std::string&);
} // namespace level
struct source_loc {
    constexpr source_loc(const char* = nullptr, int = 0, const char* = nullptr) {}
};
enum class pattern_time_type { local, utc };

// The functions that every logger has, and the default logger as functions of the namespace.
#define CUDA_WHEEL_SPDLOG_LEVEL(name)                           \
    template <class... Args>                                    \
    void name(format_string_t<Args...>, Args&&...);             \
    template <class T>                                          \
    void name(const T&);
#define CUDA_WHEEL_SPDLOG_LEVELS                                \
    CUDA_WHEEL_SPDLOG_LEVEL(trace)                              \
    CUDA_WHEEL_SPDLOG_LEVEL(debug)                              \
    CUDA_WHEEL_SPDLOG_LEVEL(info)                               \
    CUDA_WHEEL_SPDLOG_LEVEL(warn)                               \
    CUDA_WHEEL_SPDLOG_LEVEL(error)                              \
    CUDA_WHEEL_SPDLOG_LEVEL(critical)                           \
    template <class... Args>                                    \
    void log(source_loc, level::level_enum, format_string_t<Args...>, Args&&...); \
    template <class... Args>                                    \
    void log(level::level_enum, format_string_t<Args...>, Args&&...); \
    template <class T>                                          \
    void log(level::level_enum, const T&);                      \
    void set_level(level::level_enum);                          \
    void set_pattern(std::string, pattern_time_type = pattern_time_type::local); \
    void flush_on(level::level_enum);                           \
    void enable_backtrace(size_t);                              \
    void disable_backtrace();                                   \
    void dump_backtrace();

namespace sinks {
class sink {
  public:
    virtual ~sink();
    void set_level(level::level_enum);
    void set_pattern(const std::string&);
};
#define CUDA_WHEEL_SPDLOG_SINK(name)         \
    class name : public sink {               \
      public:                                \
        template <class... Args>             \
        explicit name(Args&&...);            \
    };
CUDA_WHEEL_SPDLOG_SINK(basic_file_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(basic_file_sink_st)
CUDA_WHEEL_SPDLOG_SINK(daily_file_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(null_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(ostream_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(rotating_file_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(rotating_file_sink_st)
CUDA_WHEEL_SPDLOG_SINK(stderr_color_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(stderr_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(stdout_color_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(stdout_color_sink_st)
CUDA_WHEEL_SPDLOG_SINK(stdout_sink_mt)
CUDA_WHEEL_SPDLOG_SINK(stdout_sink_st)
#undef CUDA_WHEEL_SPDLOG_SINK
} // namespace sinks
using sink_ptr = std::shared_ptr<sinks::sink>;

class logger {
  public:
    explicit logger(std::string);
    logger(std::string, sink_ptr);
    logger(std::string, std::initializer_list<sink_ptr>);
    template <class Iterator>
    logger(std::string, Iterator, Iterator);
    CUDA_WHEEL_SPDLOG_LEVELS
    bool should_log(level::level_enum) const;
    level::level_enum level() const;
    const std::string& name() const;
    void flush();
    std::vector<sink_ptr>& sinks();
    std::shared_ptr<logger> clone(std::string);
};
CUDA_WHEEL_SPDLOG_LEVELS
#undef CUDA_WHEEL_SPDLOG_LEVELS
#undef CUDA_WHEEL_SPDLOG_LEVEL
bool should_log(level::level_enum);
level::level_enum get_level();
std::shared_ptr<logger> get(const std::string&);
std::shared_ptr<logger> default_logger();
logger* default_logger_raw();
void set_default_logger(std::shared_ptr<logger>);
void register_logger(std::shared_ptr<logger>);
void initialize_logger(std::shared_ptr<logger>);
void apply_all(const std::function<void(std::shared_ptr<logger>)>&);
void flush_every(std::chrono::seconds);
void drop(const std::string&);
void drop_all();
void shutdown();
#define CUDA_WHEEL_SPDLOG_MAKE(name) \
    template <class... Args>         \
    std::shared_ptr<logger> name(const std::string&, Args&&...);
CUDA_WHEEL_SPDLOG_MAKE(basic_logger_mt)
CUDA_WHEEL_SPDLOG_MAKE(basic_logger_st)
CUDA_WHEEL_SPDLOG_MAKE(daily_logger_mt)
CUDA_WHEEL_SPDLOG_MAKE(rotating_logger_mt)
CUDA_WHEEL_SPDLOG_MAKE(rotating_logger_st)
CUDA_WHEEL_SPDLOG_MAKE(stderr_color_mt)
CUDA_WHEEL_SPDLOG_MAKE(stderr_color_st)
CUDA_WHEEL_SPDLOG_MAKE(stderr_logger_mt)
CUDA_WHEEL_SPDLOG_MAKE(stdout_color_mt)
CUDA_WHEEL_SPDLOG_MAKE(stdout_color_st)
CUDA_WHEEL_SPDLOG_MAKE(stdout_logger_mt)
#undef CUDA_WHEEL_SPDLOG_MAKE

} // namespace spdlog

#define SPDLOG_LOGGER_CALL(logger, level, ...) (logger)->log(level, __VA_ARGS__)
#define SPDLOG_LOGGER_TRACE(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::trace, __VA_ARGS__)
#define SPDLOG_LOGGER_DEBUG(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::debug, __VA_ARGS__)
#define SPDLOG_LOGGER_INFO(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::info, __VA_ARGS__)
#define SPDLOG_LOGGER_WARN(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::warn, __VA_ARGS__)
#define SPDLOG_LOGGER_ERROR(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::err, __VA_ARGS__)
#define SPDLOG_LOGGER_CRITICAL(logger, ...) SPDLOG_LOGGER_CALL(logger, spdlog::level::critical, __VA_ARGS__)
#define SPDLOG_TRACE(...) SPDLOG_LOGGER_TRACE(spdlog::default_logger_raw(), __VA_ARGS__)
#define SPDLOG_DEBUG(...) SPDLOG_LOGGER_DEBUG(spdlog::default_logger_raw(), __VA_ARGS__)
#define SPDLOG_INFO(...) SPDLOG_LOGGER_INFO(spdlog::default_logger_raw(), __VA_ARGS__)
#define SPDLOG_WARN(...) SPDLOG_LOGGER_WARN(spdlog::default_logger_raw(), __VA_ARGS__)
#define SPDLOG_ERROR(...) SPDLOG_LOGGER_ERROR(spdlog::default_logger_raw(), __VA_ARGS__)
#define SPDLOG_CRITICAL(...) SPDLOG_LOGGER_CRITICAL(spdlog::default_logger_raw(), __VA_ARGS__)

#endif
