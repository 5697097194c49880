// SPDX-License-Identifier: Apache-2.0
// The ops of mlp.cu, their kernels, and the engine that runs them.
#pragma once

#include <strata/cuda/error.hpp>
#include <strata/execute.hpp>
#include <strata/strata.hpp>

#include <cuda_runtime.h>

#include <cstddef>

#include <cublas_v2.h>

namespace mlp {

constexpr int batch = 512;

// [kernels]
__global__ void fill(float* x, int n, float scale, unsigned seed) // splitmix, one number per element
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        unsigned long long z = (static_cast<unsigned long long>(seed) << 32U) + static_cast<unsigned long long>(i);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        x[i] = scale * (static_cast<float>((z ^ (z >> 31U)) >> 40U) / 8388608.0F - 1.0F);
    }
}
__global__ void bias_relu(float const* a, float const* b, float* h, int rows, int columns)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows * columns) {
        h[i] = fmaxf(a[i] + b[i % columns], 0.0F);
    }
}
__global__ void bias_relu_backward(float const* h, float const* dh, float* da, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        da[i] = h[i] > 0.0F ? dh[i] : 0.0F;
    }
}
__global__ void column_sums(float const* da, float* db, int rows, int columns) // in a fixed order
{
    int const j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (j < columns) {
        float sum = 0.0F;
        for (int i = 0; i < rows; ++i) {
            sum += da[i * columns + j];
        }
        db[j] = sum;
    }
}
__global__ void softmax(float const* logits, int const* label, float* p, float* loss_of_row, int rows, int columns)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows) {
        float most = logits[i * columns];
        for (int j = 1; j < columns; ++j) {
            most = fmaxf(most, logits[i * columns + j]);
        }
        float sum = 0.0F;
        for (int j = 0; j < columns; ++j) {
            sum += expf(logits[i * columns + j] - most);
        }
        for (int j = 0; j < columns; ++j) {
            p[i * columns + j] = expf(logits[i * columns + j] - most) / sum;
        }
        loss_of_row[i] = logf(sum) + most - logits[i * columns + label[i]];
    }
}
__global__ void mean(float const* x, float* y, int n)
{
    float sum = 0.0F;
    for (int i = 0; i < n; ++i) {
        sum += x[i];
    }
    *y = sum / static_cast<float>(n);
}
__global__ void softmax_backward(float const* p, int const* label, float const* dloss, float* d, int rows, int columns)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows * columns) {
        float const hit = label[i / columns] == i % columns ? 1.0F : 0.0F;
        d[i] = *dloss * (p[i] - hit) / static_cast<float>(rows);
    }
}
__global__ void descend(float* w, float const* dw, int n, float rate)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        w[i] -= rate * dw[i];
    }
}
constexpr int threads = 256;
constexpr auto blocks(int n) -> int { return (n + threads - 1) / threads; }
// [kernels]

inline void check(char const* call, cudaError_t code)
{
    if (code != cudaSuccess) {
        throw strata::cuda_error(call, code, cudaGetErrorString(code));
    }
}
inline void check(char const* call, cublasStatus_t code)
{
    if (code != CUBLAS_STATUS_SUCCESS) {
        throw strata::cuda_error(call, code, cublasGetStatusString(code));
    }
}

struct op {
    enum class kind {
        linear,
        linear_dgrad,
        linear_wgrad,
        bias_relu,
        bias_relu_backward,
        softmax_loss,
        softmax_backward
    };
    kind what;
    int in;  // columns of what it reads
    int out; // columns of what it makes
};
using graph = strata::training_graph<op>;

// [engine]
/// Runs the ops on one stream, and returns before they are done.
class engine {
public:
    static constexpr strata::bytes_t alignment = 256; // cuBLAS chooses its kernels by it, too: the same ones every time

    explicit engine(graph const& g)
        : g_(&g)
    {
        check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        check("cublasCreate", cublasCreate(&blas_));
        check("cublasSetStream", cublasSetStream(blas_, stream_));
    }
    engine(engine const&) = delete;
    auto operator=(engine const&) -> engine& = delete;
    ~engine()
    {
        cublasDestroy(blas_);
        cudaStreamDestroy(stream_);
    }

    void run(strata::op_id o, strata::buffers const& b)
    {
        auto const& x = g_->op(o);
        auto const in = [&](std::size_t k) { return b.as<float>(g_->inputs(o)[k]); };
        auto const out = [&](std::size_t k) { return b.as<float>(g_->outputs(o)[k]); };
        auto const labels = [&] { return b.as<int>(g_->inputs(o)[1]); };
        int const all = batch * x.out;
        switch (x.what) { // matrices are stored by rows, which cuBLAS takes for their transposes stored by columns
        case op::kind::linear:
            gemm(CUBLAS_OP_N, CUBLAS_OP_N, x.out, batch, x.in, in(1), x.out, in(0), x.in, out(0));
            break;
        case op::kind::linear_dgrad:
            gemm(CUBLAS_OP_T, CUBLAS_OP_N, x.in, batch, x.out, in(0), x.out, in(1), x.out, out(0));
            break;
        case op::kind::linear_wgrad:
            gemm(CUBLAS_OP_N, CUBLAS_OP_T, x.out, x.in, batch, in(1), x.out, in(0), x.in, out(0));
            break;
        case op::kind::bias_relu:
            bias_relu<<<blocks(all), threads, 0, stream_>>>(in(0), in(1), out(0), batch, x.out);
            break;
        case op::kind::bias_relu_backward:
            bias_relu_backward<<<blocks(all), threads, 0, stream_>>>(in(0), in(1), out(0), all);
            column_sums<<<blocks(x.out), threads, 0, stream_>>>(out(0), out(1), batch, x.out);
            break;
        case op::kind::softmax_loss: // the losses of the rows are in the workspace, from the op to its end
            softmax<<<blocks(batch), threads, 0, stream_>>>(
                in(0), labels(), out(1), reinterpret_cast<float*>(b.workspace()), batch, x.out);
            mean<<<1, 1, 0, stream_>>>(reinterpret_cast<float*>(b.workspace()), out(0), batch);
            break;
        case op::kind::softmax_backward:
            softmax_backward<<<blocks(all), threads, 0, stream_>>>(in(0), labels(), in(2), out(0), batch, x.out);
            break;
        }
        check("launching a kernel", cudaGetLastError());
    }
    void synchronize() { check("cudaStreamSynchronize", cudaStreamSynchronize(stream_)); }

    [[nodiscard]] auto stream() const -> cudaStream_t { return stream_; }

private:
    void gemm(cublasOperation_t ta,
              cublasOperation_t tb,
              int m,
              int n,
              int k,
              float const* a,
              int lda,
              float const* b,
              int ldb,
              float* c)
    {
        float const one = 1.0F;
        float const zero = 0.0F; // every gradient here has one producer: it overwrites
        check("cublasSgemm", cublasSgemm(blas_, ta, tb, m, n, k, &one, a, lda, b, ldb, &zero, c, m));
    }

    graph const* g_;
    cudaStream_t stream_ = nullptr;
    cublasHandle_t blas_ = nullptr;
};
static_assert(strata::asynchronous_engine<engine>);
// [engine]

} // namespace mlp
