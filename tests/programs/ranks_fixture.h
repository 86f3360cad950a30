// Programs that run as several processes, as a launcher starts them.
#pragma once

#include "whole_record.h"
#include "workbench.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::testing {

inline std::string free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return std::to_string(ntohs(address.sin_port));
}

class Ranks : public ::testing::Test {
 protected:
  using Changes = std::map<std::string, std::optional<std::string>>;

  /// All ranks of a start, as a launcher starts them; `changes` and `special_arguments`: for
  /// `special`.
  std::vector<ProcessResult> run_all(int world, const Words& arguments, int special = -1,
                                     const Changes& changes = {},
                                     const std::string& name = "averager",
                                     const Words& special_arguments = {}) const {
    const std::string port = free_port();
    std::vector<std::unique_ptr<Process>> processes;
    for (int rank = world - 1; rank >= 0; --rank) {  // the first is not the first to come
      ProcessOptions options = bench_.options();
      options.environment["RANK"] = std::to_string(rank);
      options.environment["WORLD_SIZE"] = std::to_string(world);
      options.environment["MASTER_ADDR"] = "127.0.0.1";
      options.environment["MASTER_PORT"] = port;
      if (on_machines_) {
        options.environment["FLOR_FILESYSTEM"] = "network";
        options.environment["FLOR_INDEX"] = index_of(rank);
      }
      if (rank == special) {
        for (const auto& [variable, value] : changes) options.environment[variable] = value;
      }
      const Words own = rank == special ? arguments + special_arguments : arguments;
      processes.insert(processes.begin(),
                       std::make_unique<Process>(Words{program(name).string()} + own, options));
    }
    std::vector<ProcessResult> results;
    for (const auto& process : processes) results.push_back(process->wait());
    return results;
  }
  std::vector<ProcessResult> record(int world, const Words& more = {},
                                    const std::string& name = "averager") const {
    auto results =
        run_all(world, Words{"--flor", "test", "--flor_every", "1"} + more, -1, {}, name);
    for (const auto& result : results) EXPECT_EQ(result.status, 0) << result.err;
    return results;
  }
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  std::vector<store::Run> ranks() const {
    const auto store = bench_.store();
    return store->catalog().ranks(store->catalog().resolve("test").start.rank->group);
  }
  std::vector<WholeRecord> records() const {
    std::vector<WholeRecord> result;
    for (const auto& run : ranks()) result.push_back(whole_record(*bench_.store(), run.id));
    return result;
  }
  /// In the record of each rank, so that none of them is computed again as a whole.
  void let_epochs_take_hours() const {
    const auto store = bench_.store();
    for (const store::Run& run : ranks()) {
      store::Progress longer{.loops = {}, .iterations = {}, .executions = {}};
      for (store::Iteration iteration : store->catalog().iterations(run.id)) {
        iteration.seconds = 1e4;
        longer.iterations.push_back(iteration);
      }
      store->catalog().add_progress(run.id, longer);
    }
  }
  std::vector<std::vector<std::string>> found() const {
    std::vector<std::vector<std::string>> result;
    const auto store = bench_.store();
    for (const auto& run : ranks()) {
      auto& lines = result.emplace_back();
      for (const auto& value : store->catalog().values({.run = run.id, .recorded = false})) {
        lines.push_back(value.name + " " + std::to_string(value.place.epoch) + "/" +
                        std::to_string(value.place.step) + " " + exact_text(value.value));
      }
    }
    return result;
  }

  /// Gives each rank an index of its own, as on a machine of its own.
  std::string index_of(int rank) const {
    return (bench_.home().parent_path() / ("machine" + std::to_string(rank))).string();
  }

  Workbench bench_;
  bool on_machines_ = false;
};

}  // namespace flor::testing
