// What describes a tensor: Device, Layout, MemoryFormat, TypeMeta, TensorOptions, Scalar, SymInt, Storage, Generator, Stream.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_OPTIONS_H
#define CUDA_WHEEL_PYTORCH_TENSOR_OPTIONS_H

#ifndef CUDA_WHEEL_WITHOUT_THREADS
#include <mutex>
#endif

#include <cuda_wheel_detail/pytorch/containers.h>
#include <cuda_wheel_detail/pytorch/scalar_types.h>

namespace at {
class Tensor;
}

namespace c10 {

// --- Device, Layout, MemoryFormat ------------------------------------------------------------------------------------

#define CUDA_WHEEL_PYTORCH_DEVICE_TYPES(X)                                                               \
    X(CPU) X(CUDA) X(MKLDNN) X(OPENGL) X(OPENCL) X(IDEEP) X(HIP) X(FPGA) X(MAIA) X(XLA) X(Vulkan) X(Metal) \
    X(XPU) X(MPS) X(Meta) X(HPU) X(VE) X(Lazy) X(IPU) X(MTIA) X(PrivateUse1)
enum class DeviceType : int8_t {
#define CUDA_WHEEL_PYTORCH_ENUMERATOR(name) name,
    CUDA_WHEEL_PYTORCH_DEVICE_TYPES(CUDA_WHEEL_PYTORCH_ENUMERATOR)
#undef CUDA_WHEEL_PYTORCH_ENUMERATOR
        COMPILE_TIME_MAX_DEVICE_TYPES
};
#define CUDA_WHEEL_PYTORCH_CONSTANT(name) constexpr DeviceType k##name = DeviceType::name;
CUDA_WHEEL_PYTORCH_DEVICE_TYPES(CUDA_WHEEL_PYTORCH_CONSTANT)
#undef CUDA_WHEEL_PYTORCH_CONSTANT
constexpr int COMPILE_TIME_MAX_DEVICE_TYPES = static_cast<int>(DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES);
std::string DeviceTypeName(DeviceType, bool lower_case = false);
std::ostream& operator<<(std::ostream&, DeviceType);

using DeviceIndex = int8_t;
struct Device {
    using Type = DeviceType;
    Device(DeviceType, DeviceIndex index = -1);
    Device(const std::string&);
    Device(const char*);
    bool operator==(const Device&) const noexcept;
    bool operator!=(const Device&) const noexcept;
    void set_index(DeviceIndex);
    DeviceType type() const noexcept;
    DeviceIndex index() const noexcept;
    bool has_index() const noexcept;
    bool is_cuda() const noexcept;
    bool is_cpu() const noexcept;
    bool is_hip() const noexcept;
    bool is_xpu() const noexcept;
    bool is_mps() const noexcept;
    bool is_xla() const noexcept;
    bool is_hpu() const noexcept;
    bool is_meta() const noexcept;
    bool is_privateuseone() const noexcept;
    bool supports_as_strided() const noexcept;
    std::string str() const;

  private:
    DeviceType type_;
    DeviceIndex index_;
};
std::ostream& operator<<(std::ostream&, const Device&);

enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr,
                 kMkldnn = Layout::Mkldnn, kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr,
                 kSparseBsc = Layout::SparseBsc, kJagged = Layout::Jagged;
std::ostream& operator<<(std::ostream&, Layout);

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };
#define LEGACY_CONTIGUOUS_MEMORY_FORMAT c10::get_contiguous_memory_format()
MemoryFormat get_contiguous_memory_format();
std::ostream& operator<<(std::ostream&, MemoryFormat);

enum class Backend { CPU, CUDA, HIP, VE, FPGA, IPU, XPU, SparseCPU, SparseCUDA, SparseCsrCPU, SparseCsrCUDA, XLA, Vulkan, Metal,
                     Meta, QuantizedCPU, QuantizedCUDA, Undefined, MkldnnCPU, MPS, HPU, Lazy, MTIA, PrivateUse1, NumOptions };
enum class DispatchKey : uint16_t { Undefined, CPU, CUDA, HIP, XLA, MPS, XPU, HPU, Meta, PrivateUse1, SparseCPU, SparseCUDA,
                                    QuantizedCPU, QuantizedCUDA, NestedTensorCUDA, BackendSelect, Python, ADInplaceOrView, Autograd,
                                    AutogradCPU, AutogradCUDA, AutogradXPU, AutogradMeta, Autocast, AutocastCPU, AutocastCUDA,
                                    CompositeImplicitAutograd, CompositeExplicitAutograd, CatchAll };
DispatchKey autogradDispatchKey();
class DispatchKeySet {
  public:
    DispatchKeySet();
    explicit DispatchKeySet(DispatchKey);
    bool has(DispatchKey) const;
    DispatchKeySet add(DispatchKey) const;
    DispatchKeySet remove(DispatchKey) const;
    DispatchKeySet operator|(DispatchKeySet) const;
    DispatchKeySet operator&(DispatchKeySet) const;
    DispatchKeySet operator-(DispatchKeySet) const;
    DispatchKey highestPriorityTypeId() const;

  private:
    uint64_t cuda_wheel_layout = {};
};
const char* toString(DispatchKey);
namespace impl {
struct ExcludeDispatchKeyGuard {
    ExcludeDispatchKeyGuard(DispatchKey);
    ExcludeDispatchKeyGuard(DispatchKeySet);
    ~ExcludeDispatchKeyGuard();

    CUDA_WHEEL_HOST_OBJECT;
};
} // namespace impl

// --- Numbers that may be symbols -------------------------------------------------------------------------------------

class SymBool;
class SymInt {
  public:
    SymInt(int64_t value = 0);
    SymBool sym_eq(const SymInt&) const;
    SymBool sym_ne(const SymInt&) const;
    SymBool sym_lt(const SymInt&) const;
    SymBool sym_le(const SymInt&) const;
    SymBool sym_gt(const SymInt&) const;
    SymBool sym_ge(const SymInt&) const;
    SymInt min(const SymInt&) const;
    SymInt max(const SymInt&) const;
    int64_t expect_int() const;
    int64_t guard_int(const char* file, int64_t line) const;
    bool is_symbolic() const;
    std::optional<int64_t> maybe_as_int() const;
    explicit operator bool() const;
#define CUDA_WHEEL_PYTORCH_OPERATOR(op) SymInt operator op(const SymInt&) const;
    CUDA_WHEEL_PYTORCH_OPERATOR(+)
    CUDA_WHEEL_PYTORCH_OPERATOR(-)
    CUDA_WHEEL_PYTORCH_OPERATOR(*)
    CUDA_WHEEL_PYTORCH_OPERATOR(/)
    CUDA_WHEEL_PYTORCH_OPERATOR(%)
#undef CUDA_WHEEL_PYTORCH_OPERATOR
#define CUDA_WHEEL_PYTORCH_OPERATOR(op) bool operator op(const SymInt&) const;
    CUDA_WHEEL_PYTORCH_OPERATOR(==)
    CUDA_WHEEL_PYTORCH_OPERATOR(!=)
    CUDA_WHEEL_PYTORCH_OPERATOR(<)
    CUDA_WHEEL_PYTORCH_OPERATOR(<=)
    CUDA_WHEEL_PYTORCH_OPERATOR(>)
    CUDA_WHEEL_PYTORCH_OPERATOR(>=)
#undef CUDA_WHEEL_PYTORCH_OPERATOR
    SymInt& operator*=(const SymInt&);
    SymInt& operator+=(const SymInt&);

  private:
    int64_t cuda_wheel_layout = {};
};
std::ostream& operator<<(std::ostream&, const SymInt&);
using SymIntArrayRef = ArrayRef<SymInt>;
using OptionalSymIntArrayRef = OptionalArrayRef<SymInt>;
class SymFloat {
  public:
    SymFloat(double value);
    double expect_float() const;

  private:
    void* cuda_wheel_layout[2] = {};
};
class SymBool {
  public:
    SymBool(bool value);
    bool expect_bool() const;
    bool guard_bool(const char* file, int64_t line) const;
    SymBool sym_and(const SymBool&) const;
    SymBool sym_or(const SymBool&) const;
    SymBool sym_not() const;
    SymBool operator&(const SymBool&) const;
    SymBool operator|(const SymBool&) const;
    SymBool operator~() const;

  private:
    void* cuda_wheel_layout[2] = {};
};
#define CUDA_WHEEL_PYTORCH_COMPARISON(name) \
    SymBool name(const SymInt&, const SymInt&); \
    bool name(int64_t, int64_t);
CUDA_WHEEL_PYTORCH_COMPARISON(sym_eq)
CUDA_WHEEL_PYTORCH_COMPARISON(sym_ne)
CUDA_WHEEL_PYTORCH_COMPARISON(sym_lt)
CUDA_WHEEL_PYTORCH_COMPARISON(sym_le)
CUDA_WHEEL_PYTORCH_COMPARISON(sym_gt)
CUDA_WHEEL_PYTORCH_COMPARISON(sym_ge)
#undef CUDA_WHEEL_PYTORCH_COMPARISON
bool guard_or_false(const SymBool&, const char* file, int64_t line);
#define TORCH_GUARD_OR_FALSE(condition) c10::guard_or_false((condition), __FILE__, __LINE__)
#define TORCH_GUARD_OR_TRUE(condition) c10::guard_or_false((condition), __FILE__, __LINE__)
#define TORCH_GUARD_SIZE_OBLIVIOUS(condition) c10::guard_or_false((condition), __FILE__, __LINE__)
#define TORCH_MAYBE_SYM_CHECK(condition, ...) TORCH_CHECK(TORCH_GUARD_OR_TRUE(condition), ##__VA_ARGS__)
#define TORCH_SYM_CHECK(condition, ...) TORCH_CHECK((condition).expect_bool(), ##__VA_ARGS__)

template <class T, class = void>
struct cuda_wheel_is_scalar : std::is_arithmetic<T> {};
template <class T>
struct cuda_wheel_is_scalar<T, typename std::enable_if<!std::is_arithmetic<T>::value && (sizeof(CppTypeToScalarType<T>) > 0)>::type>
    : std::true_type {};

class Scalar {
  public:
    Scalar();
    template <class T, class = typename std::enable_if<cuda_wheel_is_scalar<T>::value>::type>
    Scalar(T);
    Scalar(SymInt);
    Scalar(SymFloat);
    Scalar(SymBool);
    template <class T>
    T to() const;
#define CUDA_WHEEL_PYTORCH_TO(type, name) type to##name() const;
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(CUDA_WHEEL_PYTORCH_TO)
    CUDA_WHEEL_PYTORCH_TO(uint16_t, UInt16)
    CUDA_WHEEL_PYTORCH_TO(uint32_t, UInt32)
    CUDA_WHEEL_PYTORCH_TO(uint64_t, UInt64)
#undef CUDA_WHEEL_PYTORCH_TO
    SymInt toSymInt() const;
    bool isFloatingPoint() const;
    bool isIntegral(bool include_bool) const;
    bool isIntegral() const;
    bool isUnsigned() const;
    bool isComplex() const;
    bool isBoolean() const;
    bool isSymbolic() const;
    Scalar operator-() const;
    Scalar conj() const;
    Scalar log() const;
    template <class T>
    bool equal(T) const;
    ScalarType type() const;

  private:
    alignas(16) void* cuda_wheel_layout[4] = {};
};

} // namespace c10

namespace caffe2 {
class TypeMeta {
    uint16_t index_;

  public:
    TypeMeta() noexcept;
    TypeMeta& operator=(c10::ScalarType) noexcept;
    bool isScalarType() const noexcept;
    bool isScalarType(c10::ScalarType) const noexcept;
    size_t itemsize() const noexcept;
    std::string_view name() const noexcept;
    template <class T>
    bool Match() const noexcept;
    template <class T>
    static TypeMeta Make();
    static TypeMeta fromScalarType(c10::ScalarType);
    c10::ScalarType toScalarType() const;
};
bool operator==(TypeMeta, TypeMeta) noexcept;
bool operator!=(TypeMeta, TypeMeta) noexcept;
std::ostream& operator<<(std::ostream&, TypeMeta);
} // namespace caffe2

namespace c10 {

using caffe2::TypeMeta;
caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType);
ScalarType typeMetaToScalarType(caffe2::TypeMeta);
std::optional<ScalarType> optTypeMetaToScalarType(std::optional<caffe2::TypeMeta>);
caffe2::TypeMeta get_default_dtype();
ScalarType get_default_dtype_as_scalartype();
caffe2::TypeMeta get_default_complex_dtype();
void set_default_dtype(caffe2::TypeMeta);
bool operator==(ScalarType, caffe2::TypeMeta) noexcept;
bool operator==(caffe2::TypeMeta, ScalarType) noexcept;
bool operator!=(ScalarType, caffe2::TypeMeta) noexcept;
bool operator!=(caffe2::TypeMeta, ScalarType) noexcept;

struct TensorOptions {
    TensorOptions();
    TensorOptions(Layout);
    template <class T, class = typename std::enable_if<std::is_same<typename std::decay<T>::type, Device>::value>::type>
    TensorOptions(T&&);
    TensorOptions(DeviceType, DeviceIndex index = -1);
    TensorOptions(const char*);
    TensorOptions(const std::string&);
    TensorOptions(caffe2::TypeMeta);
    TensorOptions(ScalarType);
    TensorOptions(MemoryFormat);

    template <class... Args>
    TensorOptions device(const Args&...) const noexcept;
    Device device() const noexcept;
    TensorOptions device_index(DeviceIndex) const noexcept;
    DeviceIndex device_index() const noexcept;
    TensorOptions dtype(std::optional<caffe2::TypeMeta>) const noexcept;
    TensorOptions dtype(std::optional<ScalarType>) const noexcept;
    TensorOptions dtype(caffe2::TypeMeta) const noexcept;
    TensorOptions dtype(ScalarType) const noexcept;
    template <class T>
    TensorOptions& dtype();
    caffe2::TypeMeta dtype() const noexcept;
    TensorOptions layout(std::optional<Layout>) const noexcept;
    Layout layout() const noexcept;
    TensorOptions requires_grad(std::optional<bool>) const noexcept;
    bool requires_grad() const noexcept;
    TensorOptions pinned_memory(std::optional<bool>) const noexcept;
    bool pinned_memory() const noexcept;
    TensorOptions memory_format(std::optional<MemoryFormat>) const noexcept;
    bool has_device() const noexcept;
    bool has_dtype() const noexcept;
    bool has_layout() const noexcept;
    bool has_requires_grad() const noexcept;
    bool has_pinned_memory() const noexcept;
    bool has_memory_format() const noexcept;
    std::optional<Device> device_opt() const noexcept;
    std::optional<caffe2::TypeMeta> dtype_opt() const noexcept;
    std::optional<Layout> layout_opt() const noexcept;
    std::optional<bool> requires_grad_opt() const noexcept;
    std::optional<bool> pinned_memory_opt() const noexcept;
    std::optional<MemoryFormat> memory_format_opt() const noexcept;
    bool is_sparse() const;
    bool type_equal(const TensorOptions&) const;
    TensorOptions merge_in(TensorOptions) const noexcept;
    TensorOptions merge_memory_format(std::optional<MemoryFormat>) const noexcept;
    DispatchKey computeDispatchKey() const;
    Backend backend() const;

    short cuda_wheel_layout[4] = {};
};
std::ostream& operator<<(std::ostream&, const TensorOptions&);
template <class T>
TensorOptions dtype();
TensorOptions dtype(caffe2::TypeMeta);
TensorOptions dtype(ScalarType);
TensorOptions layout(Layout);
TensorOptions device(Device);
TensorOptions device_index(DeviceIndex);
TensorOptions requires_grad(bool requires_grad = true);
TensorOptions memory_format(MemoryFormat);

// --- Storage and allocators ------------------------------------------------------------------------------------------

using DeleterFnPtr = void (*)(void*);
class DataPtr {
  public:
    DataPtr();
    DataPtr(void* data, Device);
    DataPtr(void* data, void* context, DeleterFnPtr, Device);
    DataPtr(DataPtr&&);
    DataPtr& operator=(DataPtr&&);
    void clear();
    void* get() const;
    void* mutable_get();
    void* get_context() const;
    void* release_context();
    DeleterFnPtr get_deleter() const;
    operator bool() const;
    Device device() const;

  private:
    void* cuda_wheel_layout[4] = {};
};
struct Allocator {
    virtual ~Allocator();
    virtual DataPtr allocate(size_t) = 0;
    virtual DeleterFnPtr raw_deleter() const;
    void* raw_allocate(size_t);
    void raw_deallocate(void*);
};
Allocator* GetAllocator(const DeviceType&);
void SetAllocator(DeviceType, Allocator*, uint8_t priority = 0);
Allocator* GetCPUAllocator();
struct StorageImpl : intrusive_ptr_target {
    struct use_byte_size_t {};
    size_t nbytes() const;
    void* mutable_data();
    const void* data() const;
};
struct Storage {
    struct use_byte_size_t {};
    Storage();
    Storage(intrusive_ptr<StorageImpl>);
    Storage(use_byte_size_t, const SymInt& bytes, Allocator* = nullptr, bool resizable = false);
    Storage(use_byte_size_t, size_t bytes, DataPtr, Allocator* = nullptr, bool resizable = false);
    size_t nbytes() const;
    void set_nbytes(size_t) const;
    bool resizable() const;
    const void* data() const;
    void* mutable_data() const;
    DataPtr& mutable_data_ptr() const;
    const DataPtr& data_ptr() const;
    DeviceType device_type() const;
    Device device() const;
    Allocator* allocator() const;
    StorageImpl* unsafeGetStorageImpl() const noexcept;
    operator bool() const;
    size_t use_count() const;
    bool unique() const;
    bool is_alias_of(const Storage&) const;

    void* cuda_wheel_layout = {};
};

// --- Streams, generators, device guards ------------------------------------------------------------------------------

using StreamId = int64_t;
struct StreamData3 {
    StreamId stream_id;
    DeviceIndex device_index;
    DeviceType device_type;
};
class Stream {
  public:
    enum Unsafe { UNSAFE };
    enum Default { DEFAULT };
    Stream(Unsafe, Device, StreamId);
    Stream(Default, Device);
    bool operator==(const Stream&) const noexcept;
    bool operator!=(const Stream&) const noexcept;
    Device device() const noexcept;
    DeviceType device_type() const noexcept;
    DeviceIndex device_index() const noexcept;
    StreamId id() const noexcept;
    void* native_handle() const;
    template <class T>
    void wait(const T&) const;
    bool query() const;
    void synchronize() const;
    bool is_capturing() const;
    uint64_t hash() const noexcept;
    StreamData3 pack3() const;
    static Stream unpack3(StreamId, DeviceIndex, DeviceType);

  private:
    void* cuda_wheel_layout[2] = {};
};
std::ostream& operator<<(std::ostream&, const Stream&);

struct GeneratorImpl : intrusive_ptr_target {
    virtual void set_current_seed(uint64_t) = 0;
    virtual uint64_t current_seed() const = 0;
    virtual uint64_t seed() = 0;
    Device device() const;
#ifndef CUDA_WHEEL_WITHOUT_THREADS
    std::mutex mutex_;
#endif
};

class DeviceGuard {
  public:
    explicit DeviceGuard(Device);
    ~DeviceGuard();
    void reset_device(Device);
    void set_index(DeviceIndex);
    Device original_device() const;
    Device current_device() const;

  private:
    void* cuda_wheel_layout[3] = {};
};
class OptionalDeviceGuard {
  public:
    OptionalDeviceGuard();
    explicit OptionalDeviceGuard(Device);
    explicit OptionalDeviceGuard(std::optional<Device>);
    ~OptionalDeviceGuard();
    void reset_device(Device);

  private:
    void* cuda_wheel_layout[4] = {};
};
class InferenceMode {
  public:
    InferenceMode(bool enabled = true);
    ~InferenceMode();
    static bool is_enabled();

    CUDA_WHEEL_HOST_OBJECT;
};
struct GradMode {
    static bool is_enabled();
    static void set_enabled(bool);
};
struct AutoGradMode {
    AutoGradMode(bool);
    ~AutoGradMode();
};
struct NoGradGuard : AutoGradMode {
    NoGradGuard();
};

} // namespace c10

namespace at {

struct Generator {
    Generator();
    explicit Generator(c10::intrusive_ptr<c10::GeneratorImpl>);
    bool operator==(const Generator&) const;
    bool operator!=(const Generator&) const;
    bool defined() const;
    c10::GeneratorImpl* unsafeGetGeneratorImpl() const;
    const c10::intrusive_ptr<c10::GeneratorImpl>& getIntrusivePtr() const;
    void set_current_seed(uint64_t);
    uint64_t current_seed() const;
    uint64_t seed();
    void set_offset(uint64_t);
    uint64_t get_offset() const;
#ifndef CUDA_WHEEL_WITHOUT_THREADS
    std::mutex& mutex();
#endif
    c10::Device device() const;
    template <class T>
    T* get() const;
    Generator clone() const;

    void* cuda_wheel_layout = {};
};
template <class Impl, class... Args>
Generator make_generator(Args&&...);
template <class T>
T* check_generator(std::optional<Generator>);
template <class T>
T* get_generator_or_default(const std::optional<Generator>&, const Generator& default_generator);

// What `Tensor::type()` of old returns.
class DeprecatedTypeProperties {
  public:
    c10::Backend backend() const;
    c10::Layout layout() const;
    bool is_sparse() const;
    c10::DeviceType device_type() const;
    bool is_cuda() const;
    c10::ScalarType scalarType() const;
    caffe2::TypeMeta typeMeta() const;
    bool operator==(const DeprecatedTypeProperties&) const;
    bool operator!=(const DeprecatedTypeProperties&) const;
    std::string toString() const;
    DeprecatedTypeProperties& toBackend(c10::Backend) const;
    DeprecatedTypeProperties& toScalarType(c10::ScalarType) const;
    DeprecatedTypeProperties& cpu() const;
    DeprecatedTypeProperties& cuda() const;
    c10::TensorOptions options(int16_t device_index = -1) const;
    c10::TensorOptions options(std::optional<c10::Device>) const;
    operator c10::TensorOptions() const;

  private:
    int cuda_wheel_layout[2] = {};
};
DeprecatedTypeProperties& getNonVariableType(c10::Backend, c10::ScalarType);
DeprecatedTypeProperties& CPU(c10::ScalarType);
DeprecatedTypeProperties& CUDA(c10::ScalarType);

} // namespace at

namespace torch {
namespace headeronly {
using c10::DeviceType;
using c10::Layout;
using c10::MemoryFormat;
#define CUDA_WHEEL_PYTORCH_USING(name) using c10::k##name;
CUDA_WHEEL_PYTORCH_DEVICE_TYPES(CUDA_WHEEL_PYTORCH_USING)
#undef CUDA_WHEEL_PYTORCH_USING
using c10::kJagged;
using c10::kSparse;
using c10::kStrided;
} // namespace headeronly
using c10::Device;
using c10::DeviceType;
using c10::TensorOptions;
using std::nullopt;
using std::optional;
constexpr at::ScalarType kU8 = kUInt8, kU16 = kUInt16, kU32 = kUInt32, kU64 = kUInt64, kI8 = kInt8, kI16 = kInt16,
                         kI32 = kInt32, kI64 = kInt64, kF16 = kFloat16, kF32 = kFloat32, kF64 = kFloat64;
} // namespace torch

#endif
