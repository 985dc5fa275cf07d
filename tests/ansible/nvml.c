/* A stand-in for libnvidia-ml.so.1 on hosts without a GPU; -D sets what it says. */
#include <stdio.h>
#include <string.h>

#define OK 0
#define NOT_SUPPORTED 3

typedef struct { char bus_id_legacy[16]; unsigned domain, bus, device, pci_device, pci_subsystem; char bus_id[32]; } pci_info;
typedef struct { unsigned long long total, free, used; } memory_info;

int nvmlInit_v2(void) { return OK; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "not supported by this stand-in"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "%s", DRIVER); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = CUDA; return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(long)(index + 1); return OK; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { (void)device; snprintf(text, size, "NVIDIA H200"); return OK; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { (void)device; *major = 9; *minor = 0; return OK; }
int nvmlDeviceGetMemoryInfo(void *device, memory_info *info) { (void)device; memset(info, 0, sizeof *info); info->total = 143771ULL << 20; return OK; }
int nvmlDeviceGetBAR1MemoryInfo(void *device, memory_info *info) { (void)device; memset(info, 0, sizeof *info); info->total = 262144ULL << 20; return OK; }
int nvmlDeviceGetPciInfo_v3(void *device, pci_info *info) {
  memset(info, 0, sizeof *info);
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", (unsigned)(long)device);
  return OK;
}
