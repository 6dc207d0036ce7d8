// Diagonalizes complex cross-spectra in column-major layout from C++, with handles that free
// themselves and errors as exceptions.
//
//     c++ -std=c++17 capi/examples/spectra.cpp $(pkg-config --cflags --libs codiag) -o spectra
#include <codiag.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace codiag {

inline void check(int failed) {
    if (failed != CODIAG_ERROR_NONE) throw std::runtime_error(codiag_last_error());
}

struct Free {
    void operator()(codiag_set *set) const { codiag_set_free(set); }
    void operator()(codiag_result *result) const { codiag_result_free(result); }
};
using Set = std::unique_ptr<codiag_set, Free>;
using Result = std::unique_ptr<codiag_result, Free>;

inline Set complex_set(const std::vector<std::complex<double>> &data, size_t n, size_t p, size_t n_jobs) {
    codiag_set_options options;
    check(codiag_set_options_init(&options, sizeof options));
    options.n_jobs = n_jobs;
    codiag_set *set = nullptr;
    // The C++ standard guarantees this cast: complex numbers are stored as pairs.
    const double *numbers = reinterpret_cast<const double *>(data.data());
    check(codiag_set_new_complex(numbers, n, p, CODIAG_LAYOUT_COLUMN_MAJOR, &options, &set));
    return Set(set);
}

using Callback = std::function<bool(const codiag_record &)>;

inline Result diagonalize(const Set &set, Callback callback) {
    codiag_settings settings;
    check(codiag_settings_init(&settings, sizeof settings));
    settings.user_data = &callback;
    // Exceptions must not leave the callback.
    settings.callback = [](const codiag_record *record, const double *, void *data) -> int {
        try {
            return (*static_cast<Callback *>(data))(*record) ? 1 : 0;
        } catch (...) {
            return 1;
        }
    };
    codiag_result *result = nullptr;
    check(codiag_diagonalize(set.get(), &settings, &result));
    return Result(result);
}

}  // namespace codiag

int main() try {
    using Complex = std::complex<double>;
    const size_t n = 40, p = 5;
    std::mt19937_64 random(0);
    std::normal_distribution<double> normal;
    std::vector<Complex> mixing(p * p), data(n * p * p);
    for (auto &entry : mixing) entry = Complex(normal(random), normal(random));
    for (size_t i = 0; i < n; i++) {
        std::vector<double> powers(p);
        for (auto &power : powers) power = 0.1 + normal(random) * normal(random);
        for (auto &power : powers) power = std::abs(power) + 0.05;
        for (size_t a = 0; a < p; a++)
            for (size_t b = 0; b < p; b++)
                for (size_t k = 0; k < p; k++)
                    data[i * p * p + a + p * b] += mixing[a + p * k] * powers[k] * std::conj(mixing[b + p * k]);
    }

    const auto set = codiag::complex_set(data, n, p, 2);
    size_t seen = 0;
    const auto result = codiag::diagonalize(set, [&](const codiag_record &) {
        seen++;
        return false;
    });
    codiag_info info;
    codiag::check(codiag_info_init(&info, sizeof info));
    codiag::check(codiag_result_info(result.get(), &info));
    std::printf("%s after %zu iterations, loss %.1e, %zu callbacks\n", codiag_status_name(info.status),
                info.n_iter, info.loss, seen);

    // Largest ratio, over the rows of B A, of the other entries to the largest one: 0 for a scaled
    // permutation.
    const auto *b = reinterpret_cast<const Complex *>(codiag_result_b(result.get()));
    double worst = 0.0;
    for (size_t a = 0; a < p; a++) {
        double largest = 0.0, total = 0.0;
        for (size_t k = 0; k < p; k++) {
            Complex product = 0.0;
            for (size_t c = 0; c < p; c++) product += b[a + p * c] * mixing[c + p * k];
            largest = std::max(largest, std::abs(product));
            total += std::abs(product);
        }
        worst = std::max(worst, total / largest - 1.0);
    }
    std::printf("separation error %.1e\n", worst);

    // D = B C B^H is diagonal for the first matrix.
    std::vector<Complex> d(n * p * p);
    codiag::check(codiag_set_transform(set.get(), codiag_result_b(result.get()), p, reinterpret_cast<double *>(d.data())));
    const bool diagonal = std::abs(d[1]) < 1e-8 * std::abs(d[0]);
    try {
        codiag::complex_set(std::vector<Complex>(p * p, Complex(0.0, 1.0)), 1, p, 1);
        return 1;
    } catch (const std::runtime_error &error) {
        std::printf("expected error: %s\n", error.what());
    }
    codiag_release_threads();
    return info.status == CODIAG_STATUS_CONVERGED && worst < 1e-8 && diagonal && seen > 0 ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
