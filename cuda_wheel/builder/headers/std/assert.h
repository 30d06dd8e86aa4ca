// <assert.h> for NVRTC: assert as NVRTC predefines it, but defined again from NDEBUG at each inclusion, as C requires.
// For this reason there is no include guard.
#undef assert
#ifdef NDEBUG
#define assert(...) (static_cast<void>(0))
#else
#define assert(...)                                                                              \
  ((__VA_ARGS__) ? static_cast<void>(0)                                                          \
                 : __assertfail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif
