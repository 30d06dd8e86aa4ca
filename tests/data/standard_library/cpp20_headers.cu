#include <compare>
#include <coroutine>
#include <format>
#include <latch>
#include <barrier>
#include <semaphore>
#include <stop_token>
#include <syncstream>
#include <source_location>
#include <string>
#include <iostream>
#include <map>
using namespace std;
template <class T> __global__ void kk(T* p) {}
template <class T> void launch(T) { kk<T><<<1, 1>>>(nullptr); }
struct Version {
  int major, minor;
  auto operator<=>(const Version&) const = default;
};
struct Weak {
  int x;
  weak_ordering operator<=>(const Weak& other) const { return x <=> other.x; }
  bool operator==(const Weak& other) const { return x == other.x; }
};
static_assert(Version{1, 2} < Version{1, 3} && (1 <=> 2) == strong_ordering::less && is_gt(2.0 <=> 1.0));
static_assert(is_same_v<decltype(1.0 <=> 2.0), partial_ordering> && is_same_v<common_comparison_category_t<strong_ordering, weak_ordering>, weak_ordering>);
static_assert(three_way_comparable<int> && three_way_comparable_with<int, long> && is_same_v<compare_three_way_result_t<Weak>, weak_ordering>);
static_assert((2 <=> 1) > 0 && 0 < (2 <=> 1) && (1 <=> 1) == 0 && !((__builtin_nanf("") <=> 1.f) < 0) && (0.f <=> 0.f) <= 0);
struct Point { float x; };
template <> struct std::formatter<Point> : std::formatter<string> {
  auto format(const Point& p, auto& context) const {
    launch(p.x);
    return std::formatter<string>::format("point", context);
  }
};
struct Task {
  struct promise_type {
    Task get_return_object() { return {coroutine_handle<promise_type>::from_promise(*this)}; }
    suspend_always initial_suspend() { return {}; }
    suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  coroutine_handle<promise_type> handle;
};
static_assert(is_same_v<coroutine_traits<Task, int>::promise_type, Task::promise_type>);
string threads(source_location here = source_location::current()) {
  latch done(3);
  done.count_down();
  barrier meeting(2, []() noexcept { launch(short(1)); });
  meeting.arrive_and_wait();
  binary_semaphore one(1);
  counting_semaphore<8> eight(8);
  if (one.try_acquire()) eight.release(2);
  stop_source source;
  stop_callback callback(source.get_token(), [] { launch(1L); });
  if (source.request_stop() && source.get_token().stop_requested()) done.wait();
  osyncstream(cout) << "a" << endl;
  Task task{};
  if (task.handle && !task.handle.done()) task.handle.resume();
  map<Version, int> versions;
  string text = format("{} {:>8} {}", 1, "a", Point{2});
  format_to(back_inserter(text), "{}", here.line() + versions.size());
  return text + format("{}", text);
}
__global__ void k(int* p, Version a, Version b, float x) {
  p[0] = a < b ? 1111 : 2222;
  p[1] = (x <=> 1.f) == partial_ordering::unordered ? 3333 : 4444;
  strong_ordering order = a <=> b;
  p[2] = order == strong_ordering::equal ? 5555 : is_lt(order) ? 6666 : 7777;
}
