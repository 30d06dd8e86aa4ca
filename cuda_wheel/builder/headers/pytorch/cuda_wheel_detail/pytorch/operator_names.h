// The names of PyTorch's operators, by what they return (PyTorch 2.14). The lists are facts; tensor.h and operators.h declare them.
#ifndef CUDA_WHEEL_PYTORCH_OPERATOR_NAMES_H
#define CUDA_WHEEL_PYTORCH_OPERATOR_NAMES_H

// t.name(...) and at::name(t, ...) return a Tensor; at::name_out(out, ...) returns out.
#define CUDA_WHEEL_PYTORCH_BOTH(X) \
    X(as_strided_symint) X(expand_symint) X(narrow_symint) X(reshape_symint) X(select_symint) X(slice_symint) \
    X(view_symint) X(_addmm_activation) X(abs) X(absolute) X(acos) X(acosh) X(add) X(addbmm) X(addcdiv) X(addcmul) \
    X(addmm) X(addmv) X(addr) X(adjoint) X(alias) X(all) X(amax) X(amin) X(angle) X(any) X(arccos) X(arccosh) \
    X(arcsin) X(arcsinh) X(arctan) X(arctan2) X(arctanh) X(argmax) X(argmin) X(argsort) X(argwhere) X(as_strided) \
    X(as_strided_scatter) X(asin) X(asinh) X(atan) X(atan2) X(atanh) X(baddbmm) X(bernoulli) X(bincount) \
    X(bitwise_not) X(bmm) X(broadcast_to) X(ceil) X(cholesky) X(cholesky_inverse) X(cholesky_solve) X(clamp) \
    X(clamp_max) X(clamp_min) X(clip) X(clone) X(conj_physical) X(copysign) X(corrcoef) X(cos) X(cosh) \
    X(count_nonzero) X(cov) X(cross) X(cumprod) X(cumsum) X(deg2rad) X(det) X(diag) X(diag_embed) X(diagflat) \
    X(diagonal) X(diagonal_scatter) X(diff) X(digamma) X(dist) X(div) X(divide) X(dot) X(eq) X(erf) X(erfc) X(erfinv) \
    X(exp) X(exp2) X(expm1) X(fix) X(flatten) X(flip) X(fliplr) X(flipud) X(floor) X(floor_divide) X(fmax) X(fmin) \
    X(fmod) X(frac) X(gather) X(gcd) X(ge) X(ger) X(greater) X(greater_equal) X(gt) X(hardshrink) \
    X(hardshrink_backward) X(hash_tensor) X(heaviside) X(histc) X(hypot) X(i0) X(igamma) X(igammac) X(index_add) \
    X(index_fill) X(index_put) X(index_reduce) X(index_select) X(inner) X(int_repr) X(inverse) X(isclose) X(isfinite) \
    X(isinf) X(isnan) X(isneginf) X(isposinf) X(isreal) X(kron) X(lcm) X(ldexp) X(le) X(lerp) X(less) X(less_equal) \
    X(lgamma) X(log) X(log10) X(log1p) X(log2) X(log_softmax) X(logaddexp) X(logaddexp2) X(logcumsumexp) X(logdet) \
    X(logical_and) X(logical_not) X(logical_or) X(logical_xor) X(logit) X(logsumexp) X(lt) X(lu_solve) X(masked_fill) \
    X(masked_scatter) X(masked_select) X(matmul) X(matrix_exp) X(matrix_power) X(maximum) X(mean) X(minimum) X(mm) \
    X(moveaxis) X(movedim) X(msort) X(mul) X(multinomial) X(multiply) X(mv) X(mvlgamma) X(nan_to_num) X(nanmean) \
    X(nanquantile) X(nansum) X(narrow) X(ne) X(neg) X(negative) X(nextafter) X(nonzero) X(nonzero_static) X(norm) \
    X(not_equal) X(orgqr) X(ormqr) X(outer) X(permute) X(pinverse) X(positive) X(prelu) X(prod) X(put) \
    X(q_per_channel_scales) X(q_per_channel_zero_points) X(quantile) X(rad2deg) X(ravel) X(reciprocal) X(relu) \
    X(renorm) X(repeat_interleave) X(reshape) X(resolve_conj) X(resolve_neg) X(roll) X(rot90) X(round) X(rsqrt) \
    X(scatter) X(scatter_add) X(scatter_reduce) X(select) X(select_scatter) X(sgn) X(sigmoid) X(sign) X(signbit) \
    X(sin) X(sinc) X(sinh) X(slice) X(slice_inverse) X(slice_scatter) X(smm) X(softmax) X(sqrt) X(square) X(squeeze) \
    X(sspaddmm) X(std) X(sub) X(subtract) X(sum) X(swapaxes) X(swapdims) X(t) X(take) X(take_along_dim) X(tan) X(tanh) \
    X(tile) X(trace) X(transpose) X(tril) X(triu) X(true_divide) X(trunc) X(unflatten) X(unsqueeze) X(var) X(vdot)

// The same, with up to 14 arguments.
#define CUDA_WHEEL_PYTORCH_BOTH_WIDE(X) \
    X(istft) X(stft)

// The same; the first argument of at::name may be a number.
#define CUDA_WHEEL_PYTORCH_BOTH_FREE(X) \
    X(bitwise_and) X(bitwise_left_shift) X(bitwise_or) X(bitwise_right_shift) X(bitwise_xor) X(float_power) \
    X(polygamma) X(pow) X(remainder) X(xlogy)

// t.name(...) and at::name(t, ...) return t.
#define CUDA_WHEEL_PYTORCH_BOTH_IN_PLACE(X) \
    X(abs_) X(acos_) X(acosh_) X(addmv_) X(arccos_) X(arccosh_) X(arcsin_) X(arcsinh_) X(arctan_) X(arctanh_) X(asin_) \
    X(asinh_) X(atan_) X(atanh_) X(ceil_) X(clamp_) X(clamp_max_) X(clamp_min_) X(clip_) X(conj_physical_) X(cos_) \
    X(cosh_) X(deg2rad_) X(erf_) X(erfc_) X(exp2_) X(exp_) X(expm1_) X(fix_) X(floor_) X(frac_) X(gcd_) X(i0_) X(lcm_) \
    X(ldexp_) X(log10_) X(log1p_) X(log2_) X(log_) X(logit_) X(nan_to_num_) X(neg_) X(negative_) X(rad2deg_) \
    X(reciprocal_) X(relu_) X(resize_as_sparse_) X(round_) X(rsqrt_) X(sigmoid_) X(sin_) X(sinc_) X(sinh_) X(sqrt_) \
    X(square_) X(tan_) X(tanh_) X(trunc_) X(xlogy_)

// t.name(...) returns a Tensor; there is no function.
#define CUDA_WHEEL_PYTORCH_METHODS(X) \
    X(new_empty_symint) X(new_full_symint) X(new_zeros_symint) X(repeat_symint) X(align_as) X(align_to) \
    X(ccol_indices) X(chalf) X(coalesce) X(col_indices) X(crow_indices) X(expand) X(expand_as) X(indices) X(mH) X(mT) \
    X(matrix_H) X(new_empty) X(new_empty_strided) X(new_full) X(new_ones) X(new_zeros) X(numpy_T) X(pin_memory) \
    X(refine_names) X(rename) X(repeat) X(reshape_as) X(row_indices) X(sparse_mask) X(sum_to_size) X(to_dense) \
    X(to_mkldnn) X(to_padded_tensor) X(to_sparse) X(to_sparse_bsc) X(to_sparse_bsr) X(to_sparse_csc) X(to_sparse_csr) \
    X(type_as) X(unfold) X(values) X(view) X(view_as)

// t.name(...) returns t; there is no function.
#define CUDA_WHEEL_PYTORCH_METHODS_IN_PLACE(X) \
    X(absolute_) X(add_) X(addbmm_) X(addcdiv_) X(addcmul_) X(addmm_) X(addr_) X(arctan2_) X(atan2_) X(baddbmm_) \
    X(bernoulli_) X(bitwise_and_) X(bitwise_left_shift_) X(bitwise_not_) X(bitwise_or_) X(bitwise_right_shift_) \
    X(bitwise_xor_) X(cauchy_) X(copy_) X(copysign_) X(cumprod_) X(cumsum_) X(digamma_) X(div_) X(divide_) X(eq_) \
    X(erfinv_) X(exponential_) X(fill_diagonal_) X(float_power_) X(floor_divide_) X(fmod_) X(ge_) X(geometric_) \
    X(greater_) X(greater_equal_) X(gt_) X(heaviside_) X(hypot_) X(igamma_) X(igammac_) X(index_add_) X(index_copy_) \
    X(index_fill_) X(index_reduce_) X(le_) X(lerp_) X(less_) X(less_equal_) X(lgamma_) X(log_normal_) X(logical_and_) \
    X(logical_not_) X(logical_or_) X(logical_xor_) X(lt_) X(masked_fill_) X(masked_scatter_) X(mul_) X(multiply_) \
    X(mvlgamma_) X(ne_) X(nextafter_) X(normal_) X(not_equal_) X(polygamma_) X(pow_) X(put_) X(random_) X(remainder_) \
    X(rename_) X(renorm_) X(scatter_) X(scatter_add_) X(scatter_reduce_) X(set_) X(sgn_) X(sign_) \
    X(sparse_resize_and_clear_) X(squeeze_) X(sub_) X(subtract_) X(swapaxes_) X(swapdims_) X(t_) X(transpose_) \
    X(tril_) X(triu_) X(true_divide_) X(uniform_) X(unsqueeze_)

// at::name(t, ...) returns a Tensor; at::name_out(out, ...) returns out.
#define CUDA_WHEEL_PYTORCH_FUNCTIONS(X) \
    X(_coalesce) X(_convert_weight_to_int4pack) X(_convert_weight_to_int4pack_for_cpu) X(_dim_arange) X(_grouped_mm) \
    X(_index_put_impl) X(_int_mm) X(_log_softmax) X(_log_softmax_backward_data) X(_pin_memory) X(_softmax) \
    X(_softmax_backward_data) X(_weight_int8pack_mm) X(_weight_norm) X(adaptive_avg_pool1d) X(adaptive_avg_pool2d) \
    X(adaptive_avg_pool3d) X(adaptive_max_pool2d_backward) X(adaptive_max_pool3d_backward) X(affine_grid_generator) \
    X(affine_grid_generator_backward) X(alpha_dropout) X(avg_pool1d) X(batch_norm_elemt) X(bilinear) \
    X(binary_cross_entropy) X(binary_cross_entropy_backward) X(binary_cross_entropy_with_logits) X(binomial) X(cauchy) \
    X(cdist) X(celu) X(channel_shuffle) X(col2im) X(combinations) X(complex) X(constant_pad_nd) X(conv_tbc) X(copy) \
    X(copy_sparse_to_sparse) X(cosine_embedding_loss) X(cosine_similarity) X(cross_entropy_loss) X(cummaxmin_backward) \
    X(cumprod_backward) X(cumulative_trapezoid) X(diagonal_backward) X(dropout) X(elu) X(elu_backward) X(embedding) \
    X(embedding_backward) X(embedding_dense_backward) X(embedding_renorm) X(embedding_sparse_backward) X(empty_like) \
    X(exponential) X(fake_quantize_per_channel_affine) X(fake_quantize_per_channel_affine_cachemask_backward) \
    X(fake_quantize_per_tensor_affine) X(fake_quantize_per_tensor_affine_cachemask_backward) X(feature_alpha_dropout) \
    X(feature_dropout) X(fft_fft) X(fft_fft2) X(fft_fftn) X(fft_fftshift) X(fft_hfft) X(fft_hfft2) X(fft_hfftn) \
    X(fft_ifft) X(fft_ifft2) X(fft_ifftn) X(fft_ifftshift) X(fft_ihfft) X(fft_ihfft2) X(fft_ihfftn) X(fft_irfft) \
    X(fft_irfft2) X(fft_irfftn) X(fft_rfft) X(fft_rfft2) X(fft_rfftn) X(fill) X(fractional_max_pool2d_backward) \
    X(fractional_max_pool3d_backward) X(frobenius_norm) X(gather_backward) X(gelu) X(gelu_backward) X(geometric) \
    X(glu) X(glu_backward) X(glu_backward_jvp) X(glu_jvp) X(grid_sampler) X(grid_sampler_2d) X(grid_sampler_3d) \
    X(group_norm) X(gru_cell) X(hardsigmoid) X(hardsigmoid_backward) X(hardswish) X(hardswish_backward) X(hardtanh) \
    X(hardtanh_backward) X(hinge_embedding_loss) X(hspmm) X(huber_loss) X(huber_loss_backward) X(im2col) \
    X(index_select_backward) X(infinitely_differentiable_gelu_backward) X(kl_div) X(l1_loss) X(layer_norm) \
    X(leaky_relu) X(leaky_relu_backward) X(lift) X(lift_fresh) X(linalg__powsum) X(linalg_cholesky) X(linalg_cond) \
    X(linalg_cross) X(linalg_det) X(linalg_diagonal) X(linalg_eigvals) X(linalg_eigvalsh) \
    X(linalg_householder_product) X(linalg_inv) X(linalg_ldl_solve) X(linalg_lu_solve) X(linalg_matmul) \
    X(linalg_matrix_exp) X(linalg_matrix_norm) X(linalg_matrix_power) X(linalg_matrix_rank) X(linalg_matrix_sqrth) \
    X(linalg_norm) X(linalg_pinv) X(linalg_solve) X(linalg_solve_triangular) X(linalg_svdvals) X(linalg_tensorinv) \
    X(linalg_tensorsolve) X(linalg_vander) X(linalg_vecdot) X(linalg_vector_norm) X(linear) X(log_normal) \
    X(log_sigmoid) X(log_sigmoid_backward) X(logit_backward) X(margin_ranking_loss) X(masked_scatter_backward) \
    X(masked_select_backward) X(matrix_exp_backward) X(max_pool1d) X(max_pool2d) X(max_pool3d) X(max_unpool2d) \
    X(max_unpool3d) X(mish) X(mish_backward) X(mse_loss) X(mse_loss_backward) X(multi_margin_loss) \
    X(multilabel_margin_loss) X(multilabel_margin_loss_backward) X(native_channel_shuffle) X(native_dropout_backward) \
    X(native_norm) X(nested_to_padded_tensor) X(nll_loss) X(nll_loss2d) X(nll_loss_nd) X(norm_except_dim) \
    X(normal_functional) X(nuclear_norm) X(one_hot) X(ones_like) X(pad) X(pairwise_distance) X(pdist) X(pixel_shuffle) \
    X(pixel_unshuffle) X(poisson) X(poisson_nll_loss) X(polar) X(quantize_per_channel) X(quantize_per_tensor_dynamic) \
    X(random) X(reflection_pad1d) X(reflection_pad1d_backward) X(reflection_pad2d) X(reflection_pad2d_backward) \
    X(reflection_pad3d) X(reflection_pad3d_backward) X(relu6) X(replication_pad1d) X(replication_pad1d_backward) \
    X(replication_pad2d) X(replication_pad2d_backward) X(replication_pad3d) X(replication_pad3d_backward) X(resize) \
    X(resize_as) X(resize_as_sparse) X(rms_norm) X(rnn_relu_cell) X(rnn_tanh_cell) X(rrelu) X(rrelu_with_noise) \
    X(rsub) X(searchsorted) X(select_backward) X(selu) X(set) X(sigmoid_backward) X(silu) X(silu_backward) \
    X(slice_backward) X(slow_conv3d) X(slow_conv3d_forward) X(smooth_l1_loss) X(smooth_l1_loss_backward) \
    X(soft_margin_loss) X(soft_margin_loss_backward) X(softplus) X(softplus_backward) X(softshrink) \
    X(softshrink_backward) X(sparse_resize) X(sparse_resize_and_clear) X(sparse_sampled_addmm) X(special_airy_ai) \
    X(special_bessel_j0) X(special_bessel_j1) X(special_bessel_y0) X(special_bessel_y1) X(special_digamma) \
    X(special_entr) X(special_erf) X(special_erfc) X(special_erfcx) X(special_erfinv) X(special_exp2) X(special_expit) \
    X(special_expm1) X(special_gammainc) X(special_gammaincc) X(special_gammaln) X(special_i0) X(special_i0e) \
    X(special_i1) X(special_i1e) X(special_log1p) X(special_log_ndtr) X(special_log_softmax) X(special_logit) \
    X(special_logsumexp) X(special_modified_bessel_i0) X(special_modified_bessel_i1) X(special_modified_bessel_k0) \
    X(special_modified_bessel_k1) X(special_multigammaln) X(special_ndtr) X(special_ndtri) X(special_psi) \
    X(special_round) X(special_scaled_modified_bessel_k0) X(special_scaled_modified_bessel_k1) X(special_sinc) \
    X(special_softmax) X(special_spherical_bessel_j0) X(tanh_backward) X(tensordot) X(thnn_conv2d) X(threshold) \
    X(threshold_backward) X(to_dense_backward) X(to_mkldnn_backward) X(trace_backward) X(trapezoid) X(trapz) \
    X(unfold_backward) X(uniform) X(upsample_bicubic2d) X(upsample_bicubic2d_backward) X(upsample_bilinear2d) \
    X(upsample_bilinear2d_backward) X(upsample_linear1d) X(upsample_linear1d_backward) X(upsample_nearest1d) \
    X(upsample_nearest1d_backward) X(upsample_nearest2d) X(upsample_nearest2d_backward) X(upsample_nearest3d) \
    X(upsample_nearest3d_backward) X(upsample_trilinear3d) X(value_selecting_reduction_backward) X(vander) \
    X(view_as_complex) X(view_as_real) X(zero) X(zeros_like)

// The same; the first argument is a shape, a number or a list.
#define CUDA_WHEEL_PYTORCH_FUNCTIONS_FREE(X) \
    X(empty_strided_symint) X(empty_symint) X(full_symint) X(ones_symint) X(rand_symint) X(zeros_symint) X(arange) \
    X(bartlett_window) X(blackman_window) X(block_diag) X(bucketize) X(cartesian_prod) X(cat) X(chain_matmul) \
    X(column_stack) X(concat) X(concatenate) X(dstack) X(einsum) X(empty) X(empty_permuted) X(empty_quantized) \
    X(empty_strided) X(eye) X(fft_fftfreq) X(fft_rfftfreq) X(flatten_dense_tensors) X(full) X(hamming_window) \
    X(hann_window) X(hstack) X(isin) X(kaiser_window) X(linalg_multi_dot) X(linspace) X(logspace) X(normal) X(ones) \
    X(pad_sequence) X(rand) X(randint) X(randn) X(randperm) X(range) X(row_stack) X(scalar_tensor) \
    X(sparse_coo_tensor) X(special_chebyshev_polynomial_t) X(special_chebyshev_polynomial_u) \
    X(special_chebyshev_polynomial_v) X(special_chebyshev_polynomial_w) X(special_hermite_polynomial_h) \
    X(special_hermite_polynomial_he) X(special_laguerre_polynomial_l) X(special_legendre_polynomial_p) \
    X(special_polygamma) X(special_shifted_chebyshev_polynomial_t) X(special_shifted_chebyshev_polynomial_u) \
    X(special_shifted_chebyshev_polynomial_v) X(special_shifted_chebyshev_polynomial_w) X(special_xlog1py) \
    X(special_xlogy) X(special_zeta) X(stack) X(tril_indices) X(triu_indices) X(vstack) X(zeros)

// at::name(t, ...) returns a Tensor; at::name_out(out, ...) returns out; with up to 14 arguments.
#define CUDA_WHEEL_PYTORCH_FUNCTIONS_WIDE(X) \
    X(_conv_depthwise2d) X(_scaled_grouped_mm) X(_scaled_grouped_mm_v2) X(_scaled_mm) X(_scaled_mm_v2) X(avg_pool2d) \
    X(avg_pool2d_backward) X(avg_pool3d) X(avg_pool3d_backward) X(batch_norm) X(batch_norm_backward_elemt) X(conv1d) \
    X(conv2d) X(conv3d) X(conv_depthwise3d) X(conv_transpose1d) X(conv_transpose2d) X(conv_transpose3d) X(convolution) \
    X(convolution_overrideable) X(ctc_loss) X(full_like) X(fused_moving_avg_obs_fake_quant) X(instance_norm) \
    X(max_pool2d_backward) X(max_pool2d_with_indices_backward) X(max_pool3d_with_indices_backward) \
    X(multi_margin_loss_backward) X(nll_loss2d_backward) X(nll_loss_backward) X(rand_like) X(randint_like) \
    X(randn_like) X(rrelu_with_noise_backward) X(scaled_dot_product_attention) X(segment_reduce) \
    X(slow_conv_dilated2d) X(slow_conv_dilated3d) X(slow_conv_transpose2d) X(slow_conv_transpose3d) \
    X(sparse_bsc_tensor) X(sparse_bsr_tensor) X(sparse_compressed_tensor) X(sparse_csc_tensor) X(sparse_csr_tensor) \
    X(triplet_margin_loss) X(upsample_trilinear3d_backward)

// at::name(t, ...) returns t.
#define CUDA_WHEEL_PYTORCH_FUNCTIONS_IN_PLACE(X) \
    X(_amp_update_scale_) X(_index_put_impl_) X(alpha_dropout_) X(celu_) X(copy_sparse_to_sparse_) X(dropout_) X(elu_) \
    X(embedding_renorm_) X(feature_alpha_dropout_) X(feature_dropout_) X(gelu_) X(hardsigmoid_) X(hardswish_) \
    X(hardtanh_) X(leaky_relu_) X(mish_) X(relu6_) X(rrelu_) X(rrelu_with_noise_) X(selu_) X(silu_) X(threshold_)

// at::name(out, ...) returns out, where no list above has the name.
#define CUDA_WHEEL_PYTORCH_FUNCTIONS_OUT(X) \
    X(_amp_update_scale_out) X(adaptive_avg_pool3d_backward_out) X(from_file_out) X(index_out) X(new_empty_out) \
    X(new_empty_strided_out) X(new_full_out) X(new_ones_out) X(new_zeros_out) X(repeat_out) X(sparse_mask_out) \
    X(to_mkldnn_out) X(to_padded_tensor_out) X(where_out)

// t.name(...) and at::name(t, ...) return a tuple of two Tensors.
#define CUDA_WHEEL_PYTORCH_BOTH_PAIRS(X) \
    X(aminmax) X(cummax) X(cummin) X(frexp) X(geqrf) X(histogram) X(kthvalue) X(mode) X(qr) X(slogdet) X(sort) X(topk) \
    X(triangular_solve)

// at::name(t, ...) returns a tuple of two Tensors.
#define CUDA_WHEEL_PYTORCH_FUNCTION_PAIRS(X) \
    X(_amp_update_scale) X(_fused_dropout) X(_scaled_dot_product_attention_math) \
    X(_scaled_dot_product_attention_math_for_mps) X(_unique) X(adaptive_max_pool1d) X(adaptive_max_pool2d) \
    X(adaptive_max_pool3d) X(batch_norm_gather_stats) X(batch_norm_gather_stats_with_counts) X(batch_norm_stats) \
    X(batch_norm_update_stats) X(choose_qparams_optimized) X(fake_quantize_per_channel_affine_cachemask) \
    X(fake_quantize_per_tensor_affine_cachemask) X(fractional_max_pool2d) X(fractional_max_pool3d) \
    X(grid_sampler_2d_backward) X(grid_sampler_3d_backward) X(gru) X(linalg_cholesky_ex) X(linalg_eig) X(linalg_eigh) \
    X(linalg_inv_ex) X(linalg_ldl_factor) X(linalg_lu_factor) X(linalg_polar) X(linalg_qr) X(linalg_slogdet) \
    X(linalg_solve_ex) X(log_sigmoid_forward) X(lstm_cell) X(matmul_backward) X(max_pool1d_with_indices) \
    X(max_pool2d_with_indices) X(max_pool3d_with_indices) X(multilabel_margin_loss_forward) X(native_dropout) \
    X(nll_loss2d_forward) X(nll_loss_forward) X(rnn_relu) X(rnn_tanh) X(rrelu_with_noise_functional) X(std_mean) \
    X(var_mean)

// at::name(t, ...) returns a tuple of three Tensors.
#define CUDA_WHEEL_PYTORCH_FUNCTION_TRIPLES(X) \
    X(_unique2) X(batch_norm_backward) X(conv_tbc_backward) X(convolution_backward_overrideable) \
    X(linalg_ldl_factor_ex) X(linalg_lu) X(linalg_lu_factor_ex) X(linalg_svd) X(linear_backward) X(lstm) X(lu_unpack) \
    X(native_batch_norm) X(native_batch_norm_backward) X(native_group_norm) X(native_group_norm_backward) \
    X(native_layer_norm) X(native_layer_norm_backward) X(unique_consecutive) X(unique_dim) X(unique_dim_consecutive)

// t.name(...) and at::name(t, ...) return a vector of Tensors.
#define CUDA_WHEEL_PYTORCH_BOTH_VECTORS(X) \
    X(chunk) X(dsplit) X(hsplit) X(nonzero_numpy) X(split) X(split_with_sizes) X(tensor_split) X(unbind) \
    X(unsafe_chunk) X(unsafe_split) X(unsafe_split_with_sizes) X(vsplit)

// at::name(...) returns a vector of Tensors.
#define CUDA_WHEEL_PYTORCH_FUNCTION_VECTORS(X) \
    X(_foreach_abs) X(_foreach_acos) X(_foreach_add) X(_foreach_addcdiv) X(_foreach_addcmul) X(_foreach_asin) \
    X(_foreach_atan) X(_foreach_ceil) X(_foreach_clamp_max) X(_foreach_clamp_min) X(_foreach_cos) X(_foreach_cosh) \
    X(_foreach_div) X(_foreach_erf) X(_foreach_erfc) X(_foreach_exp) X(_foreach_expm1) X(_foreach_floor) \
    X(_foreach_frac) X(_foreach_lerp) X(_foreach_lgamma) X(_foreach_log) X(_foreach_log10) X(_foreach_log1p) \
    X(_foreach_log2) X(_foreach_max) X(_foreach_maximum) X(_foreach_minimum) X(_foreach_mul) X(_foreach_neg) \
    X(_foreach_norm) X(_foreach_pow) X(_foreach_powsum) X(_foreach_reciprocal) X(_foreach_round) X(_foreach_rsqrt) \
    X(_foreach_sigmoid) X(_foreach_sign) X(_foreach_sin) X(_foreach_sinh) X(_foreach_sqrt) X(_foreach_sub) \
    X(_foreach_tan) X(_foreach_tanh) X(_foreach_trunc) X(_foreach_zero) X(align_tensors) X(broadcast_tensors) \
    X(meshgrid) X(unflatten_dense_tensors)

// at::name(...) changes lists of Tensors in place.
#define CUDA_WHEEL_PYTORCH_FUNCTION_LISTS(X) \
    X(_amp_foreach_non_finite_check_and_unscale_) X(_foreach_abs_) X(_foreach_acos_) X(_foreach_add_) \
    X(_foreach_addcdiv_) X(_foreach_addcmul_) X(_foreach_asin_) X(_foreach_atan_) X(_foreach_ceil_) \
    X(_foreach_clamp_max_) X(_foreach_clamp_min_) X(_foreach_copy_) X(_foreach_cos_) X(_foreach_cosh_) \
    X(_foreach_div_) X(_foreach_erf_) X(_foreach_erfc_) X(_foreach_exp_) X(_foreach_expm1_) X(_foreach_floor_) \
    X(_foreach_frac_) X(_foreach_lerp_) X(_foreach_lgamma_) X(_foreach_log10_) X(_foreach_log1p_) X(_foreach_log2_) \
    X(_foreach_log_) X(_foreach_maximum_) X(_foreach_minimum_) X(_foreach_mul_) X(_foreach_neg_) X(_foreach_pow_) \
    X(_foreach_reciprocal_) X(_foreach_round_) X(_foreach_rsqrt_) X(_foreach_sigmoid_) X(_foreach_sign_) \
    X(_foreach_sin_) X(_foreach_sinh_) X(_foreach_sqrt_) X(_foreach_sub_) X(_foreach_tan_) X(_foreach_tanh_) \
    X(_foreach_trunc_) X(_foreach_zero_) X(_fused_adagrad_) X(_fused_adam_) X(_fused_adamw_)

// at::name(out0, out1, ...) returns a tuple of two references.
#define CUDA_WHEEL_PYTORCH_OUT_PAIRS(X) \
    X(_fused_dropout_out) X(_unique_out) X(adaptive_max_pool2d_out) X(adaptive_max_pool3d_out) X(aminmax_out) \
    X(batch_norm_gather_stats_out) X(batch_norm_gather_stats_with_counts_out) X(batch_norm_stats_out) \
    X(batch_norm_update_stats_out) X(cummax_out) X(cummin_out) X(fractional_max_pool2d_out) \
    X(fractional_max_pool3d_out) X(frexp_out) X(geqrf_out) X(grid_sampler_2d_backward_out) \
    X(grid_sampler_3d_backward_out) X(histogram_out) X(kthvalue_out) X(linalg_cholesky_ex_out) X(linalg_eig_out) \
    X(linalg_eigh_out) X(linalg_inv_ex_out) X(linalg_ldl_factor_out) X(linalg_lu_factor_out) X(linalg_qr_out) \
    X(linalg_slogdet_out) X(linalg_solve_ex_out) X(log_sigmoid_forward_out) X(matmul_backward_out) \
    X(max_pool2d_with_indices_out) X(max_pool3d_with_indices_out) X(mode_out) X(multilabel_margin_loss_forward_out) \
    X(native_dropout_out) X(nll_loss2d_forward_out) X(nll_loss_forward_out) X(qr_out) X(slogdet_out) X(sort_out) \
    X(std_mean_out) X(topk_out) X(triangular_solve_out) X(var_mean_out)

#endif
