// skua list: the models of the store and of Hugging Face caches.
#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/terminal.h"

namespace skua {
namespace {

std::string as_json(const std::vector<StoredModel>& models) {
  Json out = Json::array();
  for (const StoredModel& model : models) {
    Json entry = Json::object();
    entry.set("name", model.name);
    entry.set("format", model.format);
    entry.set("bytes", model.bytes);
    entry.set("place", model.place == ModelPlace::kStore ? "store" : "hub cache");
    entry.set("path", model.path.string());
    out.push_back(std::move(entry));
  }
  return out.dump(2) + "\n";
}

std::string as_table(const std::vector<StoredModel>& models) {
  size_t name = 4, format = 6;
  for (const StoredModel& model : models) {
    name = std::max(name, model.name.size());
    format = std::max(format, model.format.size());
  }
  const auto row = [&](std::string a, std::string b, std::string c, const std::string& d) {
    a.resize(name, ' ');
    b.resize(format, ' ');
    c.insert(0, c.size() < 10 ? 10 - c.size() : 0, ' ');
    return a + "  " + b + "  " + c + "  " + d + "\n";
  };
  std::string out = row("NAME", "FORMAT", "SIZE", "PATH");
  for (const StoredModel& m : models) out += row(m.name, m.format, human_bytes(m.bytes), m.path.string());
  return out;
}

}  // namespace

Exit list_command(const CommandInput& input) {
  const StoreRoots roots = store_roots(input.options);
  const auto models = list_models(roots);
  if (input.options.flag(Opt::kJson)) return print_and_exit(as_json(models));
  if (models.empty()) {
    log_warning("no models in " + (roots.home / "models").string() +
                " nor in a Hugging Face cache; ./quickstart in skua's folder fetches the default one");
  }
  return print_and_exit(as_table(models));
}

}  // namespace skua
