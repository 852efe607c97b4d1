// SPDX-License-Identifier: Apache-2.0
//
// Clock, power and temperature of a GPU, from the driver's management library, which is loaded at run time.
#pragma once

#include <dlfcn.h>

namespace heddle::bench {

struct SensorReading {
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  double watts = 0;
  unsigned celsius = 0;
};

class GpuSensors {
 public:
  explicit GpuSensors(unsigned ordinal) {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&]<class F>(F*& function, const char* name) {
      function = reinterpret_cast<F*>(dlsym(library, name));
    };
    int (*init)() = nullptr;
    int (*get_device)(unsigned, void**) = nullptr;
    find(init, "nvmlInit_v2");
    find(get_device, "nvmlDeviceGetHandleByIndex_v2");
    find(clock_, "nvmlDeviceGetClockInfo");
    find(power_, "nvmlDeviceGetPowerUsage");
    find(temperature_, "nvmlDeviceGetTemperature");
    if (init == nullptr || get_device == nullptr || init() != 0 || get_device(ordinal, &device_) != 0)
      device_ = nullptr;
  }

  // Zeros where the library or a sensor is missing.
  SensorReading read() const {
    SensorReading reading;
    if (device_ == nullptr) return reading;
    constexpr int kSm = 1, kMemory = 2, kGpuTemperature = 0;
    if (clock_ != nullptr) {
      clock_(device_, kSm, &reading.sm_mhz);
      clock_(device_, kMemory, &reading.memory_mhz);
    }
    unsigned milliwatts = 0;
    if (power_ != nullptr && power_(device_, &milliwatts) == 0) reading.watts = milliwatts / 1000.0;
    if (temperature_ != nullptr) temperature_(device_, kGpuTemperature, &reading.celsius);
    return reading;
  }

 private:
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
};

}  // namespace heddle::bench
