// Reads the record files that tools/fixtures/*.py write.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace skua {

using Records = std::map<std::string, std::vector<std::byte>>;

/// Throws if the file is missing or cut.
inline Records read_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  Records records;
  size_t at = 0;
  const auto take = [&](size_t n) {
    if (n > all.size() - at) throw std::runtime_error("cut record in " + path);
    at += n;
    return all.data() + at - n;
  };
  const auto take_u32 = [&] {
    uint32_t n = 0;
    std::memcpy(&n, take(4), 4);
    return n;
  };
  while (at < all.size()) {
    const uint32_t name_size = take_u32();
    const std::string name(take(name_size), name_size);
    const uint32_t size = take_u32();
    const auto* data = reinterpret_cast<const std::byte*>(take(size));
    records.emplace(name, std::vector<std::byte>(data, data + size));
  }
  return records;
}

}  // namespace skua
