// Checks for our own bugs: always on, print both operands, abort. If a request or a checkpoint can reach one,
// it is the wrong kind of check; return a Status instead.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace skua {

/// Prints the failed condition and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& operands);

template <typename A, typename B>
[[noreturn]] void check_op_failed(const char* file, int line, const char* condition, const A& a, const B& b) {
  std::ostringstream text;
  text << a << " vs " << b;
  check_failed(file, line, condition, text.str());
}

}  // namespace skua

#define SKUA_CHECK(condition) \
  (static_cast<bool>(condition) ? void() : ::skua::check_failed(__FILE__, __LINE__, #condition, ""))
#define SKUA_CHECK_OP(a, op, b)                                                         \
  do {                                                                                  \
    const auto& skua_a_ = (a);                                                          \
    const auto& skua_b_ = (b);                                                          \
    if (!(skua_a_ op skua_b_))                                                          \
      ::skua::check_op_failed(__FILE__, __LINE__, #a " " #op " " #b, skua_a_, skua_b_); \
  } while (false)
#define SKUA_CHECK_EQ(a, b) SKUA_CHECK_OP(a, ==, b)
#define SKUA_CHECK_LE(a, b) SKUA_CHECK_OP(a, <=, b)
#define SKUA_CHECK_LT(a, b) SKUA_CHECK_OP(a, <, b)

#ifdef NDEBUG
#define SKUA_DCHECK(condition) ((void)0)
#else
#define SKUA_DCHECK(condition) SKUA_CHECK(condition)
#endif
