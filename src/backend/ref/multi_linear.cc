// MultiLinear: its parts, one after the other.
#include "backend/ref/parts.h"

namespace skua::ref {

void multi_linear(const Call& call) {
  const auto& op = call.op<MultiLinear>();
  size_t next = 0;
  for (size_t part = 0; part < op.parts.size(); ++part) {
    linear_rows(call.pool, call.input(0), take_linear(call, op.parts[part], next), call.output(part));
  }
}

}  // namespace skua::ref
