// Reads the command line with CLI11, as texts; base/options checks the values. The only user of CLI11, whose
// exceptions end here.
#include "skua/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace skua {
namespace {

struct Bound {
  Opt id;
  CLI::Option* option;
};

bool wants_help(std::string_view arg) { return arg == "--help" || arg == "-h"; }

Bound bind(CLI::App& app, Opt id) {
  const OptionInfo& info = option_info(id);
  std::string names = "--" + std::string(info.name);
  if (!info.aliases.empty()) names += "," + std::string(info.aliases);
  if (info.type == OptionType::kFlag) return {id, app.add_flag(names)};
  CLI::Option* option = app.add_option(names);
  option->type_size(1)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return {id, option};
}

std::string unknown_option(const Command& command, const std::string& arg) {
  const std::string name = arg.substr(0, arg.find('='));
  std::string out = "skua " + std::string(command.name) + ": unknown option " + name;
  std::vector<std::string_view> names;
  for (Opt id : command.options) names.push_back(option_info(id).name);
  const std::string_view bare =
      std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::string_view near = nearest_word(bare, names);
  if (!near.empty()) return out + "; did you mean --" + std::string(near) + "?";
  return out + "; skua " + std::string(command.name) + " --help lists the options";
}

/// The CLI11 part: what it knows goes into its options, the rest is app.remaining(). Returns the error text;
/// empty if all is well.
std::string parse(CLI::App& app, const Command& command, std::span<const char* const> args) {
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    return "skua " + std::string(command.name) + ": " + what.substr(0, what.find(':')) + " needs a value";
  } catch (const CLI::Error& error) {
    return "skua " + std::string(command.name) + ": " + error.what();
  }
  return {};
}

bool looks_like_option(const std::string& text) {
  return text.size() > 1 && text[0] == '-' &&
         std::string_view("0123456789 \n!").find(text[1]) == std::string::npos;
}

/// The arguments among what CLI11 did not know. They are no option of CLI11's, which would split a text like
/// "[a, b]" at the comma. Everything behind "--" is an argument.
Result<std::vector<std::string>> arguments_of(const Command& command, std::vector<std::string> rest) {
  const auto mark = std::find(rest.begin(), rest.end(), "--");
  const auto option = std::find_if(rest.begin(), mark, looks_like_option);
  if (option != mark) return invalid_argument(unknown_option(command, *option));
  if (mark != rest.end()) rest.erase(mark);
  return rest;
}

Status take_values(std::span<const Bound> bound, OptionValues& values) {
  for (const Bound& b : bound) {
    const std::string shown_as = "--" + std::string(option_info(b.id).name);
    for (const std::string& text : b.option->results()) {
      SKUA_RETURN_IF_ERROR(values.set(b.id, text, OptionSource::kCommandLine, shown_as));
    }
  }
  return ok_status();
}

/// How many arguments there may be, and that the first one, unless it is a text, is not empty: an empty shell
/// variable must not mean the default model.
Status check_arguments(const Command& command, const CommandInput& input) {
  const std::string head = "skua " + std::string(command.name) + ": ";
  const bool model_given = input.options.source(Opt::kModel) == OptionSource::kCommandLine;
  const bool model_first = command.arguments.starts_with("[MODEL]");
  const size_t most = model_given && command.arguments == "[MODEL]" ? 0 : command.max_arguments;
  if (input.arguments.size() > most) {
    return invalid_argument(head + "unexpected argument '" + input.arguments[most] + "'; expected " +
                            std::string(command.name) + " " + std::string(command.arguments) +
                            (most == 0 && model_given ? " or --model" : ""));
  }
  if (input.arguments.empty() || !input.arguments[0].empty() || (model_first && model_given))
    return ok_status();
  std::string_view name = command.arguments.substr(0, command.arguments.find(' '));
  if (name.starts_with("[")) name = name.substr(1, name.size() - 2);
  return invalid_argument(head + std::string(name) + " is empty");
}

Result<CommandInput> read_input(const Command& command, std::span<const char* const> args) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<Bound> bound;
  for (Opt id : command.options) bound.push_back(bind(app, id));
  const std::string error = parse(app, command, args);
  if (!error.empty()) return invalid_argument(error);
  CommandInput input;
  SKUA_ASSIGN_OR_RETURN(input.arguments, arguments_of(command, app.remaining()));
  SKUA_RETURN_IF_ERROR(take_values(bound, input.options));
  SKUA_RETURN_IF_ERROR(input.options.set_from_environment(command.options));
  SKUA_RETURN_IF_ERROR(check_arguments(command, input));
  return input;
}

const Command* find_command(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands)
    if (command.name == name) return &command;
  return nullptr;
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) out += ' ', ++column;
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string option_help(const Command& command, Opt id) {
  OptionInfo info = option_info(id);
  for (const OptionWords& words : command.words) {
    if (words.id != id) continue;
    info.help = words.help;
    info.special = "";
    if (!words.choices.empty()) info.choices = words.choices;
  }

  constexpr size_t kIndent = 32, kWidth = 110;
  std::string shorts, longs;
  for (std::string_view rest = info.aliases; !rest.empty();) {
    const std::string_view alias = rest.substr(0, rest.find(','));
    if (alias.starts_with("--"))
      longs += (longs.empty() ? "" : ", ") + std::string(alias);
    else
      shorts = std::string(alias) + ", ";
    rest.remove_prefix(std::min(alias.size() + 1, rest.size()));
  }
  std::string head = "  " + (shorts.empty() ? "    " : shorts) + "--" + std::string(info.name);
  if (!info.value.empty()) head += " " + std::string(info.value);
  head +=
      head.size() + 2 > kIndent ? "\n" + std::string(kIndent, ' ') : std::string(kIndent - head.size(), ' ');
  std::string text(info.help);
  if (info.type == OptionType::kChoice || info.type == OptionType::kInteger ||
      info.type == OptionType::kNumber)
    text += "; " + allowed_values(info);
  else if (!info.special.empty())
    text += "; or " + std::string(info.special) + " (" + std::string(info.meaning) + ")";
  text += " [" + variable_name(info);
  if (!info.initial.empty()) text += ", default " + std::string(info.initial);
  text += "]";
  if (!longs.empty()) text += " also: " + longs;
  return head + wrapped(text, kIndent, kWidth) + "\n";
}

}  // namespace

Result<CommandLine> read_command_line(std::span<const Command> commands, std::span<const char* const> args) {
  CommandLine out;
  out.wants = CommandLine::Wants::kHelp;
  if (args.empty() || wants_help(args[0])) return out;
  std::string_view name = args[0];
  const bool help_word = name == "help";
  if (help_word && args.size() == 1) return out;
  if (name == "--version" || name == "-V" || name == "version") {
    out.wants = CommandLine::Wants::kVersion;
    return out;
  }
  if (help_word) name = args[1];
  out.command = find_command(commands, name);
  if (out.command == nullptr) {
    std::vector<std::string_view> names;
    for (const Command& command : commands) names.push_back(command.name);
    const std::string near(nearest_word(name, names));
    return invalid_argument(
        (name.starts_with("-") ? "unknown option " : "unknown command ") + std::string(name) +
        (near.empty() ? "; skua --help lists the commands" : "; did you mean " + near + "?"));
  }
  args = args.subspan(help_word ? 2 : 1);
  const auto end_of_options = std::find(args.begin(), args.end(), std::string_view("--"));
  // A value may look like --help only behind another option; help is then what is wanted anyway.
  if (help_word || std::any_of(args.begin(), end_of_options, wants_help)) {
    out.wants = CommandLine::Wants::kCommandHelp;
    return out;
  }
  out.wants = CommandLine::Wants::kRun;
  SKUA_ASSIGN_OR_RETURN(out.input, read_input(*out.command, args));
  return out;
}

std::string program_help(std::span<const Command> commands) {
  std::string out = "usage: skua COMMAND [ARGUMENT...] [OPTION...]\n\nRuns language models.\n\nCommands:\n";
  for (const Command& command : commands) {
    std::string head = "  " + std::string(command.name);
    head.resize(20, ' ');
    out += head + std::string(command.summary) + "\n";
  }
  return out +
         "\nskua COMMAND --help   its options, each with its environment variable and default\n"
         "skua --version        the version\n\n"
         "Exit codes: 0 done, 1 something failed, 2 wrong usage, 130 stopped by Ctrl-C. Errors are one line "
         "on stderr.\n";
}

std::string command_help(const Command& command) {
  std::string out = "usage: skua " + std::string(command.name);
  if (!command.arguments.empty()) out += " " + std::string(command.arguments);
  out += " [OPTION...]\n\n" + std::string(command.summary) + "\n";
  if (!command.details.empty()) out += "\n" + std::string(command.details);
  out += "\nOptions (an option wins over its variable, which stands in brackets):\n";
  for (Opt id : command.options) out += option_help(command, id);
  return out + "  -h, --help                    this text\n";
}

std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> words) {
  std::string_view best;
  size_t best_distance = std::min<size_t>(3, typed.size() / 2 + 1);
  for (std::string_view word : words) {
    std::vector<size_t> row(word.size() + 1);  // Levenshtein distance, one row at a time
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < typed.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < word.size(); ++j) {
        const size_t change = diagonal + (typed[i] == word[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({change, row[j + 1] + 1, row[j] + 1});
      }
    }
    if (row.back() < best_distance) best = word, best_distance = row.back();
  }
  return best;
}

}  // namespace skua
