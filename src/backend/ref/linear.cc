// Linear: y[t,n] = sum_k x[t,k] w[n,k] + bias[n].
#include "backend/ref/parts.h"

namespace skua::ref {

void linear(const Call& call) {
  size_t next = 0;
  linear_rows(call.pool, call.input(0), take_linear(call, call.op<Linear>(), next), call.output(0));
}

}  // namespace skua::ref
