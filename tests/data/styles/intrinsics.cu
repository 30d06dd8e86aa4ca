// kernels: integers; floats; bits
extern "C" __global__ void integers(int* x, const unsigned* u)
{
    x[0] = __dp4a(x[1], x[2], x[3]) + __dp2a_lo(x[1], x[2], x[3]) + __mul24(x[1], x[2]) + __sad(x[1], x[2], u[0]);
    x[1] = __vadd4(u[0], u[1]) + __vabsdiffu4(u[0], u[1]) + __vmaxs2(u[0], u[1]) + __mulhi(x[0], x[1]);
    x[2] = __byte_perm(u[0], u[1], 0x5410) + __funnelshift_l(u[0], u[1], 7) + __funnelshift_rc(u[0], u[1], 9);
    x[3] = __hadd(x[0], x[1]) + __rhadd(x[0], x[1]) + __popcll(0xffull) + __ffsll(x[0]) + __clzll(x[1]) + __umul24(u[0], u[1]);
    x[4] = (int)__mul64hi(x[0], x[1]) + (int)__umul64hi(u[0], u[1]) + max(x[0], x[1]) + umin(u[0], u[1]) + llabs(-3ll);
}

extern "C" __global__ void floats(float* f, double* d)
{
    f[0] = __fdividef(f[1], f[2]) + __expf(f[1]) + __logf(f[2]) + __powf(f[1], f[2]) + __saturatef(f[3]) + __frcp_rn(f[1]);
    f[1] = __fmaf_rn(f[0], f[1], f[2]) + __fsqrt_rz(f[3]) + rsqrtf(f[0]) + fmaf(f[0], f[1], f[2]) + erfinvf(f[0]) + normcdff(f[1]);
    f[2] = __int_as_float(__float_as_int(f[0]) ^ 1) + __uint2float_rn(3u) + __float2int_rd(f[1]) + cyl_bessel_i0f(f[0]) + j0f(f[1]);
    d[0] = __dadd_rn(d[1], d[2]) + __ddiv_ru(d[1], d[2]) + fma(d[0], d[1], d[2]) + __hiloint2double(1, 2) + __double2hiint(d[0]);
    float s, c;
    __sincosf(f[0], &s, &c);
    sincosf(f[1], &s, &c);
    f[3] = s + c + copysignf(1.0f, f[0]) + ldexpf(f[1], 3) + truncf(f[2]) + remainderf(f[0], f[1]) + tgammaf(f[2]) + sinpif(f[0]);
    d[1] = rint(d[0]) + cbrt(d[1]) + rcbrt(d[2]) + norm3d(1, 2, 3) + exp10(d[0]) + scalbn(d[1], 2) + nextafter(d[0], d[1]);
}

extern "C" __global__ void bits(unsigned* u, void* generic)
{
    __builtin_assume(u != nullptr);
    float* aligned = static_cast<float*>(__builtin_assume_aligned(generic, 16));
    u[0] = __isShared(generic) + __isGlobal(generic) + __isConstant(generic) + __isLocal(generic) + (unsigned)*aligned;
    u[1] = static_cast<unsigned>(__cvta_generic_to_shared(generic));
    if (u[0] > 4)
        __builtin_unreachable();
    asm volatile("" ::: "memory");
    asm volatile("bfe.u32 %0, %1, %2, %3;" : "=r"(u[2]) : "r"(u[1]), "r"(4), "r"(8));
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(u[3]) : "r"(u[0]), "r"(u[1]), "r"(u[2]));
    __brkpt();
}
