#include "load/input_choice.h"

#include "protocol/program_of_run.h"
#include "retention/checkpoint_address.h"
#include "session/run_choice.h"
#include "session/runtime.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::detail {
namespace {

/// Whether it is the session's run, or that of another rank of its group.
bool is_own(const store::Run& run, const Runtime* session) {
  if (!session) return false;
  const store::Run& own = session->run();
  const auto& rank = own.start.rank;
  return run.key == own.key || (rank && run.start.rank && run.start.rank->group == rank->group);
}

/// The run that a name means. The name of an experiment means its latest run, other than the one
/// being recorded.
store::Run resolve_input(const store::Catalog& catalog, std::string_view name,
                         const Runtime* session) {
  store::Run run = resolve_for(catalog, name, this_program());
  if (name != run.start.experiment || !is_own(run, session)) return run;
  const auto earlier = latest_run_of(catalog, this_program(), {}, [&](const store::Run& other) {
    return other.start.experiment == name && !is_own(other, session);
  });
  if (earlier) return *earlier;
  try {
    return catalog.resolve(fmt::format("{}~1", name));
  } catch (const NotFound&) {
    throw NotFound(fmt::format(
        "there is no run of '{}' but the one that is being recorded: name another, 'flor list' "
        "shows what there is",
        name));
  }
}

store::NamedCheckpoint find_named(const store::Store& store, const store::Run& run,
                                  const store::ChosenPlace& place) {
  const std::string text = place.epoch ? fmt::format("{}", *place.epoch) : place.saved;
  const std::string key = run.key.substr(0, 8), what = (place.epoch ? "after epoch " : "") + text;
  store::NamedCheckpoint named;
  try {
    named = store::find_checkpoint(store, fmt::format("{}@{}", run.key, text));
  } catch (const NotFound&) {
    const std::string way =
        place.epoch ? store::way_back(store.catalog(), run, *place.epoch) : std::string();
    if (!way.empty()) {
      throw NotFound(fmt::format("run {} has no checkpoint {} any more: {}", key, what, way));
    }
    throw NotFound(fmt::format("run {} has no checkpoint {}: 'flor show {}' lists those it has",
                               key, what, key));
  }
  if (!named.deleted) return named;
  throw NotFound(
      fmt::format("run {} has no checkpoint {} any more: it was deleted, 'flor keep "
                  "{}@{} --undo' brings it back",
                  key, what, key, text));
}

/// Gives the checkpoint the name that the program was told in the recording.
store::NamedCheckpoint under_recorded_name(store::NamedCheckpoint same, const std::string& name) {
  const std::size_t at = std::min(name.find('@'), name.size() - 1);
  const std::string place = name.substr(at + 1);
  const bool is_epoch = !place.empty() && place.find_first_not_of("0123456789") == place.npos;
  same.reference = name;
  same.run = name.substr(0, at);
  same.epoch = is_epoch ? std::optional(std::stoll(place)) : std::nullopt;
  same.saved = is_epoch ? "" : place;
  return same;
}

}  // namespace

std::string recorded_text(std::string_view text, const Runtime* session) {
  const std::string_view key = session ? std::string_view(session->run().key) : "";
  const bool is_own = !key.empty() && text.substr(0, text.find('@')) == key;
  return std::string(is_own ? key : text);
}

std::string record_of(std::string_view text, const store::NamedCheckpoint& named) {
  nlohmann::ordered_json record;
  record["checkpoint"] = named.reference;
  record["digest"] = named.info.digest.hex();
  record["text"] = text;
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string record_of(std::string_view text, const Error& error) {
  nlohmann::ordered_json record;
  record["refused"] = error.what();
  record["status"] = static_cast<int>(error.status());
  record["text"] = text;
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void throw_as(ExitStatus status, const std::string& message) {
  if (status == ExitStatus::not_found) throw NotFound(message);
  if (status == ExitStatus::usage) throw UsageError(message);
  throw Error(message, status);
}

ChosenInput choose_input(store::Store& store, Runtime* session, std::string_view text) {
  // Updates the index, since the run may be one that is being recorded.
  (void)store.catalog().follow();
  store::RunAndPlace named = store::run_and_place(
      text, [&](std::string_view name) { return resolve_input(store.catalog(), name, session); });
  if (session && named.run.key == session->run().key) {
    (void)session->find_checkpoint(false);  // waits until everything taken so far is durable
  }
  auto use = store.use_run(named.run.key);
  const store::ChosenPlace place =
      store::find_place(store, named.run, named.place.empty() ? "latest" : named.place);
  return {find_named(store, named.run, place), std::move(use)};
}

ChosenInput choose_recorded(store::Store& store, Runtime& session, std::string_view called,
                            const RecordedLoad& load) {
  auto json = nlohmann::json::parse(load.record, nullptr, false);
  const auto text = [&](const char* name) {
    const bool there = json.is_object() && json.contains(name) && json[name].is_string();
    return there ? json[name].get<std::string>() : std::string();
  };
  if (const std::string refused = text("refused"); !refused.empty()) {
    // In a resumed run, the program may have ended with this error. Then it has not come past it,
    // and may load.
    const bool repeats = session.mode() == Mode::replay || session.catching_up() || load.suppressed;
    if (!repeats) return choose_input(store, &session, called);
    const auto& status = json["status"];
    throw_as(status.is_number_integer() ? static_cast<ExitStatus>(status.get<int>())
                                        : ExitStatus::failed,
             refused);
  }
  const std::string reference = text("checkpoint");
  const auto digest = store::Digest::from_hex(text("digest"));
  auto use = store.use_run(reference.substr(0, reference.find('@')));
  try {
    store::NamedCheckpoint named = store::find_checkpoint(store, reference);
    if (named.info.digest == digest) return {std::move(named), std::move(use)};
  } catch (const NotFound&) {  // the same content may be stored under another name
  }
  if (auto same = digest ? store::find_content(store, *digest) : std::nullopt) {
    use = store.use_run(same->run);
    return {under_recorded_name(*std::move(same), reference), std::move(use)};
  }
  throw NotFound(fmt::format(
      "run {} loaded the checkpoint {} when it was recorded, and that is gone: fetch its run again "
      "('flor fetch {}'), or record again",
      session.run().key.substr(0, 8), reference, reference.substr(0, 8)));
}

}  // namespace flor::detail
