// <spawn.h> for host code: new processes.
#ifndef CUDA_WHEEL_SPAWN_H
#define CUDA_WHEEL_SPAWN_H

#include <sys/types.h>

struct posix_spawn_file_actions_t {
  alignas(8) char content[80];
};
struct posix_spawnattr_t {
  alignas(8) char content[336];
};

extern "C" {
int posix_spawn(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);
int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);
}

#endif
