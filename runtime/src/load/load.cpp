#include "base/notice.h"
#include "checkpoint/transfer.h"
#include "load/input_choice.h"
#include "session/runtime.h"
#include "snapshot/held_state.h"
#include "snapshot/restore.h"
#include "state/registry.h"

#include <flor/load.h>
#include <flor/log.h>
#include <flor/overlap.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace flor::detail {
namespace {

/// The names of the objects that a checkpoint has, without generators and attached locals.
std::set<std::string> objects_of(const store::CheckpointReader& reader) {
  std::set<std::string> names;
  for (const store::Item& item : reader.items()) {
    if (item.name.starts_with('@') || item.name.starts_with(kAttachedPrefix)) continue;
    names.insert(item.name.substr(0, item.name.find('/')));
  }
  return names;
}

void check_names(const store::CheckpointReader& reader, const std::vector<std::string>& wanted) {
  const std::set<std::string> there = objects_of(reader);
  for (const std::string& name : wanted) {
    if (there.contains(name)) continue;
    throw NotFound(fmt::format(
        "it has no object '{}', but {}: give the object its name with flor::named", name,
        there.empty() ? "none at all" : fmt::format("{}", fmt::join(there, ", "))));
  }
}

void fill(const store::CheckpointReader& reader, const Registry& objects,
          const std::vector<std::string>& names) {
  CheckpointSource source(reader, CheckpointSource::Purpose::load);
  objects.load_objects(source);
  const std::string unread = source.unread_below({names.begin(), names.end()});
  if (!unread.empty()) {
    throw Error(fmt::format("it has '{}', which the object of this program does not have",
                            item_title(unread)));
  }
  source.finish();
}

/// Loads all of the objects, or none of them if one does not fit.
void load_into(const store::CheckpointReader& reader, const Registry& objects) {
  const std::vector<std::string> names = objects.names();
  check_names(reader, names);
  HeldState before;
  objects.save_objects(before);
  try {
    fill(reader, objects, names);
  } catch (...) {
    objects.load_objects(before);
    before.finish();
    throw;
  }
}

/// Adds the name of the checkpoint to the message of an error; the status stays the same.
template <typename Body>
void name_checkpoint(const std::string& reference, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    throw_as(error.status(),
             fmt::format("checkpoint {}: {}; nothing was loaded", reference, error.what()));
  }
}

/// Tells the user, once, that the program loads something that is not in the record.
void say_new(const Runtime& session, std::string_view text, const std::string& reference) {
  static bool said = false;
  if (std::exchange(said, true)) return;
  say(Level::warn,
      fmt::format("flor::load(\"{}\") is not in the record of run {}: it takes {}, as the text "
                  "means now, and so do others that are not there",
                  text, session.run().key.substr(0, 8), reference));
}

/// Finds the checkpoint, uses it and logs it. An error is logged, too, so that a replay takes the
/// same way as the program did.
template <typename Use>
store::NamedCheckpoint load_logged(store::Store& store, Runtime* session, std::string_view text,
                                   Use&& use) {
  const std::string called = recorded_text(text, session);
  const auto recorded = session ? session->next_load(called) : std::nullopt;
  const bool is_new = session && session->mode() == Mode::replay && !recorded;
  const char* name = is_new ? kNewLoadName : kLoadedName;
  try {
    const ChosenInput chosen = recorded ? choose_recorded(store, *session, text, *recorded)
                                        : choose_input(store, session, text);
    if (is_new) say_new(*session, text, chosen.named.reference);
    name_checkpoint(chosen.named.reference, [&] { use(chosen.named.info.id); });
    log_json(name, record_of(called, chosen.named));
    if (session) {
      session->files().loaded(chosen.named.reference, chosen.named.info.digest,
                              chosen.named.info.raw_bytes);
    }
    return chosen.named;
  } catch (const Error& error) {
    log_json(name, record_of(called, error));
    throw;
  }
}

/// The session; null if there is none. Throws UsageError on a thread that is not the session's.
Runtime* own_session() {
  Runtime* session = runtime();
  if (session && !session->own_thread()) {
    throw UsageError(
        "flor::load was called in another thread than flor::init: call it where the loops are");
  }
  return session;
}

/// Calls `body` with the store of the session, or without a session with the user's.
template <typename Body>
auto with_store(Body&& body) {
  return run_inside([&] {
    Runtime* session = own_session();
    if (session) return body(session->store(), session);
    const auto store = store::Store::open(home_without_session(), store::OpenMode::read_only);
    return body(*store, session);
  });
}

Checkpoint load(store::Store& store, Runtime* session, std::string_view text,
                std::vector<Slot> slots) {
  const bool whole = slots.empty();
  if (whole && (!session || session->registry().names().empty())) {
    throw UsageError(fmt::format(
        "flor::load(\"{}\"): no object is given, and none is registered: name the objects", text));
  }
  Registry given;
  given.add(std::move(slots));
  const auto named = load_logged(store, session, text, [&](std::int64_t checkpoint) {
    const store::CheckpointReader reader(store, checkpoint);
    if (session) session->fence();
    load_into(reader, whole ? session->registry() : given);
  });
  return {.run = named.run, .epoch = named.epoch.value_or(-1), .name = named.saved, .score = {}};
}

}  // namespace

void load_to_file(std::string_view checkpoint, const std::filesystem::path& file) {
  with_store([&](store::Store& store, Runtime* session) {
    load_logged(store, session, checkpoint, [&](std::int64_t id) {
      store::write_safetensors(store, id, file, {{"format", "pt"}});
    });
  });
}

Checkpoint load_checkpoint(std::string_view checkpoint, std::vector<Slot> slots) {
  return with_store([&](store::Store& store, Runtime* session) {
    return load(store, session, checkpoint, std::move(slots));
  });
}

}  // namespace flor::detail
