// How fast this machine's memory can be read, to compare the decode speed with.
#pragma once

namespace skua {

/// Bytes per second that `n_threads` threads read from a gibibyte: the best of several read patterns.
/// 0 if there is no memory for the buffer.
double memory_read_speed(int n_threads);

}  // namespace skua
