// What extensions write with PyTorch's tensors, streams, generators, registration and pybind11. All of it type-checks.
__global__ void kernel(float* p) { *p = 1; }
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <torch/custom_class.h>
#define CHECK_SHAPE(x, ...) TORCH_CHECK(x.sizes() == torch::IntArrayRef({__VA_ARGS__}), #x " must have shape (" #__VA_ARGS__ ")")
#define CHECK_CUDA(x) TORCH_CHECK((x).is_cuda(), #x " must be CUDA")
#define CHECK_INPUT(x) CHECK_CUDA(x); TORCH_CHECK(x.is_contiguous())
namespace F = torch::nn::functional;
using torch::Tensor;
void lists(at::TensorList a, std::vector<std::vector<at::Tensor>> tensor_lists, c10::optional<at::Generator> gen_) { for (auto& t : a) t.zero_(); int n = tensor_lists[0][0].numel(); }
std::vector<torch::Tensor> two(Tensor a, Tensor b) { return {a, b}; }
std::tuple<Tensor, Tensor> tup(const Tensor& a, c10::optional<at::Tensor> const& bias) { if (bias.has_value()) CHECK_INPUT(bias.value()); const float* p = bias.has_value() ? bias->data_ptr<float>() : nullptr; auto q = bias.value_or(torch::Tensor()); return std::make_tuple(a, q); }
void f(Tensor x, Tensor y, std::vector<Tensor> vec, std::optional<at::Generator> gen_, at::Scalar alpha, const int n) {
  torch::NoGradGuard no_grad; at::AutoDispatchBelowADInplaceOrView g1; torch::AutoGradMode gm(false);
  CHECK_INPUT(x); CHECK_SHAPE(x, n, 3);
  auto opts = x.options().device(torch::kCPU).dtype(torch::kInt32).pinned_memory(true).layout(torch::kStrided).requires_grad(false);
  auto o2 = torch::TensorOptions().dtype(torch::kFloat16).device(x.device().type(), x.device().index());
  torch::TensorOptions o3 = torch::dtype(torch::kFloat).device(torch::kCUDA);
  torch::TensorOptions o4(torch::kInt8);
  auto stream = at::cuda::getStreamFromPool(true, x.get_device()); c10::cuda::CUDAStreamGuard g(stream);
  const void* vp = x.scalar_type() == torch::kHalf ? (const void*)x.data_ptr<at::Half>() : x.data_ptr();
  auto hp = reinterpret_cast<__half*>(x.data_ptr<at::Half>());
  std::vector<int64_t> shape = x.sizes().vec(); shape[0] = 3; auto e = at::empty(shape, opts); e = x.view(shape);
  at::IntArrayRef s(shape); auto sl = x.sizes().slice(1);
  TORCH_CHECK(x.sizes().equals(y.sizes()), "a");
  bool eq = x.sizes() == y.sizes() && x.strides() != s && x.sizes() == shape;
  Tensor a, b; std::tie(a, b) = x.sort(0); auto m = std::get<0>(x.max(1)); a = x[0]; float v = x[0].item<float>();
  v = x.item().toFloat(); int iv = x.item().to<int>();
  a = x.index_select(0, y);
  a = x.slice(0, 0, 5).narrow(0, 1, 2).unsqueeze(0).expand({2, -1}).repeat({1, 2}).permute({0, 2, 1}).transpose(0, 1).reshape({-1}).flatten(0, 1).t().clone();
  a = x.norm() + x.mean(0) + x.cumsum(0, at::kInt) + x.nonzero().to(x.device()).to(y.options()).type_as(y);
  a.masked_fill_(b, -1e30f);
  a = 1 - x; a = -x * 2; a = (x > 0) & (y <= x); a = 2.0 / x; bool any = x.any().item<bool>();
  int64_t sum = x.sum().item<int64_t>(); a += 1; a *= x; a /= 2; a = x.sum(-1, true); a = x.mean({0, 1}, true);
  a = torch::arange(n, opts); a = torch::arange(0, n, 2, opts); a = torch::linspace(0, 1, 5);
  a = torch::rand({2, 2}); a = torch::randn_like(x); a = torch::eye(3, opts); a = torch::stack({x, y}, 1);
  a = torch::stack(vec); a = torch::cat(vec, 0);
  a = torch::from_blob((void*)hp, {n}, opts); a = torch::from_blob((void*)hp, {n, 2}, [](void* p) {}, opts);
  a = torch::zeros_like(x, at::MemoryFormat::Contiguous); a = at::empty_like(x, x.options().dtype(at::kInt));
  a = at::empty({0}, opts); a = at::empty({}, opts);
  a = torch::full_like(x, 3.0); a = torch::ones({n}, at::device(at::kCUDA).dtype(at::kFloat));
  a = at::zeros(x.sizes(), x.options()); a = torch::empty(x.sizes().vec(), x.options()); a = torch::zeros(n, opts);
  a = torch::tensor({1.0, 2.0}, opts); a = torch::tensor(3);
  at::ScalarType st = x.scalar_type();
  switch (st) { case at::ScalarType::Half: break; case torch::kFloat32: break; default: AT_ERROR("bad ", toString(st)); }
  auto es = torch::elementSize(st) + c10::elementSize(st); auto tm = torch::typeMetaToScalarType(x.dtype());
  st = x.dtype().toScalarType(); bool ne = x.dtype() != torch::kHalf && x.dtype().itemsize() == 2;
  TORCH_CHECK(false, "..", x.dtype(), x.scalar_type(), std::string("a"), 3, x, x.device(), x.sizes());
  TORCH_INTERNAL_ASSERT(eq == any); TORCH_WARN("a", 1); TORCH_WARN_ONCE("b");
  auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(gen_, at::cuda::detail::getDefaultCUDAGenerator());
  { std::lock_guard<std::mutex> lock(gen->mutex_); }
  auto allocator = c10::cuda::CUDACachingAllocator::get(); auto buf = allocator->allocate(n); void* bp = buf.get();
  c10::cuda::CUDACachingAllocator::emptyCache();
  at::cuda::CUDAEvent ev; ev.record(stream); ev.block(stream); at::cuda::CUDAEvent ev2(cudaEventDisableTiming);
  cublasHandle_t h = at::cuda::getCurrentCUDABlasHandle(); TORCH_CUDABLAS_CHECK(cublasSetStream(h, stream));
  auto acc = x.accessor<float, 2>(); acc[0][1] = 3; auto h2 = x.register_hook([](torch::Tensor g) { return g; });
  a = F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kReplicate).value(0)); a = F::softmax(x, -1);
  a = F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 2}).mode(torch::kBilinear).align_corners(false));
  at::Device dev(at::kCUDA, 0); dev = torch::Device(torch::kCUDA); torch::Device d2("cuda:0");
  bool isd = x.device() == torch::kCUDA || x.device().type() == at::kCUDA || x.device() != y.device() || x.device().is_cuda();
  at::Tensor undefined; if (!undefined.defined()) undefined = at::Tensor();
  lists({a, b}, {{a}, {b}}, std::nullopt); lists(vec, {vec, vec}, gen_);
  c10::ArrayRef<int> ai{1, 2}; torch::ArrayRef<at::Tensor> ta(vec); c10::SmallVector<int64_t, 4> sv;
  sv.push_back(1); a = at::empty(sv, opts);
  double al = alpha.to<double>() + alpha.toDouble(); a = at::add(x, y, alpha); a = x.add(1.0, 2);
  a = x.mul(y).add_(3).clamp(0, 1).clamp_min(0.f); std::cout << x.sizes() << x << std::endl;
  a = x.contiguous().view({x.size(0), -1, (int64_t)n}); a = x.to(torch::kCUDA, torch::kFloat);
  a = x.to(at::kCPU, true); a = x.toType(at::kHalf).cuda(); a = x.new_zeros({n}); a = x.new_empty({n, 3}, opts);
  a = x.pow(2).sqrt().exp();
  size_t nb = x.nbytes() + x.numel() * x.element_size(); uint8_t* bytes = x.data_ptr<uint8_t>() + nb;
  a = at::mm(x, y); a = at::matmul(x, y); at::addmm_out(a, x, x, y, 1, 0); a = torch::bmm(x, y);
  a = at::sum(x, {0}); a = at::bernoulli(x, 0.5); a = at::linalg_norm(x, 2);
  auto [q, r] = at::linalg_qr(x); auto u = at::_unique(x); auto parts = at::split(x, 2, 0);
  auto ch = x.chunk(3, 1); auto un = torch::unbind(x, 0); auto nz = at::nonzero(x); auto tk = x.topk(3);
  a = std::get<1>(torch::topk(x, 3)); a = torch::gather(x, 1, y); x.scatter_add_(0, y, a);
  a = at::index_put(x, {y}, a); x.index_add_(0, y, a);
  a = x.index({y});
  a = x.index({torch::indexing::Slice(torch::indexing::None, 3), torch::indexing::Ellipsis, torch::indexing::None, true, 0, n});
  x.index_put_({y}, a); x.index_put_({torch::indexing::Slice(), 1}, 2.0); x.select(0, 1).copy_(a);
  x.record_stream(stream);
  const int64_t* sp = x.sizes().data(); auto it = std::vector<int64_t>(x.sizes().begin(), x.sizes().end());
  at::DimVector dv(x.sizes()); auto nd = c10::multiply_integers(x.sizes());
  unsigned long long* ull = (unsigned long long*)x.data_ptr<int64_t>(); a.resize_({n}); a.resize_(0); a.set_(x);
  a.swapdims(0, 1); a.detach(); a.is_sparse(); a.unsafeGetTensorImpl();
  bool rg = a.requires_grad() && torch::GradMode::is_enabled();
  auto t0 = std::chrono::high_resolution_clock::now(); std::string str = c10::str("a", 1, x.sizes());
  auto& ctx = at::globalContext(); ctx.alertNotDeterministic("f"); bool det = ctx.deterministicAlgorithms();
  cudaDeviceProp* prop = at::cuda::getCurrentDeviceProperties(); int sms = prop->multiProcessorCount;
}
struct Foo : torch::CustomClassHolder { Foo(int64_t n); int64_t f(Tensor x); };
c10::intrusive_ptr<Foo> mk() { return c10::make_intrusive<Foo>(3); }
static auto registry = torch::RegisterOperators().op("a::b", &two).op("a::c(Tensor x) -> Tensor", [](Tensor x) { return x; });
static auto cls = torch::class_<Foo>("ns", "Foo").def(torch::init<int64_t>()).def("f", &Foo::f).def_pickle([](const c10::intrusive_ptr<Foo>& s) -> int64_t { return 1; }, [](int64_t n) { return c10::make_intrusive<Foo>(n); });
TORCH_LIBRARY_FRAGMENT(ns, m) { m.def("x(Tensor x) -> Tensor", {at::Tag::pt2_compliant_tag}); m.def("y", [](Tensor x) { return x; }); m.class_<Foo>("Foo2").def(torch::init<int64_t>()); m.def(TORCH_SELECTIVE_SCHEMA("z(Tensor x) -> Tensor")); m.impl("x", c10::DispatchKey::CUDA, TORCH_FN(two)); m.impl("q", torch::dispatch(c10::DispatchKey::CUDA, &two)); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { using namespace pybind11::literals; m.def("f", &f, "doc", "x"_a, "y"_a = py::none()); m.def("g", torch::wrap_pybind_function(two)); m.def("tup", py::overload_cast<const Tensor&, c10::optional<at::Tensor> const&>(&tup)); auto sub = m.def_submodule("ops", "x"); sub.def("two", &two, py::arg("a"), py::arg("b") = at::Tensor()); py::class_<Foo, c10::intrusive_ptr<Foo>>(m, "Foo").def(py::init([](int n) { return c10::make_intrusive<Foo>(n); })).def("__repr__", [](const Foo& f) { return std::string("Foo"); }).def_property_readonly("n", [](Foo& f) { return 1; }); 
  py::object o = py::module_::import("torch").attr("nn").attr("x")(1, "a", py::arg("k") = 2);
  int k = o.attr("n").cast<int>();
  for (auto h : py::list()) { auto t = h.cast<Tensor>(); auto p = py::cast<std::string>(h); } py::dict d;
  d["a"] = 1; d[py::str("b")] = py::make_tuple(1, 2); py::gil_scoped_release rel;
  if (py::isinstance<py::str>(o)) throw py::type_error("a"); m.attr("__version__") = "1";
  throw std::runtime_error("x"); }
