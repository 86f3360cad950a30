#include "replay/engine.h"
#include "replay/meeting.h"
#include "replay/replay_coordinator.h"
#include "replay/worker_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flor::cli {

std::string gpus_of_worker(const ReplayRequest& request, int worker) {
  const std::size_t ranks = request.ranks.size();
  std::vector<std::string> own;
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t index = static_cast<std::size_t>(worker) * ranks + i;
    own.push_back(request.gpus[index % request.gpus.size()]);
  }
  return fmt::format("{}", fmt::join(own, ","));
}

namespace {

class LocalEngine final : public Engine {
 public:
  explicit LocalEngine(const ReplayRequest& request) : request_(request) {}

  Processes start(int worker) override;
  std::filesystem::path log_of(int worker, std::size_t rank) const override {
    return request_.logs / (worker_name(request_, worker, rank) + ".log");
  }
  bool hands_in() const override { return request_.order.hands_in; }

 private:
  const ReplayRequest& request_;
};

Engine::Processes LocalEngine::start(int worker) {
  const std::size_t ranks = request_.ranks.size();
  const Meeting meeting = ranks > 1 ? Meeting::arrange() : Meeting();
  Processes processes;
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto& [run, launch] = request_.ranks[i];
    detail::WorkerOrder order = request_.order;
    order.run = run.key;
    const auto index = static_cast<std::size_t>(worker) * ranks + i;
    if (index < request_.cores.size()) order.cores = request_.cores[index];
    std::map<std::string, std::string> variables;
    if (run.start.rank) variables = meeting.variables(*run.start.rank);
    if (!request_.gpus.empty()) {
      variables["CUDA_VISIBLE_DEVICES"] = gpus_of_worker(request_, worker);
    }
    processes.push_back(
        std::make_unique<WorkerProcess>(launch, order, variables, log_of(worker, i)));
  }
  return processes;
}

}  // namespace

std::string worker_name(const ReplayRequest& request, int worker, std::size_t rank) {
  const auto& place = request.ranks[rank].run.start.rank;
  return place && request.ranks.size() > 1 ? fmt::format("worker-{}-rank-{}", worker, place->rank)
                                           : fmt::format("worker-{}", worker);
}

std::unique_ptr<Engine> local_engine(const ReplayRequest& request) {
  return std::make_unique<LocalEngine>(request);
}

}  // namespace flor::cli
