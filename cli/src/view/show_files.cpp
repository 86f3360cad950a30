#include "view/show_files.h"

#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

constexpr std::size_t kFilesShown = 10, kKinShown = 2;

/// "3f2a91c0 (digits) and 4 more"
std::string kin_text(const std::vector<store::FileKin>& kin) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kin.size(), kKinShown); ++i) {
    text += fmt::format(
        "{}{}{}", i > 0 ? ", " : "", kin[i].run.substr(0, 8),
        kin[i].experiment.empty() ? " (not here)" : fmt::format(" ({})", kin[i].experiment));
  }
  if (kin.size() > kKinShown) text += fmt::format(" and {} more", kin.size() - kKinShown);
  return text.empty() ? "-" : text;
}

/// "12.3 MB", "3 files, 1.2 GB", "8 rows, 1.2 kB"
std::string size_of(const store::UsedFile& file) {
  if (file.kind == store::UsedKind::query) {
    return fmt::format("{}, {}", counted(file.files, "row"), bytes(file.bytes));
  }
  if (file.kind != store::UsedKind::directory) return bytes(file.bytes);
  return fmt::format("{} file{}, {}", file.files, file.files == 1 ? "" : "s", bytes(file.bytes));
}

void print_use(Context& context, const ShownRun& shown, store::FileUse use, bool all) {
  const bool is_input = use == store::FileUse::input;
  const auto is_of_use = [&](const ShownRun::File& file) { return file.file.use == use; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(shown.files.all, is_of_use));
  if (count == 0) return;
  context.out().write(
      fmt::format("\n{}\n", context.style().paint(Tone::strong, is_input ? "inputs" : "outputs")));
  Table table({{"name"},
               {"kind"},
               {"size", Align::right},
               {"digest"},
               {is_input ? "from run" : "read by run"}});
  std::size_t shown_here = 0;
  for (const ShownRun::File& each : shown.files.all) {
    if (!is_of_use(each) || (!all && shown_here == kFilesShown)) continue;
    ++shown_here;
    table.add(each.file.name);
    table.add(store::to_string(each.file.kind));
    table.add(size_of(each.file));
    table.add(each.file.digest.hex().substr(0, 8));
    table.add(kin_text(each.kin));
  }
  table.print(context.out(), context.style(), 2);
  if (shown_here < count) {
    context.out().write(fmt::format("  and {} more, with --all\n", count - shown_here));
  }
}

}  // namespace

void print_files(Context& context, const ShownRun& shown, bool all) {
  print_use(context, shown, store::FileUse::input, all);
  print_use(context, shown, store::FileUse::output, all);
  if (shown.files.readers.empty()) return;
  context.out().write(fmt::format(
      "\n{}\n  {}\n", context.style().paint(Tone::strong, "values and checkpoints read by"),
      printable(kin_text(shown.files.readers))));
}

Json kin_json(const store::FileKin& kin) {
  return {
      {"run", kin.run}, {"experiment", json_text(kin.experiment)}, {"name", json_text(kin.name)}};
}

Json files_json(const ShownRun& shown, store::FileUse use) {
  Json files = Json::array();
  for (const ShownRun::File& each : shown.files.all) {
    const store::UsedFile& file = each.file;
    if (file.use != use) continue;
    Json kin = Json::array();
    for (const store::FileKin& one : each.kin) kin.push_back(kin_json(one));
    const bool is_query = file.kind == store::UsedKind::query;
    files.push_back({{"name", json_text(file.name)},
                     {"place", json_text(file.place)},
                     {"kind", std::string(store::to_string(file.kind))},
                     {"bytes", file.bytes},
                     {"files", is_query ? Json(nullptr) : Json(file.files)},
                     {"rows", is_query ? Json(file.files) : Json(nullptr)},
                     {"digest", file.digest.hex()},
                     {"epoch", file.epoch < 0 ? Json(nullptr) : Json(file.epoch)},
                     {use == store::FileUse::input ? "from" : "read_by", std::move(kin)}});
  }
  return files;
}

}  // namespace flor::cli
