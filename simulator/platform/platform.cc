#include "simulator/platform/platform.h"

#include <fmt/format.h>

#include "common/error.h"

namespace transload {
namespace {

namespace s4u = simgrid::s4u;

// Stands for "costs no time"; finite because SimGrid wants a rate.
constexpr double kFreeRate = 1e24;
constexpr double kHostSpeed = 1e9;  // no operation computes

s4u::Engine* make_engine(double precision_s) {
  // SimGrid reports on stderr; only what ends the process shall be heard.
  static char program[] = "transload";
  static char quiet[] = "--log=root.thresh:critical";
  static char* arguments[] = {program, quiet, nullptr};
  int count = 2;
  auto* engine = new s4u::Engine(&count, arguments);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");   // no tax for acknowledgements
  s4u::Engine::set_config("network/TCP-gamma", 1e30);  // no cap by window / round trip
#if SIMGRID_VERSION >= 33400UL
  s4u::Engine::set_config("precision/timing", precision_s);
#else
  s4u::Engine::set_config("surf/precision", precision_s);
#endif
  return engine;
}

// Names of the zone interface differ between SimGrid's major versions.
s4u::NetZone* make_zone([[maybe_unused]] s4u::Engine* engine) {
#if SIMGRID_VERSION >= 40000UL
  return engine->get_netzone_root()->add_netzone_star("ports");
#else
  return s4u::create_star_zone("ports");
#endif
}

s4u::Host* make_host(s4u::NetZone* zone, const std::string& name) {
#if SIMGRID_VERSION >= 40000UL
  return zone->add_host(name, kHostSpeed);
#else
  return zone->create_host(name, kHostSpeed);
#endif
}

s4u::Link* make_link(s4u::NetZone* zone, const std::string& name, double rate) {
#if SIMGRID_VERSION >= 40000UL
  return zone->add_link(name, rate)->set_latency(0)->seal();
#else
  return zone->create_link(name, rate)->set_latency(0)->seal();
#endif
}

// Links and hosts of one plan while they are made.
class PlatformMaker {
 public:
  PlatformMaker(const Plan& plan, double units_per_byte, s4u::NetZone* zone)
      : plan_(plan),
        units_per_byte_(units_per_byte),
        zone_(zone),
        wires_(plan.link_kind.size(), nullptr) {}

  // A host whose way out (or in) is the link, followed (or led) by the links of the path.
  s4u::Host* add_host(std::uint32_t link, std::uint32_t path, LinkDuty duty) {
    s4u::Host* const host = make_host(zone_, fmt::format("host{}", hosts_++));
    std::vector<s4u::LinkInRoute> route;
    for (std::uint64_t i = plan_.path_link_first[path]; i < plan_.path_link_first[path + 1]; ++i)
      route.emplace_back(wire(plan_.path_link[i]));
    const bool sends = duty == LinkDuty::kSends;
    route.insert(sends ? route.begin() : route.end(), s4u::LinkInRoute(wire(link)));
    auto* const point = host->get_netpoint();
    if (sends) {
      zone_->add_route(point, nullptr, nullptr, nullptr, route, false);
      zone_->add_route(point, point, nullptr, nullptr, route, true);
    } else {
      zone_->add_route(nullptr, point, nullptr, nullptr, route, false);
    }
    return host;
  }

 private:
  s4u::Link* wire(std::uint32_t link) {
    if (wires_[link] == nullptr) {
      const auto rate = static_cast<double>(link_achieved_rate(plan_, link)) * units_per_byte_;
      wires_[link] = make_link(zone_, fmt::format("link{}", link), rate > 0 ? rate : kFreeRate);
    }
    return wires_[link];
  }

  const Plan& plan_;
  double units_per_byte_;
  s4u::NetZone* zone_;
  std::vector<s4u::Link*> wires_;
  std::size_t hosts_ = 0;
};

}  // namespace

std::vector<LinkDuty> link_duties(const Plan& plan) {
  std::vector<LinkDuty> duties(plan.link_kind.size(), LinkDuty::kUnused);
  const auto note = [&](std::int32_t port, LinkDuty duty) {
    if (port < 0) return;
    const std::uint32_t link = plan.port_link[static_cast<std::size_t>(port)];
    if (duties[link] != LinkDuty::kUnused && duties[link] != duty)
      throw InputError(
          fmt::format("link {} ({}) has ports that send and ports that receive; expected "
                      "one link for each direction",
                      link, plan_name(plan, plan.link_name[link])));
    duties[link] = duty;
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (!moves_bytes(plan, op)) continue;
    note(plan.op_out_port[op], LinkDuty::kSends);
    note(plan.op_in_port[op], LinkDuty::kReceives);
  }
  return duties;
}

Platform::Platform(const Plan& plan, double units_per_byte, double precision_s)
    : engine_(make_engine(precision_s)), host_of_port_(plan.ports(), nullptr) {
  s4u::NetZone* const zone = make_zone(engine_);
  PlatformMaker maker(plan, units_per_byte, zone);
  const std::vector<LinkDuty> duties = link_duties(plan);
  std::vector<s4u::Host*> host_of_link(duties.size(), nullptr);
  for (std::uint32_t link = 0; link < duties.size(); ++link)
    if (duties[link] != LinkDuty::kUnused)
      host_of_link[link] = maker.add_host(link, 0, duties[link]);
  for (std::size_t port = 0; port < plan.ports(); ++port)
    host_of_port_[port] = host_of_link[plan.port_link[port]];
  const auto add_path = [&](std::int32_t port, std::uint32_t path, LinkDuty duty) {
    if (port < 0 || path == 0) return;
    s4u::Host*& host = host_of_path_[{port, path}];
    if (host == nullptr)
      host = maker.add_host(plan.port_link[static_cast<std::size_t>(port)], path, duty);
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    add_path(plan.op_out_port[op], plan.op_out_path[op], LinkDuty::kSends);
    add_path(plan.op_in_port[op], plan.op_in_path[op], LinkDuty::kReceives);
  }
  zone->seal();
}

}  // namespace transload
