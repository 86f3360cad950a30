#include "sweep/sweep_plan.h"

#include "file/home_files.h"
#include "file/lock_file.h"
#include "file/new_file.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "process/child.h"
#include "protocol/flag_names.h"
#include "protocol/sweep_fact.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>
#include <utility>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPlanVersion = 1;
constexpr std::size_t kNameBytes = 100;

bool is_sweep_name(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kNameBytes &&
         std::isalnum(static_cast<unsigned char>(name[0])) && std::ranges::all_of(name, fits);
}

Json plan_json(const SweepPlan& plan) {
  Json points = Json::array();
  for (const SweepPoint& point : plan.points) {
    Json object = Json::object();
    for (const auto& [name, value] : point) object[name] = value;
    points.push_back(std::move(object));
  }
  return {{"version", kPlanVersion},
          {"name", plan.name},
          {"experiment", plan.experiment},
          {"from", plan.from},
          {"directory", plan.directory.string()},
          {"made_us", plan.made_us},
          {"before", plan.before},
          {"after", plan.after},
          {"points", std::move(points)}};
}

SweepPlan plan_of(const Json& text) {
  if (text.at("version").get<int>() != kPlanVersion) {
    throw Error("is of another version of Flor");
  }
  SweepPlan plan{.name = text.at("name").get<std::string>(),
                 .experiment = text.at("experiment").get<std::string>(),
                 .from = text.at("from").get<std::string>(),
                 .before = text.at("before").get<std::vector<std::string>>(),
                 .after = text.at("after").get<std::vector<std::string>>(),
                 .directory = text.at("directory").get<std::string>(),
                 .made_us = text.at("made_us").get<std::int64_t>(),
                 .points = {}};
  for (const Json& object : text.at("points")) {
    SweepPoint& point = plan.points.emplace_back();
    for (const auto& [name, value] : object.items()) {
      point.emplace_back(name, value.get<std::string>());
    }
  }
  if (plan.before.empty() || plan.experiment.empty() || plan.points.empty() ||
      !plan.directory.is_absolute()) {
    throw Error("lacks something");
  }
  return plan;
}

/// Throws Error unless only this user can have written the file or directory: the plan's program is
/// executed.
void require_own(const fs::path& path, bool directory) {
  struct stat facts {};
  const bool there = ::lstat(path.c_str(), &facts) == 0;
  const bool kind = directory ? S_ISDIR(facts.st_mode) : S_ISREG(facts.st_mode);
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (there && kind && facts.st_uid == ::geteuid() && (facts.st_mode & kOthersWrite) == 0) return;
  throw Error(fmt::format(
      "{} is not yours alone, and what it says would be executed: look at it, and remove it",
      printable(path.string())));
}

/// Sorts the words of the program: takes out the flags that say how its recording begins, and puts
/// the words before and after --kwargs into `before` and `after`.
class WordSorter {
 public:
  explicit WordSorter(const std::vector<std::string>& words) : words_(words) {}

  void sort(SweepPlan& plan, std::vector<SweepAxis>& axes) {
    plan.before.push_back(words_.front());
    for (at_ = 1; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word == "--") break;  // the remaining words are the program's own
      const std::string flag = detail::canonical_flag(word.substr(0, word.find('=')));
      if (flag == "--flor") {
        plan.experiment = value(false);
        if (plan.experiment.empty()) {
          throw UsageError("--flor: a sweep needs the name of its experiment: --flor NAME");
        }
      } else if (flag == "--flor_from") {
        plan.from = value(true);
      } else if (flag == "--kwargs") {
        take_kwargs(axes);
      } else if (flag == "--flor_resume" || flag == "--flor_run" || flag == "--flor_home" ||
                 detail::is_replay_flag(flag)) {
        throw UsageError(
            fmt::format("{}: flor sweep says itself how its recordings begin and go on, and "
                        "--home before -- which store they have: leave it out",
                        word));
      } else {
        (has_kwargs_ ? plan.after : plan.before).push_back(word);
      }
    }
    plan.after.insert(plan.after.end(), words_.begin() + static_cast<std::ptrdiff_t>(at_),
                      words_.end());
  }

 private:
  /// The value of the flag at `at_`: after '=', or the next word.
  std::string value(bool needed) {
    const std::string& word = words_[at_];
    if (const std::size_t equals = word.find('='); equals != word.npos) {
      return word.substr(equals + 1);
    }
    const bool has = at_ + 1 < words_.size() && !words_[at_ + 1].starts_with('-');
    if (!has && needed) throw UsageError(fmt::format("{} needs a value", word));
    return has ? words_[++at_] : std::string();
  }

  void take_kwargs(std::vector<SweepAxis>& axes) {
    has_kwargs_ = true;
    const std::string& word = words_[at_];
    if (const std::size_t equals = word.find('='); equals != word.npos) {
      axes.push_back(parse_sweep_axis(std::string_view(word).substr(equals + 1)));
      return;
    }
    const auto is_assignment = [](const std::string& text) {
      return !text.starts_with('-') && text.find('=') != text.npos && !text.starts_with('=');
    };
    while (at_ + 1 < words_.size() && is_assignment(words_[at_ + 1])) {
      axes.push_back(parse_sweep_axis(words_[++at_]));
    }
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  bool has_kwargs_ = false;
};

/// The experiment's name if the user gives none: "train" for ./train and for python3 train.py.
std::string usual_experiment(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.ends_with(".py")) return fs::path(word).stem().string();
  }
  return fs::path(words.front()).stem().string();
}

void require_program(const std::string& program, const fs::path& directory) {
  if (program.find('/') == program.npos) {
    if (find_on_path(program)) return;
    throw NotFound(fmt::format("there is no program {} on PATH", printable(program)));
  }
  if (::access((directory / program).c_str(), X_OK) == 0) return;
  throw NotFound(fmt::format("{} is no program that can be executed", printable(program)));
}

/// Throws UsageError if a word is a secret, because the plan stores the words as they are.
void refuse_secrets(const std::vector<std::string>& words) {
  if (store::RecordedCommand(words).masked_words().empty()) return;
  throw UsageError(
      fmt::format("{}: a secret would be kept in the plan of the sweep: hand it over in the "
                  "environment",
                  printable(store::RecordedCommand(words).text())));
}

void refuse_own_names(const SweepPoint& point) {
  const auto is_own = [](const auto& argument) { return argument.first == detail::kSweepFact; };
  if (std::ranges::none_of(point, is_own)) return;
  throw UsageError(
      "an argument 'sweep' would hide the name of the sweep, which runs have as an argument: call "
      "it otherwise");
}

std::vector<std::string> with_kwargs(std::vector<std::string> words, const SweepPlan& plan,
                                     std::size_t point) {
  if (!plan.points[point].empty()) words.emplace_back("--kwargs");
  for (const auto& [name, value] : plan.points[point]) words.push_back(name + "=" + value);
  words.insert(words.end(), plan.after.begin(), plan.after.end());
  return words;
}

}  // namespace

std::vector<std::string> SweepPlan::beginning(std::size_t point) const {
  std::vector<std::string> words = before;
  words.insert(words.end(), {"--flor", experiment});
  if (!from.empty()) words.insert(words.end(), {"--flor_from", from});
  return with_kwargs(std::move(words), *this, point);
}

std::vector<std::string> SweepPlan::continuing(std::size_t point, std::string_view run) const {
  std::vector<std::string> words = before;
  words.insert(words.end(), {"--flor_resume", "--flor_run", std::string(run)});
  return with_kwargs(std::move(words), *this, point);
}

bool SweepPlan::is_same(const SweepPlan& other) const {
  return experiment == other.experiment && from == other.from && before == other.before &&
         after == other.after && directory == other.directory && points == other.points;
}

SweepPlan make_plan(const SweepWords& words, const fs::path& directory, std::int64_t now_us) {
  SweepPlan plan{.name = words.name,
                 .experiment = {},
                 .from = {},
                 .before = {},
                 .after = {},
                 .directory = directory,
                 .made_us = now_us,
                 .points = {}};
  require_program(words.program.front(), directory);
  std::vector<SweepAxis> axes;
  if (words.rows) axes.push_back(*words.rows);
  WordSorter(words.program).sort(plan, axes);
  if (axes.empty()) {
    throw UsageError(
        "no points: say what the arguments are, as in 'flor sweep -- ./train --kwargs "
        "lr=0.01,0.1', or --points FILE");
  }
  if (plan.experiment.empty()) plan.experiment = usual_experiment(plan.before);
  plan.points = words.random ? draw_points(axes, *words.random, words.seed) : all_points(axes);
  for (const SweepPoint& point : plan.points) refuse_own_names(point);
  refuse_secrets(plan.beginning(0));
  if (plan.name.empty()) {
    Json facts = plan_json(plan);
    facts.erase("made_us");
    const std::string text = facts.dump(-1, ' ', false, Json::error_handler_t::replace);
    plan.name = fmt::format("{}-{}", plan.experiment,
                            store::digest_of(std::as_bytes(std::span(text))).hex().substr(0, 6));
    std::ranges::replace_if(
        plan.name, [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '_'; }, '-');
    if (!is_sweep_name(plan.name)) plan.name = "sweep-" + plan.name.substr(plan.name.size() - 6);
  }
  if (!is_sweep_name(plan.name)) {
    throw UsageError(fmt::format("'{}' is no name for a sweep: use letters, digits, - _ and .",
                                 printable(plan.name)));
  }
  return plan;
}

fs::path sweep_directory(const store::Store& store, std::string_view name) {
  return store.home() / "sweeps" / name;
}

fs::path point_log(const store::Store& store, const SweepPlan& plan, std::size_t point) {
  return sweep_directory(store, plan.name) / fmt::format("{}.log", point);
}

void write_plan(const store::Store& store, const SweepPlan& plan) {
  const fs::path directory = sweep_directory(store, plan.name);
  std::error_code error;
  store::make_directory_in_home(directory.parent_path(), error);
  if (!error) store::make_private_directory(directory, error);
  if (error) {
    throw Error(fmt::format("cannot make the directory {}: {}", printable(directory.string()),
                            error.message()));
  }
  const std::string text = plan_json(plan).dump(1, ' ', false, Json::error_handler_t::strict);
  store::write_file(directory / "plan.json", std::as_bytes(std::span(text)));
}

std::optional<SweepPlan> read_plan(const store::Store& store, std::string_view name) {
  const fs::path file = sweep_directory(store, name) / "plan.json";
  std::error_code error;
  if (!is_sweep_name(name) || !fs::exists(fs::symlink_status(file, error))) return std::nullopt;
  require_own(file.parent_path(), true);
  require_own(file, false);
  std::ifstream in(file, std::ios::binary);
  std::string why;
  try {
    SweepPlan plan = plan_of(Json::parse(in));
    if (plan.name == name) return plan;
    why = fmt::format("is that of {}", printable(plan.name));
  } catch (const Json::exception&) {
    why = "is no plan of a sweep";
  } catch (const Error& wrong) {
    why = wrong.what();
  }
  throw Damaged(
      fmt::format("{} {}: remove the directory, and begin the sweep again under this "
                  "name; its runs are kept, and count",
                  printable(file.string()), why));
}

std::vector<std::string> sweep_names(const store::Store& store) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator walk(store.home() / "sweeps", error);
       !error && walk != fs::directory_iterator(); walk.increment(error)) {
    std::string name = walk->path().filename().string();
    if (is_sweep_name(name)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::optional<SweepLock> SweepLock::take(const fs::path& file) {
  SweepLock lock(store::open_in_home(file, O_RDWR | O_CREAT));
  if (lock.descriptor_ < 0) {
    throw Error(fmt::format("cannot write {}: make room, or see who may write there",
                            printable(file.string())));
  }
  if (!store::lock_file(lock.descriptor_, LOCK_EX | LOCK_NB)) return std::nullopt;
  return lock;
}

std::optional<SweepLock> SweepLock::of_sweep(const store::Store& store, const SweepPlan& plan) {
  return take(sweep_directory(store, plan.name) / "lock");
}

std::optional<SweepLock> SweepLock::of_point(const store::Store& store, const SweepPlan& plan,
                                             std::size_t point) {
  return take(sweep_directory(store, plan.name) / fmt::format("{}.lock", point));
}

SweepLock::~SweepLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SweepLock::SweepLock(SweepLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

SweepLock& SweepLock::operator=(SweepLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

}  // namespace flor::cli
