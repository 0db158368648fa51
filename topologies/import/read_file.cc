#include <array>

#include "common/error.h"
#include "topologies/import/detect.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

struct KindReader {
  TopologyFileKind kind;
  ImportFindings (*read)(const std::string& text, const std::string& file);
};

constexpr std::array<KindReader, 9> kReaders = {
    {{TopologyFileKind::kNcclXml, read_nccl_xml},
     {TopologyFileKind::kHwlocXml, read_hwloc_xml},
     {TopologyFileKind::kNvidiaSmiTopo, read_nvidia_smi_topo},
     {TopologyFileKind::kSlurmTopology, read_slurm_topology},
     {TopologyFileKind::kIbnetdiscover, read_ibnetdiscover},
     {TopologyFileKind::kTopograph, read_topograph},
     {TopologyFileKind::kNcclTests, read_nccl_tests},
     {TopologyFileKind::kNvbandwidth, read_nvbandwidth},
     {TopologyFileKind::kIbWriteLat, read_ib_write_lat}}};

}  // namespace

ImportFindings read_topology_file(const std::string& path) {
  const std::string text = read_topology_text(path);
  const TopologyFileKind kind = detect_topology_file(text, path);
  for (const KindReader& reader : kReaders)
    if (reader.kind == kind) return reader.read(text, path);
  throw InputError({path, 0, ""}, "no reader for this kind of file");
}

}  // namespace transload
