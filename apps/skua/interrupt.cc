// The SIGINT handler and the little it touches: lock-free atomics and Engine::cancel.
#include "skua/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "engine/engine.h"

namespace skua {
namespace {

// A handler has no arguments of its own: these are its only way to know anything.
std::atomic<bool> g_interrupted{false};
std::atomic<Engine*> g_engine{nullptr};
std::atomic<uint64_t> g_seq{0};
std::atomic<int> g_fd{-1};
static_assert(std::atomic<Engine*>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

void on_interrupt(int) {
  const int saved = errno;
  g_interrupted = true;
  const uint64_t one = 1;
  if (write(g_fd.load(), &one, sizeof one) < 0) errno = 0;  // the flag alone must do
  if (Engine* engine = g_engine.load()) engine->cancel(SeqId(g_seq.load()));
  errno = saved;
}

void set_handler(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard(SecondInterrupt second) : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  g_fd = fd_;
  set_handler(on_interrupt, second == SecondInterrupt::kEndsProgram ? static_cast<int>(SA_RESETHAND) : 0);
}

InterruptGuard::~InterruptGuard() {
  forget();
  set_handler(SIG_DFL, 0);
  g_fd = -1;
  if (fd_ >= 0) close(fd_);
}

void InterruptGuard::watch(Engine& engine, SeqId seq) {
  g_seq = seq.value();
  g_engine = &engine;
}

void InterruptGuard::forget() { g_engine = nullptr; }

bool InterruptGuard::take() {
  uint64_t count = 0;
  while (read(fd_, &count, sizeof count) > 0) continue;
  return g_interrupted.exchange(false);
}

}  // namespace skua
