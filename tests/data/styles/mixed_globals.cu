// kernels: step
// Host globals with constructors, lambdas for callbacks, inheritance, signal handling, and device code between them.
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

std::mutex guard;
static std::unordered_map<std::string, int> counts = {{"steps", 0}};
std::atomic<bool> stop{false};
const std::string NAME = "demo";
constexpr int BLOCK = 128;
constexpr std::array<float, 3> FACTORS{{1.0f, 0.5f, 0.25f}};
static const int LAST = 2;
int verbose = 1, rounds = 10;
float* device_values[2];

class Task {
public:
    virtual ~Task() = default;
    virtual void run() = 0;
    static void on_signal(int) { stop = true; }
};

struct State {
    float position[3];
    float damping = 0.5f;
    State() = default;
    void print() const { std::cout << position[0] << std::endl; }
};

__device__ __forceinline__ float damped(const State& s, int axis) { return s.position[axis] * s.damping * FACTORS[LAST]; }

extern "C" __global__ void __launch_bounds__(BLOCK) step(State* states)
{
    states[blockIdx.x * BLOCK + threadIdx.x].position[0] = damped(states[threadIdx.x], 1);
}

class Simulation : public Task {
public:
    Simulation(std::function<void(int)> progress) : progress_(std::move(progress)) {}
    void run() override
    {
        std::lock_guard<std::mutex> lock(guard);
        for (int i = 0; i < rounds && !stop; ++i) {
            step<<<1, BLOCK>>>(states_);
            cudaLaunchHostFunc(0, [](void* data) { ++*static_cast<int*>(data); }, &counts["steps"]);
            progress_(i);
        }
    }

private:
    std::function<void(int)> progress_;
    State* states_ = nullptr;
};

int main(int argc, char** argv)
{
    std::signal(SIGINT, Task::on_signal);
    auto [low, high] = std::make_tuple(0, 10);
    auto simulation = Simulation([low = low](int i) { if (verbose) std::cout << NAME << i + low << '\n'; });
    simulation.run();
    return counts["steps"] > high;
}
