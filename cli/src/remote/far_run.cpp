#include "remote/far_run.h"

#include "output/time.h"
#include "remote/choice.h"
#include "retention/checkpoint_address.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace flor::cli {
namespace {

/// Removes fetched runs from the store: in a group the other ranks before its first rank.
void forget_runs(Context& context, const std::vector<std::string>& keys) noexcept {
  try {
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      store::Catalog& catalog = context.store_to_change().catalog();
      catalog.drop_run(catalog.resolve(*key).id);
    }
  } catch (const std::exception& error) {
    context.note(fmt::format("what was fetched stays: {}", error.what()));
  }
}

/// Removes the fetched runs if the constructor of FarRun throws, since its destructor is not called
/// then.
struct Forget {
  ~Forget() {
    if (is_wanted) forget_runs(context, keys);
  }
  Context& context;
  const std::vector<std::string>& keys;
  bool is_wanted = true;
};

}  // namespace

FarRun::FarRun(Context& context, std::string_view run, std::string_view url) : context_(context) {
  std::string spec(store::run_of_spec(run));
  const auto objects = remote::open_objects(url);
  url_ = objects->url();
  const remote::RunList there = runs_in(*objects, remote::TransferOptions().threads);
  // The name of an experiment means only its latest run.
  const bool is_name =
      std::ranges::find(there.runs, spec, &remote::RemoteRun::experiment) != there.runs.end();
  if (is_name) spec += "~0";
  store::Store& opened = context.store_to_change(store::OpenMode::create);
  Forget forget{context, added_};
  runs_ = choose_remote(there, spec, url_);
  remote::FetchOptions facts_only;
  facts_only.only.emplace();
  facts_only.objects = false;
  for (const remote::RemoteRun& chosen : runs_) {
    if (remote::fetch(opened, *objects, chosen, facts_only).added) added_.push_back(chosen.key);
  }
  facts_.emplace(*objects, runs_, opened.home());
  elsewhere_.emplace(facts_->directory(), std::filesystem::read_symlink("/proc/self/exe").string(),
                     url_);
  ::setenv("FLOR_ELSEWHERE", elsewhere_->text().c_str(), 1);
  const auto named = std::ranges::find_if(
      runs_, [&](const remote::RemoteRun& chosen) { return chosen.key.starts_with(spec); });
  key_ = (named == runs_.end() ? runs_.front() : *named).key;
  forget.is_wanted = false;  // from this point on the destructor of FarRun cleans up
}

FarRun::~FarRun() { forget_runs(context_, added_); }

void FarRun::note(Context& context) const {
  std::int64_t all = 0;
  for (const remote::RemoteRun& run : runs_) all += run.checkpoints;
  const store::Elsewhere::Arrived arrived = elsewhere_->arrived();
  context.note(fmt::format("run {}: {} of {} checkpoints came from {}, {}", title(runs_.front()),
                           arrived.checkpoints, all, url_, bytes(arrived.bytes)));
}

}  // namespace flor::cli
