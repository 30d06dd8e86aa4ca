// {fmt} as host code uses it: formatting to strings, buffers and streams, formatters of the project's types, colours.
#ifndef CUDA_WHEEL_LIBRARIES_FMT_H
#define CUDA_WHEEL_LIBRARIES_FMT_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <iterator>
#include <locale>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

// The release whose interface this header declares; `defines` may name another.
#ifndef FMT_VERSION
#define FMT_VERSION 110200
#endif
#define FMT_STRING(text) (text)
#define FMT_COMPILE(text) (text)
#define FMT_CONSTEXPR constexpr
#define FMT_BEGIN_NAMESPACE namespace fmt {
#define FMT_END_NAMESPACE }
#define FMT_NODISCARD [[nodiscard]]
#define FMT_API

namespace fmt {

template <class Char>
using basic_string_view = std::basic_string_view<Char>;
using string_view = std::string_view;
using wstring_view = std::wstring_view;

class format_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// --- Format strings and contexts ----------------------------------------------------------------------------------------

template <class Char>
struct runtime_format_string {
    basic_string_view<Char> str;
};
template <class Char, class... Args>
class basic_format_string {
  public:
    // The text is not checked: with real {fmt}, the host compiler does that.
    template <class Text, class = typename std::enable_if<std::is_convertible<const Text&, basic_string_view<Char>>::value>::type>
    constexpr basic_format_string(const Text& text) : text_(text) {}
    constexpr basic_format_string(runtime_format_string<Char> text) : text_(text.str) {}
    constexpr operator basic_string_view<Char>() const { return text_; }
    constexpr basic_string_view<Char> get() const { return text_; }

  private:
    basic_string_view<Char> text_;
};
template <class T>
struct type_identity {
    using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;
template <class... Args>
using format_string = basic_format_string<char, type_identity_t<Args>...>;
template <class... Args>
using wformat_string = basic_format_string<wchar_t, type_identity_t<Args>...>;
template <class... Args>
using fstring = format_string<Args...>;
inline runtime_format_string<char> runtime(string_view text) { return {text}; }

class appender {
  public:
    using iterator_category = std::output_iterator_tag;
    using value_type = void;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = void;
    appender& operator=(char);
    appender& operator*();
    appender& operator++();
    appender operator++(int);
};
template <class Char>
class basic_format_parse_context {
  public:
    using char_type = Char;
    using iterator = const Char*;
    constexpr iterator begin() const { return begin_; }
    constexpr iterator end() const { return end_; }
    constexpr void advance_to(iterator place) { begin_ = place; }
    constexpr int next_arg_id() { return 0; }

  private:
    const Char* begin_ = nullptr;
    const Char* end_ = nullptr;
};
using format_parse_context = basic_format_parse_context<char>;
using parse_context = format_parse_context;
template <class Out, class Char>
class basic_format_context {
  public:
    using char_type = Char;
    using iterator = Out;
    Out out() const;
    void advance_to(Out);
};
using format_context = basic_format_context<appender, char>;
using context = format_context;
struct basic_format_args {};
using format_args = basic_format_args;
template <class... Args>
format_args make_format_args(Args&...);

// How a type is formatted: the project specialises it. The general one accepts every type.
template <class T, class Char = char, class Enable = void>
struct formatter {
    template <class Context>
    constexpr auto parse(Context& context) {
        return context.begin();
    }
    template <class Value, class Context>
    auto format(const Value&, Context& context) const -> decltype(context.out());
};
struct ostream_formatter : formatter<string_view> {};
template <class T, class Char = char>
struct is_formattable : std::true_type {};
template <class T, class Char = char>
using is_range = std::false_type;

// --- Formatting ---------------------------------------------------------------------------------------------------------

template <class... Args>
std::string format(format_string<Args...>, Args&&...);
template <class... Args>
std::wstring format(wformat_string<Args...>, Args&&...);
template <class... Args>
std::string format(const std::locale&, format_string<Args...>, Args&&...);
template <class Out, class... Args>
Out format_to(Out, format_string<Args...>, Args&&...);
template <class Out>
struct format_to_n_result {
    Out out;
    size_t size;
};
template <class Out, class... Args>
format_to_n_result<Out> format_to_n(Out, size_t, format_string<Args...>, Args&&...);
template <class... Args>
size_t formatted_size(format_string<Args...>, Args&&...);
std::string vformat(string_view, format_args);
template <class Out>
Out vformat_to(Out, string_view, format_args);
template <class... Args>
void print(format_string<Args...>, Args&&...);
template <class... Args>
void print(std::FILE*, format_string<Args...>, Args&&...);
template <class... Args>
void print(std::ostream&, format_string<Args...>, Args&&...);
template <class... Args>
void println(format_string<Args...>, Args&&...);
template <class... Args>
void println(std::FILE*, format_string<Args...>, Args&&...);
template <class... Args>
void println(std::ostream&, format_string<Args...>, Args&&...);
void vprint(string_view, format_args);
void vprint(std::FILE*, string_view, format_args);
template <class T>
std::string to_string(const T&);
template <class T>
std::wstring to_wstring(const T&);
template <class... Args>
std::string sprintf(string_view, const Args&...);
template <class... Args>
int printf(string_view, const Args&...);
template <class... Args>
int fprintf(std::FILE*, string_view, const Args&...);

template <class T, size_t Size = 500, class Allocator = std::allocator<T>>
class basic_memory_buffer {
  public:
    using value_type = T;
    using const_reference = const T&;
    basic_memory_buffer();
    basic_memory_buffer(basic_memory_buffer&&);
    ~basic_memory_buffer();
    T* data();
    const T* data() const;
    T* begin();
    T* end();
    const T* begin() const;
    const T* end() const;
    size_t size() const;
    size_t capacity() const;
    void clear();
    void resize(size_t);
    void reserve(size_t);
    void push_back(const T&);
    template <class U>
    void append(const U* begin, const U* end);
    template <class Range>
    void append(const Range&);
    T& operator[](size_t);
};
using memory_buffer = basic_memory_buffer<char>;
template <size_t Size>
std::string to_string(const basic_memory_buffer<char, Size>&);

// --- Arguments ----------------------------------------------------------------------------------------------------------

template <class T>
struct view_of {
    T value;
};
template <class Range>
view_of<string_view> join(Range&&, string_view);
template <class T>
view_of<string_view> join(std::initializer_list<T>, string_view);
template <class Iterator, class Sentinel>
view_of<string_view> join(Iterator, Sentinel, string_view);
template <class T>
const void* ptr(T);
template <class T>
const void* ptr(const std::unique_ptr<T>&);
template <class T>
const void* ptr(const std::shared_ptr<T>&);
template <class Enum>
constexpr typename std::underlying_type<Enum>::type underlying(Enum value) noexcept {
    return static_cast<typename std::underlying_type<Enum>::type>(value);
}
template <class T>
view_of<const T*> streamed(const T&);
template <class T>
view_of<T> group_digits(T);
template <class T>
struct named_arg {
    const char* name;
    const T& value;
};
template <class T>
named_arg<T> arg(const char*, const T&);
std::tm localtime(std::time_t);
std::tm gmtime(std::time_t);
namespace literals {
struct argument_name {
    const char* text;
    template <class T>
    named_arg<T> operator=(T&&) const;
};
constexpr argument_name operator""_a(const char* text, size_t) { return {text}; }
} // namespace literals

// --- Colours ------------------------------------------------------------------------------------------------------------

enum class color : uint32_t {
    black = 0x000000, blue = 0x0000FF, cyan = 0x00FFFF, dark_blue = 0x00008B, dark_cyan = 0x008B8B, dark_gray = 0xA9A9A9,
    dark_green = 0x006400, dark_orange = 0xFF8C00, dark_red = 0x8B0000, dim_gray = 0x696969, fuchsia = 0xFF00FF,
    gold = 0xFFD700, gray = 0x808080, green = 0x008000, light_blue = 0xADD8E6, light_gray = 0xD3D3D3,
    light_green = 0x90EE90, lime = 0x00FF00, lime_green = 0x32CD32, magenta = 0xFF00FF, maroon = 0x800000, navy = 0x000080,
    olive = 0x808000, orange = 0xFFA500, orange_red = 0xFF4500, pink = 0xFFC0CB, purple = 0x800080, red = 0xFF0000,
    royal_blue = 0x4169E1, salmon = 0xFA8072, silver = 0xC0C0C0, sky_blue = 0x87CEEB, steel_blue = 0x4682B4, teal = 0x008080,
    tomato = 0xFF6347, violet = 0xEE82EE, white = 0xFFFFFF, yellow = 0xFFFF00, yellow_green = 0x9ACD32
};
enum class terminal_color : uint8_t {
    black = 30, red, green, yellow, blue, magenta, cyan, white, bright_black = 90, bright_red, bright_green, bright_yellow,
    bright_blue, bright_magenta, bright_cyan, bright_white
};
enum class emphasis : uint8_t { bold = 1, faint = 2, italic = 4, underline = 8, blink = 16, reverse = 32, conceal = 64, strikethrough = 128 };
struct rgb {
    constexpr rgb(uint8_t = 0, uint8_t = 0, uint8_t = 0) {}
    constexpr rgb(color) {}
};
class text_style {
  public:
    constexpr text_style(emphasis = emphasis()) {}
};
template <class Color>
constexpr text_style fg(Color) {
    return {};
}
template <class Color>
constexpr text_style bg(Color) {
    return {};
}
constexpr text_style operator|(text_style, text_style) { return {}; }
constexpr text_style operator|(emphasis, emphasis) { return {}; }
template <class... Args>
std::string format(text_style, format_string<Args...>, Args&&...);
template <class... Args>
void print(text_style, format_string<Args...>, Args&&...);
template <class... Args>
void print(std::FILE*, text_style, format_string<Args...>, Args&&...);
template <class T>
view_of<const T&> styled(const T&, text_style);

} // namespace fmt

#endif
