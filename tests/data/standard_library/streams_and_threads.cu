#include <iostream>
#include <sstream>
#include <fstream>
#include <iomanip>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <condition_variable>
#include <chrono>
#include <string>
#include <vector>
using namespace std;
template<class T> __global__ void kk(T*p){ }
static std::mutex m; static once_flag fl;
enum E{A}; struct P{int a;}; ostream& operator<<(ostream& o, const P& p){ return o<<p.a; }
void f(){
 cout << "a" << 1 << 2.f << 'c' << string("b") << endl << setw(3) << setprecision(2) << fixed << hex << true << (void*)0 << A << P{1} << flush; cerr << "x" << std::endl; stringstream ss; ss << "q" << 3; string s = ss.str(); int i; ss >> i >> s; ostringstream os; os << P{2}; ifstream in("a.txt", ios::binary); if(!in) return; if (in.is_open()) {} string line; while (getline(in, line)) { istringstream is(line); float x; is >> x; } in.read((char*)&i, sizeof(i)); ofstream of(s); of << "z"; of.write("a",1); of.close(); cout.precision(3); in.seekg(0, ios::end); size_t n = in.tellg(); in.seekg(0, std::ios_base::beg); vector<char> data((istreambuf_iterator<char>(in)), istreambuf_iterator<char>()); cout << (ostringstream() << "a" << 3).str() << setfill('0'); std::string w = (std::stringstream{} << 1).str(); cout << n << left << scientific << std::boolalpha; auto flags = cout.flags(); cout.setf(ios::fixed, ios::floatfield); cout << "a"s << string_view("b");
 { lock_guard<mutex> g(m); unique_lock<mutex> u(m); lock_guard g2(m); scoped_lock sl(m); condition_variable cv; cv.wait(u, []{return true;}); cv.notify_all(); } call_once(fl, [](auto x){ kk<<<1,1>>>(&x); }, 2.f); thread t([](int a){ kk<int><<<1,1>>>(nullptr); }, 3); t.join(); vector<thread> ts; ts.emplace_back([&]{ kk<short><<<1,1>>>(nullptr); }); for (auto& th : ts) th.join(); thread::hardware_concurrency(); this_thread::sleep_for(chrono::milliseconds(3)); this_thread::get_id();
 auto t0 = chrono::high_resolution_clock::now(); auto t1 = chrono::steady_clock::now(); chrono::duration<double> d = chrono::high_resolution_clock::now() - t0; double c = d.count(); auto us = chrono::duration_cast<chrono::microseconds>(chrono::steady_clock::now() - t1).count(); static_assert(is_same_v<decltype(us),long>); cout << us << c << chrono::duration<double, milli>(chrono::steady_clock::now() - t1).count(); using namespace std::chrono_literals; auto q = 3ms + 2s; static_assert(is_same_v<decltype(q),chrono::milliseconds>); static_assert((3ms+2s).count()==2003); chrono::time_point<chrono::system_clock> tp = chrono::system_clock::now(); auto dd = 1.5s*2; chrono::system_clock::to_time_t(tp); auto ep=tp.time_since_epoch().count(); shared_mutex sm; shared_lock<shared_mutex> rl(sm); static_assert(sizeof(mutex)==40 && sizeof(thread)==8 && sizeof(condition_variable)==48 && sizeof(shared_mutex)==56);
}
__global__ void k(int*o){}
