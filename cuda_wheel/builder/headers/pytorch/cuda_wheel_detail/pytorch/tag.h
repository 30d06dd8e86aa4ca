// The tags of operators. Their numbers differ between releases, and no kernel sees them.
#ifndef CUDA_WHEEL_PYTORCH_TAG_H
#define CUDA_WHEEL_PYTORCH_TAG_H

namespace torch {
namespace headeronly {
enum class Tag {
  // What an operator computes
  pointwise, core, reduction, generated,
  // Its results
  out, inplace, view_copy, out_variant, inplace_view, dynamic_output_shape, maybe_aliasing_or_mutating, data_dependent_output,
  // The strides that it needs
  needs_exact_strides, flexible_layout, needs_fixed_stride_order, needs_contiguous_strides,
  // What it can be used with
  nondeterministic_seeded, pt2_compliant_tag, cudagraph_unsafe, nondeterministic_bitwise
};
}
}
namespace at {
using torch::headeronly::Tag;
}

#endif
