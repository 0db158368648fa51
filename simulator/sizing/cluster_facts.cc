#include "simulator/sizing/cluster_facts.h"

#include <array>

namespace transload {
namespace {

struct FamilyRow {
  LinkKind kind;
  LinkFamily family;
};
constexpr std::array kFamilies = {
    FamilyRow{LinkKind::kNicOut, LinkFamily::kNic},
    FamilyRow{LinkKind::kNicIn, LinkFamily::kNic},
    FamilyRow{LinkKind::kUplink, LinkFamily::kNic},
    FamilyRow{LinkKind::kDownlink, LinkFamily::kNic},
    FamilyRow{LinkKind::kNvlinkOut, LinkFamily::kNvlink},
    FamilyRow{LinkKind::kNvlinkIn, LinkFamily::kNvlink},
    FamilyRow{LinkKind::kHbm, LinkFamily::kCopy},
};
constexpr std::array<std::string_view, 4> kFamilyNames = {"nic", "nvlink", "copy", "other"};

}  // namespace

LinkFamily family_of(LinkKind kind) {
  for (const FamilyRow& row : kFamilies)
    if (row.kind == kind) return row.family;
  return LinkFamily::kOther;
}

std::string_view name_of(LinkFamily family) {
  return kFamilyNames[static_cast<std::size_t>(family)];
}

}  // namespace transload
