// SPDX-License-Identifier: Apache-2.0
//
// Arrays, textures and surfaces: what kernels find there, and what calls give for mistakes. An H200 has all of it
// but linear filtering by coordinates from 0 to 1: of 512 places 38 to 87 differ there, which this test would
// report.
#include "expect.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int kWidth = 20, kHeight = 12, kDepth = 3;

__global__ void sample_2d(cudaTextureObject_t texture, const float2* at, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

__global__ void sample_layers(cudaTextureObject_t texture, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            z = static_cast<int>(blockIdx.x);
  out[(z * kHeight + y) * kWidth + x] =
      tex2DLayered<float>(texture, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, z);
}

__global__ void sample_volume(cudaTextureObject_t texture, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            z = static_cast<int>(blockIdx.x);
  out[(z * kHeight + y) * kWidth + x] = tex3D<float>(texture, static_cast<float>(x) + 0.5f,
                                                     static_cast<float>(y) + 0.5f, static_cast<float>(z) + 0.5f);
}

__global__ void sample_line(cudaTextureObject_t texture, int4* out, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) out[i] = tex1Dfetch<int4>(texture, i);
}

__global__ void sample_bytes(cudaTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex2D<float4>(texture, static_cast<float>(threadIdx.x) + 0.5f, 0.5f);
}

__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const auto value = surf2Dread<float>(from, x * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(value + 1, to, (kWidth - 1 - x) * static_cast<int>(sizeof(float)), kHeight - 1 - y);
}

std::vector<float> numbers(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 64);
  return values;
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode beyond,
                               bool is_unit) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  for (cudaTextureAddressMode& mode : how.addressMode) mode = beyond;
  how.filterMode = filter;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = is_unit ? 1 : 0;
  cudaTextureObject_t texture = 0;
  EXPECT_OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

template <class T>
std::vector<T> from_card(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_OK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

int index_of(int i, int n, cudaTextureAddressMode mode, bool is_unit) {
  if (i >= 0 && i < n) return i;
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeWrap && is_unit) return (i % n + n) % n;
  if (mode == cudaAddressModeMirror && is_unit) {
    const int at = (i % (2 * n) + 2 * n) % (2 * n);
    return at < n ? at : 2 * n - 1 - at;
  }
  return i < 0 ? 0 : n - 1;
}

void check_sampling(const std::vector<float>& texels, cudaArray_t array) {
  std::vector<float2> at;
  for (int i = 0; i < 512; ++i) {
    at.push_back({static_cast<float>(i * 37 % 401) / 8 - 10, static_cast<float>(i * 53 % 307) / 16 - 4});
  }
  float2* places = nullptr;
  float* out = nullptr;
  EXPECT_OK(cudaMalloc(&places, at.size() * sizeof(float2)));
  EXPECT_OK(cudaMalloc(&out, at.size() * sizeof(float)));
  for (const bool is_unit : {false, true}) {
    std::vector<float2> scaled = at;
    for (float2& one : scaled) {
      // 1/32 and 1/16: exact, and so is what becomes of them.
      if (is_unit) one = {one.x / 32, one.y / 16};
    }
    EXPECT_OK(cudaMemcpy(places, scaled.data(), scaled.size() * sizeof(float2), cudaMemcpyHostToDevice));
    for (const cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
      for (const cudaTextureAddressMode mode :
           {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder}) {
        const cudaTextureObject_t texture = texture_of(array, filter, mode, is_unit);
        sample_2d<<<4, 128>>>(texture, places, out, static_cast<int>(at.size()));
        EXPECT_OK(cudaDeviceSynchronize());
        const std::vector<float> got = from_card(out, at.size());
        int wrong = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
          const float x = is_unit ? scaled[i].x * kWidth : scaled[i].x;
          const float y = is_unit ? scaled[i].y * kHeight : scaled[i].y;
          const auto texel = [&](int column, int row) {
            const int c = index_of(column, kWidth, mode, is_unit), r = index_of(row, kHeight, mode, is_unit);
            return c < 0 || r < 0 ? 0.0f : texels[static_cast<std::size_t>(r * kWidth + c)];
          };
          float expected = texel(static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)));
          if (filter == cudaFilterModeLinear) {
            const float left = std::floor(x - 0.5f), top = std::floor(y - 0.5f);
            const float a = std::nearbyint((x - 0.5f - left) * 256) / 256;
            const float b = std::nearbyint((y - 0.5f - top) * 256) / 256;
            const int c = static_cast<int>(left), r = static_cast<int>(top);
            expected = (1 - a) * (1 - b) * texel(c, r) + a * (1 - b) * texel(c + 1, r) +
                       (1 - a) * b * texel(c, r + 1) + a * b * texel(c + 1, r + 1);
          }
          if (std::abs(got[i] - expected) > 1e-5f * 64 && wrong++ == 0) {
            std::printf("mode %d filter %d unit %d at %g %g: %g, not %g\n", mode, filter, is_unit, x, y, got[i],
                        expected);
          }
        }
        if (wrong != 0) std::printf("%d of %zu\n", wrong, at.size());
        EXPECT(wrong == 0);
        EXPECT_OK(cudaDestroyTextureObject(texture));
      }
    }
  }
  cudaFree(places);
  cudaFree(out);
}

// A copy of three dimensions into an array with layers, or slices, and back.
void check_slices(bool has_layers) {
  constexpr std::size_t kCount = std::size_t{kWidth} * kHeight * kDepth;
  std::vector<float> texels = numbers(static_cast<int>(kCount));
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  cudaArray_t array = nullptr;
  EXPECT_OK(cudaMalloc3DArray(&array, &format, extent, has_layers ? cudaArrayLayered : cudaArrayDefault));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), kWidth * sizeof(float), kWidth, kHeight);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_OK(cudaMemcpy3D(&copy));
  const cudaTextureObject_t texture = texture_of(array, cudaFilterModePoint, cudaAddressModeClamp, false);
  float* out = nullptr;
  EXPECT_OK(cudaMalloc(&out, kCount * sizeof(float)));
  const dim3 block(kWidth, kHeight);
  if (has_layers) {
    sample_layers<<<kDepth, block>>>(texture, out);
  } else {
    sample_volume<<<kDepth, block>>>(texture, out);
  }
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(from_card(out, kCount) == texels);
  // One slice, of which the first element is left out.
  std::vector<float> part(static_cast<std::size_t>(kWidth - 1) * kHeight);
  cudaMemcpy3DParms back = {};
  back.srcArray = array;
  back.srcPos = make_cudaPos(1, 0, 2);
  back.dstPtr = make_cudaPitchedPtr(part.data(), (kWidth - 1) * sizeof(float), kWidth - 1, kHeight);
  back.extent = make_cudaExtent(kWidth - 1, kHeight, 1);
  back.kind = cudaMemcpyDeviceToHost;
  EXPECT_OK(cudaMemcpy3D(&back));
  EXPECT(part[0] == texels[2 * kWidth * kHeight + 1] && part.back() == texels.back());
  back.srcPos.x = 2;
  EXPECT_CODE(cudaMemcpy3D(&back), cudaErrorInvalidValue);
  back.srcPos.x = 1;
  back.srcPtr = back.dstPtr;  // two sources
  EXPECT_CODE(cudaMemcpy3D(&back), cudaErrorInvalidValue);
  // Rows that the first slice does not have are none of the next.
  constexpr std::size_t kRow = kWidth * sizeof(float);
  EXPECT_CODE(cudaMemcpy2DToArray(array, 0, 2, texels.data(), kRow, kRow, kHeight - 1, cudaMemcpyHostToDevice),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy2DFromArray(texels.data(), kRow, array, 4, 0, kRow, 1, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpyFromArray(texels.data(), array, 4, 1, kRow * (kHeight - 1), cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
  EXPECT_OK(cudaMemcpyFromArray(texels.data(), array, 4, 1, kRow * (kHeight - 1) - 4, cudaMemcpyDeviceToHost));
  cudaExtent found = {};
  cudaChannelFormatDesc found_format = {};
  unsigned flags = 0;
  EXPECT_OK(cudaArrayGetInfo(&found_format, &found, &flags, array));
  EXPECT(found.width == kWidth && found.depth == kDepth && found_format.x == 32 &&
         (flags == cudaArrayLayered) == has_layers);
  EXPECT_OK(cudaDestroyTextureObject(texture));
  EXPECT_OK(cudaFreeArray(array));
  cudaFree(out);
}

void check_other_memory() {
  std::vector<int4> texels(8);
  for (int i = 0; i < 8; ++i) texels[static_cast<std::size_t>(i)] = {i, -i, 100 * i, 7};
  int4 *memory = nullptr, *out = nullptr;
  EXPECT_OK(cudaMalloc(&memory, texels.size() * sizeof(int4)));
  EXPECT_OK(cudaMalloc(&out, 12 * sizeof(int4)));
  EXPECT_OK(cudaMemcpy(memory, texels.data(), texels.size() * sizeof(int4), cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<int4>();
  resource.res.linear.sizeInBytes = texels.size() * sizeof(int4);
  cudaTextureDesc how = {};
  cudaTextureObject_t texture = 0;
  EXPECT_OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  sample_line<<<1, 12>>>(texture, out, 12);
  EXPECT_OK(cudaDeviceSynchronize());
  const std::vector<int4> got = from_card(out, 12);
  EXPECT(std::memcmp(got.data(), texels.data(), texels.size() * sizeof(int4)) == 0);
  EXPECT(got[8].x == 0 && got[11].w == 0);  // beyond the end
  EXPECT_OK(cudaDestroyTextureObject(texture));

  const unsigned char bytes[] = {0, 51, 255, 128, 255, 0, 1, 2};
  EXPECT_OK(cudaMemcpy(memory, bytes, sizeof(bytes), cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.pitch2D.width = 2;
  resource.res.pitch2D.height = 1;
  resource.res.pitch2D.pitchInBytes = 128;
  how.readMode = cudaReadModeNormalizedFloat;
  EXPECT_OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  auto* fractions = reinterpret_cast<float4*>(out);
  sample_bytes<<<1, 2>>>(texture, fractions);
  EXPECT_OK(cudaDeviceSynchronize());
  const std::vector<float4> read = from_card(fractions, 2);
  EXPECT(read[0].x == 0 && read[0].y == 51.0f / 255 && read[0].z == 1 && read[1].x == 1);
  EXPECT_OK(cudaDestroyTextureObject(texture));
  // Rows of nothing, rows longer than their pitch, and more texels than there could be.
  const cudaResourceDesc rows = resource;
  resource.res.pitch2D.width = 0;
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaErrorInvalidValue);
  resource = rows;
  resource.res.pitch2D.height = 0;
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaErrorInvalidValue);
  resource = rows;
  resource.res.pitch2D.width = 33;
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaErrorInvalidValue);
  resource.res.pitch2D.width = (std::size_t{1} << 32) + 2;
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaErrorInvalidValue);
  resource = rows;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaErrorInvalidFilterSetting);
  cudaFree(memory);
  cudaFree(out);
}

void check_surfaces(const std::vector<float>& texels, cudaArray_t array) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t turned = nullptr;
  EXPECT_OK(cudaMallocArray(&turned, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  cudaSurfaceObject_t surfaces[2] = {};
  for (int s = 0; s < 2; ++s) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = s == 0 ? array : turned;
    EXPECT_OK(cudaCreateSurfaceObject(&surfaces[s], &resource));
  }
  turn<<<1, dim3(kWidth, kHeight)>>>(surfaces[0], surfaces[1]);
  EXPECT_OK(cudaDeviceSynchronize());
  std::vector<float> got(texels.size());
  EXPECT_OK(cudaMemcpy2DFromArray(got.data(), kWidth * sizeof(float), turned, 0, 0, kWidth * sizeof(float),
                                  kHeight, cudaMemcpyDeviceToHost));
  bool is_turned = true;
  for (std::size_t i = 0; i < got.size(); ++i) is_turned &= got[i] == texels[texels.size() - 1 - i] + 1;
  EXPECT(is_turned);
  for (const cudaSurfaceObject_t surface : surfaces) EXPECT_OK(cudaDestroySurfaceObject(surface));
  EXPECT_OK(cudaFreeArray(turned));
}

}  // namespace

int main() {
  const std::vector<float> texels = numbers(kWidth * kHeight);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  EXPECT_OK(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  EXPECT_OK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), kWidth * sizeof(float), kWidth * sizeof(float),
                                kHeight, cudaMemcpyHostToDevice));
  check_sampling(texels, array);
  check_surfaces(texels, array);
  check_slices(false);
  check_slices(true);
  check_other_memory();
  cudaArray_t none = nullptr;
  EXPECT_CODE(cudaMalloc3DArray(&none, &format, make_cudaExtent(8, 8, 0), cudaArrayLayered),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaMalloc3DArray(&none, &format, make_cudaExtent(8, 8, 12), cudaArrayCubemap),
              cudaErrorInvalidValue);
  EXPECT_OK(cudaFreeArray(array));
  return result();
}
