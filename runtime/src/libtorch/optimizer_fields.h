// The fields of libtorch's optimizers, listed once. A visitor either writes or reads them. It has
//   number(name, T&), optional_number(name, optional<T>&), text(name, optional<string>&),
//   tensor(name, Tensor&), tensors(name, sequence of Tensor&),
//   optional_tensors(name, optional<vector<Tensor>>&).
#pragma once

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <string>
#include <tuple>
#include <typeinfo>

namespace flor::libtorch {

template <typename Visitor, typename Betas>
void visit_betas(Visitor& visitor, Betas& betas) {
  visitor.number("beta1", std::get<0>(betas));
  visitor.number("beta2", std::get<1>(betas));
}

template <typename Visitor>
void visit(Visitor& visitor, torch::optim::SGDOptions& options) {
  visitor.number("lr", options.lr());
  visitor.number("momentum", options.momentum());
  visitor.number("dampening", options.dampening());
  visitor.number("weight_decay", options.weight_decay());
  visitor.number("nesterov", options.nesterov());
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::SGDParamState& state) {
  visitor.tensor("momentum_buffer", state.momentum_buffer());
}

template <typename Visitor>
void visit_adam_options(Visitor& visitor, auto& options) {
  visitor.number("lr", options.lr());
  visit_betas(visitor, options.betas());
  visitor.number("eps", options.eps());
  visitor.number("weight_decay", options.weight_decay());
  visitor.number("amsgrad", options.amsgrad());
}
template <typename Visitor>
void visit_adam_state(Visitor& visitor, auto& state) {
  visitor.number("step", state.step());
  visitor.tensor("exp_avg", state.exp_avg());
  visitor.tensor("exp_avg_sq", state.exp_avg_sq());
  visitor.tensor("max_exp_avg_sq", state.max_exp_avg_sq());
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdamOptions& options) {
  visit_adam_options(visitor, options);
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdamParamState& state) {
  visit_adam_state(visitor, state);
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdamWOptions& options) {
  visit_adam_options(visitor, options);
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdamWParamState& state) {
  visit_adam_state(visitor, state);
}

template <typename Visitor>
void visit(Visitor& visitor, torch::optim::RMSpropOptions& options) {
  visitor.number("lr", options.lr());
  visitor.number("alpha", options.alpha());
  visitor.number("eps", options.eps());
  visitor.number("weight_decay", options.weight_decay());
  visitor.number("momentum", options.momentum());
  visitor.number("centered", options.centered());
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::RMSpropParamState& state) {
  visitor.number("step", state.step());
  visitor.tensor("square_avg", state.square_avg());
  visitor.tensor("momentum_buffer", state.momentum_buffer());
  visitor.tensor("grad_avg", state.grad_avg());
}

template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdagradOptions& options) {
  visitor.number("lr", options.lr());
  visitor.number("lr_decay", options.lr_decay());
  visitor.number("weight_decay", options.weight_decay());
  visitor.number("initial_accumulator_value", options.initial_accumulator_value());
  visitor.number("eps", options.eps());
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::AdagradParamState& state) {
  visitor.number("step", state.step());
  visitor.tensor("sum", state.sum());
}

template <typename Visitor>
void visit(Visitor& visitor, torch::optim::LBFGSOptions& options) {
  visitor.number("lr", options.lr());
  visitor.number("max_iter", options.max_iter());
  visitor.optional_number("max_eval", options.max_eval());
  visitor.number("tolerance_grad", options.tolerance_grad());
  visitor.number("tolerance_change", options.tolerance_change());
  visitor.number("history_size", options.history_size());
  visitor.text("line_search_fn", options.line_search_fn());
}
template <typename Visitor>
void visit(Visitor& visitor, torch::optim::LBFGSParamState& state) {
  visitor.number("func_evals", state.func_evals());
  visitor.number("n_iter", state.n_iter());
  if (state.n_iter() > 0) {  // until then libtorch leaves them uninitialized
    visitor.number("t", state.t());
    visitor.number("prev_loss", state.prev_loss());
  }
  visitor.tensor("d", state.d());
  visitor.tensor("H_diag", state.H_diag());
  visitor.tensor("prev_flat_grad", state.prev_flat_grad());
  visitor.tensors("old_dirs", state.old_dirs());
  visitor.tensors("old_stps", state.old_stps());
  visitor.tensors("ro", state.ro());
  visitor.optional_tensors("al", state.al());
}

/// Calls `body(name, options type, state type)` for each optimizer of libtorch until a call returns
/// true. Returns whether one did.
template <typename Body>
bool any_optimizer(Body&& body) {
  using namespace torch::optim;
  const auto call = [&]<typename Options, typename State>(const char* name) {
    return body.template operator()<Options, State>(name);
  };
  return call.template operator()<SGDOptions, SGDParamState>("SGD") ||
         call.template operator()<AdamOptions, AdamParamState>("Adam") ||
         call.template operator()<AdamWOptions, AdamWParamState>("AdamW") ||
         call.template operator()<RMSpropOptions, RMSpropParamState>("RMSprop") ||
         call.template operator()<AdagradOptions, AdagradParamState>("Adagrad") ||
         call.template operator()<LBFGSOptions, LBFGSParamState>("LBFGS");
}

}  // namespace flor::libtorch
