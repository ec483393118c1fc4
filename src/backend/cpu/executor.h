// What a kernel of this backend is run by: the threads, and the counters it adds to.
#pragma once

#include "backend/backend.h"
#include "base/threads.h"

namespace skua::cpu {

struct Executor {
  ThreadPool& pool;
  LatentCounters& counters;
  uint64_t& saturated;  // see Backend::saturated_cache_values
};

}  // namespace skua::cpu
