// Strong ids: an index of one kind cannot be passed for another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>

namespace skua {

/// Index into one table; `Tag` names the table. value() is the plain index.
template <typename Tag, typename Rep = uint32_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_ = 0;
};

template <typename Tag, typename Rep>
std::ostream& operator<<(std::ostream& out, StrongId<Tag, Rep> id) {
  return out << id.value();
}

using ValueId = StrongId<struct ValueTag>;    // a tensor of the graph
using WeightId = StrongId<struct WeightTag>;  // a weight slot of the graph
using NodeId = StrongId<struct NodeTag>;      // an op of the graph
using BufferId = StrongId<struct BufferTag>;  // a memory range of a plan
using SeqId = StrongId<struct SeqTag, uint64_t>;

}  // namespace skua

template <typename Tag, typename Rep>
struct std::hash<skua::StrongId<Tag, Rep>> {
  size_t operator()(skua::StrongId<Tag, Rep> id) const { return std::hash<Rep>()(id.value()); }
};
