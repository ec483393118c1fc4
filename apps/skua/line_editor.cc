// libedit behind a small class. Characters are read here, so that Ctrl-C ends a line instead of the program.
#include "skua/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>

namespace skua {

struct LineEditor::State {
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string prompt;
  InterruptGuard* interrupts = nullptr;
  bool interrupted = false;  // during this line
  ~State() {
    if (edit != nullptr) el_end(edit);
    if (history != nullptr) history_end(history);
  }
  static State& of(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<State*>(data);
  }
};

namespace {

/// Reads one character. Returns 1, 0 at the end, -1 on an interrupt.
int read_character(EditLine* edit, wchar_t* out) {
  LineEditor::State& line = LineEditor::State::of(edit);
  std::mbstate_t state{};
  for (;;) {
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {line.interrupts->fd(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) {
      if (errno == EINTR) continue;  // Ctrl-C, a resized window, or back from the background
      return -1;
    }
    if (ready[1].revents != 0 && line.interrupts->take()) {
      line.interrupted = true;
      return -1;
    }
    if (ready[0].revents == 0) continue;
    char byte = 0;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return static_cast<int>(n);
    const size_t length = std::mbrtowc(out, &byte, 1, &state);
    if (length == static_cast<size_t>(-2)) continue;  // more bytes to come
    if (length != static_cast<size_t>(-1)) return 1;
    state = {};
    *out = L'\uFFFD';
    return 1;
  }
}

}  // namespace

LineEditor::LineEditor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::open(InterruptGuard& interrupts) {
  // Lines are UTF-8 whatever the locale of the terminal says; this locale is part of the C library.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr)
    return unsupported("[chat] the locale C.UTF-8 is missing");
  auto state = std::make_unique<State>();
  state->interrupts = &interrupts;
  state->edit = el_init("skua", stdin, stdout, stderr);
  state->history = history_init();
  if (state->edit == nullptr || state->history == nullptr)
    return io_error("[chat] cannot set up line editing");
  HistEvent event;
  history(state->history, &event, H_SETSIZE, 1000);
  el_set(state->edit, EL_CLIENTDATA, static_cast<void*>(state.get()));
  el_set(state->edit, EL_EDITOR, "emacs");
  el_set(state->edit, EL_SIGNAL, 1);
  el_set(state->edit, EL_HIST, &::history, state->history);
  el_set(state->edit, EL_GETCFN, &read_character);
  el_set(
      state->edit, EL_PROMPT, +[](EditLine* edit) -> char* { return State::of(edit).prompt.data(); });
  return std::unique_ptr<LineEditor>(new LineEditor(std::move(state)));
}

LineOutcome LineEditor::read(const std::string& prompt, std::string& line) {
  state_->prompt = prompt;
  line.clear();
  int n = 0;
  state_->interrupted = false;
  // libedit shows the prompt first and then takes over the terminal; a quick Ctrl-D would fall in between.
  el_set(state_->edit, EL_PREP_TERM, 1);
  const char* text = el_gets(state_->edit, &n);
  if (text == nullptr || n <= 0) {
    std::fputs("\n", stdout);
    std::fflush(stdout);
    return state_->interrupted ? LineOutcome::kInterrupted : LineOutcome::kEnd;
  }
  line.assign(text, static_cast<size_t>(n));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return LineOutcome::kLine;
}

void LineEditor::remember(const std::string& line) {
  HistEvent event;
  history(state_->history, &event, H_ENTER, line.c_str());
}

}  // namespace skua
