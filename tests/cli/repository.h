// A git repository beside the store, for the commands that look at recorded sources.
#pragma once

#include "cli/fixture.h"
#include "git/shadow.h"

#include <git2.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace flor::testing {

class RepositoryTest : public CliTest {
 protected:
  RepositoryTest() {
    work_ = directory_ / "project";
    std::filesystem::create_directories(work_);
    git_libgit2_init();
    git_repository* repository = nullptr;
    if (git_repository_init(&repository, work_.c_str(), 0) != 0) {
      throw std::runtime_error("cannot make a repository");
    }
    git_repository_free(repository);
  }
  ~RepositoryTest() override { git_libgit2_shutdown(); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(work_ / name) << text;
  }
  /// The id of a commit of the whole work tree to the shadow branch.
  std::string commit(const std::string& message) {
    auto repository = git::Repository::discover(work_);
    if (!repository) throw std::runtime_error("no repository");
    git::CommitOptions options;
    options.message = message;
    return repository->commit_work_tree(options).id;
  }
};

}  // namespace flor::testing
