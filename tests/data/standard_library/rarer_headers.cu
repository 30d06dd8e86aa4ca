#include <regex>
#include <valarray>
#include <memory_resource>
#include <scoped_allocator>
#include <codecvt>
#include <cwctype>
#include <cuchar>
#include <cstdalign>
#include <tgmath.h>
#include <iso646.h>
#include <stdnoreturn.h>
#include <uchar.h>
#include <tr1/functional>
#include <tr1/memory>
#include <tr1/unordered_map>
#include <tr1/unordered_set>
#include <tr1/tuple>
#include <tr1/array>
#include <iostream>
#include <map>
#include <string>
#include <vector>
using namespace std;
template <class T> __global__ void kk(T* p) {}
template <class T> void launch(T) { kk<T><<<1, 1>>>(nullptr); }
int words(const string& line) {
  static const regex word("\\w+", regex::icase | regex::optimize);
  smatch found;
  if (regex_search(line, found, word) && found.size() > 1 && found[1].matched) cout << found[0] << found.str(1) << found.prefix().length();
  if (regex_match("x", word) || found[0] == "abc") cout << regex_replace(line, word, "[$&]");
  int n = 0;
  for (sregex_iterator i(line.begin(), line.end(), word), end; i != end; ++i) n += i->length();
  vector<string> parts(sregex_token_iterator(line.begin(), line.end(), word, -1), sregex_token_iterator());
  try { regex bad("("); } catch (const regex_error& e) { return e.code() == regex_constants::error_paren; }
  return n + parts.size();
}
void arrays() {
  valarray<float> a(3.f, 8), b{1, 2, 3};
  auto c = valarray<float>(2.f * a + b * b);
  c[slice(0, 4, 2)] = b;
  c[c > 1.f] = 0.f;
  float total = c.sum() + sqrt(c)[0] + pow(c, 2.f).max();
  for (float x : c) total += x;
  launch(total);
  static_assert(is_same_v<decltype(c.min()), float>);
}
struct Counting : pmr::memory_resource {
  void* do_allocate(size_t n, size_t a) override { launch(short(1)); return pmr::get_default_resource()->allocate(n, a); }
  void do_deallocate(void* p, size_t n, size_t a) override { pmr::new_delete_resource()->deallocate(p, n, a); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
void resources() {
  char buffer[64];
  Counting counting;
  pmr::monotonic_buffer_resource arena(buffer, sizeof buffer, &counting);
  pmr::vector<int> v(&arena);
  v.push_back(3);
  pmr::map<int, pmr::string> m(&arena);
  m[1] = "a";
  pmr::unsynchronized_pool_resource pool(&arena);
  pmr::polymorphic_allocator<double> allocator(&pool);
  double* d = allocator.allocate(3);
  launch(*d);
  static_assert(is_same_v<pmr::vector<int>, vector<int, pmr::polymorphic_allocator<int>>>);
}
int same(int x) { return x; }
int others() {
  wstring_convert<codecvt_utf8<wchar_t>> convert;
  wstring wide = convert.from_bytes("a");
  tr1::unordered_map<string, tr1::shared_ptr<int>> names;
  tr1::function<int(int)> f = tr1::bind(same, tr1::placeholders::_1);
  tr1::array<int, 3> three = {{1, 2, 3}};
  return iswalpha(towlower(wide[0])) and f(three[0]) + names.size() + tr1::get<0>(tr1::make_tuple(1));
}
__global__ void k(int* p) { *p = 1; }
