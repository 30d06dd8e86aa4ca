; root.bc is this, as llvm-as of LLVM 14 writes it.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @root(float* %x) {
  %1 = load float, float* %x
  %2 = call float @__nv_rsqrtf(float %1)
  store float %2, float* %x
  ret void
}
declare float @__nv_rsqrtf(float)
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @root, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
