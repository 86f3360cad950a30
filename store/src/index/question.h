// The question of a replay, as the catalog keeps it (NewReplay::question).
#pragma once

#include <string>
#include <string_view>

namespace flor::store {

inline constexpr std::string_view kStepsOfQuestion = " steps ";

/// The question of a replay that answers only chosen steps of nested loops, `steps`, of what a
/// replay with the question `whole` answers. Answers to several such questions stand side by side;
/// the answer to `whole` stands in their place.
inline std::string question_of_steps(std::string_view whole, std::string_view steps) {
  return std::string(whole).append(kStepsOfQuestion).append(steps);
}

/// The question of all steps.
inline std::string_view whole_question(std::string_view question) {
  return question.substr(0, question.find(kStepsOfQuestion));
}

}  // namespace flor::store
