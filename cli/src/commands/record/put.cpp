// flor put: a value of a script or a Makefile, in a run of its own.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "imports/value_word.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "shell/context.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <thread>

namespace flor::cli {
namespace {

/// A fact of the runs that this command makes: no program can be executed again for them.
constexpr const char* kMadeBy = "made by";
constexpr const char* kPut = "flor put";
/// The argument that names the session of a run.
constexpr const char* kSession = "session";
constexpr std::size_t kTextMax = std::size_t{1} << 20;

/// A session goes on in its run, or not at all.
void refuse_removed(const store::Catalog& catalog, const std::string& key) {
  try {
    (void)catalog.resolve(key, store::RunPresence::removed);
  } catch (const NotFound&) {
    return;
  }
  throw UsageError(fmt::format(
      "the run {} of this session was removed: flor rm {} --undo brings it back, or name another "
      "--session",
      key.substr(0, 8), key.substr(0, 8)));
}

class Put final : public Command {
 public:
  std::string_view name() const override { return "put"; }
  std::string_view summary() const override { return "record a value of a script or a Makefile"; }
  std::string_view lesson() const override {
    return R"(Each call makes a run of the experiment with this one value, which is listed, queried and plotted
like those that programs log. Calls with the same --session, or with FLOR_SESSION in their
environment, put their values into one run: the values of one name are those of its order. A
number is a number, true and false are booleans, what JSON has in brackets is JSON, and everything
else is a text, as all is with --text.

Examples:
  flor put model.bytes $(stat -c %s model.bin) --experiment build
  flor put tests.failed 0 --experiment nightly --session "$BUILD_ID"
  export FLOR_SESSION := $(shell date +%s)        in a Makefile: one run for all of its recipes
  run=$(flor put seconds 12.5 -q) && flor put commit abc --run $run
  flor query model.bytes --experiment build
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME", name_, "the name of the value", true);
    syntax.operand("VALUE", value_, "the value; after -- where it begins with a dash", true);
    syntax.may_be_empty();
    syntax.option("--experiment", "NAME", experiment_, "add it to this experiment (default 'put')");
    syntax.option("--session", "WORD", session_,
                  "add it to the run of this session (default $FLOR_SESSION; else to a new run)");
    syntax.option("--run", "RUN", run_, "add it to this run, which flor put made");
    syntax.flag("--text", text_, "keep VALUE as a text, whatever it looks like");
    syntax.flag("-q,--quiet", quiet_, "print only the run's id, for scripts");
  }
  int run(Context& context) override;

 private:
  void check() const;
  std::string session() const;
  store::NewRun start(const Context& context) const;
  /// The key of the run of the session; the same in all processes that use this store.
  std::string key_of_session(const store::Store& store) const;
  store::Run run_of_session(store::Store& store, const Context& context) const;
  void add(store::Store& store, const store::Run& run, std::int64_t now_us,
           const ValueWord& value) const;

  std::string name_, value_, experiment_, session_, run_;
  bool text_ = false, quiet_ = false;
};

void Put::check() const {
  const std::string name = printable(name_);
  if (name_.starts_with("flor:") || name_.starts_with("pinned:")) {
    throw UsageError(fmt::format("NAME '{}': names that begin so are Flor's own", name));
  }
  if (value_.size() > kTextMax) {
    throw UsageError(
        fmt::format("the value of '{}' has more than {} bytes: put the name of a "
                    "file, and keep the file",
                    name, kTextMax));
  }
  if (store::is_secret(name_, value_) || store::masked(value_) != value_) {
    throw UsageError(fmt::format(
        "the value of '{}' reads like a secret, which no record may hold: put something else of it",
        name));
  }
  if (!run_.empty() && (!session_.empty() || !experiment_.empty())) {
    throw UsageError("--run names the run: leave --session and --experiment out");
  }
  if (experiment_.starts_with('-')) {
    throw UsageError(fmt::format("--experiment '{}' begins with a dash", printable(experiment_)));
  }
}

std::string Put::session() const {
  if (!session_.empty()) return session_;
  const char* variable = std::getenv("FLOR_SESSION");
  return variable ? variable : "";
}

store::NewRun Put::start(const Context& context) const {
  store::NewRun start;
  start.experiment = experiment_.empty() ? "put" : experiment_;
  start.started_us = context.now_us();
  std::error_code unknown;
  start.directory = std::filesystem::current_path(unknown).string();
  start.command = {"flor", "put", name_, value_};
  start.environment[kMadeBy] = kPut;
  return start;
}

std::string Put::key_of_session(const store::Store& store) const {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::string text = fmt::format("{}\n{}\n", host, store.home().string());
  text += (experiment_.empty() ? "put" : experiment_) + "\n" + session();
  return store::digest_of(std::as_bytes(std::span(text))).hex().substr(0, 16);
}

store::Run Put::run_of_session(store::Store& store, const Context& context) const {
  store::NewRun wanted = start(context);
  wanted.key = key_of_session(store);
  try {
    return store.catalog().resolve(wanted.key);
  } catch (const NotFound&) {
    refuse_removed(store.catalog(), wanted.key);
  }
  store::Run made = store.catalog().add_run(wanted, {});
  store.catalog().add_argument(made.id, {.name = kSession, .type = "text", .value = session()});
  return made;
}

/// The values of one name are numbered, as those that a program logs outside of its loops.
void Put::add(store::Store& store, const store::Run& run, std::int64_t now_us,
              const ValueWord& value) const {
  store::Catalog& catalog = store.catalog();
  std::int64_t ordinal = 0;
  for (const store::Value& before :
       catalog.values({.run = run.id, .names = {name_}, .first_epoch = -1, .last_epoch = -1})) {
    ordinal = std::max(ordinal, before.ordinal + 1);
  }
  const store::Value added{.name = name_,
                           .place = {.path = {}, .epoch = -1, .step = -1, .inner = {}},
                           .ordinal = ordinal,
                           .type = value.type,
                           .value = value.value};
  catalog.add_values(run.id, std::span(&added, 1));
  catalog.finish_run(run.id, now_us, false, "");
}

/// Recipes of one Makefile run at once.
store::RunLock lock_patiently(store::Store& store, const std::string& key) {
  constexpr auto kPatience = std::chrono::seconds(30);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (auto held = store.lock_run(key)) return std::move(*held);
    if (std::chrono::steady_clock::now() < end) continue;
    throw Busy(fmt::format("run {} is being written by another process for {} seconds: try again",
                           key.substr(0, 8), kPatience.count()));
  }
}

int Put::run(Context& context) {
  check();
  const ValueWord value = text_ ? ValueWord{store::ValueType::text, value_} : value_word(value_);
  store::Store& store = context.store_to_change(store::OpenMode::create);
  store::Run run;
  if (!run_.empty()) {
    run = parse_whole_run(context, run_);
    const auto fact = run.start.environment.find(kMadeBy);
    if (fact == run.start.environment.end() || fact->second != kPut) {
      throw UsageError(fmt::format(
          "run {} was recorded by a program, whose replays would miss the value: put it into a run "
          "of flor put, or write it down by flor note or flor tag",
          title(run)));
    }
    const auto held = lock_patiently(store, run.key);
    add(store, run, context.now_us(), value);
  } else if (!session().empty()) {
    const auto held = lock_patiently(store, key_of_session(store));
    run = run_of_session(store, context);
    add(store, run, context.now_us(), value);
  } else {
    store::NewRun wanted = start(context);
    wanted.key = store::new_run_key();
    const auto held = lock_patiently(store, wanted.key);
    run = store.catalog().add_run(wanted, {});
    add(store, run, context.now_us(), value);
  }
  if (context.json()) {
    Json result = document("put");
    result["run"] = run.key;
    result["experiment"] = json_text(run.start.experiment);
    result["name"] = json_text(name_);
    result["value"] = to_json(value.type, value.value);
    print(context.out(), result);
  } else if (quiet_) {
    context.out().write(run.key + "\n");
  } else {
    context.out().write(fmt::format("run {}: {} = {}\n", title(run), printable(name_),
                                    printable(readable(value.type, value.value))));
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_put() { return std::make_unique<Put>(); }

}  // namespace flor::cli
