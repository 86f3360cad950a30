// Parses runs and epochs as users write them.
#include "choose/run_spec.h"

#include "output/terminal_text.h"
#include "protocol/program_of_run.h"
#include "retention/checkpoint_address.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <utility>

namespace flor::cli {
namespace {

store::RunAndPlace split(const store::Catalog& catalog, std::string_view text) {
  return store::run_and_place(text, [&](std::string_view run) { return catalog.resolve(run); });
}

}  // namespace

store::Run parse_run_alone(const store::Catalog& catalog, std::string_view text) {
  return split(catalog, text).run;
}

store::Run parse_whole_run(const store::Catalog& catalog, std::string_view text) {
  store::RunAndPlace named = split(catalog, text);
  if (named.place.empty()) return std::move(named.run);
  const bool is_epoch = named.place.find_first_not_of("0123456789") == std::string::npos;
  const char* what = is_epoch ? "an epoch" : "a checkpoint";
  throw UsageError(fmt::format("{} names {}, but a whole run is meant: leave out @{}",
                               printable(text), what, printable(named.place)));
}

namespace {

void say_what_is_not_meant(Context& context, std::string_view text) {
  const store::Catalog& catalog = context.catalog();
  std::string others = detail::fetched_namesakes(catalog, text);
  if (others.empty()) others = detail::fetched_namesakes(catalog, store::run_of_spec(text));
  if (!others.empty()) context.note(printable(others));
}

}  // namespace

RunChoice parse_run(Context& context, std::string_view text) {
  RunChoice choice = parse_run(context.store(), text);
  if (!choice.run.origin.from_elsewhere()) say_what_is_not_meant(context, text);
  return choice;
}

store::Run parse_whole_run(Context& context, std::string_view text) {
  store::Run run = parse_whole_run(context.catalog(), text);
  if (!run.origin.from_elsewhere()) say_what_is_not_meant(context, text);
  return run;
}

}  // namespace flor::cli
