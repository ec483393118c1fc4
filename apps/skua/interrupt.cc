// The SIGINT handler and the little it touches: lock-free atomics and Engine::cancel.
#include "skua/interrupt.h"

#include <atomic>
#include <csignal>

#include "engine/engine.h"

namespace skua {
namespace {

// A handler has no arguments of its own: these are its only way to know anything.
std::atomic<bool> g_interrupted{false};
std::atomic<Engine*> g_engine{nullptr};
std::atomic<uint64_t> g_seq{0};
static_assert(std::atomic<Engine*>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

void on_interrupt(int) {
  g_interrupted = true;
  if (Engine* engine = g_engine.load()) engine->cancel(SeqId(g_seq.load()));
}

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read at the prompt must return
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() { set_handler(on_interrupt); }

InterruptGuard::~InterruptGuard() {
  forget();
  set_handler(SIG_DFL);
}

void InterruptGuard::watch(Engine& engine, SeqId seq) {
  g_seq = seq.value();
  g_engine = &engine;
}

void InterruptGuard::forget() { g_engine = nullptr; }

bool InterruptGuard::take() { return g_interrupted.exchange(false); }

}  // namespace skua
