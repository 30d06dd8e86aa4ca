// kernels: shapes; heap; dispatch; packed
#include <new>

enum class Kind : unsigned char { circle, square };

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Circle final : Shape {
    float radius;
    __device__ explicit Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.14159265f * radius * radius; }
};
class Square : public Shape {
public:
    __device__ Square(float side) : side_(side) {}
    __device__ float area() const override { return side_ * side_; }

private:
    float side_;
    friend __device__ bool operator<(const Square& a, const Square& b) { return a.side_ < b.side_; }
};

__device__ Shape* make(Kind kind, float size)
{
    switch (kind) {
    case Kind::circle: return new Circle(size);
    case Kind::square: return new Square(size);
    }
    return nullptr;
}

extern "C" __global__ void shapes(const Kind* kinds, const float* sizes, float* areas)
{
    Shape* shape = make(kinds[threadIdx.x], sizes[threadIdx.x]);
    areas[threadIdx.x] = shape->area() + (Square(1) < Square(2));
    delete shape;
}

namespace {
__device__ int depth(int n) { return n < 2 ? n : depth(n - 1) + depth(n - 2); }
struct Node {
    int key;
    Node *left, *right;
};
__device__ Node* insert(Node* root, int key)
{
    if (root == nullptr)
        return new (malloc(sizeof(Node))) Node{key, nullptr, nullptr};
    (key < root->key ? root->left : root->right) = insert(key < root->key ? root->left : root->right, key);
    return root;
}
}

extern "C" __global__ void heap(int* x, int n)
{
    Node* root = nullptr;
    for (int i = 0; i < n; ++i)
        root = insert(root, x[i]);
    int* copy = new int[n];
    copy[0] = root ? root->key : depth(n);
    x[0] = copy[0];
    delete[] copy;
    free(root);
    if (x[0] < 0)
        __trap();
}

typedef float (*Function)(float);
__device__ float half_of(float x) { return x / 2; }
__device__ float negated(float x) { return -x; }
__device__ Function functions[] = {half_of, negated};
static __device__ __noinline__ float called(Function f, float x) { return f(x); }
extern "C" __global__ void dispatch(float* x, int which)
{
    float (Square::*unused)() const = nullptr;
    x[threadIdx.x] = called(functions[which & 1], x[threadIdx.x]) + (unused == nullptr);
}

union Bits {
    float number;
    unsigned word;
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    };
};
struct alignas(16) Packed {
    unsigned a : 3;
    unsigned : 0;
    int b : 12;
};
static_assert(sizeof(Packed) == 16 && alignof(Packed) == 16, "as declared");
extern "C" __global__ void packed(Bits* bits, Packed* out)
{
    Bits mine = bits[threadIdx.x];
    mine.sign ^= 1;
    goto done;
done:
    out[threadIdx.x] = Packed{mine.exponent & 7u, static_cast<int>(mine.mantissa & 0xfff) - 0x800};
    bits[threadIdx.x] = mine;
}
