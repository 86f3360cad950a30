// Everything in main: sums of an epoch that are read after its loop over batches, and a test after
// the training.
#include <torch/torch.h>
#include <iomanip>
#include <iostream>

int main() {
    torch::manual_seed(3);
    std::cout << "Logistic Regression\n\n";

    auto cuda_available = false;
    torch::Device device(cuda_available ? torch::kCUDA : torch::kCPU);

    const int64_t batch_size = 25;
    const size_t num_epochs = 4;
    const double learning_rate = 0.05;

    auto inputs = torch::randn({200, 6}, device);
    auto targets = inputs.select(1, 0).gt(0.2).to(torch::kLong);

    torch::nn::Linear model(6, 2);
    model->to(device);

    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(learning_rate));

    std::cout << std::fixed << std::setprecision(4);
    std::cout << "Training...\n";

    // Train the model
    for (size_t epoch = 0; epoch != num_epochs; ++epoch) {
        // Initialize running metrics
        double running_loss = 0.0;
        size_t num_correct = 0;

        for (auto& rows : torch::randperm(200).split(batch_size)) {
            auto data = inputs.index_select(0, rows);
            auto target = targets.index_select(0, rows);

            auto output = model->forward(data);
            auto loss = torch::nn::functional::cross_entropy(output, target);
            running_loss += loss.item<double>() * data.size(0);

            auto prediction = output.argmax(1);
            num_correct += prediction.eq(target).sum().item<int64_t>();

            optimizer.zero_grad();
            loss.backward();
            optimizer.step();
            // here: loss.item<double>()
        }

        auto sample_mean_loss = running_loss / 200;
        auto accuracy = static_cast<double>(num_correct) / 200;

        std::cout << "Epoch [" << (epoch + 1) << "/" << num_epochs << "], Trainset - Loss: "
            << sample_mean_loss << ", Accuracy: " << accuracy << '\n';
    }

    std::cout << "Training finished!\n\n";

    model->eval();
    torch::NoGradGuard no_grad;
    auto output = model->forward(inputs);
    auto test_accuracy = output.argmax(1).eq(targets).to(torch::kFloat).mean().item<double>();
    std::cout << "Testset - Accuracy: " << test_accuracy << '\n';
}
