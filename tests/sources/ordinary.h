// Trainings as people write them, and what they ask afterwards.
#pragma once

#include "support/git_repository.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

struct Question {
  std::string place;  ///< the line is added after the first of this text
  std::string line;
  std::vector<std::string> loops = {};  ///< that have to be executed
  bool walks = false;                   ///< from the first epoch
};

struct Training {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> others;  ///< path and text
  std::vector<Question> questions;
};

/// As the example of PyTorch's C++ frontend: functions for training and testing.
inline constexpr const char* kMnist = R"code(#include <flor/flor.h>
#include <flor/torch.h>
#include <torch/torch.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

const char* kDataRoot = "./data";
const int64_t kTrainBatchSize = 64;
const int64_t kTestBatchSize = 1000;
const int64_t kNumberOfEpochs = 10;
const int64_t kLogInterval = 10;

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 10, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(10, 20, /*kernel_size=*/5)),
        fc1(320, 50),
        fc2(50, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*training=*/is_training());
    x = fc2->forward(x);
    return torch::log_softmax(x, /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Dropout2d conv2_drop;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

template <typename DataLoader>
void train(size_t epoch, Net& model, torch::Device device, DataLoader& data_loader,
           torch::optim::Optimizer& optimizer, size_t dataset_size) {
  model.train();
  size_t batch_idx = 0;
  for (auto& batch : flor::loop("train", data_loader)) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    loss.backward();
    optimizer.step();
    if (batch_idx++ % kLogInterval == 0) {
      std::printf("\rTrain Epoch: %ld [%5ld/%5ld] Loss: %.4f", epoch, batch_idx * batch.data.size(0),
                  dataset_size, loss.template item<float>());
    }
  }
}

template <typename DataLoader>
void test(Net& model, torch::Device device, DataLoader& data_loader, size_t dataset_size) {
  torch::NoGradGuard no_grad;
  model.eval();
  double test_loss = 0;
  int32_t correct = 0;
  for (const auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    test_loss += torch::nll_loss(output, targets, {}, torch::Reduction::Sum).template item<float>();
    auto pred = output.argmax(1);
    correct += pred.eq(targets).sum().template item<int64_t>();
  }
  test_loss /= dataset_size;
  std::printf("\nTest set: Average loss: %.4f | Accuracy: %.3f\n", test_loss,
              static_cast<double>(correct) / dataset_size);
}

auto main(int argc, char** argv) -> int {
  auto session = flor::init(argc, argv);
  torch::manual_seed(1);
  torch::DeviceType device_type;
  if (torch::cuda::is_available()) {
    std::cout << "CUDA available! Training on GPU." << std::endl;
    device_type = torch::kCUDA;
  } else {
    device_type = torch::kCPU;
  }
  torch::Device device(device_type);

  Net model;
  model.to(device);

  auto train_dataset = torch::data::datasets::MNIST(kDataRoot)
                           .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                           .map(torch::data::transforms::Stack<>());
  const size_t train_dataset_size = train_dataset.size().value();
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(train_dataset), kTrainBatchSize);

  auto test_dataset =
      torch::data::datasets::MNIST(kDataRoot, torch::data::datasets::MNIST::Mode::kTest)
          .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
          .map(torch::data::transforms::Stack<>());
  const size_t test_dataset_size = test_dataset.size().value();
  auto test_loader = torch::data::make_data_loader(std::move(test_dataset), kTestBatchSize);

  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  auto state = flor::checkpoints(model, optimizer);

  for (size_t epoch : flor::loop("epoch", flor::range(1, kNumberOfEpochs + 1))) {
    train(epoch, model, device, *train_loader, optimizer, train_dataset_size);
    test(model, device, *test_loader, test_dataset_size);
  }
}
)code";

/// All in main, losses in tensors, one function that evaluates.
inline constexpr const char* kPlain = R"code(#include <flor/flor.h>
#include <flor/torch.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace nn = torch::nn;

struct MlpImpl : nn::Module {
  MlpImpl(int64_t in, int64_t hidden, int64_t out) {
    first = register_module("first", nn::Linear(in, hidden));
    norm = register_module("norm", nn::BatchNorm1d(hidden));
    second = register_module("second", nn::Linear(hidden, out));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(norm(first(x)));
    return second(x);
  }
  nn::Linear first{nullptr}, second{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Mlp);

double accuracy(Mlp& net, const torch::Tensor& x, const torch::Tensor& y) {
  torch::NoGradGuard no_grad;
  net->eval();
  return net->forward(x).argmax(1).eq(y).to(torch::kFloat).mean().item<double>();
}

int main() {
  auto session = flor::init();
  torch::manual_seed(flor::arg("seed", 3));
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  const int64_t hidden = flor::arg("hidden", 32), batch_size = flor::arg("batch", 16);
  double lr = flor::arg("lr", 1e-2);
  int epochs = flor::arg("epochs", 10);
  auto x_train = torch::randn({512, 20}).to(device);
  auto y_train = (x_train.sum(1) > 0).to(torch::kLong);
  auto x_test = torch::randn({128, 20}, device);
  auto y_test = (x_test.sum(1) > 0).to(torch::kLong);
  Mlp net(20, hidden, 2);
  net->to(device);
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(lr).weight_decay(1e-4));
  nn::CrossEntropyLoss criterion;
  auto state = flor::checkpoints(net, optimizer);
  for (int epoch : flor::loop("epoch", epochs)) {
    net->train();
    auto order = torch::randperm(512);
    double running = 0;
    for (int64_t i : flor::loop("train", 512 / batch_size, flor::with(running))) {
      auto index = order.slice(0, i * batch_size, (i + 1) * batch_size);
      auto x = x_train.index_select(0, index), y = y_train.index_select(0, index);
      optimizer.zero_grad();
      auto output = net->forward(x);
      auto loss = criterion(output, y);
      loss.backward();
      nn::utils::clip_grad_norm_(net->parameters(), 1.0);
      optimizer.step();
      running += loss.item<double>();
    }
    const double acc = accuracy(net, x_test, y_test);
    std::printf("epoch %d loss %.4f accuracy %.4f\n", epoch, running, acc);
    flor::log("accuracy", acc);
  }
  const double last = accuracy(net, x_test, y_test);
  flor::log("final", last);
}
)code";

/// A class that holds everything.
inline constexpr const char* kTrainer = R"code(#include "model.h"

#include <flor/flor.h>
#include <flor/torch.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

struct Config {
  int epochs = 10;
  int64_t batch = 32;
  double lr = 0.1;
  std::string data = "data";
};

class Trainer {
 public:
  explicit Trainer(const Config& config)
      : config_(config), net_(16), optimizer_(net_->parameters(), config.lr) {
    images_ = torch::randn({256, 16});
    labels_ = images_.sum(1, true);
    held_out_ = torch::randn({64, 16});
  }
  void run() {
    auto state = flor::checkpoints(net_, optimizer_);
    for (int epoch : flor::loop("epoch", config_.epochs)) {
      train_epoch();
      const double error = validate();
      flor::log("error", error);
      report(epoch);
    }
  }

 private:
  void train_epoch() {
    net_->train();
    for (int64_t i : flor::loop("train", images_.size(0) / config_.batch)) {
      auto x = images_.slice(0, i * config_.batch, (i + 1) * config_.batch);
      auto y = labels_.slice(0, i * config_.batch, (i + 1) * config_.batch);
      optimizer_.zero_grad();
      auto loss = torch::mse_loss(net_->forward(x), y);
      loss.backward();
      optimizer_.step();
      total_ += loss.item<double>();
    }
  }
  double validate() {
    torch::NoGradGuard guard;
    return torch::mse_loss(net_->forward(held_out_), held_out_.sum(1, true)).item<double>();
  }
  void report(int epoch) { std::printf("%d\n", epoch); }

  Config config_;
  Regression net_;
  torch::optim::SGD optimizer_;
  torch::Tensor images_, labels_, held_out_;
  double total_ = 0;
};

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  Config config;
  config.lr = flor::arg("lr", 0.1);
  Trainer trainer(config);
  trainer.run();
}
)code";

inline constexpr const char* kTrainerModel = R"code(#pragma once
#include <torch/torch.h>

struct RegressionImpl : torch::nn::Module {
  explicit RegressionImpl(int64_t features)
      : linear(register_module("linear", torch::nn::Linear(features, 1))) {}
  torch::Tensor forward(const torch::Tensor& x) { return linear(x); }
  double norm() const { return linear->weight.norm().item<double>(); }
  torch::nn::Linear linear;
};
TORCH_MODULE(Regression);
)code";

/// Two networks that compete.
inline constexpr const char* kGan = R"code(#include <flor/flor.h>
#include <flor/torch.h>
#include <torch/torch.h>

#include <cstdio>

const int64_t kNoiseSize = 100;
const int64_t kBatchSize = 64;

struct DCGANGeneratorImpl : torch::nn::Module {
  DCGANGeneratorImpl(int kNoise)
      : conv1(torch::nn::ConvTranspose2dOptions(kNoise, 256, 4).bias(false)),
        batch_norm1(256),
        conv2(torch::nn::ConvTranspose2dOptions(256, 1, 3).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("batch_norm1", batch_norm1);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    return torch::tanh(conv2(x));
  }
  torch::nn::ConvTranspose2d conv1, conv2;
  torch::nn::BatchNorm2d batch_norm1;
};
TORCH_MODULE(DCGANGenerator);

int main(int argc, char* argv[]) {
  auto session = flor::init(argc, argv);
  torch::manual_seed(0);
  torch::Device device(torch::kCPU);
  DCGANGenerator generator(kNoiseSize);
  generator->to(device);
  torch::nn::Sequential discriminator(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 64, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Flatten(), torch::nn::Linear(64 * 14 * 14, 1), torch::nn::Sigmoid());
  discriminator->to(device);
  auto dataset = torch::data::datasets::MNIST("./mnist")
                     .map(torch::data::transforms::Normalize<>(0.5, 0.5))
                     .map(torch::data::transforms::Stack<>());
  const int64_t batches_per_epoch = std::ceil(dataset.size().value() / static_cast<double>(kBatchSize));
  auto data_loader = torch::data::make_data_loader(
      std::move(dataset), torch::data::DataLoaderOptions().batch_size(kBatchSize).workers(2));
  torch::optim::Adam generator_optimizer(
      generator->parameters(), torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(
      discriminator->parameters(), torch::optim::AdamOptions(2e-4).betas(std::make_tuple(0.5, 0.5)));
  auto fixed_noise = torch::randn({10, kNoiseSize, 1, 1}, device);
  auto state = flor::checkpoints(generator, discriminator, generator_optimizer, discriminator_optimizer);
  for (int64_t epoch : flor::loop("epoch", 30)) {
    int64_t batch_index = 0;
    for (const torch::data::Example<>& batch : flor::loop("train", *data_loader)) {
      discriminator->zero_grad();
      torch::Tensor real_images = batch.data.to(device);
      torch::Tensor real_labels = torch::empty(batch.data.size(0), device).uniform_(0.8, 1.0);
      torch::Tensor real_output = discriminator->forward(real_images).reshape(real_labels.sizes());
      torch::Tensor d_loss_real = torch::binary_cross_entropy(real_output, real_labels);
      d_loss_real.backward();
      torch::Tensor noise = torch::randn({batch.data.size(0), kNoiseSize, 1, 1}, device);
      torch::Tensor fake_images = generator->forward(noise);
      torch::Tensor fake_output = discriminator->forward(fake_images.detach());
      discriminator_optimizer.step();
      generator->zero_grad();
      torch::Tensor g_loss = torch::binary_cross_entropy(discriminator->forward(fake_images), real_labels);
      g_loss.backward();
      generator_optimizer.step();
      batch_index++;
      if (batch_index % 100 == 0) std::printf("[%2ld][%3ld/%3ld]\n", epoch, batch_index, batches_per_epoch);
    }
    torch::Tensor samples = generator->forward(fixed_noise);
    std::printf("sample mean %f\n", samples.mean().item<double>());
  }
}
)code";

inline std::string example(const std::string& name) {
  return read_file(std::filesystem::path(FLOR_SOURCE_DIR) / "examples" / name);
}

inline std::vector<Training> ordinary_trainings() {
  const std::vector<std::pair<std::string, std::string>> data = {
      {"data.h", example("data.h")}, {"data.cpp", example("data.cpp")}};
  const std::string tested = "    test(model, device, *test_loader, test_dataset_size);";
  const std::string trained = "    train(epoch, model, device, *train_loader, optimizer, train_dataset_size);";
  const std::string accuracy = "    flor::log(\"accuracy\", acc);";
  return {
      {"mnist.cpp", kMnist, {},
       {{tested, "flor::log(\"norm\", model.fc1->weight.norm());"},
        {tested, "flor::log(\"bias\", model.fc2->bias.mean().item<double>());"},
        {tested, "flor::log_histogram(\"conv1\", model.conv1->weight);"},
        {tested, "double sum = 0; for (auto& p : model.parameters()) sum += p.norm().item<double>(); flor::log(\"sum\", sum);"},
        {trained, "test(model, device, *test_loader, test_dataset_size);"},
        {tested, "flor::log(\"size\", test_dataset_size);"},
        {tested, "for (auto& pair : model.named_parameters()) flor::log(pair.key(), pair.value().norm());"},
        {"  test_loss /= dataset_size;", "flor::log(\"test_loss\", test_loss);"},
        {"  test_loss /= dataset_size;", "flor::log(\"accuracy\", static_cast<double>(correct) / dataset_size);"},
        {"  test_loss /= dataset_size;", "flor::log(\"training\", model.is_training());"},
        {"    auto pred = output.argmax(1);", "flor::log(\"predicted\", pred.sum());"},
        {tested, "flor::log(\"lr\", optimizer.param_groups()[0].options().get_lr());"},
        {"    loss.backward();", "flor::log(\"loss\", loss);", {"train"}},
        {"    loss.backward();", "flor::log(\"grad\", model.fc1->weight.grad().norm());", {"train"}},
        {"    optimizer.step();", "flor::log(\"hit\", output.argmax(1).eq(targets).sum());", {"train"}}}},
      {"plain.cpp", kPlain, {},
       {{accuracy, "flor::log(\"train_accuracy\", accuracy(net, x_train, y_train));"},
        {accuracy, "flor::log(\"norm\", net->first->weight.norm().item<double>());"},
        {accuracy, "flor::log(\"mean\", net->norm->running_mean.mean().item<double>());"},
        {accuracy, "{ torch::NoGradGuard g; net->eval(); auto logits = net->forward(x_test); flor::log(\"test_loss\", criterion(logits, y_test)); }"},
        {accuracy, "{ torch::NoGradGuard g; auto logits = net(x_test); auto p = torch::softmax(logits, 1); flor::log(\"entropy\", -(p * p.log()).sum(1).mean()); }"},
        {accuracy, "for (int c = 0; c < 2; ++c) flor::log(\"class\", accuracy(net, x_test.index({y_test == c}), y_test.index({y_test == c})));"},
        {accuracy, "flor::log(\"twice\", 2 * acc);"},
        {accuracy, "flor::log(\"mean_loss\", running / (512 / batch_size));"},
        {accuracy, "flor::log(\"rate\", lr);"},
        {accuracy, "flor::log(\"error\", 1 - accuracy(net, x_test, y_test));"},
        {accuracy, "flor::log_tensor(\"weights\", net->second->weight);"},
        {accuracy, "if (acc > 0.9) flor::log(\"good\", epoch);"},
        {accuracy, "std::printf(\"norm %f\\n\", net->first->weight.norm().item<double>());"},
        {accuracy, "const auto weights = net->parameters(); double least = 1e9; for (const auto& w : weights) least = std::min(least, w.min().item<double>()); flor::log(\"least\", least);"},
        {"  flor::log(\"final\", last);", "flor::log(\"final_train\", accuracy(net, x_train, y_train));"},
        {"  flor::log(\"final\", last);", "flor::log(\"final_norm\", net->first->weight.norm());"},
        {"  net->eval();", "flor::log(\"inputs\", x.size(0));"},
        {accuracy, "flor::log(\"grad\", net->first->weight.grad().norm());"},
        {"      running += loss.item<double>();", "flor::log(\"loss\", loss);", {"train"}},
        {"      running += loss.item<double>();", "flor::log(\"outputs\", output.abs().max());", {"train"}},
        {accuracy, "flor::log(\"order\", order[0]);"}}},
      {"trainer.cpp", kTrainer, {{"model.h", kTrainerModel}},
       {{"      flor::log(\"error\", error);", "flor::log(\"norm\", net_->norm());"},
        {"      flor::log(\"error\", error);", "flor::log(\"again\", validate());"},
        {"      flor::log(\"error\", error);", "flor::log(\"root\", std::sqrt(error));"},
        {"      flor::log(\"error\", error);", "flor::log(\"held\", held_out_.mean());"},
        {"      flor::log(\"error\", error);", "flor::log(\"data\", images_.mean());"},
        {"      flor::log(\"error\", error);", "flor::log(\"lr\", config_.lr);"},
        {"      flor::log(\"error\", error);", "flor::log(\"fit\", torch::mse_loss(net_->forward(images_), labels_));"},
        {"      flor::log(\"error\", error);", "flor::log(\"total\", total_);", {"train"}, true},
        {"    torch::NoGradGuard guard;", "flor::log(\"bias\", net_->linear->bias.sum());"},
        {"  void report(int epoch) { std::printf(\"%d\\n\", epoch);", "flor::log(\"weight\", net_->linear->weight.abs().sum());"},
        {"  void report(int epoch) { std::printf(\"%d\\n\", epoch);", "flor::log(\"features\", images_.size(1));"},
        {"      loss.backward();", "flor::log(\"loss\", loss);", {"train"}}}},
      {"gan.cpp", kGan, {},
       {{"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log(\"sample\", samples.mean());"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log(\"spread\", generator->forward(fixed_noise).std());"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log(\"judged\", discriminator->forward(samples).mean());"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log(\"norm\", generator->conv1->weight.norm());"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "double s = 0; for (auto& p : discriminator->parameters()) s += p.sum().item<double>(); flor::log(\"s\", s);"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log_image(\"picture\", samples[0]);"},
        {"    std::printf(\"sample mean %f\\n\", samples.mean().item<double>());", "flor::log(\"batches\", batch_index);", {"train"}},
        {"      g_loss.backward();", "flor::log(\"g_loss\", g_loss);", {"train"}}}},
      {"linear.cpp", example("linear.cpp"), data,
       {{"    const auto correct =", " /* */ predicted.eq(test.labels).to(torch::kFloat).mean().item<double>(); flor::log(\"p0\", predicted[0]); const auto other ="},
        {"flor::log(\"accuracy\", correct));", "flor::log(\"first\", predicted[0].item<int64_t>());"},
        {"flor::log(\"accuracy\", correct));", "flor::log(\"train\", predict(net, train.images).eq(train.labels).sum());"},
        {"flor::log(\"accuracy\", correct));", "flor::log(\"size\", *test.size());"},
        {"flor::log(\"accuracy\", correct));", "flor::log(\"wrong\", 1 - correct);"},
        {"flor::log(\"accuracy\", correct));", "for (int digit = 0; digit < 10; ++digit) flor::log(\"recall\", predicted.eq(digit).logical_and(test.labels.eq(digit)).sum());"},
        {"flor::log(\"accuracy\", correct));", "flor::log(\"norm\", net->parameters()[0].norm());"},
        {"  net->eval();", "flor::log(\"pictures\", images.size(0));"},
        {"      optimizer.step();", "flor::log(\"grad\", net->parameters()[0].grad().norm());", {"train"}}}},
      {"convnet.cpp", example("convnet.cpp"), data,
       {{"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"train_accuracy\", evaluate(net, train));"},
        {"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"conv1\", net->conv1->weight.norm());"},
        {"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"mean\", net->norm1->running_mean.mean());"},
        {"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"running\", running_loss);"},
        {"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"half\", train_loss / 2);"},
        {"flor::log(\"accuracy\", evaluate(net, test)));", "flor::log(\"momentum\", optimizer.state().size());"},
        {"  net->eval();", "flor::log(\"p\", net->dropout->options.p());"},
        {"    scheduler.step();", "flor::log(\"epoch\", epoch);"},
        {"      optimizer.step();", "flor::log(\"output\", net(batch.data).sum());", {"train"}}}},
      {"charlm.cpp", example("charlm.cpp"), data,
       {{"    model->eval();", "flor::log(\"width\", model->embedding->weight.norm());"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"longer\", sample(model, 200));"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"perplexity\", std::exp(loss));"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"train_loss\", loss_of(model, random_windows(train, 64)));"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"position\", model->position.abs().mean());"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"validation\", validation.size(0));"},
        {"flor::log(\"sample\", sample(model, 80)).c_str());", "flor::log(\"lr\", optimizer.param_groups()[0].options().get_lr());"},
        {"      optimizer.step();", "flor::log(\"grad\", model->position.grad().norm());", {"train"}}}},
      {"resume.cpp", example("resume.cpp"), data,
       {{"flor::log(\"accuracy\", correct.mean().item<double>()));", "flor::log(\"correct\", correct.sum());"},
        {"flor::log(\"accuracy\", correct.mean().item<double>()));", "flor::log(\"on_train\", net->forward(train.images).argmax(1).eq(train.labels).sum());"},
        {"flor::log(\"accuracy\", correct.mean().item<double>()));", "flor::log(\"norm\", net->parameters()[1].norm());"},
        {"flor::log(\"accuracy\", correct.mean().item<double>()));", "flor::log(\"lr\", optimizer.param_groups()[0].options().get_lr());"},
        {"      optimizer.step();", "flor::log(\"grad\", net->parameters()[0].grad().norm());", {"train"}}}},
      {"spirals.cpp", example("spirals.cpp"), {},
       {{"flor::log(\"accuracy\", accuracy));", "flor::log(\"least\", *std::min_element(net.begin(), net.end()));"},
        {"flor::log(\"accuracy\", accuracy));", "flor::log(\"right\", predict(net, test[0]) == test[0].arm);"},
        {"flor::log(\"accuracy\", accuracy));", "flor::log(\"likely\", look(net, test[0])[0]);"},
        {"flor::log(\"accuracy\", accuracy));", "{ double sum = 0; for (double weight : net) sum += weight * weight; flor::log(\"norm\", std::sqrt(sum)); }"},
        {"flor::log(\"accuracy\", accuracy));", "{ double loss = 0; for (int i = 0; i < 9; ++i) loss += look(net, test[i])[test[i].arm]; flor::log(\"mean\", loss); }"},
        {"flor::log(\"accuracy\", accuracy));", "std::array<int, arms> seen{}; for (const Point& point : test) ++seen[predict(net, point)]; flor::log(\"seen\", seen[0]);"},
        {"flor::log(\"accuracy\", accuracy));", "flor::log(\"activity\", activity(net.data(), test[0]));"},
        {"      flor::log(\"loss\", loss / 300);", "flor::log(\"first\", net[0]);", {"train"}}}},
  };
}

}  // namespace flor::testing
